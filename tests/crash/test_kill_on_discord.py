"""`kill -9` of the real relay on the tests' Discord, again and again, while Discord has faults of its own.

Judged by what then stands in the channels, and by the ledger. In CI 10 kills; `make soak` adds 200, and shows that each
planted fault is found.
"""

from pathlib import Path
from typing import Any

import pytest
from discord_crowd import POINTS, SEEN, DiscordCrowd
from fakes.discord import DiscordServer
from judging import Findings

pytestmark = pytest.mark.anyio

CI: dict[str, Any] = {"kills": 10, "messages": 100, "changes": 12, "timers": 8}
SOAK: dict[str, Any] = {**CI, "kills": 25}
SHORT: dict[str, Any] = {"kills": 6, "messages": 50, "changes": 4, "timers": 2}
AT_A_POINT: dict[str, Any] = {"clocked": 0.0, "outside": 0.0}


async def played(folder: Path, **how: Any) -> tuple[Findings, str]:
    """What was found, and all of it to read."""
    async with DiscordServer() as server:
        crowd = DiscordCrowd(folder, server, **how)
        findings = await crowd.run()
        faults = f"faults: {dict(crowd.weather.counts)}"
        return findings, "\n".join([*findings.wrong, f"kills: {dict(findings.kills)}", faults])


async def test_10_kills_on_a_faulty_discord_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    findings, told = await played(tmp_path, seed=2, **CI)
    assert findings.wrong == [], told
    assert findings.expected == 122
    assert sum(findings.kills.values()) == 10 + findings.kills["clean stop"]


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 108))
async def test_200_kills_on_a_faulty_discord_lose_nothing_and_double_nothing(
    tmp_path: Path, seed: int
) -> None:
    findings, told = await played(tmp_path, seed=seed, **SOAK)
    assert findings.wrong == [], told


@pytest.mark.soak
@pytest.mark.parametrize("point", POINTS)
async def test_dying_at_one_point_on_discord_over_and_over_loses_nothing(tmp_path: Path, point: str) -> None:
    findings, told = await played(tmp_path, seed=7, **SHORT, **AT_A_POINT, points=[point])
    assert findings.wrong == [], told


@pytest.mark.soak
@pytest.mark.parametrize("seen", SEEN)
async def test_dying_at_what_discord_saw_over_and_over_loses_nothing(tmp_path: Path, seen: str) -> None:
    findings, told = await played(tmp_path, seed=8, **SHORT, seen=[seen], outside=1.0)
    assert findings.wrong == [], told


@pytest.mark.soak
@pytest.mark.parametrize(
    ("fault", "how"),
    [
        ("no nonce", {}),
        ("no history check", {"seen": ["MESSAGE_CREATE"], "outside": 1.0}),
        ("recorded before it is taken", {**AT_A_POINT, "points": ["before-take"]}),
        (
            "caught up to the highest id",
            {**AT_A_POINT, "points": ["before-fire"], "trouble": ["event_dropped"], "every_s": 0.7},
        ),
        ("no look after a gap", {}),
        ("torn end", {**AT_A_POINT, "points": ["commit-turn.replied"]}),
        ("interrupted is completed", {"clocked": 1.0, "outside": 0.0}),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
async def test_each_fault_planted_on_discord_is_found(
    tmp_path: Path, fault: str, how: dict[str, Any]
) -> None:
    findings, told = await played(tmp_path, seed=5, **SHORT, **how, fault=fault)
    assert findings.wrong, told

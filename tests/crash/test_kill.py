"""`kill -9` of the real relay, again and again, while people write, files change and timers come due.

In CI 25 kills; `make soak` adds 200, and shows that each planted fault is found.
"""

from pathlib import Path

import pytest
from crowd import POINTS, Crowd
from judging import Findings

pytestmark = pytest.mark.anyio

CI = {"kills": 25, "messages": 100, "changes": 12, "timers": 8}
SHORT = {"kills": 6, "messages": 50, "changes": 4, "timers": 2, "clocked": 0.0}


def told(findings: Findings) -> str:
    return "\n".join([*findings.wrong, f"kills: {dict(findings.kills)}"])


async def test_25_kills_lose_nothing_double_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    findings = await Crowd(tmp_path, seed=2, **CI).run()
    assert findings.wrong == [], told(findings)
    assert findings.expected == 120
    assert sum(findings.kills.values()) == 25 + findings.kills["clean stop"]


async def test_a_post_that_is_tried_again_with_another_nonce_is_found_to_be_doubled(tmp_path: Path) -> None:
    crowd = Crowd(
        tmp_path,
        seed=3,
        kills=4,
        messages=25,
        changes=2,
        timers=1,
        points=["after-post"],
        clocked=0,
        fault="random nonce",
    )
    findings = await crowd.run()
    assert any("knows nothing of" in wrong for wrong in findings.wrong), told(findings)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 108))
async def test_200_kills_lose_nothing_and_double_nothing(tmp_path: Path, seed: int) -> None:
    findings = await Crowd(tmp_path, seed=seed, **CI).run()
    assert findings.wrong == [], told(findings)


@pytest.mark.soak
@pytest.mark.parametrize("point", list(dict.fromkeys(POINTS)))
async def test_dying_at_one_point_over_and_over_loses_nothing(tmp_path: Path, point: str) -> None:
    findings = await Crowd(tmp_path, seed=7, **SHORT, points=[point]).run()
    assert findings.wrong == [], told(findings)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("fault", "point"),
    [
        ("torn end", "commit-turn.replied"),
        ("early delivery", "before-take"),
        ("interrupted is completed", "before-step"),
        ("blind forgetful chat", "after-post"),
    ],
)
async def test_each_planted_fault_is_found(tmp_path: Path, fault: str, point: str) -> None:
    findings = await Crowd(tmp_path, seed=5, **SHORT, points=[point], fault=fault).run()
    assert findings.wrong, told(findings)


@pytest.mark.soak
async def test_where_no_nonce_is_remembered_the_look_into_the_history_doubles_nothing(tmp_path: Path) -> None:
    findings = await Crowd(tmp_path, seed=9, **SHORT, points=["after-post"], fault="forgetful chat").run()
    assert findings.wrong == [], told(findings)

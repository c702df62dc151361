"""`redaction.keep_days`: what is older goes by itself, at the start and once a day; what is younger stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from behaviours.redaction.searched_house import MARK, holding, house, sound
from fakes.living import ADA, Living, access

from relay.config import Access
from relay.config_model import Redaction

pytestmark = pytest.mark.anyio

DAY_MS = 24 * 3600 * 1000
YOUNG = "Heron-2210-Basalt"


def keeping(folder: Path, days: int | None) -> Access:
    return access(folder).model_copy(update={"redaction": Redaction(keep_days=days)})


async def old_and_young(town: Living) -> None:
    """Messages, replies, an edit, a long text, a failure and a fire from long ago; then some from today."""
    said = await town.say(f"say {MARK}")
    await town.seen(MARK)
    await town.edit(said.message, f"say more {MARK}")
    await town.say("y" * 20_000 + MARK, by=ADA)
    await town.say(f"fail {MARK}")
    await town.say(f'!watch tea --in 10s "{MARK} is ready"')
    await town.until_logged("watch.disarmed")
    await town.quiet()
    town.clock.jumped_ms += 40 * DAY_MS
    await town.say(f"say {YOUNG}")
    await town.seen(YOUNG)
    await town.quiet()


async def test_old_texts_go_at_the_start_and_young_ones_stay(tmp_path: Path):
    async with house(tmp_path) as town:
        await old_and_young(town)
        assert holding(tmp_path, MARK)
        town.access = keeping(tmp_path, 30)
        await town.restart()
        await town.until(lambda: not holding(tmp_path, MARK), "the sweep")
        await sound(town)
        assert holding(tmp_path, YOUNG)
        records = await town.log("interaction.redacted")
        assert {r.body["by"] for r in records} == {"redaction.keep_days"}
        await town.say("say it goes on")
        await town.seen("it goes on")


async def test_without_keep_days_nothing_goes(tmp_path: Path):
    async with house(tmp_path) as town:
        await old_and_young(town)
        await town.restart()
        await town.quiet()
        assert holding(tmp_path, MARK)
        assert await town.log("interaction.") == []


async def test_it_is_looked_at_again_each_day(tmp_path: Path):
    async with house(tmp_path, access_=keeping(tmp_path, 30)) as town:
        await town.say(f"say {MARK}")
        await town.seen(MARK)
        await town.quiet()
        for _ in range(32):
            town.clock.jumped_ms += DAY_MS
            await town.say("!status")  # whatever moves the ledger has the clock looked at
            await town.quiet()
        await town.until(lambda: not holding(tmp_path, MARK), "the sweep")
        await sound(town)


async def test_what_a_reminder_needs_stays_until_it_is_off(tmp_path: Path):
    async with house(tmp_path) as town:
        await town.say(f'!watch tea --in 900h "{MARK} is ready"')
        await town.watching("tea")
        await town.quiet()
        town.clock.jumped_ms += 40 * DAY_MS
        town.access = keeping(tmp_path, 30)
        await town.restart()
        await town.until_logged("interaction.scrubbed")
        await town.seen(f"{MARK} is ready")  # it came due meanwhile, and has its words
        await town.quiet()
        await sound(town)
        town.clock.jumped_ms += 40 * DAY_MS
        await town.restart()
        await town.until(lambda: not holding(tmp_path, MARK), "the sweep")
        await sound(town)


async def test_a_sweep_that_is_cut_off_anywhere_goes_on(tmp_path: Path):
    async with house(tmp_path) as town:
        await old_and_young(town)
        town.access = keeping(tmp_path, 30)
        for _ in range(6):
            await town.restart(kill=True)
        await town.until(lambda: not holding(tmp_path, MARK), "the sweep")
        await sound(town)
        assert holding(tmp_path, YOUNG)

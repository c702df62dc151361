"""Over a restart a tail neither misses nor repeats a line, whatever became of the log meanwhile."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.logs import (
    BEFORE,
    PATIENCE,
    add,
    copy_and_truncate,
    rotate_and_compress,
    rotate_by_rename,
    rotate_without_create,
    told,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def log(stand) -> Path:
    file = stand.root / "app.log"
    file.write_text(BEFORE)
    return file


def grow(log: Path) -> list[str]:
    add(log, "meanwhile\n")
    return ["meanwhile"]


def rotate_meanwhile(log: Path) -> list[str]:
    add(log, "end of the old\n")
    rotate_by_rename(log)
    add(log, "start of the new\n")
    return ["end of the old", "start of the new"]


def rotate_and_be_missing(log: Path) -> list[str]:
    add(log, "end of the old\n")
    rotate_without_create(log)
    return ["end of the old"]


def truncate_meanwhile(log: Path) -> list[str]:
    copy_and_truncate(log)
    add(log, "one\n")
    return ["one"]


def truncate_and_outgrow(log: Path) -> list[str]:
    """Longer than before, so that its size alone tells nothing."""
    os.truncate(log, 0)
    add(log, "".join(f"new {number}\n" for number in range(900)))
    return [f"new {number}" for number in range(900)]


def compress_meanwhile(log: Path) -> list[str]:
    rotate_and_compress(log)
    add(log, "the new\n")
    return ["the new"]


def edit_meanwhile(log: Path) -> list[str]:
    fresh = log.with_name("fresh")
    fresh.write_text(log.read_text() + "added by an editor\n")
    fresh.replace(log)
    return ["added by an editor"]


def nothing_at_all(log: Path) -> list[str]:
    return []


@pytest.mark.parametrize(
    "meanwhile",
    [grow, rotate_meanwhile, rotate_and_be_missing, truncate_meanwhile, truncate_and_outgrow]
    + [compress_meanwhile, edit_meanwhile, nothing_at_all],
    ids=lambda meanwhile: meanwhile.__name__,
)
@pytest.mark.parametrize("begun", ["", "a line that is beg"], ids=["whole", "begun"])
async def test_a_restart_neither_misses_nor_repeats_a_line(
    stand, log: Path, make_stand: Callable, meanwhile: Callable[[Path], list[str]], begun: str
) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match="."))
        add(log, "seen\n" * 600)
        await stand.until(lambda: sum(fire.count for fire in stand.fires) == 600, PATIENCE)
    state = stand.fires[-1].state
    expected = meanwhile(log)
    add(log, "and on\n")
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(match=".", state=state, fires=len(stand.fires)))
        await told(later, *expected, "and on")


async def test_a_line_that_was_begun_before_the_restart_is_told_whole_after_it(
    stand, log: Path, make_stand: Callable
) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match="ERROR"))
        add(log, "ERROR a\nERR")
        await told(stand, "ERROR a")
    add(log, "OR b\n")
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(match="ERROR", state=stand.fires[-1].state, fires=1))
        await told(later, "ERROR b")


async def test_a_fire_that_was_not_recorded_is_told_again_after_a_restart(
    stand, log: Path, make_stand: Callable
) -> None:
    stand.refuse_fires = 1_000
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "four\n")
        await stand.until(lambda: stand.refuse_fires < 1_000, PATIENCE)
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(state=stand.started["run-1"]))
        await told(later, "four")


async def test_progress_that_fires_nothing_is_recorded_within_a_minute(
    fast_stand, make_stand: Callable
) -> None:
    log = fast_stand.root / "app.log"
    log.write_text(BEFORE)
    async with fast_stand.running():
        await fast_stand.arm(fast_stand.tail(match="ERROR"))
        add(log, "fine\n")
        await fast_stand.until(lambda: bool(fast_stand.advanced), PATIENCE)
        assert fast_stand.advanced[-1][1]["offset"] == len(BEFORE) + 5

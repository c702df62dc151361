"""A tail tells each line that is added once, whatever becomes of the file: rotated, truncated, replaced."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import anyio
import pytest
from fakes.logs import (
    BEFORE,
    PATIENCE,
    add,
    copy_and_truncate,
    delete,
    rotate_and_compress,
    rotate_by_rename,
    rotate_without_create,
    told,
    truncate,
)

from watch_supervisor.sources.around import MOST_HELD

pytestmark = pytest.mark.anyio


@pytest.fixture
def log(stand) -> Path:
    file = stand.root / "app.log"
    file.write_text(BEFORE)
    return file


# -- lines ----------------------------------------------------------------------------------------------------------


async def test_only_lines_that_are_added_are_told_and_each_once(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "four\n")
        await told(stand, "four")
        fire = stand.fires[0]
        assert (fire.why, fire.number, fire.count, fire.dropped) == ("1 line", 1, 1, 0)
        add(log, "four\nfive\n\n")
        await told(stand, "four", "four", "five")
        assert stand.fires[-1].why == "2 lines"


async def test_a_match_tells_the_lines_that_match(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match="^ERROR"))
        add(log, "ok\nERROR a\nan ERROR inside\nERROR b\n")
        await told(stand, "ERROR a", "ERROR b")
        assert stand.fires[0].why == "matched ^ERROR, 2 lines"


async def test_on_change_a_line_that_says_the_same_again_is_left_out_also_after_a_restart(
    stand, log: Path, make_stand: Callable
) -> None:
    async with stand.running():
        await stand.arm(stand.tail(fire="change"))
        add(log, "up\nup\ndown\n")
        await told(stand, "up", "down")
    state = stand.fires[-1].state
    add(log, "down\nup\n")
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(fire="change", state=state, fires=1))
        await told(later, "up")


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"above": "0.9"}, ["loss=0.95", "loss=1e1"]),
        ({"below": "0.1"}, ["loss=0.03", "loss=-2"]),
        ({"above": "0.02", "below": "0.1"}, ["loss=0.03"]),
        ({"above": "0.9", "below": "0.1"}, ["loss=0.95", "loss=0.03", "loss=-2", "loss=1e1"]),
    ],
    ids=["above", "below", "between", "outside"],
)
async def test_a_captured_number_decides(
    stand, log: Path, bounds: dict[str, str], expected: list[str]
) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match=r"loss=(\S+)", **bounds))
        add(log, "loss=0.95\nstep 99\nloss=0.5\nloss=0.03\nloss=nan\nloss=-2\nloss=1e1\n")
        await told(stand, *expected)


async def test_why_a_number_counts_is_said(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match="loss=", below="0.1"))
        add(log, "12:30 step 4 loss=0.03\n")
        assert (await stand.fire()).why == "0.03 is below 0.1"


async def test_a_line_without_its_end_is_told_after_a_second(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "continue? ")
        await told(stand, "continue? ")
        add(log, "yes\nnext\n")
        await told(stand, "continue? ", "yes", "next")


async def test_a_line_that_comes_in_two_parts_matches_once_as_a_whole(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail(match="ERROR"))
        add(log, "12:00 ERR")
        await anyio.sleep(0.5)
        add(log, "OR: disk full\n")
        await told(stand, "12:00 ERROR: disk full")
        add(log, "ERROR half")
        await told(stand, "12:00 ERROR: disk full", "ERROR half")
        add(log, " and the ERROR goes on\nfine\nERROR new\n")
        await told(stand, "12:00 ERROR: disk full", "ERROR half", "ERROR new")


async def test_windows_line_ends_colours_and_broken_text_are_made_fit_to_be_shown(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        with log.open("ab") as out:
            out.write(b"dos\r\n\x1b[31mred\x1b[0m\n10%\r50%\r100%\nbad \xff\xc3\n\xe2\x82\xac\n")
        await told(stand, "dos", "red", "100%", "bad ��", "€")


async def test_a_line_without_end_keeps_its_first_part_and_says_what_is_missing(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        with log.open("ab") as out:
            for _ in range(40):
                out.write(b"x" * 100_000)
            out.write(b"\nnext\n")
        await stand.until(lambda: "next" in stand.lines(), PATIENCE)
        whole = "\n".join(fire.text for fire in stand.fires)
        assert whole.count("x") < 70_000
        assert "left out" in whole
        assert sum(fire.dropped for fire in stand.fires) >= 1


async def test_many_lines_come_as_one_with_the_first_the_last_and_a_count(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "".join(f"line {number:05}\n" for number in range(20_000)))
        await stand.until(lambda: sum(fire.count for fire in stand.fires) == 20_000, PATIENCE)
        text = "\n".join(fire.text for fire in stand.fires)
        assert len(stand.fires[0].text.encode()) <= 24 * 1024
        assert "line 00000" in text
        assert "line 19999" in text
        assert sum(fire.dropped for fire in stand.fires) > 15_000


async def test_what_follows_within_the_window_comes_as_one(hand_stand) -> None:
    """Time stands still but for what the test turns."""
    stand = hand_stand
    log = stand.root / "app.log"
    log.write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.tail(window_ms=4_000))
        source = stand.supervisor._lives["run-1"].file
        for number, letter in enumerate("abcd"):
            add(log, f"{letter}\n")
            await stand.until(lambda number=number: source._collected.count == max(1, number), PATIENCE)
            await stand.clock.turn(0.25, step=0.25)
            await stand.until(lambda: len(stand.fires) == 1, PATIENCE)
        await stand.clock.turn(4, step=0.5)
        await stand.until(lambda: len(stand.fires) == 2, PATIENCE)
        assert stand.lines() == ["a", "b", "c", "d"]
        assert [fire.count for fire in stand.fires] == [1, 3]


async def test_once_and_max_and_ttl_end_it(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail(run="once", once=True))
        await stand.arm(stand.tail(run="max", max_fires=2))
        await stand.arm(stand.tail(run="ttl", ttl_ms=8_000, match="never"))
        add(log, "a\n")
        await stand.until(lambda: len(stand.fires) == 2, PATIENCE)
        add(log, "b\n")
        await stand.until(lambda: len(stand.ended) == 3, PATIENCE)
        assert {ended.run: ended.reason for ended in stand.ended} == {
            "once": "done",
            "max": "max-fires",
            "ttl": "ttl",
        }
        assert sorted(fire.run for fire in stand.fires) == ["max", "max", "once"]


# -- what becomes of a log ------------------------------------------------------------------------------------------


ROTATIONS = [
    rotate_by_rename,
    rotate_without_create,
    copy_and_truncate,
    rotate_and_compress,
    delete,
    truncate,
]


async def noticed(stand, log: Path) -> None:
    """Wait until the tail stands at the start of a new file; one that was renamed and not replaced is read on."""
    renamed = log.with_name("app.log.1").exists() and not log.exists()
    follower = stand.supervisor._lives["run-1"].file._follower
    await stand.until(lambda: renamed or (follower.seen == 0 and not follower.waits), PATIENCE)


@pytest.mark.parametrize("rotate", ROTATIONS, ids=lambda rotate: rotate.__name__)
async def test_a_log_that_begins_anew_goes_on_without_a_gap_or_a_repeat(
    stand, log: Path, rotate: Callable[[Path], None]
) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "last of the old\n")
        await told(stand, "last of the old")
        rotate(log)
        await noticed(stand, log)
        add(log, "one\n")
        await told(stand, "last of the old", "one")
        rotate(log)
        await noticed(stand, log)
        add(log, "one\n")
        add(log, "two\n")
        await told(stand, "last of the old", "one", "one", "two")


async def test_lines_written_to_the_renamed_file_afterwards_are_told_too(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        with log.open("a", buffering=1) as program:
            program.write("before\n")
            rotate_by_rename(log)
            program.write("still the old file\n")
            await stand.until(lambda: "still the old file" in stand.lines(), PATIENCE)
            add(log, "the new file\n")
            await stand.until(lambda: "the new file" in stand.lines(), PATIENCE)
            program.write("and a late one\n")
        await told(stand, "before", "still the old file", "the new file", "and a late one")


async def test_an_inode_that_is_used_again_is_another_file(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        for number in range(3):
            log.unlink()
            await anyio.sleep(0.3)
            log.write_text(f"run {number}\n")
            await told(stand, *(f"run {n}" for n in range(number + 1)))


async def test_a_log_that_comes_later_is_told_from_its_first_line(stand) -> None:
    async with stand.running():
        await stand.arm(stand.tail("logs/app.log"))
        (stand.root / "logs").mkdir()
        add(stand.root / "logs" / "app.log", "first\n")
        await told(stand, "first")


async def test_a_retargeted_symlink_is_followed(stand) -> None:
    for name in ("monday.log", "tuesday.log"):
        (stand.root / name).write_text(f"{name} begins\n")
    link = stand.root / "app.log"
    link.symlink_to("monday.log")
    async with stand.running():
        await stand.arm(stand.tail())
        add(stand.root / "monday.log", "a\n")
        await told(stand, "a")
        fresh = stand.root / "fresh"
        fresh.symlink_to("tuesday.log")
        fresh.replace(link)
        await told(stand, "a", "tuesday.log begins")
        add(stand.root / "tuesday.log", "b\n")
        await told(stand, "a", "tuesday.log begins", "b")


async def test_a_log_moved_away_and_back_repeats_nothing(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        away = log.with_name("away")
        log.rename(away)
        await anyio.sleep(0.3)
        add(away, "four\n")
        await anyio.sleep(0.3)
        away.rename(log)
        add(log, "five\n")
        await told(stand, "four", "five")


async def test_more_tails_than_may_keep_their_file_open_still_miss_nothing(stand, log: Path) -> None:
    async with stand.running():
        stand.supervisor._around.held.update(range(-MOST_HELD, 0))
        await stand.arm(stand.tail())
        add(log, "four\n")
        await told(stand, "four")
        rotate_by_rename(log)
        add(log.with_name("app.log.1"), "five\n")
        add(log, "six\n")
        await told(stand, "four", "five", "six")


async def test_a_tail_never_leaves_a_file_open_behind(stand, log: Path) -> None:
    def open_files() -> list[str]:
        links = [os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd")]
        return [
            os.readlink(link) for link in links if os.path.lexists(link) and "app.log" in os.readlink(link)
        ]

    async with stand.running():
        await stand.arm(stand.tail())
        for number in range(3):
            rotate_by_rename(log)
            add(log, f"{number}\n")
            await told(stand, *map(str, range(number + 1)))
        assert len(open_files()) == 2, "the one that is written to, and the last renamed one for a while"
        await stand.supervisor.stop("run-1")
        await stand.until(lambda: open_files() == [], PATIENCE)


# -- what is not read -----------------------------------------------------------------------------------------------


async def test_a_tail_reads_nothing_outside_the_workspace_and_no_secret(stand) -> None:
    (stand.root.parent / "outside.log").write_text("x\n")
    (stand.root / "link.log").symlink_to("../outside.log")
    (stand.root / ".env").write_text("KEY=1\n")
    (stand.root / "env.log").symlink_to(".env")
    os.mkfifo(stand.root / "pipe.log")
    async with stand.running():
        for number, path in enumerate(("link.log", ".env", "env.log", "pipe.log", "."), 1):
            stand.supervisor.start(stand.tail(path, run=path))
            await stand.until(lambda number=number: len(stand.ended) == number, PATIENCE)
        assert {ended.reason for ended in stand.ended} == {"failed"}
        assert stand.fires == []


async def test_a_log_that_turns_into_a_link_to_a_secret_ends_the_watch(stand, log: Path) -> None:
    (stand.root / ".env").write_text("KEY=1\nKEY=2\nKEY=3\nKEY=4\n")
    async with stand.running():
        await stand.arm(stand.tail())
        log.unlink()
        log.symlink_to(".env")
        await stand.until(lambda: bool(stand.ended), PATIENCE)
        assert "credentials" in stand.ended[0].detail
        assert stand.fires == []


async def test_a_renamed_log_is_not_read_through_a_name_that_is_secret(
    stand, log: Path, make_stand: Callable
) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        add(log, "four\n")
        await told(stand, "four")
    add(log, "five\n")
    log.rename(log.with_name("server.key"))
    log.write_text("fresh\n")
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(state=stand.fires[-1].state, fires=1))
        await told(later, "fresh")


# -- the agent's own writes -----------------------------------------------------------------------------------------


async def test_what_the_agent_appends_itself_is_not_told(stand, log: Path, make_stand: Callable) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        own = BEFORE + "by the agent\n"
        stand.supervisor.expect(stand.root, "app.log", sha256(own.encode()).hexdigest())
        add(log, "by the agent\n")
        await stand.until(lambda: bool(stand.advanced), PATIENCE)
        add(log, "by somebody else\n")
        await told(stand, "by somebody else")
        state = stand.advanced[0][1]
    later = make_stand(clock=stand.clock)
    async with later.running():
        later.supervisor.start(later.tail(state=state))
        await told(later, "by somebody else")


async def test_the_same_append_by_somebody_else_later_is_told(stand, log: Path) -> None:
    async with stand.running():
        await stand.arm(stand.tail())
        stand.supervisor.expect(stand.root, "app.log", sha256((BEFORE + "x\n").encode()).hexdigest())
        add(log, "x\n")
        await stand.until(lambda: bool(stand.advanced), PATIENCE)
        add(log, "x\n")
        await told(stand, "x")

"""A check is run every so often, by a child that lives for the check only; what changed or matches wakes."""

import os
from pathlib import Path

import anyio
import pytest

pytestmark = pytest.mark.anyio
LONG = 60.0


@pytest.fixture
def quick(make_stand, commands):
    """A supervisor with commands and time a bit faster."""
    return make_stand(
        clock=type(commands.clock)(2), spawner=commands.supervisor._rig.spawner, fires_an_hour=None
    )


async def fire(stand, number: int = 1):
    await stand.until(lambda: len(stand.fires) >= number, LONG)
    return stand.fires[number - 1]


async def checks(stand, more: int) -> None:
    """Until so many more checks have begun."""
    log = stand.root / "checks"

    def count() -> int:
        return log.read_text().count("x") if log.exists() else 0

    wanted = count() + more
    await stand.until(lambda: count() >= wanted, LONG)


def check(what: str = "cat value") -> str:
    return f"echo x >> checks; {what}"


async def test_a_change_fires_with_its_diff_and_the_first_check_is_the_baseline(quick) -> None:
    value = quick.root / "value"
    value.write_text("one\ntwo\n")
    async with quick.running():
        quick.supervisor.start(quick.command(check(), every=0.1))
        await checks(quick, 3)
        assert quick.fires == []
        value.write_text("one\nthree\n")
        first = await fire(quick)
        assert "-two\n+three" in first.text
        assert (first.why, first.number, first.last) == ("changed", 1, False)
        value.write_text("one\ntwo\n")
        assert "-three\n+two" in (await fire(quick, 2)).text


async def test_the_value_is_known_after_a_restart(make_stand, commands) -> None:
    spawner = commands.supervisor._rig.spawner
    first = make_stand(clock=type(commands.clock)(2), spawner=spawner)
    value = first.root / "value"
    value.write_text("one\n")
    async with first.running():
        first.supervisor.start(first.command(check(), every=0.1))
        await first.until(lambda: bool(first.advanced), LONG)
    value.write_text("two\n")
    second = make_stand(clock=type(commands.clock)(2), spawner=spawner)
    async with second.running():
        second.supervisor.start(second.command(check(), every=0.1, run="run-2", state=first.advanced[0][1]))
        told = await fire(second)
        assert "-one\n+two" in told.text
    third = make_stand(clock=type(commands.clock)(2), spawner=spawner)
    async with third.running():
        third.supervisor.start(third.command(check(), every=0.1, run="run-3", state=told.state, fires=1))
        await checks(third, 2)
        assert third.fires == []


async def test_a_match_fires_when_the_line_comes_and_not_while_it_stays(quick) -> None:
    value = quick.root / "value"
    value.write_text("state: done\n")
    async with quick.running():
        quick.supervisor.start(quick.command(check(), every=0.1, match="done"))
        first = await fire(quick)
        assert (first.text, first.why) == ("state: done", "matched done")
        await checks(quick, 3)
        assert len(quick.fires) == 1
        value.write_text("state: running\n")
        await checks(quick, 3)
        value.write_text("state: done\n")
        assert (await fire(quick, 2)).number == 2
        assert len(quick.fires) == 2


async def test_once_stops_after_the_match(quick) -> None:
    async with quick.running():
        quick.supervisor.start(quick.command("echo it is done", every=0.1, match="done", once=True))
        await quick.until(lambda: bool(quick.ended), LONG)
        assert (quick.fires[0].last, quick.ended[0].reason) == (True, "done")


async def test_a_failing_check_is_a_change_with_its_code_and_its_errors(quick) -> None:
    (quick.root / "value").write_text("fine\n")
    async with quick.running():
        quick.supervisor.start(quick.command(check(), every=0.1))
        await quick.until(lambda: bool(quick.advanced), LONG)
        (quick.root / "value").unlink()
        text = (await fire(quick)).text
        assert "-fine" in text
        assert "No such file or directory" in text
        assert "+[exited with code 1" in text


async def test_a_check_that_takes_the_same_time_and_one_more_second_is_no_change(quick) -> None:
    async with quick.running():
        quick.supervisor.start(quick.command(check("sleep 0.0$RANDOM; exit 1"), every=0.1))
        await checks(quick, 4)
        assert quick.fires == []


async def test_no_child_lives_between_two_checks_and_none_overlap(quick) -> None:
    async with quick.running():
        line = check("[ -e busy ] && echo overlap > overlap; touch busy; sleep 0.2; rm busy; echo $RANDOM")
        quick.supervisor.start(quick.command(line, every=0.1))
        await checks(quick, 4)
        assert not (quick.root / "overlap").exists()
    async with quick.running():
        quick.supervisor.start(quick.command(check("echo $$ > pid"), every=3_600, run="run-2"))
        await quick.until(lambda: len(quick.advanced) == 2, LONG)
        assert not Path(f"/proc/{(quick.root / 'pid').read_text().strip()}").exists()


async def test_a_check_that_hangs_is_ended_and_says_so(make_stand, commands) -> None:
    stand = make_stand(clock=type(commands.clock)(60), spawner=commands.supervisor._rig.spawner)
    async with stand.running():
        line = "[ -e hang ] && { echo $$ > pid; echo half; sleep 1000; }; echo fine"
        stand.supervisor.start(stand.command(line, every=0.1))
        await stand.until(lambda: bool(stand.advanced), LONG)
        (stand.root / "hang").touch()
        ended = "half\n+[ended: it took longer than 1 min]"
        await stand.until(lambda: any(ended in fire.text for fire in stand.fires), LONG)
        await stand.supervisor.stop("run-1")
        assert not Path(f"/proc/{(stand.root / 'pid').read_text().strip()}").exists()


async def test_each_line_tells_each_check_that_prints(quick) -> None:
    async with quick.running():
        quick.supervisor.start(quick.command("cat value 2>/dev/null; true", every=0.1, fire="each-line"))
        await anyio.sleep(0.3)
        assert quick.fires == []
        (quick.root / "value").write_text("same\n")
        assert [(await fire(quick, number)).text for number in (1, 2)] == ["same", "same"]


async def test_a_change_taken_back_within_the_window_is_none(make_stand, commands) -> None:
    stand = make_stand(clock=type(commands.clock)(2), spawner=commands.supervisor._rig.spawner)
    value = stand.root / "value"
    value.write_text("one\n")
    async with stand.running():
        stand.supervisor.start(stand.command(check(), every=0.1, window_ms=3_600_000))
        await stand.until(lambda: bool(stand.advanced), LONG)
        value.write_text("two\n")
        await fire(stand)
        value.write_text("three\n")
        await checks(stand, 3)
        value.write_text("two\n")
        await checks(stand, 3)
        assert len(stand.fires) == 1


async def test_a_huge_output_is_compared_whole_and_kept_in_part(quick) -> None:
    async with quick.running():
        line = check("seq 200000; [ -e more ] && echo more; true")
        quick.supervisor.start(quick.command(line, every=0.1))
        await quick.until(lambda: bool(quick.advanced), LONG)
        assert os.path.getsize(quick.snapshots.folder / quick.advanced[0][1]["sha256"]) < 300_000
        (quick.root / "more").touch()
        text = (await fire(quick)).text
        assert "bytes more, sha256" in text


async def test_a_poll_that_is_stopped_in_its_check_leaves_nothing_and_says_nothing(quick) -> None:
    async with quick.running():
        await quick.arm(quick.command("echo $$ > pid; sleep 1000", every=0.1))
        pid = quick.root / "pid"
        await quick.until(lambda: pid.exists() and bool(pid.read_text().strip()), LONG)
        await quick.supervisor.stop("run-1")
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()
        assert (quick.fires, quick.ended, quick.supervisor.running()) == ([], [], ())


async def test_what_the_last_check_printed_can_be_read(quick) -> None:
    async with quick.running():
        quick.supervisor.start(quick.command("echo now", every=0.1))
        await quick.until(lambda: bool(quick.advanced), LONG)
        assert quick.supervisor.output("run-1").stdout == ("now",)

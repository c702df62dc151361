"""Fires are coalesced, never lost, never twice, and never from a run that is over."""

import hashlib
import os
from pathlib import Path

import anyio
import pytest

pytestmark = pytest.mark.anyio


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def notes(stand) -> Path:
    file = stand.root / "notes.md"
    file.write_text("one\n")
    return file


async def test_the_first_life_takes_a_snapshot_and_fires_nothing(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        assert stand.started["run-1"] == {"sha256": sha("one\n"), "kind": "text", "size": 4}
        assert await stand.snapshots.get(sha("one\n")) == b"one\n"
        await anyio.sleep(0.3)
        assert stand.fires == []


async def test_changes_within_the_window_become_one_fire_with_a_count(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(window_ms=8_000))
        notes.write_text("two\n")
        assert (await stand.fire()).count == 1
        for text in ("three\n", "four\n", "five\n"):
            notes.write_text(text)
            await anyio.sleep(0.3)
        assert len(stand.fires) == 1
        fire = await stand.fire(2)
        assert (fire.count, fire.number) == (3, 2)
        assert "-two\n+five" in fire.text


async def test_a_change_taken_back_within_the_window_fires_nothing(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(window_ms=4_000))
        notes.write_text("two\n")
        await stand.fire()
        notes.write_text("three\n")
        await anyio.sleep(0.2)
        notes.write_text("two\n")
        await anyio.sleep(1.2)
        assert len(stand.fires) == 1
        notes.write_text("four\n")
        assert "-two\n+four" in (await stand.fire(2)).text


async def test_the_same_text_again_fires_again(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        notes.write_text("one\nping\n")
        await stand.fire(1)
        notes.write_text("one\n")
        await stand.fire(2)
        notes.write_text("one\nping\n")
        first, _, third = await stand.fire(1), await stand.fire(2), await stand.fire(3)
        assert first.text == third.text
        assert [fire.number for fire in stand.fires] == [1, 2, 3]


async def test_a_file_that_never_rests_still_fires_within_a_second(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        with anyio.fail_after(2):
            while not stand.fires:
                with notes.open("a") as out:
                    out.write("more\n")
                await anyio.sleep(0.02)


async def test_once_ends_after_its_fire(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(once=True))
        notes.write_text("two\n")
        await stand.until(lambda: bool(stand.ended))
        assert stand.fires[0].last
        assert (stand.ended[0].reason, stand.supervisor.running()) == ("done", ())
        notes.write_text("three\n")
        await anyio.sleep(0.2)
        assert len(stand.fires) == 1


async def test_the_most_fires_count_over_all_lives(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(max_fires=3, fires=1))
        notes.write_text("two\n")
        assert not (await stand.fire(1)).last
        notes.write_text("three\n")
        fire = await stand.fire(2)
        assert (fire.number, fire.last) == (3, True)
        await stand.until(lambda: bool(stand.ended))
        assert stand.ended[0].reason == "max-fires"


async def test_the_time_to_live_ends_a_run_and_counts_from_arming(stand, notes: Path) -> None:
    async with stand.running():
        armed_at = stand.clock.now_ms() - 59_000
        await stand.arm(stand.file(ttl_ms=60_000, armed_at=armed_at))
        await stand.until(lambda: bool(stand.ended))
        assert (stand.ended[0].reason, stand.ended[0].detail) == ("ttl", "Its time (1 min) is up.")


async def test_a_change_while_nobody_lived_fires_once_at_start(make_stand, tmp_path: Path) -> None:
    first = make_stand()
    notes = first.root / "notes.md"
    notes.write_text("one\n")
    async with first.running():
        await first.arm(first.file())
    notes.write_text("one\ntwo\n")
    second = make_stand()
    async with second.running():
        await second.arm(second.file(run="run-2", state=first.started["run-1"]))
        fire = await second.fire()
        assert "+two" in fire.text
        await anyio.sleep(0.4)
    third = make_stand()
    async with third.running():
        await third.arm(third.file(run="run-3", state=fire.state, fires=1))
        await anyio.sleep(0.4)
    assert (len(second.fires), third.fires) == (1, [])


async def test_a_fire_that_could_not_be_recorded_is_tried_again_unchanged(stand, notes: Path) -> None:
    stand.refuse_fires = 2
    async with stand.running():
        await stand.arm(stand.file())
        notes.write_text("two\n")
        await anyio.sleep(0.25)
        notes.write_text("three\n")
        first, second = await stand.fire(1), await stand.fire(2)
        assert "-one\n+two" in first.text
        assert "-two\n+three" in second.text
        assert (first.number, second.number) == (1, 2)


async def test_the_state_does_not_move_before_the_fire_is_recorded(stand, make_stand, notes: Path) -> None:
    stand.refuse_fires = 1_000
    async with stand.running():
        await stand.arm(stand.file())
        notes.write_text("two\n")
        await stand.until(lambda: stand.refuse_fires < 1_000)
    after = make_stand()
    async with after.running():
        await after.arm(after.file(run="run-2", state=stand.started["run-1"]))
        assert "-one\n+two" in (await after.fire()).text


async def test_a_stopped_run_never_fires_even_while_its_fire_waits(stand, notes: Path) -> None:
    stand.refuse_fires = 1_000
    async with stand.running():
        await stand.arm(stand.file())
        notes.write_text("two\n")
        await stand.until(lambda: stand.refuse_fires < 1_000)
        await stand.supervisor.stop("run-1")
        stand.refuse_fires = 0
        await anyio.sleep(0.8)
        assert (stand.fires, stand.ended, stand.supervisor.running()) == ([], [], ())


async def test_a_stale_run_never_fires_for_its_replacement(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(window_ms=4_000))
        notes.write_text("two\n")
        await stand.fire()
        notes.write_text("three\n")
        await anyio.sleep(0.15)
        await stand.supervisor.stop("run-1")
        await stand.arm(stand.file(run="run-2"))
        await anyio.sleep(1.2)
        assert [fire.run for fire in stand.fires] == ["run-1"]
        notes.write_text("four\n")
        assert (await stand.fire(2)).run == "run-2"


async def test_a_run_stopped_before_its_task_began_never_starts(stand, notes: Path) -> None:
    async with stand.running():
        stand.supervisor.start(stand.file())
        await stand.supervisor.stop("run-1")
        await anyio.sleep(0.2)
        assert stand.started == {}


async def test_a_run_may_be_stopped_from_within_its_own_fire(stand, notes: Path) -> None:
    stand.during_fire = lambda fire: stand.supervisor.stop(fire.run)
    async with stand.running():
        await stand.arm(stand.file(once=True))
        notes.write_text("two\n")
        await stand.fire()
        await anyio.sleep(0.2)
        assert stand.ended == []
        await stand.arm(stand.file(run="run-2"))


async def test_starting_twice_is_starting_once(stand, notes: Path) -> None:
    async with stand.running():
        run = stand.file()
        await stand.arm(run)
        stand.supervisor.start(run)
        notes.write_text("two\n")
        await stand.fire()
        await anyio.sleep(0.3)
        assert len(stand.fires) == 1


async def test_runs_started_before_the_supervisor_runs_begin_when_it_does(stand, notes: Path) -> None:
    stand.supervisor.start(stand.file())
    async with stand.running():
        await stand.until(lambda: "run-1" in stand.started)


async def test_a_write_of_the_agents_own_advances_in_silence(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        stand.supervisor.expect(stand.root, "notes.md", sha("by the agent\n"))
        notes.write_text("by the agent\n")
        await stand.until(lambda: bool(stand.advanced))
        assert stand.advanced[0][1]["sha256"] == sha("by the agent\n")
        notes.write_text("by the agent\nby a person\n")
        fire = await stand.fire()
        assert "+by a person" in fire.text
        assert "+by the agent" not in fire.text


async def test_an_own_write_is_expected_once_and_only_for_its_file(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        stand.supervisor.expect(stand.root, "other.md", sha("two\n"))
        notes.write_text("two\n")
        await stand.fire(1)
        stand.supervisor.expect(stand.root, str(notes), sha("three\n"))
        for text in ("three\n", "two\n", "three\n"):
            notes.write_text(text)
            await anyio.sleep(0.3)
        assert [fire.text[-10:] for fire in stand.fires[1:]] == ["three\n+two", "two\n+three"]


async def test_a_persons_change_is_not_swallowed_by_an_own_write_after_it(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(window_ms=4_000))
        notes.write_text("two\n")
        await stand.fire()
        notes.write_text("two\nby a person\n")
        await anyio.sleep(0.2)
        stand.supervisor.expect(stand.root, "notes.md", sha("two\nby a person\nby the agent\n"))
        notes.write_text("two\nby a person\nby the agent\n")
        assert "+by a person" in (await stand.fire(2)).text


async def test_a_match_fires_for_added_lines_only(stand) -> None:
    log = stand.root / "app.log"
    log.write_text("ERROR of yesterday\n")
    async with stand.running():
        await stand.arm(stand.file("app.log", match="ERROR"))
        with log.open("a") as out:
            out.write("all is well\n")
        await anyio.sleep(0.3)
        assert stand.fires == []
        with log.open("a") as out:
            out.write("\x1b[31mERROR\x1b[0m db down\n")
        fire = await stand.fire()
        assert fire.why == "matched ERROR"
        assert "+ERROR db down" in fire.text
        assert "\x1b" not in fire.text


async def test_a_matching_line_that_vanishes_and_returns_fires_again(stand) -> None:
    log = stand.root / "app.log"
    log.write_text("")
    async with stand.running():
        await stand.arm(stand.file("app.log", match="ERROR"))
        log.write_text("ERROR x\n")
        await stand.fire(1)
        log.write_text("")
        await anyio.sleep(0.3)
        log.write_text("ERROR x\n")
        await stand.fire(2)


async def test_a_matching_line_that_vanishes_within_the_window_is_still_told(stand) -> None:
    log = stand.root / "app.log"
    log.write_text("")
    async with stand.running():
        await stand.arm(stand.file("app.log", match="ERROR", window_ms=4_000))
        log.write_text("ERROR first\n")
        await stand.fire(1)
        log.write_text("ERROR second\n")
        await anyio.sleep(0.2)
        log.write_text("")
        fire = await stand.fire(2)
        assert "+ERROR second" in fire.text
        assert fire.state["size"] == 0


async def test_silent_progress_of_a_match_is_recorded_now_and_then(fast_stand) -> None:
    log = fast_stand.root / "app.log"
    log.write_text("")
    async with fast_stand.running():
        await fast_stand.arm(fast_stand.file("app.log", match="ERROR"))
        log.write_text("fine\n")
        await fast_stand.until(lambda: bool(fast_stand.advanced))
        assert fast_stand.advanced[0][1]["size"] == 5


async def test_three_hundred_watches_share_one_inotify_instance(make_stand) -> None:
    stand = make_stand()
    for number in range(300):
        folder = stand.root / f"d{number % 30}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text("x\n")
    async with stand.running():
        for number in range(300):
            stand.supervisor.start(stand.file(f"d{number % 30}/f{number}", run=f"run-{number}"))
        await stand.until(lambda: len(stand.started) == 300)
        links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_link(fd)]
        assert sum("inotify" in link for link in links) == 1
        for number in range(0, 300, 10):
            (stand.root / f"d{number % 30}" / f"f{number}").write_text("y\n")
        await stand.until(lambda: len(stand.fires) >= 30)
        assert {fire.run for fire in stand.fires} == {f"run-{number}" for number in range(0, 300, 10)}


async def test_one_more_than_the_limit_is_refused_and_the_others_go_on(tmp_path: Path, make_stand) -> None:
    stand = make_stand(limit=2)
    async with stand.running():
        for number in range(3):
            stand.supervisor.start(stand.file(f"f{number}", run=f"run-{number}"))
        await stand.until(lambda: len(stand.started) == 2 and len(stand.ended) == 1)
        assert (stand.ended[0].run, stand.ended[0].reason) == ("run-2", "failed")
        assert set(stand.supervisor.running()) == {"run-0", "run-1"}


async def test_reading_a_large_file_does_not_hold_up_the_loop(make_stand) -> None:
    stand = make_stand()
    big = stand.root / "big.bin"
    big.write_bytes(os.urandom(1 << 20) * 64)
    worst = 0.0
    async with stand.running():
        stand.supervisor.start(stand.file("big.bin"))
        loop_time = stand.clock.monotonic
        while "run-1" not in stand.started:
            before = loop_time()
            await anyio.sleep(0.005)
            worst = max(worst, loop_time() - before)
        assert worst < 0.25


async def test_a_run_is_stopped_in_the_middle_of_a_long_read(make_stand) -> None:
    stand = make_stand()
    big = stand.root / "big.bin"
    big.touch()
    os.truncate(big, 255 << 20)
    async with stand.running():
        stand.supervisor.start(stand.file("big.bin"))
        await anyio.sleep(0.02)
        with anyio.fail_after(0.3):
            await stand.supervisor.stop("run-1")
        assert stand.started == {}


async def test_a_change_that_waits_for_its_window_is_told_before_the_run_fails(stand, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file(window_ms=30_000))
        notes.write_text("two\n")
        await stand.fire()
        notes.write_text("three\n")
        await anyio.sleep(0.2)
        outside = stand.root.parent / "outside"
        outside.write_text("secret\n")
        (stand.root / "fresh").symlink_to(outside)
        (stand.root / "fresh").replace(notes)
        await stand.until(lambda: bool(stand.ended))
        assert "+three" in stand.fires[1].text
        assert "secret" not in stand.fires[1].text


async def test_an_own_write_by_way_of_a_symlink_is_known_too(stand, notes: Path) -> None:
    (stand.root / "alias.md").symlink_to("notes.md")
    async with stand.running():
        await stand.arm(stand.file())
        stand.supervisor.expect(stand.root, "alias.md", sha("by the agent\n"))
        (stand.root / "alias.md").write_text("by the agent\n")
        await stand.until(lambda: bool(stand.advanced))
        assert stand.fires == []


def _is_link(fd: str) -> bool:
    return os.path.islink(f"/proc/self/fd/{fd}")

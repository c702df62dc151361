"""A store that refuses for a while costs a watch time and nothing else, and so does what nobody thought of."""

import errno
import hashlib
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from watch_supervisor.content import look
from watch_supervisor.keeping import Keeping, NotNow
from watch_supervisor.sources import file as file_source

pytestmark = pytest.mark.anyio


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Disk:
    """Stands before a stand's snapshots, and refuses what it is told to refuse."""

    def __init__(self, stand) -> None:
        self._put, self._get = stand.snapshots.put, stand.snapshots.get
        self.refuses: set[str] = set()
        self.asked: list[float] = []
        self._clock = stand.clock
        stand.snapshots.put, stand.snapshots.get = self.put, self.get

    async def put(self, data: bytes) -> str:
        self._ask("put")
        return await self._put(data)

    async def get(self, digest: str) -> bytes | None:
        self._ask("get")
        return await self._get(digest)

    def _ask(self, what: str) -> None:
        if what in self.refuses:
            self.asked.append(self._clock.monotonic())
            raise OSError(errno.ENOSPC, "no room left on the disk")


@pytest.fixture
def disk(stand) -> Disk:
    return Disk(stand)


@pytest.fixture
def notes(stand) -> Path:
    file = stand.root / "notes.md"
    file.write_text("one\n")
    return file


async def test_a_store_that_refuses_the_first_look_delays_the_start(stand, disk: Disk, notes: Path) -> None:
    disk.refuses = {"put"}
    async with stand.running():
        stand.supervisor.start(stand.file())
        await stand.until(lambda: len(disk.asked) >= 2)
        notes.write_text("one\ntwo\n")
        assert (stand.started, stand.ended, stand.supervisor.running()) == ({}, [], ("run-1",))
        disk.refuses = set()
        fire = await stand.fire()
        assert stand.started["run-1"]["sha256"] == sha("one\n")
        assert (fire.number, fire.count) == (1, 1)
        assert "+two" in fire.text
        await anyio.sleep(0.3)
        assert (len(stand.fires), stand.ended) == (1, [])


@pytest.mark.parametrize("refused", ["put", "get"])
async def test_changes_while_the_store_refuses_fire_once_with_the_whole_diff(
    stand, disk: Disk, notes: Path, refused: str
) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        disk.refuses = {refused}
        notes.write_text("one\ntwo\n")
        await stand.until(lambda: bool(disk.asked))
        notes.write_text("one\ntwo\nthree\n")
        await anyio.sleep(0.3)
        assert (stand.fires, stand.advanced, stand.ended) == ([], [], [])
        disk.refuses = set()
        fire = await stand.fire()
        assert " one\n+two\n+three" in fire.text
        assert fire.state == {"sha256": sha("one\ntwo\nthree\n"), "kind": "text", "size": 14}
        notes.write_text("one\n")
        assert "-two\n-three" in (await stand.fire(2)).text
        assert (len(stand.fires), stand.ended) == (2, [])


async def test_a_change_taken_back_while_the_store_refuses_fires_nothing(
    stand, disk: Disk, notes: Path
) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        disk.refuses = {"put"}
        notes.write_text("two\n")
        await stand.until(lambda: bool(disk.asked))
        notes.write_text("one\n")
        await anyio.sleep(0.3)
        disk.refuses = set()
        await anyio.sleep(0.5)
        assert (stand.fires, stand.ended) == ([], [])


@pytest.mark.parametrize("refused", ["put", "get"])
async def test_a_line_that_matches_while_the_store_refuses_is_told_later(
    stand, disk: Disk, refused: str
) -> None:
    log = stand.root / "app.log"
    log.write_text("start\n")
    async with stand.running():
        await stand.arm(stand.file("app.log", match="ERROR"))
        disk.refuses = {refused}
        log.write_text("start\nERROR a\n")
        await stand.until(lambda: bool(disk.asked))
        log.write_text("start\nERROR a\nERROR b\n")
        await anyio.sleep(0.2)
        disk.refuses = set()
        fire = await stand.fire()
        assert "+ERROR a" in fire.text
        assert "+ERROR b" in fire.text
        await anyio.sleep(0.3)
        assert (len(stand.fires), stand.ended) == (1, [])


async def test_a_write_of_the_agents_own_stays_silent_when_the_store_refuses(
    stand, disk: Disk, notes: Path
) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        disk.refuses = {"put"}
        stand.supervisor.expect(stand.root, "notes.md", sha("by the agent\n"))
        notes.write_text("by the agent\n")
        await stand.until(lambda: bool(disk.asked))
        disk.refuses = set()
        await stand.until(lambda: bool(stand.advanced))
        assert (stand.advanced[0][1]["sha256"], stand.fires, stand.ended) == (sha("by the agent\n"), [], [])


async def test_a_change_is_told_before_the_time_is_up_even_if_the_store_refused(
    stand, disk: Disk, notes: Path
) -> None:
    async with stand.running():
        await stand.arm(stand.file(ttl_ms=2_000))
        disk.refuses = {"put"}
        notes.write_text("two\n")
        await stand.until(lambda: bool(disk.asked))
        await anyio.sleep(0.6)
        assert (stand.fires, stand.ended) == ([], [])
        disk.refuses = set()
        await stand.until(lambda: bool(stand.ended))
        assert ([fire.number for fire in stand.fires], stand.ended[0].reason) == ([1], "ttl")


async def test_a_run_is_stopped_while_the_store_refuses(stand, disk: Disk, notes: Path) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        disk.refuses = {"put"}
        notes.write_text("two\n")
        await stand.until(lambda: bool(disk.asked))
        await stand.supervisor.stop("run-1")
        disk.refuses = set()
        await anyio.sleep(0.3)
        assert (stand.fires, stand.ended, stand.supervisor.running()) == ([], [], ())


async def test_a_store_that_refuses_is_asked_ever_more_rarely(hand_stand) -> None:
    clock = hand_stand.clock
    disk = Disk(hand_stand)
    disk.refuses = {"put"}
    keeping = Keeping("run-1", clock, hand_stand.snapshots)
    for _ in range(1_000):
        with pytest.raises(NotNow):
            await keeping.put(b"one")
        clock.steady += 0.25
    pauses = [after - before for before, after in zip(disk.asked, disk.asked[1:], strict=False)]
    assert pauses[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    disk.refuses = set()
    clock.steady += 30
    await keeping.put(b"one")
    disk.refuses = {"put"}
    with pytest.raises(NotNow):
        await keeping.put(b"two")
    assert keeping.ready_at == clock.steady + 0.5


def failing(times: int) -> Callable[..., object]:
    left = [times]

    def look_or_fail(*args, **more):
        if left[0]:
            left[0] -= 1
            raise RuntimeError("can't start new\nthread")
        return look(*args, **more)

    return look_or_fail


async def test_what_nobody_thought_of_is_tried_again_and_the_change_is_told(
    stand, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "look", failing(2))
    async with stand.running():
        await stand.arm(stand.file())
        monkeypatch.setattr(file_source, "look", failing(2))
        stand.started.clear()
        notes.write_text("one\ntwo\n")
        fire = await stand.fire()
        assert "+two" in fire.text
        monkeypatch.setattr(file_source, "look", failing(1))
        notes.write_text("one\ntwo\nthree\n")
        fire = await stand.fire(2)
        assert (fire.number, "+three" in fire.text, "+two" in fire.text) == (2, True, False)
        assert (stand.ended, stand.started) == ([], {})


async def test_what_never_passes_ends_the_run_with_the_reason(
    fast_stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "look", failing(1_000))
    async with fast_stand.running():
        fast_stand.supervisor.start(fast_stand.file())
        await fast_stand.until(lambda: bool(fast_stand.ended))
        assert fast_stand.ended[0].reason == "failed"
        assert fast_stand.ended[0].detail == (
            "The watch broke inside the relay, and 6 new tries didn't help "
            "(RuntimeError: can't start new thread)."
        )


async def test_a_match_that_waits_for_a_long_window_after_silent_progress_keeps_the_loop_free(
    fast_stand,
) -> None:
    log = fast_stand.root / "app.log"
    log.write_text("start\n")
    async with fast_stand.running():
        await fast_stand.arm(fast_stand.file("app.log", match="ERROR", window_ms=3_600_000))
        log.write_text("start\nERROR a\n")
        await fast_stand.fire()
        log.write_text("start\nERROR a\nfine\n")
        await anyio.sleep(0.3)
        log.write_text("start\nERROR a\nfine\nERROR b\n")
        # Past the moment at which silent progress would be recorded, 30 s after it.
        await anyio.sleep(1.2)
        assert len(fast_stand.fires) == 1

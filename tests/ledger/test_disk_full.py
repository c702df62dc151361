"""A disk that fills up: what was acknowledged stands, what wasn't was never there, what is owed is written later."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import anyio
import pytest
from ledger.records import QuickClock, Said, draft
from ledger.small_house import Sum, SumState, Tally, answer_each, booted, house, running

from relay.errors import StoreUnavailable
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

LONG = "x" * 20_000


class Disk(Protocol):
    folder: Path

    def fill(self) -> None: ...
    def free(self) -> None: ...


class SmallDisk:
    """A file system of its own, of 3 MiB. Needs the right to mount."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        asked = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
        self.mounted = os.geteuid() == 0 and subprocess.run(asked, capture_output=True).returncode == 0

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                return

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


class FileLimit:
    """No file of this process may grow any more: what anybody may ask of the system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        size = (self.folder / "ledger.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, self.before[1]))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)

    close = free


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path)
    if not made.mounted:
        pytest.skip("only root may mount a small disk")
    yield made
    made.close()


@pytest.fixture
def file_limit(tmp_path: Path) -> Iterator[FileLimit]:
    made = FileLimit(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["small_disk", "file_limit"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return request.getfixturevalue(request.param)


class FillsUp(Concept[SumState]):
    """Fills the disk right after a certain text became durable, so that what follows from it finds no room."""

    NAME, State = "fills-up", SumState
    disk: Disk

    @on(Said)
    def fill(self, i: Interaction, p: Said) -> None:
        if p.number == 13:
            self.disk.fill()


async def test_a_full_disk_loses_nothing_and_what_was_owed_is_written_when_there_is_room(disk: Disk):
    FillsUp.disk = disk
    furniture = house(answer_each, concepts=(Tally, Sum, FillsUp))
    store = await SqliteStore.open(disk.folder / "ledger.db")
    engine = await booted(store, furniture, QuickClock())
    async with running(engine):
        await engine.admit(draft("one", number=1))
        await engine.admit(draft("the last that fits", number=13))
        refused: list[StoreUnavailable] = []
        for attempt in range(60):  # what is freed by a try may hold a small one
            try:
                with anyio.fail_after(10):
                    await engine.admit(draft(str(attempt), LONG, number=5))
            except StoreUnavailable as error:
                refused.append(error)
                if len(refused) == 3:
                    break
        assert len(refused) == 3
        assert all(error.advice and "ledger.db" in str(error) for error in refused)
        assert "ledger" in engine.trouble()
        seen = list(engine.view.of(Tally).state.said)
        disk.free()
        await anyio.sleep(0.1)
        await engine.admit(draft("after", number=2))
        await anyio.sleep(0.1)
        assert engine.trouble() == {}
        assert engine.view.of(Tally).state.said == [*seen, "test.said/after"]
        assert sorted(engine.view.of(Tally).state.answered) == sorted(engine.view.of(Tally).state.said)
        live = engine.view.digest()
    await store.close()
    again = await SqliteStore.open(disk.folder / "ledger.db")
    assert all(i.verifies() for i in await again.read(0, 10_000))
    FillsUp.disk = _Endless()
    assert (await booted(again, furniture)).view.digest() == live
    await again.close()


class _Endless:
    folder = Path()

    def fill(self) -> None: ...
    def free(self) -> None: ...


async def test_a_disk_that_is_full_at_the_start_is_told_and_no_half_ledger_is_left(small_disk: SmallDisk):
    disk = small_disk
    disk.fill()
    with pytest.raises(StoreUnavailable, match="is full"):
        await SqliteStore.open(disk.folder / "ledger.db")
    assert not (disk.folder / "ledger.db").exists()
    disk.free()
    store = await SqliteStore.open(disk.folder / "ledger.db")
    await store.close()


async def test_a_stop_on_a_full_disk_is_a_stop(disk: Disk):
    store = await SqliteStore.open(disk.folder / "ledger.db")
    engine = await booted(store)
    async with running(engine):
        for number in range(50):
            await engine.admit(draft(str(number), LONG))
    disk.fill()
    with anyio.fail_after(20):
        await engine.close()
        await store.close()
    disk.free()
    store = await SqliteStore.open(disk.folder / "ledger.db")
    async with running(await booted(store)) as engine:
        await anyio.sleep(0.2)
        assert len(engine.view.of(Tally).state.said) == 50
        assert len(engine.view.of(Tally).state.answered) == 50
    await store.close()


@pytest.mark.parametrize("left", [0, 8192, 80_000, 140_000, 200_000])
def test_a_start_on_a_full_disk_says_to_start_again(small_disk: SmallDisk, left: int) -> None:
    state = small_disk.folder / "state"
    state.mkdir()
    small_disk.fill()
    filler = small_disk.folder / "filler"
    os.truncate(filler, filler.stat().st_size - left)
    refused = subprocess.run(
        [sys.executable, "-m", "relay", "up", "--state", str(state), "--port", "0"],
        cwd=small_disk.folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 1
    assert refused.stderr.endswith("\nFree some space and start the relay again; nothing was lost.\n")
    assert "Traceback" not in refused.stderr

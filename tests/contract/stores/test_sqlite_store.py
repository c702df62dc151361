"""What the SQLite store promises beyond the contract: the file survives, and may be read beside the relay."""

import os
import shutil
import stat
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from ledger.records import alone, facts, record, together

from relay.errors import StoreUnavailable
from relay.ledger.schema import PRAGMAS
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Checkpoint, Group

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


async def test_everything_is_there_after_a_clean_stop(path: Path):
    store = await SqliteStore.open(path)
    await store.append(alone("a", "b"))
    await store.append([Group((record("c", outside=["web:m1"]),))])
    await store.begin_epoch()
    await store.save_cursors({"rule": 2})
    await store.save_checkpoint(Checkpoint("turns", 1, 3, b"{}"))
    before = [facts(i) for i in await store.read(0, 9)]
    await store.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["ledger.db"]
    store = await SqliteStore.open(path)
    assert store.head == 3
    assert await store.epoch() == 1
    assert [facts(i) for i in await store.read(0, 9)] == before
    assert [i.seq for i in await store.by_outside("web:m1")] == [3]
    assert await store.cursors() == {"rule": 2}
    assert (await store.checkpoints())["turns"].seq == 3
    (again,) = await store.append(alone("b"))
    assert again.fresh == (False,)
    (late,) = await store.append(alone("late", fence=0))
    assert late.fenced
    await store.append(alone("d"))
    assert [i.key[-1] for i in await store.read(0, 9)] == ["a", "b", "c", "d"]
    await store.close()


async def test_everything_is_there_after_a_kill(path: Path, tmp_path: Path):
    """What a killed process leaves is its files, as they were; nobody closed them."""
    store = await SqliteStore.open(path)
    await store.append(alone(*map(str, range(700))))
    after = tmp_path / "after"
    after.mkdir()
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        shutil.copy(path.parent / name, after / name)
    await store.append(alone("later"))
    await store.close()
    store = await SqliteStore.open(after / "ledger.db")
    assert [i.key for i in await store.read(0, 999)] == [f"test.said/{n}" for n in range(700)]
    assert all(i.verifies() for i in await store.read(0, 999))
    await store.close()


async def test_the_log_may_be_read_while_the_relay_writes(path: Path):
    writer = await SqliteStore.open(path)
    await writer.append(alone("a"))
    reader = await SqliteStore.open_readonly(path)
    assert [i.key for i in await reader.read(0, 9)] == ["test.said/a"]
    assert reader.head == 1
    await writer.append([together("b", "c")])
    assert len(await reader.read(0, 9)) == 3
    await writer.idle()
    await writer.append(alone("d"))
    assert len(await reader.read(0, 9)) == 4
    await reader.look()
    assert reader.head == 4
    await reader.close()
    await writer.append(alone("e"))
    assert len(await writer.read(0, 9)) == 5
    await writer.close()


async def test_the_log_may_be_read_after_a_kill_and_stays_as_it_is(path: Path, tmp_path: Path):
    store = await SqliteStore.open(path)
    await store.append(alone("a", "b"))
    left = tmp_path / "left"
    left.mkdir()
    for name in ("ledger.db", "ledger.db-wal"):
        shutil.copy(path.parent / name, left / name)
    await store.close()
    before = {name: (left / name).read_bytes() for name in ("ledger.db", "ledger.db-wal")}
    reader = await SqliteStore.open_readonly(left / "ledger.db")
    assert len(await reader.read(0, 9)) == 2
    await reader.close()
    assert {name: (left / name).read_bytes() for name in before} == before


async def test_reading_what_is_not_there_makes_nothing(path: Path):
    with pytest.raises(StoreUnavailable, match="there is no ledger"):
        await SqliteStore.open_readonly(path)
    assert list(path.parent.iterdir()) == []


async def test_a_reader_can_not_write(path: Path):
    await (await SqliteStore.open(path)).close()
    reader = await SqliteStore.open_readonly(path)
    with pytest.raises(AssertionError):
        await reader.append(alone("a"))
    await reader.close()


async def test_only_its_owner_may_read_the_ledger(path: Path):
    old = os.umask(0)
    try:
        store = await SqliteStore.open(path)
        await store.append(alone("a"))
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(old)
    assert set(modes.values()) == {0o600}, modes


async def test_a_start_that_was_cut_off_while_the_file_was_made_begins_again(path: Path):
    for part in (".new", ".new-journal", ".new-wal"):
        path.with_name(path.name + part).write_bytes(b"half a ledger" * 100)
    store = await SqliteStore.open(path)
    await store.append(alone("a"))
    await store.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["ledger.db"]


@pytest.mark.parametrize(
    "name", ["with space.db", "per%cent.db", "a?b#c.db", "ünïcode-世界.db", "quote'\".db"]
)
async def test_a_folder_may_have_any_name(tmp_path: Path, name: str):
    folder = tmp_path / name
    folder.mkdir()
    store = await SqliteStore.open(folder / name)
    await store.append(alone("a"))
    reader = await SqliteStore.open_readonly(folder / name)
    assert len(await reader.read(0, 9)) == 1
    await reader.close()
    await store.close()
    assert [p.name for p in folder.iterdir()] == [name]


async def test_an_append_whose_caller_is_gone_is_whole_and_the_next_one_goes_on(path: Path):
    store = await SqliteStore.open(path)
    for count in (1, 30, 800):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append, alone(*(f"{count}-{n}" for n in range(count))))
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        await store.close()
        store = await SqliteStore.open(path)
        there = {i.key for i in await store.read(0, 9999)}
        assert len([key for key in there if key.startswith(f"test.said/{count}-")]) in (0, count)
        await store.append(alone(f"after {count}"))
    await store.close()


def test_the_writing_connection_syncs_every_commit():
    assert "PRAGMA synchronous=FULL" in PRAGMAS
    assert "PRAGMA journal_mode=WAL" in PRAGMAS


async def test_the_sqlite_of_this_machine_takes_what_the_store_relies_on(path: Path):
    store = await SqliteStore.open(path)
    outcomes = await store.append(alone(*map(str, range(500))))
    assert all(o.fresh == (True,) for o in outcomes)
    await store.close()

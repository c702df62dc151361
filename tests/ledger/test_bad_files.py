"""Files that are no ledger, or not a whole one: each is refused with a sentence, and left as it is."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger.records import alone, record

from relay.errors import DamagedDatabase, Exit, NewerDatabase, RelayError, StoreUnavailable
from relay.ledger.lock import StateLock
from relay.ledger.schema import VERSION
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group

pytestmark = pytest.mark.anyio

NAMES = ("ledger.db", "ledger.db-wal")


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but SQLite's shared memory and an empty WAL, which hold nothing that lasts."""
    found = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and not p.name.endswith("-shm")}
    return {name: data for name, data in found.items() if data or not name.endswith("-wal")}


async def refusal(path: Path, kind: type[RelayError]) -> RelayError:
    """The refusal of both ways to open it, after which every file is as it was."""
    before = files(path.parent)
    with pytest.raises(kind) as read_only:
        await SqliteStore.open_readonly(path)
    assert files(path.parent) == before
    with pytest.raises(kind) as refused:
        await SqliteStore.open(path)
    assert files(path.parent) == before
    for error in (read_only.value, refused.value):
        assert str(path) in str(error)
        assert error.advice
        assert "\n" not in str(error)
    return refused.value


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that was stopped cleanly: one file."""
    folder = tmp_path_factory.mktemp("whole")

    async def make() -> None:
        store = await SqliteStore.open(folder / "ledger.db")
        await store.append([Group((record(str(n), "x" * 500),)) for n in range(900)])
        await store.close()

    anyio.run(make)
    return folder


@pytest.fixture(scope="module")
def killed(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose relay was killed: the file, and a WAL with what was not yet put into it."""
    folder = tmp_path_factory.mktemp("killed")
    shutil.copytree(whole, folder / "live")

    async def make() -> None:
        store = await SqliteStore.open(folder / "live" / "ledger.db")
        await store.append([Group((record(f"more {n}", "x" * 500),)) for n in range(300)])
        for name in NAMES:
            shutil.copy(folder / "live" / name, folder / name)
        await store.close()

    anyio.run(make)
    shutil.rmtree(folder / "live")
    return folder


def copied(source: Path, folder: Path) -> Path:
    for name, data in files(source).items():
        (folder / name).write_bytes(data)
    return folder / "ledger.db"


async def count(path: Path) -> int:
    """How many records there are; every one verifies, and another can be written."""
    store = await SqliteStore.open(path)
    try:
        records = await store.read(0, 100_000)
        assert all(i.verifies() for i in records)
        assert [i.seq for i in records] == list(range(1, len(records) + 1))
        await store.append(alone("one more"))
        return len(records)
    finally:
        await store.close()


CUTS: dict[str, Callable[[int], int]] = {
    "0": lambda size: 0,
    "1": lambda size: 1,
    "50": lambda size: 50,
    "99": lambda size: 99,
    "511": lambda size: 511,
    "a page": lambda size: 4096,
    "two pages": lambda size: 8192,
    "half": lambda size: size // 2,
    "half a page less": lambda size: size - 2048,
    "a page less": lambda size: size - 4096,
    "a byte less": lambda size: size - 1,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
async def test_a_file_cut_short_is_refused_and_left_as_it_is(
    whole: Path, tmp_path: Path, cut: Callable[[int], int]
):
    path = copied(whole, tmp_path)
    os.truncate(path, cut(path.stat().st_size))
    error = await refusal(path, DamagedDatabase)
    assert "backup" in error.advice


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
async def test_a_file_cut_short_beside_a_wal_is_refused_unless_the_wal_makes_it_whole(
    killed: Path, tmp_path: Path, cut: Callable[[int], int]
):
    path = copied(killed, tmp_path)
    size = path.stat().st_size
    os.truncate(path, cut(size))
    if cut(size) <= size // 2:
        await refusal(path, DamagedDatabase)
        return
    try:
        found = await count(path)
    except DamagedDatabase:
        os.truncate(path, cut(size))
        await refusal(path, DamagedDatabase)
    else:
        assert found == 1200


async def test_a_killed_relays_files_are_whole(killed: Path, tmp_path: Path):
    assert await count(copied(killed, tmp_path)) == 1200


@pytest.mark.parametrize("left", [0, 20, 32, 4000, 50_000, -1])
async def test_a_wal_cut_short_costs_only_what_stood_behind_the_cut(killed: Path, tmp_path: Path, left: int):
    """No commit was acknowledged whose bytes were not in the WAL; a cut one is as if it was never asked for."""
    path = copied(killed, tmp_path)
    wal = tmp_path / "ledger.db-wal"
    os.truncate(wal, left if left >= 0 else wal.stat().st_size + left)
    assert await count(path) in (900, 1200)


async def test_a_wal_whose_ledger_is_gone_is_not_begun_anew(killed: Path, tmp_path: Path):
    """A new file beside an old WAL would be filled with the pages of the old one."""
    path = copied(killed, tmp_path)
    path.unlink()
    error = await refusal(path, DamagedDatabase)
    assert "ledger.db-wal" in error.told()


async def test_moving_both_files_away_begins_anew(killed: Path, tmp_path: Path):
    path = copied(killed, tmp_path)
    for name in NAMES:
        (tmp_path / name).unlink()
    assert await count(path) == 0


@pytest.mark.parametrize("size", [1, 100, 512, 5000, 100_000])
async def test_what_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path, size: int):
    path = tmp_path / "ledger.db"
    path.write_bytes(random.Random(size).randbytes(size))
    await refusal(path, DamagedDatabase)
    path.write_bytes((b"SQLite format 3\0" + random.Random(size).randbytes(size))[:size])
    await refusal(path, DamagedDatabase)


@given(st.integers(0, 99), st.integers(1, 255))
@settings(max_examples=40)
def test_a_byte_that_was_flipped_in_the_header_is_refused_or_harmless(whole: Path, at: int, flip: int):
    async def look() -> None:
        async with anyio.TemporaryDirectory() as folder:
            path = copied(whole, Path(folder))
            data = bytearray(path.read_bytes())
            data[at] ^= flip
            path.write_bytes(data)
            before = files(path.parent)
            try:
                assert await count(path) == 900
            except RelayError:
                assert files(path.parent) == before

    anyio.run(look)


async def test_a_ledger_of_a_newer_relay_is_left_to_it(whole: Path, tmp_path: Path):
    path = copied(whole, tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    error = await refusal(path, NewerDatabase)
    assert "newer relay" in str(error)
    assert "Update this relay" in error.advice
    assert error.code == Exit.NEWER_DATABASE == 5


async def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path):
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs(title TEXT)")
    connection.commit()
    connection.close()
    error = await refusal(path, DamagedDatabase)
    assert "not a ledger" in str(error)


async def test_a_ledger_without_its_tables_is_refused(tmp_path: Path):
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("CREATE TABLE songs(title TEXT)")
    connection.commit()
    connection.close()
    await refusal(path, DamagedDatabase)


async def test_a_folder_in_the_ledgers_place_is_refused(tmp_path: Path):
    path = tmp_path / "ledger.db"
    path.mkdir()
    await refusal(path, StoreUnavailable)


async def test_a_page_that_was_damaged_is_told_when_it_is_read(whole: Path, tmp_path: Path):
    path = copied(whole, tmp_path)
    data = bytearray(path.read_bytes())
    for at in range(4096 * 8, len(data), 4096):
        data[at : at + 2000] = b"\xff" * 2000
    path.write_bytes(data)
    with pytest.raises(DamagedDatabase):
        await count(path)


# -- a folder that may not be written ----------------------------------------------------------------------------------


def as_nobody(act: Callable[[], object]) -> str:
    """What `act` raises in a process without root's rights: the name of the error and its text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            act()
        except BaseException as error:
            said = f"{type(error).__name__}: {error.told() if isinstance(error, RelayError) else error}"
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def sealed(whole: Path, tmp_path_factory: pytest.TempPathFactory):
    """A folder with a ledger that everybody may read and nobody may write."""
    folder = Path("/tmp") / f"sealed-{os.getpid()}"
    folder.mkdir(mode=0o755)
    path = copied(whole, folder)
    path.chmod(0o444)
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_ledger_that_may_not_be_written_is_told_as_such(sealed: Path):
    before = files(sealed.parent)
    said = as_nobody(lambda: anyio.run(SqliteStore.open, sealed))
    assert said.startswith("StoreUnavailable: ")
    assert str(sealed) in said
    assert "permissions" in said
    assert files(sealed.parent) == before


def test_a_folder_that_may_not_be_written_is_told_before_anything_is_opened(sealed: Path):
    said = as_nobody(StateLock(sealed.parent / "lock").take)
    assert said.startswith("StoreUnavailable: ")
    assert "Permission denied" in said
    assert "--state DIR" in said


def test_a_new_ledger_in_a_folder_that_may_not_be_written_is_told_as_such(sealed: Path):
    said = as_nobody(lambda: anyio.run(SqliteStore.open, sealed.with_name("other.db")))
    assert said.startswith("StoreUnavailable: ")
    assert "other.db" in said


def test_a_ledger_that_may_not_be_read_is_told_as_such(sealed: Path):
    sealed.chmod(0o000)
    for open_it in (SqliteStore.open, SqliteStore.open_readonly):
        said = as_nobody(lambda open_it=open_it: anyio.run(open_it, sealed))
        assert said.startswith("StoreUnavailable: ")
        assert "Permission denied" in said

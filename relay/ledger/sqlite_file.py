"""The ledger's file before it is used: made whole, or refused with what is wrong with it.

SQLite takes an empty file for a new database and a cut one for a whole one until it meets the hole; and opening to
write may change what it opens. So everything here only looks, until the file is known to be a ledger of ours.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import aiosqlite

from relay.errors import DamagedDatabase, NewerDatabase, RelayError, StoreUnavailable
from relay.ledger.schema import MIGRATIONS, VERSION

_ADVICE = (
    "Restore it from a backup, or move ledger.db and ledger.db-wal away to begin anew; nothing was changed."
)
_HEADER = b"SQLite format 3\0"
_WAL_MAGIC = (0x377F0682, 0x377F0683)


def told(path: Path, error: Exception) -> RelayError:
    """An error of SQLite or the system as one that a person can act on."""
    text = str(error)
    if any(sign in text for sign in ("malformed", "not a database", "no such", "file format")):
        return DamagedDatabase(f"the ledger {path} is damaged ({text}).", _ADVICE)
    if "full" in text or getattr(error, "errno", None) == 28:
        return StoreUnavailable(
            f"the disk that holds {path} is full.", "Free some space; the relay goes on by itself."
        )
    return StoreUnavailable(
        f"the ledger {path} can't be used just now ({text}).", "Check the disk and its permissions."
    )


def uri(path: Path) -> str:
    """The address that opens the file for reading only."""
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode=ro"


def refuse_broken(path: Path) -> None:
    """Raises `DamagedDatabase` for a file that is no database or misses a part, `OSError` when it can't be read."""
    wal = path.with_name(path.name + "-wal")
    has_wal = wal.exists() and wal.stat().st_size > 0
    if not path.exists():
        if has_wal:
            raise DamagedDatabase(f"{path} is gone, but what belongs to it is there ({wal.name}).", _ADVICE)
        return
    with path.open("rb") as file:
        header = file.read(100)
        size = file.seek(0, os.SEEK_END)
    if size < 512 or not header.startswith(_HEADER):
        raise DamagedDatabase(f"{path} is not a whole ledger ({size} bytes).", _ADVICE)
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    pages, logged = int.from_bytes(header[28:32], "big"), set[int]()
    if has_wal:
        pages, logged = _wal_pages(wal, page, pages)
    there = size // page if page else 0
    if page < 512 or any(number not in logged for number in range(there + 1, pages + 1)):
        raise DamagedDatabase(f"{path} was cut short ({size} of {pages * page} bytes).", _ADVICE)


def _wal_pages(wal: Path, page: int, pages: int) -> tuple[int, set[int]]:
    """How many pages the database has by its last commit in the WAL, and which of them stand in the WAL.

    `pages` is what the file itself says, which holds when nothing was committed to this WAL.
    """
    logged: set[int] = set()
    with wal.open("rb") as file:
        head = file.read(32)
        if len(head) < 32 or int.from_bytes(head[:4], "big") not in _WAL_MAGIC:
            return pages, logged
        salts, step = head[16:24], page + 24
        at = 32
        seen: set[int] = set()
        while len(frame := os.pread(file.fileno(), 24, at)) == 24 and frame[8:16] == salts:
            seen.add(int.from_bytes(frame[:4], "big"))
            if after := int.from_bytes(frame[4:8], "big"):
                pages = after
                logged |= seen
                seen.clear()
            at += step
    return pages, logged


async def version_of(path: Path, connection: aiosqlite.Connection) -> int:
    """The format of an existing ledger. Raises `NewerDatabase`, and `DamagedDatabase` for what is no ledger."""
    ((found,),) = await connection.execute_fetchall("PRAGMA user_version")
    if found > VERSION:
        raise NewerDatabase(
            f"the ledger {path} was written by a newer relay (format {found}, this one knows {VERSION}).",
            "Update this relay; nothing was changed.",
        )
    if found < 1:  # a ledger gets its version in the transaction that makes it
        raise DamagedDatabase(f"{path} is a database, but not a ledger.", _ADVICE)
    return int(found)


async def create(path: Path) -> None:
    """Make the file whole under another name, so that a crash in between leaves no half ledger."""
    fresh = path.with_name(path.name + ".new")
    for part in ("", "-journal", "-wal", "-shm"):
        fresh.with_name(fresh.name + part).unlink(missing_ok=True)
    connection = await aiosqlite.connect(fresh, isolation_level=None)
    try:
        await connection.execute_fetchall("PRAGMA journal_mode=WAL")
        await migrate(connection, 0)
    finally:
        await connection.close()
    fresh.chmod(0o600)
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def migrate(connection: aiosqlite.Connection, found: int) -> None:
    """Bring a ledger of that format to today's, one transaction a step."""
    for version, script in enumerate(MIGRATIONS[found:], found + 1):
        try:
            await connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                await connection.execute("ROLLBACK")
            raise

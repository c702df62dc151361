"""A database file of ours before it is used: made whole, or refused with what is wrong with it.

SQLite takes an empty file for a new database and a cut one for a whole one until it meets the hole; and opening to
write may change what it opens. So everything here only looks, until the file is known to be ours. It knows nothing of
what stands in the tables.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiosqlite
import anyio

from relay.errors import DamagedDatabase, NewerDatabase, RelayError, StoreUnavailable

_HEADER = b"SQLite format 3\0"
_WAL_MAGIC = (0x377F0682, 0x377F0683)


@dataclass(frozen=True, slots=True)
class Database:
    """A file, what it is called when something is wrong with it, and how its tables come to be."""

    path: Path
    what: str
    """For people: `ledger`."""
    migrations: tuple[str, ...]
    """`user_version` counts those that have run."""
    pragmas: tuple[str, ...]
    """Run on the connection that writes."""
    touch: tuple[str, ...]
    """Questions that only a whole file of ours answers, so that a hole is met now and not later."""
    when_full: str
    """What to do when the disk is full."""

    async def open(self) -> tuple[aiosqlite.Connection, aiosqlite.Connection]:
        """Open the file, made first if it isn't there: a connection that only reads, and the one that writes.

        Raises `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`; what it refuses it leaves as it is.
        """
        with self.telling():
            self._refuse_broken()
            if not self.path.exists():
                await self._create()
        reader = await self.open_readonly()
        try:
            with self.telling():
                writer = await aiosqlite.connect(self.path, isolation_level=None)
                try:
                    await self._migrate(writer, await self._version(reader))
                    for pragma in self.pragmas:
                        await writer.execute_fetchall(pragma)
                except BaseException:
                    await _close(writer)
                    raise
        except BaseException:
            await _close(reader)
            raise
        return reader, writer

    async def open_readonly(self) -> aiosqlite.Connection:
        """A connection that can't write, to a file that is there. Raises as `open` does."""
        with self.telling():
            self._refuse_broken()
            quoted = str(self.path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            reader = await aiosqlite.connect(f"file:{quoted}?mode=ro", uri=True, isolation_level=None)
            try:
                await self._version(reader)
                for question in self.touch:
                    await reader.execute_fetchall(question)
            except BaseException:
                await _close(reader)
                raise
        return reader

    @contextmanager
    def telling(self) -> Generator[None]:
        """Turns errors of SQLite and the system inside the block into what `told` makes of them."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.told(error) from error

    def told(self, error: Exception) -> RelayError:
        """An error of SQLite or the system as one that a person can act on."""
        text = str(error)
        if any(sign in text for sign in ("malformed", "not a database", "no such", "file format")):
            return self._damaged(f"the {self.what} {self.path} is damaged ({text}).")
        if "full" in text or getattr(error, "errno", None) == 28:
            unavailable = StoreUnavailable(f"the disk that holds {self.path} is full.", self.when_full)
            unavailable.full = True
            return unavailable
        return StoreUnavailable(
            f"the {self.what} {self.path} can't be used just now ({text}).",
            "Check the disk and its permissions.",
        )

    def _damaged(self, problem: str) -> DamagedDatabase:
        name = self.path.name
        advice = f"Restore it from a backup, or move {name} and {name}-wal away to begin anew; nothing was changed."
        return DamagedDatabase(problem, advice)

    def _refuse_broken(self) -> None:
        """Raises `DamagedDatabase` for a file that is no database or misses a part, `OSError` when it can't be read."""
        path = self.path
        wal = path.with_name(path.name + "-wal")
        has_wal = wal.exists() and wal.stat().st_size > 0
        if not path.exists():
            if has_wal:
                raise self._damaged(f"{path} is gone, but what belongs to it is there ({wal.name}).")
            return
        with path.open("rb") as file:
            header = file.read(100)
            size = file.seek(0, os.SEEK_END)
        if size < 512 or not header.startswith(_HEADER):
            raise self._damaged(f"{path} is not a whole {self.what} ({size} bytes).")
        page = int.from_bytes(header[16:18], "big")
        page = 65536 if page == 1 else page
        pages, logged = int.from_bytes(header[28:32], "big"), set[int]()
        if has_wal:
            pages, logged = _wal_pages(wal, page, pages)
        there = size // page if page else 0
        if page < 512 or any(number not in logged for number in range(there + 1, pages + 1)):
            raise self._damaged(f"{path} was cut short ({size} of {pages * page} bytes).")

    async def _version(self, connection: aiosqlite.Connection) -> int:
        """The format of the existing file. Raises `NewerDatabase`, and `DamagedDatabase` for what isn't ours."""
        ((found,),) = await connection.execute_fetchall("PRAGMA user_version")
        if found > (known := len(self.migrations)):
            raise NewerDatabase(
                f"the {self.what} {self.path} was written by a newer relay (format {found}, this one knows {known}).",
                "Update this relay; nothing was changed.",
            )
        if found < 1:  # a database of ours gets its version in the transaction that makes it
            raise self._damaged(f"{self.path} is a database, but not a {self.what}.")
        return int(found)

    async def _create(self) -> None:
        """Make the file whole under another name, so that a crash in between leaves no half one."""
        fresh = self.path.with_name(self.path.name + ".new")
        for part in ("", "-journal", "-wal", "-shm"):
            fresh.with_name(fresh.name + part).unlink(missing_ok=True)
        connection = await aiosqlite.connect(fresh, isolation_level=None)
        try:
            await connection.execute_fetchall("PRAGMA journal_mode=WAL")
            await self._migrate(connection, 0)
            # Here a full disk is an error; at the close SQLite would leave the rest in the WAL, and say nothing.
            await connection.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            await connection.close()
        fresh.chmod(0o600)
        fresh.rename(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def _migrate(self, connection: aiosqlite.Connection, found: int) -> None:
        """Bring a file of that format to today's, one transaction a step."""
        for version, script in enumerate(self.migrations[found:], found + 1):
            try:
                await connection.executescript(
                    f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
                )
            except sqlite3.Error:
                if connection.in_transaction:
                    await connection.execute("ROLLBACK")
                raise


async def _close(connection: aiosqlite.Connection) -> None:
    with anyio.CancelScope(shield=True):
        await connection.close()


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

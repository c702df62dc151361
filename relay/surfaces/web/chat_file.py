"""The file behind the page's chat: opening, migrating, one transaction at a time. It knows no message.

SQLite in WAL mode with `synchronous=FULL`, as the ledger is: what was answered with "sent" survives a power cut. A
transaction is shielded from cancellation, because a cancelled aiosqlite call still executes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio

from relay.errors import DamagedDatabase, NewerDatabase, StoreUnavailable
from relay.surfaces.web.schema import MIGRATIONS, VERSION

_ADVICE = "Restore it from a backup, or move the file away to begin with an empty page; nothing was changed."


class ChatFile:
    """An open chat file. Made by `open`."""

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._path = path
        self._writer = writer
        self._reader = reader
        self._turn = anyio.Lock()

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the file. Raises `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`."""
        opened: list[aiosqlite.Connection] = []
        try:
            if path.exists():
                _refuse_cut(path)
            else:
                await _create(path)
            writer = await aiosqlite.connect(path, isolation_level=None)
            opened.append(writer)
            await _migrate(path, writer)
            await writer.execute("PRAGMA journal_mode=WAL")
            await writer.execute("PRAGMA synchronous=FULL")
            name = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            reader = await aiosqlite.connect(f"file:{name}?mode=ro", uri=True, isolation_level=None)
            opened.append(reader)
            # Touches every table, so that a hole is met now and not at the first message.
            for table in ("thread", "message", "reaction", "undelivered"):
                await reader.execute_fetchall(f"SELECT max(number) FROM {table}")
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                for connection in opened:
                    await connection.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise _told(path, error) from error
            raise
        return cls(path, writer, reader)

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[aiosqlite.Connection]:
        """One transaction: durable when the block is left, undone when it raises. Raises `StoreUnavailable`."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                try:
                    await self._writer.execute("BEGIN IMMEDIATE")
                    try:
                        yield self._writer
                        await self._writer.execute("COMMIT")
                    except BaseException:
                        if self._writer.in_transaction:
                            await self._writer.execute("ROLLBACK")
                        raise
                except sqlite3.Error as error:
                    raise _told(self._path, error) from error

    async def fetch(self, query: str, *values: Any) -> list[Any]:
        """Rows of what is committed. Raises `StoreUnavailable`."""
        try:
            return list(await self._reader.execute_fetchall(query, values))
        except sqlite3.Error as error:
            raise _told(self._path, error) from error

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()


def _told(path: Path, error: Exception) -> DamagedDatabase | StoreUnavailable:
    text = str(error)
    if any(sign in text for sign in ("malformed", "not a database", "no such table", "no such column")):
        return DamagedDatabase(f"the page's chat {path} is damaged ({text}).", _ADVICE)
    if "full" in text or getattr(error, "errno", None) == 28:
        return StoreUnavailable(
            f"the disk that holds {path} is full.", "Free some space and send it again; nothing was lost."
        )
    return StoreUnavailable(
        f"the page's chat {path} can't be used just now ({text}).", "Check the disk and its permissions."
    )


def _refuse_cut(path: Path) -> None:
    """SQLite would take an empty file for a new database, and a cut one for whole until it meets the hole."""
    wal = path.with_name(path.name + "-wal")
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(100)
    if size < 512 or not header.startswith(b"SQLite format 3\0"):
        raise DamagedDatabase(f"{path} is not a page's chat ({size} bytes).", _ADVICE)
    page = int.from_bytes(header[16:18], "big")
    whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if size < whole and not (wal.exists() and wal.stat().st_size > 0):
        raise DamagedDatabase(f"{path} was cut short ({size} of {whole} bytes).", _ADVICE)


async def _create(path: Path) -> None:
    """Make the file whole under another name, so that a crash in between leaves no half chat."""
    fresh = path.with_name(path.name + ".new")
    for old in (fresh, fresh.with_name(fresh.name + "-journal")):
        old.unlink(missing_ok=True)
    connection = await aiosqlite.connect(fresh, isolation_level=None)
    try:
        await _migrate(fresh, connection)
    finally:
        await connection.close()
    fresh.chmod(0o600)
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


async def _migrate(path: Path, connection: aiosqlite.Connection) -> None:
    (row,) = await connection.execute_fetchall("PRAGMA user_version")
    found = int(row[0])
    if found > VERSION:
        raise NewerDatabase(
            f"the page's chat {path} was written by a newer relay (format {found}, this one knows {VERSION}).",
            "Update this relay; nothing was changed.",
        )
    for version, script in enumerate(MIGRATIONS[found:], found + 1):
        await connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
        )

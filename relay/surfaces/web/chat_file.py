"""The file behind the page's chat: one transaction at a time. It knows no message.

SQLite in WAL mode with `synchronous=FULL`, as the ledger is: what was answered with "sent" survives a power cut. A
transaction is shielded from cancellation, because a cancelled aiosqlite call still executes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio

from relay.ledger.database import Database, scrubbed
from relay.surfaces.web.schema import MIGRATIONS

TABLES = ("thread", "message", "reaction", "undelivered")


class ChatFile:
    """An open chat file. Made by `open`."""

    def __init__(
        self, database: Database, reader: aiosqlite.Connection, writer: aiosqlite.Connection
    ) -> None:
        self._database = database
        self._reader = reader
        self._writer = writer
        self._turn = anyio.Lock()

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the file. Raises `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`."""
        database = Database(
            path,
            "page's chat",
            MIGRATIONS,
            pragmas=("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA secure_delete=ON"),
            touch=tuple(f"SELECT max(number) FROM {table}" for table in TABLES),
            when_full="Free some space and send it again; nothing was lost.",
        )
        return cls(database, *await database.open())

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[aiosqlite.Connection]:
        """One transaction: durable when the block is left, undone when it raises. Raises `StoreUnavailable`."""
        with anyio.CancelScope(shield=True):
            async with self._turn:
                with self._database.telling():
                    await self._writer.execute("BEGIN IMMEDIATE")
                    try:
                        yield self._writer
                        await self._writer.execute("COMMIT")
                    except BaseException:
                        if self._writer.in_transaction:
                            await self._writer.execute("ROLLBACK")
                        raise

    async def fetch(self, query: str, *values: Any) -> list[Any]:
        """Rows of what is committed. Raises `StoreUnavailable`."""
        with self._database.telling():
            return list(await self._reader.execute_fetchall(query, values))

    async def scrub(self) -> bool:
        """Take out of the file and its WAL what was overwritten or deleted; False when a reader keeps a part of it.

        SQLite leaves copies of rows behind when it moves them, so the whole file is written anew. Raises
        `StoreUnavailable`.
        """
        done = False
        with anyio.CancelScope(shield=True):
            async with self._turn:
                with self._database.telling():
                    await self._writer.execute("VACUUM")
                    done = await scrubbed(self._writer)
        return done

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()

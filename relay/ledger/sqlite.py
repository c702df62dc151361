"""The SQLite store: one file, one writing connection, `synchronous=FULL`.

Only the engine's committer calls `append`, one call at a time, and nobody cancels it (a cancelled aiosqlite call still
executes, and a cancel between BEGIN and COMMIT would leave the transaction open for the next caller). Readers have a
connection of their own that can't write. FULL costs a fifth of a millisecond a commit and loses nothing in a power cut.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio
import orjson

from relay.errors import DamagedDatabase, StoreUnavailable
from relay.ledger.database import Database, scrubbed
from relay.ledger.interaction import GONE_SALT, Interaction, blob_name
from relay.ledger.schema import (
    ADMIT,
    ADMIT_MORE,
    EMPTY,
    EPOCH,
    FIRSTS,
    FORGET_NAME,
    HEAD,
    MIGRATIONS,
    PRAGMAS,
    RAISE_EPOCH,
    SELECT,
    WRITTEN_SINCE,
)
from relay.ledger.store import Checkpoint, Group, Outcome, Residue

_ID = re.compile(r"[0-9a-f]{64}\Z")

ONE_STATEMENT = 500
"""Records that one statement takes; SQLite allows 32,766 values in it. More go as a transaction."""


def ledger_at(path: Path) -> Database:
    """The ledger's file."""
    return Database(
        path,
        "ledger",
        MIGRATIONS,
        PRAGMAS,
        touch=(HEAD, EPOCH),
        when_full="Free some space; the relay goes on by itself.",
    )


class SqliteStore:
    """See `Store`. Made by `open`; for reading alone by `open_readonly`."""

    def __init__(
        self, database: Database, reader: aiosqlite.Connection, writer: aiosqlite.Connection | None
    ) -> None:
        self._database = database
        self._reader = reader
        self._write = writer
        self._head = 0
        self._epoch = 0
        self._dirty = False
        # Of the committer and of whoever redacts: what one writes must not fall into the other's transaction.
        self._turn = anyio.Lock(fast_acquire=True)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the ledger. Raises `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`; what it refuses it
        leaves as it is."""
        database = ledger_at(path)
        return await cls(database, *await database.open())._looked()

    @classmethod
    async def open_readonly(cls, path: Path) -> Self:
        """Open a ledger to read it, beside a running relay or without one. Raises as `open` does."""
        database = ledger_at(path)
        with database.telling():
            if not path.exists() and not path.with_name(path.name + "-wal").exists():
                raise StoreUnavailable(
                    f"there is no ledger at {path}.", "Name the state folder with --state DIR."
                )
        return await cls(database, await database.open_readonly(), None)._looked()

    async def _looked(self) -> Self:
        try:
            await self.look()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()
            raise
        return self

    async def look(self) -> None:
        """Read again where the ledger stands."""
        async with self._asking() as ask:
            ((head,),) = await ask.execute_fetchall(HEAD)
            ((epoch,),) = await ask.execute_fetchall(EPOCH)
        self._head, self._epoch = int(head), int(epoch)

    @property
    def head(self) -> int:
        return self._head

    # -- writing ----------------------------------------------------------------------------------------------------

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        assert self._write is not None, "a read-only store was asked to write"
        rows: list[tuple[Any, ...]] = []
        expected = 0
        for group in groups:
            for record in group.records:
                record.seq = self._head + len(rows) + 1
                rows.append(_row(record, group.fence))
                expected += 2 + len(record.outside)
        if not rows:
            return [self._outcome(group, None, {}) for group in groups]
        async with self._turn:
            try:
                before = self._write.total_changes
                await (self._one if len(rows) <= ONE_STATEMENT else self._many)(self._write, rows)
            except sqlite3.Error as error:
                raise self._database.told(error) from error
            self._dirty = True
            if self._write.total_changes - before == expected:  # the common case: each of them is new
                written, firsts = None, dict[str, Interaction]()
                self._head += len(rows)
            else:
                written, firsts = await self._look_back(self._write, rows)
                self._head = max(written, default=self._head)
        return [self._outcome(group, written, firsts) for group in groups]

    async def _one(self, write: aiosqlite.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """All of them as one autocommit statement: one trip to the thread, and no transaction that could stay open."""
        statement = ADMIT + ADMIT_MORE * (len(rows) - 1)
        await write.execute_fetchall(statement, [value for row in rows for value in row])

    async def _many(self, write: aiosqlite.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        await write.execute_fetchall("BEGIN IMMEDIATE")
        try:
            await write.executemany(ADMIT, rows)
            await write.execute_fetchall("COMMIT")
        except BaseException:
            if write.in_transaction:
                await write.execute_fetchall("ROLLBACK")
            raise

    async def _look_back(
        self, write: aiosqlite.Connection, rows: Sequence[tuple[Any, ...]]
    ) -> tuple[set[int], dict[str, Interaction]]:
        """Which seqs were written, and for the keys that stood already their first records."""
        try:
            written = {int(row[0]) for row in await write.execute_fetchall(WRITTEN_SINCE, (self._head,))}
            keys = orjson.dumps([row[2] for row in rows if row[0] not in written]).decode()
            firsts = await write.execute_fetchall(FIRSTS, (keys,))
        except sqlite3.Error as error:
            # What is durable by now was never folded: only a new start can tell.
            raise DamagedDatabase(
                f"the ledger {self._database.path} took a write and can't be read back ({error}).",
                "Check the disk, then start the relay again: it goes on where it was.",
            ) from error
        return written, {i.key: i for i in map(_interaction, firsts)}

    def _outcome(self, group: Group, written: set[int] | None, firsts: Mapping[str, Interaction]) -> Outcome:
        """`written` are the seqs that are new; None when all are."""
        if group.fence is not None and group.fence != self._epoch:
            return Outcome((), (), fenced=True)
        if written is None:
            return Outcome(group.records, (True,) * len(group.records))
        stands: list[Interaction] = []
        fresh: list[bool] = []
        for record in group.records:
            new = record.seq in written
            first = record if new else firsts.get(record.key)
            if first is None:  # neither written nor there before: only the fence can have kept it out
                return Outcome((), (), fenced=True)
            stands.append(first)
            fresh.append(new)
        return Outcome(tuple(stands), tuple(fresh))

    async def begin_epoch(self) -> int:
        assert self._write is not None, "a read-only store was asked to write"
        async with self._turn:
            try:
                rows = await self._write.execute_fetchall(RAISE_EPOCH)
            except sqlite3.Error as error:
                raise self._database.told(error) from error
        self._epoch = int(next(iter(rows))[0])
        return self._epoch

    async def save_cursors(self, cursors: Mapping[str, int]) -> None:
        await self._save(("INSERT OR REPLACE INTO cursor VALUES (?, ?)", list(cursors.items())))

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._save(("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)", [_checkpoint(checkpoint)]))

    async def renew_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        # A DELETE of all rows overwrites each page of the table whole, also what an earlier move of a row left behind.
        await self._save(
            ("DELETE FROM checkpoint", [()]),
            ("INSERT INTO checkpoint VALUES (?, ?, ?, ?)", [_checkpoint(each) for each in checkpoints]),
        )

    async def redact(self, residues: Sequence[Residue]) -> None:
        await self._save(
            (FORGET_NAME, [(bytes.fromhex(r.id), blob_name(digest)) for r in residues for digest in r.blobs]),
            (EMPTY, [(bytes.fromhex(r.id), r.raw, GONE_SALT) for r in residues]),
        )

    async def _save(self, *statements: tuple[str, Sequence[tuple[Any, ...]]]) -> None:
        """One transaction. Not to be cut in two by a cancellation: the next one would fall into it."""
        assert self._write is not None, "a read-only store was asked to write"
        with anyio.CancelScope(shield=True):
            async with self._turn:
                try:
                    await self._write.execute_fetchall("BEGIN IMMEDIATE")
                    try:
                        for statement, rows in statements:
                            await self._write.executemany(statement, rows)
                        await self._write.execute_fetchall("COMMIT")
                    except BaseException:
                        if self._write.in_transaction:
                            await self._write.execute_fetchall("ROLLBACK")
                        raise
                except sqlite3.Error as error:
                    raise self._database.told(error) from error

    async def scrub(self) -> bool:
        assert self._write is not None, "a read-only store was asked to write"
        done = False
        with anyio.CancelScope(shield=True):
            async with self._turn:
                try:
                    done = await scrubbed(self._write)
                except sqlite3.Error as error:
                    raise self._database.told(error) from error
        return done

    async def idle(self) -> None:
        if self._dirty and self._write is not None:
            self._dirty = False
            async with self._turn:
                try:
                    await self._write.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")
                except sqlite3.Error as error:
                    raise self._database.told(error) from error

    async def close(self) -> None:
        try:
            await self._reader.close()
        finally:
            if self._write is not None:
                await self._write.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[aiosqlite.Connection]:
        try:
            yield self._reader
        except sqlite3.Error as error:
            raise self._database.told(error) from error

    async def _fetch(self, tail: str, *values: Any) -> list[Interaction]:
        async with self._asking() as ask:
            return [_interaction(row) for row in await ask.execute_fetchall(f"{SELECT} {tail}", values)]

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return await self._fetch("WHERE i.seq > ? ORDER BY i.seq LIMIT ?", after, limit)

    async def read_back(self, before: int, limit: int) -> list[Interaction]:
        return await self._fetch("WHERE i.seq < ? ORDER BY i.seq DESC LIMIT ?", before, limit)

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Interaction]:
        wanted = [bytes.fromhex(id) for id in ids if _ID.match(id)]
        found: dict[str, Interaction] = {}
        for start in range(0, len(wanted), 500):
            some = wanted[start : start + 500]
            marks = ",".join("?" * len(some))
            found |= {i.id: i for i in await self._fetch(f"WHERE i.id IN ({marks})", *some)}
        return found

    async def by_prefix(self, prefix: str, limit: int) -> list[Interaction]:
        prefix = prefix.lower()
        if not prefix or len(prefix) > 64 or any(c not in "0123456789abcdef" for c in prefix):
            return []
        low = bytes.fromhex(prefix.ljust(64, "0"))
        high = bytes.fromhex(prefix.ljust(64, "f"))
        return await self._fetch("WHERE i.id BETWEEN ? AND ? ORDER BY i.seq LIMIT ?", low, high, limit)

    async def by_outside(self, outside: str) -> list[Interaction]:
        return await self._fetch(
            "WHERE i.seq IN (SELECT seq FROM outside WHERE name = ?) ORDER BY i.seq", outside
        )

    async def epoch(self) -> int:
        async with self._asking() as ask:
            ((epoch,),) = await ask.execute_fetchall(EPOCH)
        return int(epoch)

    async def cursors(self) -> dict[str, int]:
        async with self._asking() as ask:
            return {
                str(rule): int(seq)
                for rule, seq in await ask.execute_fetchall("SELECT rule, seq FROM cursor")
            }

    async def checkpoints(self) -> dict[str, Checkpoint]:
        async with self._asking() as ask:
            rows = await ask.execute_fetchall("SELECT concept, version, seq, state FROM checkpoint")
        return {str(row[0]): Checkpoint(str(row[0]), int(row[1]), int(row[2]), bytes(row[3])) for row in rows}


def _checkpoint(checkpoint: Checkpoint) -> tuple[Any, ...]:
    return (checkpoint.concept, checkpoint.version, checkpoint.seq, checkpoint.state)


def _row(record: Interaction, fence: int | None) -> tuple[Any, ...]:
    causes = b"".join(bytes.fromhex(cause) for cause in record.caused_by)
    return (
        record.seq,
        bytes.fromhex(record.id),
        record.key,
        record.verb,
        record.actor,
        record.role,
        record.scope,
        causes,
        record.version,
        record.digest,
        record.at,
        record.salt,
        record.raw,
        orjson.dumps(record.outside).decode(),
        fence,
    )


def _interaction(row: Any) -> Interaction:
    seq, id, key, verb, actor, role, scope, causes, version, digest, at, salt, body = row
    return Interaction(
        seq=seq,
        id=id.hex(),
        key=key,
        verb=verb,
        actor=actor,
        role=role,
        scope=scope,
        caused_by=tuple(causes[at : at + 32].hex() for at in range(0, len(causes), 32)) if causes else (),
        version=version,
        digest=digest,
        at=at,
        salt=salt,
        raw=body,
    )

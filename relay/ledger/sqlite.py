"""The SQLite store: one file, one writing connection, `synchronous=FULL`.

Only the engine's committer calls `append`, one call at a time, and nobody cancels it (a cancelled aiosqlite call still
executes, and a cancel between BEGIN and COMMIT would leave the transaction open for the next caller). Readers have a
connection of their own that can't write. FULL costs a fifth of a millisecond a commit and loses nothing in a power cut.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiosqlite
import orjson

from relay.errors import DamagedDatabase, NewerDatabase, StoreUnavailable
from relay.ledger.interaction import Interaction
from relay.ledger.schema import ADMIT, MIGRATIONS, SELECT, VERSION
from relay.ledger.store import Checkpoint, Group, Outcome

_SCHEMA_ADVICE = "Restore the folder from a backup, or move the file away to begin anew; nothing was changed."


class SqliteStore:
    """See `Store`. Made by `open`; for reading alone by `open_readonly`."""

    def __init__(self, path: Path, writer: aiosqlite.Connection | None, reader: aiosqlite.Connection) -> None:
        self._path = path
        self._write = writer
        self._reader = reader
        self._head = 0
        self._epoch = 0
        self._dirty = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the ledger. Raises `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`."""
        try:
            _refuse_truncated(path)
            if not path.exists():
                await _create(path)
            writer = await aiosqlite.connect(path, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise _told(path, error) from error
        try:
            await _migrate(path, writer)
            await writer.execute("PRAGMA journal_mode=WAL")
            await writer.execute("PRAGMA synchronous=FULL")
            await writer.execute("PRAGMA wal_autocheckpoint=4000")
            reader = await aiosqlite.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            await writer.close()
            raise _told(path, error) from error
        except BaseException:
            await writer.close()
            raise
        store = cls(path, writer, reader)
        try:
            await store._look()
        except BaseException:
            await store.close()
            raise
        return store

    @classmethod
    async def open_readonly(cls, path: Path) -> Self:
        """Open a ledger to read it, beside a running relay or without one."""
        if not path.exists():
            raise StoreUnavailable(
                f"there is no ledger at {path}.", "Name the state folder with --state DIR."
            )
        try:
            _refuse_truncated(path)
            reader = await aiosqlite.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise _told(path, error) from error
        store = cls(path, None, reader)
        try:
            (row,) = await reader.execute_fetchall("PRAGMA user_version")
            _refuse_newer(path, int(row[0]))
            await store._look()
        except sqlite3.Error as error:
            await store.close()
            raise _told(path, error) from error
        except BaseException:
            await store.close()
            raise
        return store

    async def _look(self) -> None:
        async with self._asking() as ask:
            ((head,),) = await ask.execute_fetchall("SELECT coalesce(max(seq), 0) FROM interaction")
            ((epoch,),) = await ask.execute_fetchall("SELECT value FROM epoch")
        self._head, self._epoch = int(head), int(epoch)

    @property
    def head(self) -> int:
        return self._head

    # -- writing ----------------------------------------------------------------------------------------------------

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        assert self._write is not None, "a read-only store was asked to write"
        records = [(record, group.fence) for group in groups for record in group.records]
        for offset, (record, _) in enumerate(records, 1):
            record.seq = self._head + offset
        try:
            if len(records) == 1:
                written = await self._append_one(self._write, *records[0])
            else:
                written = await self._append_many(self._write, records)
            firsts = await self._firsts([r.key for r, _ in records if r.seq not in written])
        except sqlite3.Error as error:
            raise _told(self._path, error) from error
        if written:
            self._head = max(written)
            self._dirty = True
        return [self._outcome(group, written, firsts) for group in groups]

    async def _append_one(
        self, write: aiosqlite.Connection, record: Interaction, fence: int | None
    ) -> set[int]:
        before = write.total_changes
        async with write.execute(ADMIT, _row(record, fence)):
            return {record.seq} if write.total_changes > before else set()

    async def _append_many(
        self, write: aiosqlite.Connection, records: Sequence[tuple[Interaction, int | None]]
    ) -> set[int]:
        await write.execute("BEGIN IMMEDIATE")
        try:
            await write.executemany(ADMIT, [_row(record, fence) for record, fence in records])
            rows = await write.execute_fetchall("SELECT seq FROM interaction WHERE seq > ?", (self._head,))
            await write.execute("COMMIT")
        except BaseException:
            if write.in_transaction:
                await write.execute("ROLLBACK")
            raise
        return {int(row[0]) for row in rows}

    async def _firsts(self, keys: Sequence[str]) -> dict[str, Interaction]:
        if not keys:
            return {}
        async with self._asking() as ask:
            rows = await ask.execute_fetchall(
                f"{SELECT} WHERE i.key IN (SELECT value FROM json_each(?))", (orjson.dumps(keys).decode(),)
            )
        return {i.key: i for i in map(_interaction, rows)}

    def _outcome(self, group: Group, written: set[int], firsts: Mapping[str, Interaction]) -> Outcome:
        if group.fence is not None and group.fence != self._epoch:
            return Outcome((), (), fenced=True)
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
        try:
            rows = await self._write.execute_fetchall("UPDATE epoch SET value = value + 1 RETURNING value")
        except sqlite3.Error as error:
            raise _told(self._path, error) from error
        self._epoch = int(next(iter(rows))[0])
        return self._epoch

    async def save_cursors(self, cursors: Mapping[str, int]) -> None:
        await self._save("INSERT OR REPLACE INTO cursor VALUES (?, ?)", list(cursors.items()))

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        row = (checkpoint.concept, checkpoint.version, checkpoint.seq, checkpoint.state)
        await self._save("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?)", [row])

    async def _save(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        assert self._write is not None, "a read-only store was asked to write"
        try:
            await self._write.execute("BEGIN IMMEDIATE")
            try:
                await self._write.executemany(statement, rows)
                await self._write.execute("COMMIT")
            except BaseException:
                if self._write.in_transaction:
                    await self._write.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise _told(self._path, error) from error

    async def idle(self) -> None:
        if self._dirty and self._write is not None:
            self._dirty = False
            try:
                await self._write.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")
            except sqlite3.Error as error:
                raise _told(self._path, error) from error

    async def close(self) -> None:
        await self._reader.close()
        if self._write is not None:
            await self._write.close()

    # -- reading ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[aiosqlite.Connection]:
        try:
            yield self._reader
        except sqlite3.Error as error:
            raise _told(self._path, error) from error

    async def _fetch(self, tail: str, *values: Any) -> list[Interaction]:
        async with self._asking() as ask:
            return [_interaction(row) for row in await ask.execute_fetchall(f"{SELECT} {tail}", values)]

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return await self._fetch("WHERE i.seq > ? ORDER BY i.seq LIMIT ?", after, limit)

    async def read_back(self, before: int, limit: int) -> list[Interaction]:
        return await self._fetch("WHERE i.seq < ? ORDER BY i.seq DESC LIMIT ?", before, limit)

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Interaction]:
        wanted = [bytes.fromhex(id) for id in ids]
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
            ((epoch,),) = await ask.execute_fetchall("SELECT value FROM epoch")
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
    hexes = bytes(causes).hex()
    return Interaction(
        seq=seq,
        id=bytes(id).hex(),
        key=key,
        verb=verb,
        actor=actor,
        role=role,
        scope=scope,
        caused_by=tuple(hexes[at : at + 64] for at in range(0, len(hexes), 64)),
        version=version,
        digest=bytes(digest),
        at=at,
        salt=salt,
        raw=body,
    )


def _quoted(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _told(path: Path, error: Exception) -> DamagedDatabase | StoreUnavailable:
    text = str(error)
    if "malformed" in text or "not a database" in text or "no such table" in text:
        return DamagedDatabase(f"the ledger {path} is damaged ({text}).", _SCHEMA_ADVICE)
    if "full" in text or getattr(error, "errno", None) == 28:
        return StoreUnavailable(
            f"the disk that holds {path} is full.", "Free some space; the relay goes on by itself."
        )
    return StoreUnavailable(
        f"the ledger {path} can't be used just now ({text}).", "Check the disk and its permissions."
    )


def _refuse_newer(path: Path, found: int) -> None:
    if found > VERSION:
        raise NewerDatabase(
            f"the ledger {path} was written by a newer relay (format {found}, this one knows {VERSION}).",
            "Update this relay; nothing was changed.",
        )


def _refuse_truncated(path: Path) -> None:
    """SQLite would take an empty file for a new database, and a cut one for a whole one until it meets the hole."""
    if not path.exists():
        return
    wal = path.with_name(path.name + "-wal")
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(100)
    if size < 512 or not header.startswith(b"SQLite format 3\0"):
        raise DamagedDatabase(f"{path} is not a whole ledger ({size} bytes).", _SCHEMA_ADVICE)
    page = int.from_bytes(header[16:18], "big")
    page = 65536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    # With a WAL beside it the missing pages may stand there: SQLite sorts that out itself.
    if size < page * pages and not (wal.exists() and wal.stat().st_size > 0):
        raise DamagedDatabase(f"{path} was cut short ({size} of {page * pages} bytes).", _SCHEMA_ADVICE)


async def _create(path: Path) -> None:
    """Make the file whole under another name, so that a crash in between leaves no half ledger."""
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
    _refuse_newer(path, found)
    for version, script in enumerate(MIGRATIONS[found:], found + 1):
        await connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
        )

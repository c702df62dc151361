"""Files that people bring to the page: their bytes beside the chat, until the message they hang on is deleted.

An upload has an id of its own, never one made of its content: two people's equal files are two, and each goes with its
message. What was brought and never sent is forgotten after a day.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import aiosqlite
import anyio.to_thread

from relay.clock import Clock
from relay.errors import StoreUnavailable, SurfaceError
from relay.surfaces.surface import HungFile
from relay.surfaces.web.chat_file import ChatFile
from relay.surfaces.web.seen import NotThere, TooBig, one_line

LARGEST = 25_000_000
"""Bytes of one file."""
MOST_FILES = 10
"""Files of one message."""
TOO_LARGE = (
    f"a file is over the page's limit of {LARGEST // 1_000_000} MB.",
    "Put it into the room's workspace and name it in your message.",
)
"""The sentence and the advice."""
MOST_UNSENT = 40
KEPT_UNSENT_MS = 24 * 3_600_000
_ID = re.compile(r"[0-9a-f]{64}\Z")


class Uploads:
    """See the module. `entropy` gives random bytes for ids."""

    def __init__(self, file: ChatFile, folder: Path, clock: Clock, entropy: Callable[[int], bytes]) -> None:
        self._file = file
        self._folder = folder
        self._clock = clock
        self._entropy = entropy

    async def keep(self, name: str, data: bytes) -> HungFile:
        """Durable when it returns. Raises `TooBig`, `SurfaceError` when too many wait unsent, `StoreUnavailable`."""
        if len(data) > LARGEST:
            raise TooBig(*TOO_LARGE)
        ((unsent,),) = await self._file.fetch("SELECT count(*) FROM upload WHERE message IS NULL")
        if unsent >= MOST_UNSENT:
            await self.sweep(older_ms=600_000)
            ((unsent,),) = await self._file.fetch("SELECT count(*) FROM upload WHERE message IS NULL")
        if unsent >= MOST_UNSENT:
            raise SurfaceError(
                f"{unsent} files were brought and not sent.", "Send those first.", kind="transient"
            )
        id, name = self._entropy(32).hex(), one_line(name, 200) or "file"
        async with self._file.writing() as write:
            await write.execute(
                "INSERT INTO upload(id, name, size, made_at) VALUES (?, ?, ?, ?)",
                (id, name, len(data), self._clock.now_ms()),
            )
        # The row first: bytes without one would never be found again.
        try:
            await anyio.to_thread.run_sync(self._write, id, data)
        except OSError as error:
            raise StoreUnavailable(
                f"the file can't be kept ({error.strerror}).", "Free some space and send it again."
            ) from error
        return HungFile(id, name, len(data))

    async def named(self, ids: Sequence[str]) -> list[HungFile]:
        """Those uploads, in that order. Raises `NotThere` for one that isn't here, `SurfaceError` for too many."""
        if len(ids) > MOST_FILES or len(set(ids)) != len(ids):
            raise SurfaceError(f"a message takes {MOST_FILES} files, each once.", "Send the others after it.")
        found: list[HungFile] = []
        for id in ids:
            rows = await self._file.fetch("SELECT name, size FROM upload WHERE id = ?", id)
            if not rows or not self._path(id).exists():
                raise NotThere("a file of this message is not here (any more).", "Attach it again.")
            found.append(HungFile(id, rows[0][0], int(rows[0][1])))
        return found

    async def hang(self, write: aiosqlite.Connection, ids: Sequence[str], message: int) -> None:
        """In the message's transaction. Raises `SurfaceError` for one that hangs on another message."""
        for id in ids:
            rows = await write.execute_fetchall(
                "UPDATE upload SET message = ? WHERE id = ? AND message IS NULL RETURNING id", (message, id)
            )
            if not list(rows):
                raise SurfaceError("a file of this message was sent already.", "Attach it again.")

    async def let_go(self, write: aiosqlite.Connection, message: int) -> None:
        """In the transaction that deletes a message: its files are nobody's, and go at the next `sweep`."""
        await write.execute("UPDATE upload SET message = NULL, made_at = 0 WHERE message = ?", (message,))

    async def sweep(self, older_ms: int = KEPT_UNSENT_MS) -> None:
        """Forget what hangs on no message and is older than that."""
        before = self._clock.now_ms() - older_ms
        rows = await self._file.fetch("SELECT id FROM upload WHERE message IS NULL AND made_at <= ?", before)
        for (id,) in rows:
            await anyio.to_thread.run_sync(self._unlink, id)
            async with self._file.writing() as write:
                await write.execute("DELETE FROM upload WHERE id = ? AND message IS NULL", (id,))

    async def get(self, id: str) -> bytes | None:
        """The bytes of an upload; None when it isn't here."""
        return await anyio.to_thread.run_sync(self._read, id) if _ID.match(id) else None

    # -- the folder ---------------------------------------------------------------------------------------------------

    def _path(self, id: str) -> Path:
        return self._folder / (id if _ID.match(id) else "none")

    def _write(self, id: str, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        part = self._path(id).with_suffix(".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, self._path(id))
        folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read(self, id: str) -> bytes | None:
        try:
            return self._path(id).read_bytes()
        except FileNotFoundError:
            return None

    def _unlink(self, id: str) -> None:
        self._path(id).unlink(missing_ok=True)
        self._path(id).with_suffix(".part").unlink(missing_ok=True)

"""What is too large for a payload: files named by the sha256 of what they hold.

A blob is written before the interaction that names it is committed, so a digest in the ledger always has its file. An
unreferenced one (a crash in between) is harmless.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import anyio.to_thread

from relay.clock import Clock
from relay.errors import StoreUnavailable

log = logging.getLogger("relay.ledger")

IN_THE_MAKING_S = 2.0
"""How long after a blob was put the record that names it may still be on its way into the ledger."""

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Blobs:
    """A folder of blobs, two levels deep."""

    def __init__(self, folder: Path, clock: Clock | None = None) -> None:
        """`clock` makes `settled` wait; without it nothing is ever taken to be in the making."""
        self._folder = folder
        self._clock = clock
        self._put_at: dict[str, float] = {}
        """digest → when it was put last, on the monotonic clock; of the last few seconds."""

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    async def put(self, data: bytes) -> str:
        """Keep the bytes, durable when it returns; the digest names them. Raises `StoreUnavailable`."""
        digest = hashlib.sha256(data).hexdigest()
        if self._clock is not None:
            now = self._clock.monotonic()
            self._put_at = {d: at for d, at in self._put_at.items() if at > now - IN_THE_MAKING_S} | {
                digest: now
            }
        try:
            await anyio.to_thread.run_sync(self._write, digest, data)
        except OSError as error:
            raise StoreUnavailable(
                f"can't write to {self._folder} ({error.strerror}).",
                "Free some space; the relay goes on by itself.",
            ) from error
        return digest

    def _write(self, digest: str, data: bytes) -> None:
        path = self._path(digest)
        if path.exists() and path.stat().st_size == len(data):
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A file of its own for each writer: two may put the same bytes at the same moment.
        handle, part = tempfile.mkstemp(prefix=f"{digest[:16]}.", suffix=".part", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, path)
        except BaseException:
            os.unlink(part)
            raise
        _sync(path.parent)

    async def get(self, digest: str) -> bytes | None:
        """The bytes, or None when they are not here whole (redacted, moved, or damaged on the disk)."""
        if not _DIGEST.match(digest):
            return None
        return await anyio.to_thread.run_sync(self._read, digest)

    async def settled(self, digests: Iterable[str]) -> None:
        """Wait until whoever put one of those a moment ago has recorded what names it."""
        if self._clock is not None:
            now = self._clock.monotonic()
            last = max((self._put_at.get(digest, 0.0) for digest in digests), default=0.0)
            if last > now - IN_THE_MAKING_S:
                await self._clock.sleep(last + IN_THE_MAKING_S - now)

    async def drop(self, digests: Iterable[str]) -> None:
        """Take those blobs away, if they are there, and what a crash left half written; durable when it returns. Raises
        `StoreUnavailable`."""
        for digest in digests:
            if _DIGEST.match(digest):
                try:
                    await anyio.to_thread.run_sync(self._drop, digest)
                except OSError as error:
                    raise StoreUnavailable(
                        f"{self._path(digest)} can't be removed ({error.strerror}).",
                        "Let the relay's user write to the state folder; the relay goes on by itself.",
                    ) from error

    def _drop(self, digest: str) -> None:
        path = self._path(digest)
        if not path.parent.exists():
            return
        for file in (path, *path.parent.glob(f"{digest[:16]}.*.part")):
            file.unlink(missing_ok=True)
        _sync(path.parent)

    def _read(self, digest: str) -> bytes | None:
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != digest:
            log.error("the blob %s is damaged on the disk", digest)
            return None
        return data


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

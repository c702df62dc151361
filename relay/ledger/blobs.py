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
from pathlib import Path

import anyio.to_thread

from relay.errors import StoreUnavailable

log = logging.getLogger("relay.ledger")

_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


class Blobs:
    """A folder of blobs, two levels deep."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    async def put(self, data: bytes) -> str:
        """Keep the bytes, durable when it returns; the digest names them. Raises `StoreUnavailable`."""
        digest = hashlib.sha256(data).hexdigest()
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
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def get(self, digest: str) -> bytes | None:
        """The bytes, or None when they are not here whole (redacted, moved, or damaged on the disk)."""
        if not _DIGEST.match(digest):
            return None
        return await anyio.to_thread.run_sync(self._read, digest)

    def _read(self, digest: str) -> bytes | None:
        try:
            data = self._path(digest).read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(data).hexdigest() != digest:
            log.error("the blob %s is damaged on the disk", digest)
            return None
        return data

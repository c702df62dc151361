"""What is too large for a payload: files named by the sha256 of what they hold.

A blob is written before the interaction that names it is committed, so a digest in the ledger always has its file. An
unreferenced one (a crash in between) is harmless.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import anyio.to_thread

from relay.errors import StoreUnavailable

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
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_name(f"{digest}.{os.getpid()}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with open(handle, "wb", closefd=False) as file:
                file.write(data)
            os.fsync(handle)
        finally:
            os.close(handle)
        part.rename(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    async def get(self, digest: str) -> bytes | None:
        """The bytes, or None when they are not here (redacted, or the folder was moved)."""
        if not _DIGEST.match(digest):
            return None
        try:
            return await anyio.to_thread.run_sync(self._path(digest).read_bytes)
        except FileNotFoundError:
            return None

"""One relay to a state folder: an advisory lock on a file that names its holder.

The kernel lets the lock go with the process, however it dies, so there is no stale lock to clean up and no pid to
mistake for another's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from relay.errors import StateLocked, StoreUnavailable

LOOKS = 3
LOOK_S = 0.02


class StateLock:
    """Holds `path` from `take` to `release`. Raises `StateLocked` when another process has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take(self) -> None:
        """Raises `StateLocked`, and `StoreUnavailable` when the folder can't be written or can't be locked."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            _lock(handle)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                os.close(handle)
                raise self._unusable(error) from error
            holder = os.read(handle, 200).decode("utf-8", "replace").strip() or "another process"
            os.close(handle)
            raise StateLocked(
                f"another relay is running on {self._path.parent} ({holder}).",
                "Stop it first, or give this one its own folder with --state DIR.",
            ) from error
        try:
            os.ftruncate(handle, 0)
            os.write(handle, f"pid {os.getpid()}\n".encode())
        except OSError as error:
            os.close(handle)
            raise self._unusable(error) from error
        self._handle = handle

    def _unusable(self, error: OSError) -> StoreUnavailable:
        unusable = StoreUnavailable(
            f"the state folder {self._path.parent} can't be used ({error.strerror}).",
            "Let the relay's user write to it, or name another folder with --state DIR.",
        )
        unusable.full = error.errno == errno.ENOSPC
        return unusable

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _lock(handle: int) -> None:
    """Raises OSError when another process has it. One that only looked (`holder`) has let it go in the meantime."""
    for _ in range(LOOKS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            time.sleep(LOOK_S)
        else:
            return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(path: Path) -> int | None:
    """The pid of the process that holds the lock just now; None when nobody does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        word = os.read(handle, 200).decode("utf-8", "replace").removeprefix("pid ").strip()
        return int(word) if word.isascii() and word.isdigit() else 0
    finally:
        os.close(handle)
    return None

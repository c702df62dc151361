"""One process to a token: two relays with one bot would answer everything twice.

The lock is the kernel's, on a file named by the token's fingerprint, so it ends with its holder however that dies, and
a pid that was given to somebody else since means nothing. The file says who holds it; the token stands nowhere.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from relay.errors import RelayError, StateLocked


def fingerprint(token: str) -> str:
    """What a token is known by, without giving it away."""
    return hashlib.sha256(f"relay token/{token}".encode()).hexdigest()[:16]


def lock_folder(env: Mapping[str, str]) -> Path:
    """This user's folder on this machine for what lives as long as processes do."""
    base = env.get("XDG_RUNTIME_DIR", "")
    return (
        Path(base) / "relay" if base.startswith("/") else Path(tempfile.gettempdir()) / f"relay-{os.getuid()}"
    )


def process_start(pid: int) -> str:
    """When that process began, in the kernel's own count; empty where the system doesn't say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def holder(folder: Path, token: str) -> str | None:
    """Who holds the token now, as the lock's file tells; None for nobody. Takes no lock, so it is in nobody's way."""
    try:
        told = (folder / f"discord-{fingerprint(token)}.lock").read_text("utf-8", "replace")[:1000].strip()
    except OSError:
        return None
    found = re.match(r"pid (\d+), start (\S+), state ", told)
    if found is None or process_start(int(found[1])) != found[2]:
        return None
    return told


class TokenLock:
    """Held inside `with`. Raises `StateLocked` when another process uses the token, and `RelayError` when the
    folder can't be used."""

    def __init__(self, folder: Path, token: str, state: Path) -> None:
        self._folder = folder
        self._path = folder / f"discord-{fingerprint(token)}.lock"
        self._state = state
        self._handle: int | None = None

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._folder.stat().st_uid != os.getuid():
                raise PermissionError(13, "it belongs to another user")
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise RelayError(
                f"the folder {self._folder}, which keeps two relays from using one bot, can't be used "
                f"({error.strerror}).",
                "Remove it, or set XDG_RUNTIME_DIR to a folder of yours.",
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(handle, 1000).decode("utf-8", "replace").strip() or "another process"
            os.close(handle)
            raise StateLocked(
                f"another relay uses this Discord bot already ({holder}).",
                "Stop it first, or give this relay a bot of its own.",
            ) from error
        os.ftruncate(handle, 0)
        pid = os.getpid()
        os.write(handle, f"pid {pid}, start {process_start(pid) or '?'}, state {self._state}\n".encode())
        self._handle = handle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

"""The scripted agent's file tools: they touch the workspace and nothing else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import anyio.to_thread

LARGEST_READ = 4000


class FileRefused(Exception):
    """The path is not one the agent may use, or can't be used; says why."""


def _inside(workspace: Path, path: str) -> Path:
    if not path or "\0" in path:
        raise FileRefused("name a file of the workspace")
    root = workspace.resolve()
    target = Path(os.path.normpath(root / path))
    # The parent's links are followed and must stay inside; the file itself is opened without following one.
    try:
        parent = target.parent.resolve()
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error
    if root != parent and root not in parent.parents:
        raise FileRefused(f"{path} lies outside the workspace")
    return parent / target.name


def _open(workspace: Path, path: str, flags: int) -> int:
    target = _inside(workspace, path)
    try:
        if flags & os.O_CREAT:
            target.parent.mkdir(parents=True, exist_ok=True)
        return os.open(target, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error


def _put(workspace: Path, path: str, text: str, flags: int) -> None:
    try:
        with open(_open(workspace, path, os.O_WRONLY | os.O_CREAT | flags), "wb") as file:
            file.write(text.replace("\\n", "\n").encode() + b"\n")
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error


async def write(workspace: Path, path: str, text: str) -> None:
    """The file holds `text` (`\\n` is a line end) and a line end. Raises `FileRefused`."""
    await anyio.to_thread.run_sync(_put, workspace, path, text, os.O_TRUNC)


async def append(workspace: Path, path: str, text: str) -> None:
    """`text` and a line end stand at the file's end. Raises `FileRefused`."""
    await anyio.to_thread.run_sync(_put, workspace, path, text, os.O_APPEND)


def _after(workspace: Path, path: str, text: str, flags: int) -> str:
    digest = hashlib.sha256()
    try:
        if flags & os.O_APPEND:
            with open(_open(workspace, path, os.O_RDONLY), "rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
    except (FileRefused, OSError):
        pass  # there is none yet: then what is appended is all
    digest.update(text.replace("\\n", "\n").encode() + b"\n")
    return digest.hexdigest()


async def digest_after(workspace: Path, path: str, text: str, *, appended: bool) -> str:
    """The sha256 of all that the file will hold after `write` or `append`."""
    return await anyio.to_thread.run_sync(_after, workspace, path, text, os.O_APPEND if appended else 0)


def _get(workspace: Path, path: str) -> str:
    try:
        with open(_open(workspace, path, os.O_RDONLY), "rb") as file:
            data = file.read(LARGEST_READ + 1)
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error
    return data[:LARGEST_READ].decode(errors="replace") + ("…" if len(data) > LARGEST_READ else "")


async def read_text(workspace: Path, path: str) -> str:
    """The first 4,000 bytes of the file, as text. Raises `FileRefused`."""
    return await anyio.to_thread.run_sync(_get, workspace, path)

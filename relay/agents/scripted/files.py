"""The scripted agent's file tools: they touch the workspace and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from relay.workspaces import IsKept, Kept, LeadsOut, open_inside

LARGEST_READ = 4000


class FileRefused(Exception):
    """The path is not one the agent may use, or can't be used; says why."""


def _open(workspace: Path, path: str, flags: int, kept: Kept) -> int:
    try:
        return open_inside(workspace, path, flags, kept=kept, make_folders=bool(flags & os.O_CREAT)).handle
    except LeadsOut as error:
        raise FileRefused(
            f"{path} lies outside the workspace" if path else "name a file of the workspace"
        ) from error
    except IsKept as error:
        raise FileRefused(f"{path} is a file of the relay's own under another name") from error
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error


def _put(workspace: Path, path: str, text: str, flags: int, kept: Kept) -> None:
    try:
        with open(_open(workspace, path, os.O_WRONLY | os.O_CREAT | flags, kept), "wb") as file:
            file.write(text.replace("\\n", "\n").encode() + b"\n")
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error


async def write(workspace: Path, path: str, text: str, kept: Kept) -> None:
    """The file holds `text` (`\\n` is a line end) and a line end. Raises `FileRefused`."""
    await anyio.to_thread.run_sync(_put, workspace, path, text, os.O_TRUNC, kept)


async def append(workspace: Path, path: str, text: str, kept: Kept) -> None:
    """`text` and a line end stand at the file's end. Raises `FileRefused`."""
    await anyio.to_thread.run_sync(_put, workspace, path, text, os.O_APPEND, kept)


def _get(workspace: Path, path: str, kept: Kept) -> str:
    try:
        with open(_open(workspace, path, os.O_RDONLY, kept), "rb") as file:
            data = file.read(LARGEST_READ + 1)
    except OSError as error:
        raise FileRefused(f"{path}: {error.strerror}") from error
    return data[:LARGEST_READ].decode(errors="replace") + ("…" if len(data) > LARGEST_READ else "")


async def read_text(workspace: Path, path: str, kept: Kept) -> str:
    """The first 4,000 bytes of the file, as text. Raises `FileRefused`."""
    return await anyio.to_thread.run_sync(_get, workspace, path, kept)

"""Writing a file into the workspace's inbox, and nowhere else. Blocking.

The agent works in the workspace and may put anything there meanwhile, links too: so everything is opened by name in a
folder that is held open, no link is followed, and nothing that is there is ever written over.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from relay import texts_coming_in

INBOX = "inbox"
LEFT_FREE = 300_000_000
"""Bytes of the disk that people's files never take: the ledger, or the work itself, may need them."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


class NoInbox(Exception):
    """The inbox is no folder of the workspace; says why."""


def put(workspace: Path, names: Sequence[str], tag: str, data: bytes) -> str:
    """Keep `data` under the first of `names` that is free, or that holds exactly it; the path from the workspace.

    Durable when it returns. Raises `NoInbox` when there is no folder to write in, the disk is nearly full, or every
    name is taken; OSError.
    """
    root = os.open(workspace, _FOLDER)
    try:
        disk = os.fstatvfs(root)
        if disk.f_bavail * disk.f_frsize < len(data) + LEFT_FREE:
            raise NoInbox(texts_coming_in.DISK_NEARLY_FULL)
        folder = _inbox(root)
        try:
            return f"{INBOX}/{_put(folder, names, f'.{tag}.part', data)}"
        finally:
            os.close(folder)
    finally:
        os.close(root)


def _inbox(root: int) -> int:
    try:
        os.mkdir(INBOX, dir_fd=root)
        os.fsync(root)
    except FileExistsError:
        pass
    try:
        return os.open(INBOX, _FOLDER | os.O_NOFOLLOW, dir_fd=root)
    except OSError as error:
        raise NoInbox(texts_coming_in.inbox_is_no_folder(INBOX)) from error


def _put(folder: int, names: Sequence[str], part: str, data: bytes) -> str:
    _unlink(part, folder)  # of an earlier try that was cut off
    handle = os.open(part, _NEW, 0o644, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for name in names:
            try:
                os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                if not _holds(folder, name, data):
                    continue
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                if not _copied(folder, name, data):
                    continue
            os.fsync(folder)
            return name
    finally:
        _unlink(part, folder)
    raise NoInbox(texts_coming_in.inbox_is_full(INBOX))


def _copied(folder: int, name: str, data: bytes) -> bool:
    """As a link, where the file system has none; a copy that is cut off leaves a part of the file, and the next try
    takes another name."""
    try:
        handle = os.open(name, _NEW, 0o644, dir_fd=folder)
    except FileExistsError:
        return _holds(folder, name, data)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return True


def _holds(folder: int, name: str, data: bytes) -> bool:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        return stat.S_ISREG(facts.st_mode) and facts.st_size == len(data) and file.read() == data


def _unlink(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return

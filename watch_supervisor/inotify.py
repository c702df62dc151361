"""The kernel's notice of changes in folders, by ctypes: one descriptor for as many folders as there are.

Linux only: `open_inotify` answers None elsewhere, and where the system has no instance to give. It reports
and never reads a file.
"""

import ctypes
import os
import struct
import sys
from dataclasses import dataclass

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
UNMOUNT, Q_OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
_ONLYDIR, _MASK_ADD = 0x01000000, 0x20000000

NAMES = MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF | ATTRIB
CONTENT = NAMES | MODIFY | CLOSE_WRITE
WHOLE_FOLDER = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED

_HEADER = struct.Struct("iIII")
_READ_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: in which watched folder (`wd`), a mask of the constants above, and to which name in
    it.
    """

    wd: int
    mask: int
    name: str


class Inotify:
    """One instance. Close it; nothing here blocks."""

    def __init__(self, libc: ctypes.CDLL, fd: int) -> None:
        self._libc = libc
        self.fd = fd

    def add(self, folder: str, mask: int) -> int:
        """Watch a folder for `mask` too; its number, the same for the same folder. OSError when it can't be
        watched.
        """
        wd = self._libc.inotify_add_watch(self.fd, os.fsencode(folder), mask | _ONLYDIR | _MASK_ADD)
        if wd < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), folder)
        return int(wd)

    def remove(self, wd: int) -> None:
        """Stop watching; a number that is no longer watched is no error (the folder may be gone)."""
        self._libc.inotify_rm_watch(self.fd, wd)

    def read(self) -> list[Event]:
        """What has happened since, at most 64 KiB of it; empty when nothing has."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return []
        found: list[Event] = []
        at = 0
        while at + _HEADER.size <= len(data):
            wd, mask, _, size = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = data[at : at + size].rstrip(b"\0")
            at += size
            found.append(Event(wd, mask, os.fsdecode(name)))
        return found

    def close(self) -> None:
        """Give the descriptor back; the kernel forgets every folder of it."""
        os.close(self.fd)


def open_inotify() -> Inotify | None:
    """A new instance, or None where there is none to have."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return None
    return Inotify(libc, fd) if fd >= 0 else None

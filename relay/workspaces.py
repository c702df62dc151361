"""A room's folder: made when it is missing, and files in it opened such that no link leads out of it. Blocking.

Whoever works in a workspace may put links there, also while a path is being walked. So each folder on the way is held
open and the next name is looked up in it, without following a link; a link is read and walked in the same way. What
lies outside is never opened, by whatever race.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from relay import texts
from relay.errors import WorkspaceUnusable

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_LEAF = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_MOST_HOPS = 40
"""Links (and names swapped while they were looked at) on the way to one file; as many as the kernel follows."""


class LeadsOut(Exception):
    """The path is no file of the workspace."""


class IsKept(Exception):
    """The file is one of the relay's own, under another name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What no agent may read or write by whatever name: these files, and those right in these folders.

    A hard link is no link that can be seen in a path; only the file's number tells what it is. Which numbers those are
    is looked up each time, since editors replace a file by a new one.
    """

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()

    def holds(self, facts: os.stat_result) -> bool:
        """Whether an open file is one of them."""
        if facts.st_nlink < 2:  # it has this one name only
            return False
        return any((one.st_dev, one.st_ino) == (facts.st_dev, facts.st_ino) for one in self._facts())

    def at(self, path: Path) -> bool:
        """Whether the file that is at that path now is one of them."""
        try:
            return self.holds(path.stat())
        except OSError:
            return False

    def _facts(self) -> Iterator[os.stat_result]:
        for path in self._paths():
            try:
                yield path.stat()
            except OSError:
                continue

    def _paths(self) -> Iterable[Path]:
        yield from self.files
        for folder in self.folders:
            try:
                yield from (path for path in folder.iterdir() if path.is_file())
            except OSError:
                continue


@dataclass(frozen=True, slots=True)
class Opened:
    """A regular file, open. Whoever asked for it closes `handle`. `path` is its real one, from the workspace."""

    handle: int
    path: str


def open_inside(
    workspace: Path, path: str, flags: int, *, kept: Kept, make_folders: bool = False, mode: int = 0o644
) -> Opened:
    """Open a file of the workspace, following only links that stay inside. `flags` are those of `open(2)`.

    Raises `LeadsOut`, `IsKept` (nothing was changed then), and OSError, also for what is no regular file.
    """
    base = os.path.realpath(workspace)
    if make_folders:
        os.makedirs(base, exist_ok=True)
    todo = list(reversed(_typed(workspace, base, path)))
    held, names, hops = [os.open(base, _FOLDER)], list[str](), 0
    try:
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not names:
                    raise LeadsOut(path)
                os.close(held.pop())
                names.pop()
                continue
            target = _link(held[-1], name)
            try:
                if target is None and not todo:
                    return Opened(_file(held[-1], name, flags, mode, kept), "/".join([*names, name]))
                if target is None:
                    held.append(_folder(held[-1], name, make_folders))
                    names.append(name)
                    continue
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.ENOTDIR) or not _may_be_a_folder(held[-1], name):
                    raise
                target = name  # swapped between the look and the open: look again
            hops += 1
            if hops > _MOST_HOPS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if os.path.isabs(target):
                while names:
                    os.close(held.pop())
                    names.pop()
                todo += reversed(_below(base, (base,), target))
            else:
                todo += reversed(target.split(os.sep))
        raise LeadsOut(path)  # the workspace itself is no file in it
    finally:
        for handle in held:
            os.close(handle)


def _typed(workspace: Path, base: str, path: str) -> list[str]:
    """The names on the way that a path means, from the workspace."""
    try:
        plain = bool(path) and b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        plain = False
    if not plain:
        raise LeadsOut(path)
    if os.path.isabs(path):
        return _below(base, (os.path.abspath(workspace), base), path)
    names = os.path.normpath(path).split(os.sep)
    if names[0] == "..":
        raise LeadsOut(path)
    return names


def _below(base: str, tops: Iterable[str], path: str) -> list[str]:
    whole = os.path.normpath(path)
    for top in tops:
        if whole == top or whole.startswith(top.rstrip(os.sep) + os.sep):
            return os.path.relpath(whole, top).split(os.sep)
    raise LeadsOut(path)


def _link(folder: int, name: str) -> str | None:
    """What the link leads to; None for what is no link, or isn't there."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _may_be_a_folder(folder: int, name: str) -> bool:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    return stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _folder(parent: int, name: str, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)


def _file(folder: int, name: str, flags: int, mode: int, kept: Kept) -> int:
    # Emptied only when it is known not to be one that is kept.
    handle = os.open(name, (flags & ~os.O_TRUNC) | _LEAF, mode, dir_fd=folder)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        if kept.holds(facts):
            raise IsKept(name)
        if flags & os.O_TRUNC:
            os.ftruncate(handle, 0)
    except BaseException:
        os.close(handle)
        raise
    return handle


# -- the folder itself ------------------------------------------------------------------------------------------------


def ready(folder: Path) -> bool:
    """Have the workspace be a folder that can be written in; whether it was made just now.

    Raises `WorkspaceUnusable` with what to do.
    """
    try:
        made = not folder.is_dir()
        if made:
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise WorkspaceUnusable(*texts.workspace_is_no_folder(str(folder))) from None
    except OSError as error:
        raise WorkspaceUnusable(
            *texts.workspace_not_made(str(folder), error.strerror or str(error))
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WorkspaceUnusable(*texts.workspace_not_written(str(folder)))
    return made

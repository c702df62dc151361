"""One look at a watched file: what is there now, read such that no swap of a name can redirect the read.

Blocking: call it from a worker thread. It opens nothing but regular files, never for writing, and never a
path that a confined run may not read.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from watch_supervisor.places import Link, PathLoop, Way, is_inside, is_named_so, is_protected, way

LARGEST_TEXT = 4 << 20
LARGEST_HASHED = 256 << 20
_CHUNK = 1 << 20
_ATTEMPTS = 3
_STEADY = frozenset({errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL})

Signature = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found.

    `kind`: `text` or `binary` (with the bytes in `data`), `large` (a digest only), `missing`, `refused`
    (can't or may not be read, for a reason that a person must settle; `detail` is the sentence), `trouble`
    (try again later). `forbidden` marks a refusal that must end the run at once. `links` is the way there,
    `signature` changes with every write that the file system notes.
    """

    kind: Literal["text", "binary", "large", "missing", "refused", "trouble"]
    digest: str | None = None
    size: int = 0
    data: bytes = b""
    detail: str = ""
    forbidden: bool = False
    links: tuple[Link, ...] = ()
    real: str = ""
    signature: Signature | None = None


class _Swapped(Exception):
    """The file at the path is no longer the one that was opened."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A regular file that may be read, open for reading. Whoever asked for it closes `fd`."""

    fd: int
    facts: os.stat_result
    found: Way


def open_file(root: Path, path: str, *, confined: bool) -> Opened | Look:
    """Open what `path` is now, or say why not. Never raises for what a file system can do."""
    for _ in range(_ATTEMPTS):
        try:
            found = way(root, path)
        except PathLoop:
            return Look("refused", detail=f"{path} is a symlink that leads in a circle.")
        except OSError as error:
            return _failure(path, error, Way("", ()))
        forbidden = _forbidden(root, path, found.real) if confined else None
        if forbidden is not None:
            return Look("refused", detail=forbidden, forbidden=True, links=found.links, real=found.real)
        try:
            return _opened(path, found)
        except _Swapped:
            continue
        except OSError as error:
            return _failure(path, error, found)
    return Look("trouble", detail=f"{path} is being replaced faster than it can be read.")


def look(root: Path, path: str, *, confined: bool, check: Callable[[], None] = lambda: None) -> Look:
    """See what `path` is now. Never raises for what a file system can do; `check` may raise to give up
    early.
    """
    opened = open_file(root, path, confined=confined)
    if isinstance(opened, Look):
        return opened
    try:
        return _content(opened.fd, opened.facts, opened.found, check)
    except OSError as error:
        return _failure(path, error, opened.found)
    finally:
        os.close(opened.fd)


def signature(root: Path, path: str) -> Signature | None:
    """What `Look.signature` would be now, without opening anything; None when nothing regular is there."""
    try:
        facts = os.stat(os.path.join(root, os.path.expanduser(path) if path.startswith("~/") else path))
    except (OSError, ValueError):
        return None
    return _signature(facts)


def _forbidden(root: Path, path: str, real: str) -> str | None:
    if not is_inside(root, real):
        return f"{path} leads out of the workspace, so it isn't read."
    if is_protected(root, real) or is_named_so(root, path):
        return f"{path} is a file for credentials, so it isn't read."
    return None


def _opened(path: str, found: Way) -> Opened | Look:
    try:
        facts = os.lstat(found.real)
    except (FileNotFoundError, NotADirectoryError):
        return Look("missing", links=found.links, real=found.real)
    if not stat.S_ISREG(facts.st_mode):
        if stat.S_ISLNK(facts.st_mode):
            raise _Swapped
        return Look("refused", detail=_not_a_file(path, facts.st_mode), links=found.links, real=found.real)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    try:
        fd = os.open(found.real, flags)
    except (FileNotFoundError, NotADirectoryError):
        raise _Swapped from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _Swapped from None
        raise
    try:
        opened = os.fstat(fd)
        if not stat.S_ISREG(opened.st_mode) or not _is_still_at(fd, opened, found.real):
            raise _Swapped
    except BaseException:
        os.close(fd)
        raise
    return Opened(fd, opened, found)


def _is_still_at(fd: int, opened: os.stat_result, real: str) -> bool:
    """Whether the open file is the one at `real`, with no folder on the way swapped for a symlink
    meanwhile.
    """
    try:
        return os.readlink(f"/proc/self/fd/{fd}") == real
    except OSError:
        if os.path.realpath(real) != real:
            return False
        there = os.lstat(real)
        return (there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino)


def _content(fd: int, facts: os.stat_result, found: Way, check: Callable[[], None]) -> Look:
    digest = hashlib.sha256()
    data = bytearray()
    size = 0
    if facts.st_size > LARGEST_HASHED:
        return _sampled(fd, facts, found)
    while size <= LARGEST_HASHED:
        check()
        chunk = os.read(fd, _CHUNK)
        if not chunk:
            break
        size += len(chunk)
        digest.update(chunk)
        if size <= LARGEST_TEXT:
            data += chunk
    if size > LARGEST_TEXT:
        kind, data = "large", bytearray()
    elif _is_binary(bytes(data)):
        kind = "binary"
    else:
        kind = "text"
    return Look(
        kind,
        digest=digest.hexdigest(),
        size=size,
        data=bytes(data),
        links=found.links,
        real=found.real,
        signature=_signature(facts),
    )


def _sampled(fd: int, facts: os.stat_result, found: Way) -> Look:
    """Beyond 256 MiB: both ends, the size and the time of the last write stand for the whole."""
    digest = hashlib.sha256(f"{facts.st_size} {facts.st_mtime_ns}".encode())
    digest.update(os.pread(fd, _CHUNK, 0))
    digest.update(os.pread(fd, _CHUNK, max(0, facts.st_size - _CHUNK)))
    return Look(
        "large",
        digest=digest.hexdigest(),
        size=facts.st_size,
        links=found.links,
        real=found.real,
        signature=_signature(facts),
    )


def _is_binary(data: bytes) -> bool:
    if b"\0" in data:
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _signature(facts: os.stat_result) -> Signature:
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _not_a_file(path: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return f"{path} is a folder; name a file in it."
    if stat.S_ISFIFO(mode):
        return f"{path} is a named pipe, not a file with content."
    if stat.S_ISSOCK(mode):
        return f"{path} is a socket, not a file with content."
    return f"{path} is a device, not a file with content."


def _failure(path: str, error: OSError, found: Way) -> Look:
    if error.errno in _STEADY:
        known = {
            errno.EACCES: "I have no permission to read it",
            errno.EPERM: "I have no permission to read it",
        }
        reason = known.get(error.errno or 0, os.strerror(error.errno or 0).lower())
        return Look("refused", detail=f"{path} can't be read: {reason}.", links=found.links, real=found.real)
    reason = os.strerror(error.errno) if error.errno else "it can't be read"
    return Look("trouble", detail=f"{path}: {reason}", links=found.links, real=found.real)

"""Reading on in a file that grows, whatever becomes of its name: each byte once, and none left behind.

Blocking: call it from a worker thread, one call at a time. What was read is known again by its inode and by hashes of
its beginning and of its end, so neither a rename nor an inode that is used again misleads it. A file that was renamed
is read to its end before the one that took its place, and for some seconds after that, since a program may still
write to it. An edit that leaves at least half of the lines where they were tells only the lines that it added; any
other new content is told from its first line.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from watch_supervisor.content import Look, Opened, Signature, open_file, signature
from watch_supervisor.gate import added_lines
from watch_supervisor.places import Link, is_inside, is_protected
from watch_supervisor.runs import State

PIECE_BYTES = 1 << 20
KNOWN_BYTES = 32 * 1024
LARGEST_EDIT = 4 << 20
LINGER_SECONDS = 10.0
QUIET_SECONDS = 0.15
"""What isn't a plain continuation is looked at again after so long: tools empty a file before they write it."""
_MARK_BYTES = 1024
_MOST_NAMES = 10_000

Ends = Literal["", "flush", "drop"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one step found.

    `ends` says what became of a line that was begun: it goes on in `data`, it is over (`flush`), or it was edited
    away (`drop`). After that come `lines`, whole ones, and then `data`, which goes on where the last piece ended.
    `more`: ask again at once.
    """

    kind: Literal["read", "missing", "refused", "trouble"]
    ends: Ends = ""
    lines: tuple[bytes, ...] = ()
    data: bytes = b""
    note: str = ""
    more: bool = False
    detail: str = ""
    forbidden: bool = False
    links: tuple[Link, ...] = ()
    real: str = ""


@dataclass(slots=True)
class _Old:
    """A file that lost its name to another and may still be written to."""

    fd: int
    offset: int
    until: float
    partial: bytes = b""


class Follower:
    """One path, from one place in it on. `close` it."""

    def __init__(
        self,
        root: Path,
        path: str,
        *,
        confined: bool,
        state: State | None,
        holds: Callable[[int, bool], bool] = lambda fd, begins: True,
    ) -> None:
        """`state` is what `state` answered in an earlier life; None begins at the end of what is there.
        `holds(fd, True)` asks whether one more file may be kept open, `holds(fd, False)` gives it back.
        """
        self._root, self._path, self._confined = root, path, confined
        self._holds = holds
        self._at_end = state is None
        self._resumes = state is not None
        self._fd: int | None = None
        self._old: _Old | None = None
        self._odd_at: float | None = None
        self._searched = self._stepping = self._closed = False
        self._id: tuple[str, str] | None = None
        self._head = self._near = ""
        self._first = self._last = b""
        self._known: bytes | None = b""
        self.signature: Signature | None = None
        """What the file's was right before the last step."""
        self.seen = 0
        """How far it has read, in bytes of the present file."""
        self.unfinished = 0
        """Where the line begins that whoever asks hasn't done with; kept in the state."""
        if state is not None:
            self._restore(state)

    @property
    def waits(self) -> bool:
        """Whether something is seen that isn't settled yet: look again after `QUIET_SECONDS`."""
        return self._odd_at is not None

    @property
    def lingers(self) -> bool:
        """Whether a renamed file is still looked after."""
        return self._old is not None

    def state(self) -> State:
        """Where reading stands. Inodes are written as text: they may be larger than the ledger's integers."""
        if self._id is None:
            return {"dev": None, "ino": None, "offset": 0, "seen": 0, "head": "", "near": ""}
        if self._first or not self._head:
            self._head, self._near = _hash(self._first), _hash(self._last)
        return {
            "dev": self._id[0],
            "ino": self._id[1],
            "offset": min(self.unfinished, self.seen),
            "seen": self.seen,
            "head": self._head,
            "near": self._near,
        }

    def close(self) -> None:
        """Let go of what it holds open; if a step that nobody waits for still runs, at its end."""
        self._closed = True
        if not self._stepping:
            self._close()

    def _close(self) -> None:
        self._let_go()
        if self._old is not None:
            os.close(self._old.fd)
            self._old = None

    def step(self, now: float) -> Piece:
        """The next piece; `now` is in seconds of a monotonic clock. Never raises for what a file system can do."""
        self._stepping = True
        self.signature = signature(self._root, self._path)
        try:
            if lines := self._late_lines(now):
                return Piece("read", lines=lines, more=True)
            return self._step(now)
        except OSError as error:
            self._let_go()
            return Piece("trouble", detail=f"{self._path}: {error.strerror or error}")
        finally:
            if self._fd is not None and not self._holds(self._fd, True):
                self._let_go()
            self._stepping = False
            if self._closed:
                self._close()

    # -- one step -------------------------------------------------------------------------------------------------

    def _step(self, now: float) -> Piece:
        if self._fd is not None and (piece := self._grown(now)) is not None:
            return piece
        opened = open_file(self._root, self._path, confined=self._confined)
        if isinstance(opened, Look):
            return self._not_there(opened, now)
        try:
            piece = self._at(opened, now)
        except OSError:
            if self._fd != opened.fd:
                os.close(opened.fd)
            raise
        return replace(piece, links=opened.found.links, real=opened.found.real)

    def _unsettled(self, now: float) -> bool:
        """Whether what is seen may still be the middle of a change."""
        self._odd_at = now if self._odd_at is None else self._odd_at
        if now < self._odd_at + QUIET_SECONDS:
            return True
        self._odd_at = None
        return False

    def _grown(self, now: float) -> Piece | None:
        """What the file that is open has got; None when that is nothing."""
        assert self._fd is not None
        shorter = os.fstat(self._fd).st_size < self.seen
        if shorter or not self._is_as_it_was(self._fd):
            if self._named(self._fd) and self._unsettled(now):
                return Piece("read")
            return self._edited(self._known, "truncated" if shorter else "rewritten")
        data = os.pread(self._fd, PIECE_BYTES, self.seen)
        if not data:
            return None
        self._odd_at = None
        self._accept(data)
        return Piece("read", data=data, more=True)

    def _at(self, opened: Opened, now: float) -> Piece:
        """What stands at the path: the same file, or another one."""
        here = (str(opened.facts.st_dev), str(opened.facts.st_ino))
        self._searched = False
        if self._fd is not None and self._id == here:
            os.close(opened.fd)
            self._odd_at = None
            return Piece("read")
        if self._fd is not None and not self._named(self._fd) and self._unsettled(now):
            os.close(opened.fd)
            return Piece("read")
        if self._fd is not None:
            return self._switch(opened, here, now)
        if self._id is None:
            return self._first_time(opened, here)
        if self._id == here or not self._find_old(os.path.dirname(opened.found.real)):
            self._fd = opened.fd
            return self._again(opened, here, now)
        piece = self._rest_of_old(now)
        if piece is None:
            return self._switch(opened, here, now)
        os.close(opened.fd)
        return piece

    def _first_time(self, opened: Opened, here: tuple[str, str]) -> Piece:
        self._fd, self._id = opened.fd, here
        self._reset()
        if self._at_end:
            self._at_end = False
            self._jump(opened.facts.st_size)
            return Piece("read")
        return Piece("read", more=True)

    def _again(self, opened: Opened, here: tuple[str, str], now: float) -> Piece:
        """The file is opened again after it wasn't held: in a new life, or for want of room."""
        self._at_end = False
        same, assured = self._id == here, opened.facts.st_size >= self.seen and self._is_as_it_was(opened.fd)
        self._id = here
        if not assured:
            return self._anew("truncated" if same and opened.facts.st_size < self.seen else "replaced")
        self._take_up()
        return self._grown(now) or Piece("read")

    def _take_up(self) -> None:
        """Go on in the file that is open. In a new life a line that was begun is read again from its start."""
        unfinished = self.unfinished
        self._jump(unfinished if self._resumes else self.seen)
        self._resumes, self.unfinished = False, unfinished

    def _rest_of_old(self, now: float) -> Piece | None:
        """What the renamed file still has; None when that is nothing."""
        piece = self._grown(now)
        return None if piece is None else replace(piece, more=True)

    def _switch(self, opened: Opened, here: tuple[str, str], now: float) -> Piece:
        """Another file stands at the path, and the one that is open has been read to its end."""
        assert self._fd is not None
        before = self._fd
        self._fd = None
        self._holds(before, False)
        renamed = self._named(before)
        if renamed:
            if self._old is not None:
                os.close(self._old.fd)
            self._old = _Old(before, self.seen, now + LINGER_SECONDS)
            content = None
        else:
            content = self._known
            if content is None and self.seen <= LARGEST_EDIT:
                content = os.pread(before, self.seen, 0)
            os.close(before)
        self._fd, self._id = opened.fd, here
        if renamed:
            return self._anew("rotated")
        if content is None and opened.facts.st_size >= self.seen and self._is_as_it_was(opened.fd):
            return Piece("read", more=True)
        return self._edited(content, "replaced")

    def _not_there(self, seen: Look, now: float) -> Piece:
        if seen.kind != "missing":
            kind = "refused" if seen.kind == "refused" else "trouble"
            return Piece(kind, detail=seen.detail, forbidden=seen.forbidden, links=seen.links, real=seen.real)
        ends: Ends = ""
        self._at_end = False
        if self._fd is not None and not self._named(self._fd):
            if self._unsettled(now):
                return Piece("missing", links=seen.links, real=seen.real)
            ends = "flush"
            self._let_go()
            self._id = None
            self._reset()
        elif self._fd is None and self._id is not None and not self._searched:
            self._searched = True
            if self._find_old(os.path.dirname(seen.real)):
                piece = self._rest_of_old(now) or Piece("missing")
                return replace(piece, links=seen.links, real=seen.real)
        return Piece("missing", ends, links=seen.links, real=seen.real)

    # -- content that isn't a continuation ------------------------------------------------------------------------

    def _anew(self, note: str) -> Piece:
        """From the first byte of what is open now."""
        self._reset()
        return Piece("read", ends="flush", note=note, more=True)

    def _edited(self, before: bytes | None, note: str) -> Piece:
        """The lines that an edit added; for what is no edit, all of it."""
        assert self._fd is not None
        if before is None:
            return self._anew(note)
        after = os.pread(self._fd, LARGEST_EDIT, 0)
        if before and after.startswith(before):
            self._set_marks(before)
            return Piece("read", more=True)
        if before.startswith(after):  # emptied, or begun anew with the same lines: those are new
            return self._anew(note)
        whole = after[: after.rfind(b"\n") + 1]
        lines = added_by_edit(before, whole)
        if lines is None or len(after) == LARGEST_EDIT:
            return self._anew(note)
        self._set_marks(whole)
        self.unfinished = len(whole)
        return Piece("read", ends="drop", lines=lines, note="edited" if lines else "", more=True)

    # -- where reading stands -------------------------------------------------------------------------------------

    def _accept(self, data: bytes) -> None:
        self.seen += len(data)
        if self._known is not None:
            whole = self._known + data if self.seen <= KNOWN_BYTES else None
            self._known = whole
        if len(self._first) < _MARK_BYTES and self.seen - len(data) == len(self._first):
            self._first = (self._first + data[:_MARK_BYTES])[:_MARK_BYTES]
        self._last = (self._last + data[-_MARK_BYTES:])[-_MARK_BYTES:]

    def _set_marks(self, content: bytes) -> None:
        """`content` is all that was read of the file."""
        self.seen = len(content)
        self._known = content if len(content) <= KNOWN_BYTES else None
        self._first, self._last = content[:_MARK_BYTES], content[-_MARK_BYTES:]
        self._head = self._near = ""

    def _jump(self, offset: int) -> None:
        """Count what stands before `offset` as read."""
        assert self._fd is not None
        self.seen = self.unfinished = offset
        self._known = os.pread(self._fd, offset, 0) if offset <= KNOWN_BYTES else None
        self._first = os.pread(self._fd, min(offset, _MARK_BYTES), 0)
        size = min(offset, _MARK_BYTES)
        self._last = os.pread(self._fd, size, offset - size)
        self._head = self._near = ""

    def _reset(self) -> None:
        self._resumes = False
        self.seen = self.unfinished = 0
        self._known, self._first, self._last = b"", b"", b""
        self._head = self._near = ""

    def _restore(self, state: State) -> None:
        """A state that isn't ours counts as an absent file."""
        dev, ino, offset, seen = (state.get(name) for name in ("dev", "ino", "offset", "seen"))
        if not isinstance(dev, str) or not isinstance(ino, str):
            return
        if not isinstance(offset, int) or not isinstance(seen, int) or not 0 <= offset <= seen:
            return
        self._id, self.seen, self.unfinished = (dev, ino), seen, offset
        self._head, self._near = str(state.get("head", "")), str(state.get("near", ""))
        self._known = None

    def _is_as_it_was(self, fd: int) -> bool:
        """Whether what was read stands in the file as it did."""
        if self._known is not None:
            return os.pread(fd, len(self._known), 0) == self._known
        size = min(self.seen, _MARK_BYTES)
        head, near = os.pread(fd, size, 0), os.pread(fd, size, self.seen - size)
        if self._first:
            return head.startswith(self._first) and near == self._last
        return _hash(head) == self._head and _hash(near) == self._near

    # -- files that are open --------------------------------------------------------------------------------------

    def _named(self, fd: int) -> bool:
        """Whether the open file still has a name anywhere."""
        return os.fstat(fd).st_nlink > 0

    def _let_go(self) -> None:
        if self._fd is not None:
            self._holds(self._fd, False)
            os.close(self._fd)
            self._fd = None

    def _late_lines(self, now: float) -> tuple[bytes, ...]:
        """What was still written to the file that was renamed."""
        old = self._old
        if old is None:
            return ()
        data = os.pread(old.fd, PIECE_BYTES, old.offset)
        if os.fstat(old.fd).st_size < old.offset:
            old.until = now
        old.offset += len(data)
        lines = (old.partial + data).split(b"\n")
        old.partial = lines.pop()
        if len(old.partial) > PIECE_BYTES or (now >= old.until and not data and old.partial):
            lines.append(old.partial)
            old.partial = b""
        if now >= old.until and not data:
            os.close(old.fd)
            self._old = None
        return tuple(lines)

    def _find_old(self, folder: str) -> bool:
        """Look for the file under another name in the same folder, and open it there."""
        try:
            with os.scandir(folder) as entries:
                for _, entry in zip(range(_MOST_NAMES), entries, strict=False):
                    if (
                        self._id is not None
                        and str(entry.inode()) == self._id[1]
                        and self._open_old(entry.path)
                    ):
                        return True
        except OSError:
            return False
        return False

    def _open_old(self, real: str) -> bool:
        if self._confined and (not is_inside(self._root, real) or is_protected(self._root, real)):
            return False
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        fd = os.open(real, flags)
        facts = os.fstat(fd)
        known = (str(facts.st_dev), str(facts.st_ino)) == self._id and stat.S_ISREG(facts.st_mode)
        if not known or facts.st_size < self.seen or not self._is_as_it_was(fd):
            os.close(fd)
            return False
        self._fd = fd
        self._take_up()
        return True


def added_by_edit(before: bytes, after: bytes) -> tuple[bytes, ...] | None:
    """The lines that `after` has more often than `before`, if at least half of the lines stayed where they were, from
    the start or from the end; else None.
    """
    old, new = _lines(before), _lines(after)
    shared, start, end = min(len(old), len(new)), 0, 0
    while start < shared and old[start] == new[start]:
        start += 1
    while end < shared - start and old[-1 - end] == new[-1 - end]:
        end += 1
    # Lines may have been added behind the edit as well: then the end tells nothing, and places count.
    stayed = max(start + end, sum(a == b for a, b in zip(old, new, strict=False)))
    if not old or stayed * 2 < len(old):
        return None
    as_text = [line.decode("latin-1") for line in old], [line.decode("latin-1") for line in new]
    return tuple(line.encode("latin-1") for line in added_lines(*as_text))


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16] if data else ""

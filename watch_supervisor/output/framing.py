"""Bytes of a pipe cut into lines, in memory that doesn't grow with a line.

Pure. Of a line 64 KiB are kept, the rest is dropped and counted. A carriage return replaces the line (a
progress bar), before a newline it belongs to the line's end. However the bytes are split, the lines are the
same. It doesn't decode, strip or judge: most blocks are looked at once by a search and never cut up.
"""

import re
from collections.abc import Iterable
from itertools import chain

LONGEST_LINE_BYTES = 64 * 1024
_RETURNS_BEFORE_NEWLINE = re.compile(rb"\r+\n")


class Block:
    """Whole lines, each ended by a newline: what stands from `start` to `end` in `whole`, which isn't copied for it.

    `dropped` bytes are missing from the end of its last line; then it holds that line alone.
    """

    __slots__ = ("dropped", "end", "start", "whole")

    def __init__(self, whole: bytes, dropped: int = 0, start: int = 0, end: int | None = None) -> None:
        self.whole = whole
        self.dropped = dropped
        self.start = start
        self.end = len(whole) if end is None else end

    @property
    def data(self) -> bytes:
        """Its lines, with their newlines."""
        return self.whole[self.start : self.end]

    def lines(self) -> list[bytes]:
        """Without their newlines."""
        return self.whole[self.start : self.end - 1].split(b"\n")


class Framer:
    """One stream. Feed it what was read, and `flush` it after a while of silence and at the end."""

    def __init__(self, longest: int = LONGEST_LINE_BYTES) -> None:
        self._longest = longest
        self._kept = list[bytes]()
        self._size = 0
        self._dropped = 0
        self._returned = False
        """A carriage return came last: a newline ends the line as it is, anything else replaces it."""

    @property
    def has_partial(self) -> bool:
        """Whether the start of a line waits for its end."""
        return self._size > 0 or self._dropped > 0

    @property
    def partial(self) -> bytes:
        """The start of a line that waits for its end, as far as it is kept."""
        return b"".join(self._kept)

    def feed(self, data: bytes) -> Iterable[Block]:
        """The lines that `data` completes, in blocks that share its memory where they can."""
        if self._returned or b"\r" in data:
            data = self._without_returns(data)
        if len(data) <= self._longest or self._is_of_short_lines(data):
            return self._feed(data)
        pieces = range(0, len(data), self._longest)
        return chain.from_iterable(self._feed(data[at : at + self._longest]) for at in pieces)

    def _is_of_short_lines(self, data: bytes) -> bool:
        """Whether there is a newline in every half of the longest line, so that no line needs a cut."""
        half = max(1, self._longest // 2)
        return all(data.find(b"\n", at, at + half) >= 0 for at in range(0, len(data), half))

    def flush(self, *, final: bool = False) -> Block | None:
        """The partial line as a line; what comes later begins a new one. None when there is nothing to tell.

        Unless it is `final`, the first bytes of a character that isn't whole yet stay behind.
        """
        line, dropped = self.partial, self._dropped
        held = b"" if final or dropped else _unfinished(line)
        self._forget()
        self._returned = False
        if held:
            self._kept, self._size = [held], len(held)
            line = line[: -len(held)]
        return Block(line + b"\n", dropped) if line or dropped else None

    def _feed(self, data: bytes) -> list[Block]:
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._keep(data)
            return []
        blocks = list[Block]()
        start = 0
        if self._size or self._dropped:
            # The line that was begun ends here, and may be cut: it goes by itself.
            start = data.index(b"\n") + 1
            self._keep(data[: start - 1])
            blocks.append(Block(self.partial + b"\n", self._dropped))
            self._forget()
        if start < end:
            blocks.append(Block(data, start=start, end=end))
        if end < len(data):
            self._keep(data[end:])
        return blocks

    def _without_returns(self, data: bytes) -> bytes:
        """`data` with the returns done. What they replaced is gone, from what is kept as well; those at its
        end wait for what follows.
        """
        whole = b"\r" + data if self._returned else data
        data = whole.rstrip(b"\r")
        self._returned = len(data) < len(whole)
        lines = _RETURNS_BEFORE_NEWLINE.sub(b"\n", data).split(b"\n")
        if b"\r" in lines[0]:
            self._forget()
        return b"\n".join([line[line.rfind(b"\r") + 1 :] for line in lines])

    def _keep(self, data: bytes) -> None:
        room = self._longest - self._size
        if len(data) > room:
            self._dropped += len(data) - room
            data = data[:room]
        if data:
            self._kept.append(data)
            self._size += len(data)

    def _forget(self) -> None:
        self._kept, self._size, self._dropped = [], 0, 0


def _unfinished(line: bytes) -> bytes:
    """The first bytes of a UTF-8 character whose last bytes haven't come yet."""
    for back in range(1, min(4, len(line) + 1)):
        byte = line[-back]
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return line[-back:] if back < needs else b""
        if byte < 0x80:
            break
    return b""

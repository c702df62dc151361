"""Cuts a text into pieces that a surface takes, and never loses a character of it.

Pure. It knows Markdown's code fences and nothing else of Markdown: it never rewrites a text, masks nothing, mentions
nobody, and knows no surface but the limit it is given.

A chunk has two sides. `payload` is a slice of the text: all payloads joined are the text, byte for byte. `shown`
is what is posted: the payload, with a fence that was cut closed at its end and opened again at the next one's start,
and without white space at its edges outside a fence (a surface drops it anyway, and refuses a message of nothing
else).

A line that only looks like a fence because of a cut gets a zero-width space before it in `shown`, so that every chunk
is balanced on its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

SMALLEST_LIMIT = 40
"""The least `limit`, in UTF-16 code units: room for an opener, a closer and some text between them."""

_GUARD = "\u200b"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^\r\n]*)")
_LOOKS_LIKE_FENCE = re.compile(r" {0,3}(?:`{3}|~{3})")
_SPACE = re.compile(r"\s*")
_LONGEST_CLUSTER = (
    64  # code points that a hard cut steps back at most, to keep together what belongs together
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece: `shown` is what is posted, `payload` is the slice of the text that it stands for."""

    shown: str
    payload: str


def utf16_len(text: str) -> int:
    """The length in UTF-16 code units; a lone surrogate counts as one."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def join(chunks: Iterable[Chunk]) -> str:
    """The text that these chunks, in order, were cut from."""
    return "".join(chunk.payload for chunk in chunks)


def chunk(text: str, limit: int = 2000) -> list[Chunk]:
    """Cut `text` into chunks whose `shown` has at most `limit` UTF-16 code units.

    A cut falls after a paragraph, if that leaves the chunk at least half full; else after a line; else after a word;
    else inside a word, but not inside a character with its marks. Text of white space only gives no chunk at all.

    Raises ValueError for a limit below `SMALLEST_LIMIT`.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"A limit of {limit} is too small to cut text for: the least is {SMALLEST_LIMIT}.")
    if not text or text.isspace():
        return []
    return _Cutter(text, limit).all()


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open fence: what opens it again, what closes it, and which closing line ends it."""

    mark: str
    length: int
    opener: str
    closer: str
    opener_units: int
    closer_units: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with its line end. `stop` is where the visible part ends; units are UTF-16."""

    start: int
    stop: int
    end: int
    units: int
    stop_units: int
    eol_units: int
    inside: _Fence | None
    after: _Fence | None
    defused: bool

    @property
    def opens(self) -> bool:
        return self.after is not None and self.after is not self.inside

    @property
    def closes(self) -> bool:
        return self.inside is not None and self.after is None


def _fence(indent: str, run: str, info: str, limit: int) -> _Fence:
    bare = indent + run
    opener = (bare + info).rstrip()
    if utf16_len(opener) > limit // 4:
        opener = bare
    return _Fence(run[0], len(run), opener + "\n", bare, utf16_len(opener) + 1, len(bare))


def _lines(text: str, limit: int) -> list[_Line]:
    """All lines of the text, each with the fence it stands in."""
    lines: list[_Line] = []
    fence: _Fence | None = None
    start = 0
    while start < len(text):
        found = _LINE.match(text, start)
        assert found is not None
        line = found.group()
        body = line.rstrip("\r\n")
        inside, defused = fence, False
        looks = _FENCE.match(body)
        if looks is not None:
            indent, run, info = looks.groups()
            if len(run) > limit // 8:
                defused = True  # no chunk could hold it as opener and closer: shown as plain text
            elif fence is None:
                if run[0] == "~" or "`" not in info:
                    fence = _fence(indent, run, info, limit)
            elif run[0] == fence.mark and len(run) >= fence.length and not info.strip(" \t"):
                fence = None
        visible = line.rstrip()
        units = utf16_len(line)
        hidden = units if not visible else utf16_len(line[len(visible) :])
        lines.append(
            _Line(
                start,
                start + len(visible),
                start + len(line),
                units + defused,
                units - hidden + defused,
                len(line) - len(body),
                inside,
                fence,
                defused,
            )
        )
        start += len(line)
    return lines


class _Cutter:
    """Walks the text once. `at` is where the next chunk begins, `index` the line that holds it."""

    def __init__(self, text: str, limit: int) -> None:
        self.text = text
        self.limit = limit
        self.lines = _lines(text, limit)
        self.index = 0
        self.at = 0

    def all(self) -> list[Chunk]:
        chunks: list[Chunk] = []
        while self.at < len(self.text):
            chunks.append(self._next())
        return chunks

    def _next(self) -> Chunk:
        """The next chunk; each call moves on by at least one character.

        A line is looked at again by the next call only if it stood behind a paragraph cut of a half-full chunk, or was
        the line that no longer fitted, so the whole walk is linear.
        """
        text, limit, lines = self.text, self.limit, self.lines
        first = lines[self.index]
        inside = first.inside if self.at == first.start else first.after
        units = inside.opener_units if inside else 0
        begun = inside is not None  # whether anything is shown yet
        shown_from = self.at
        head_guard = False
        pending = 0  # white space after the last visible character: free if a cut follows, else counted
        paragraph: int | None = None
        line_end: int | None = None
        cut: int | None = None
        j = self.index
        while j < len(lines):
            line = lines[j]
            start = max(self.at, line.start)
            if not begun:
                if line.stop <= start:  # leading blank lines are never shown
                    j += 1
                    continue
                start = shown_from = self._first_shown(start, line)
            if start == shown_from and start > line.start and _LOOKS_LIKE_FENCE.match(text, start):
                head_guard = True
                units += 1
            if line.opens and start == line.start and begun and units * 2 >= limit:
                paragraph = line.start
            blank = line.inside is None and line.stop == line.start
            if not blank:
                tail, visible, whole = self._cost(line, start)
                if units + pending + visible + tail > limit:
                    break
                if line.after is None:
                    units += pending + visible
                    pending = whole - visible
                else:
                    units += pending + whole
                    pending = 0
            else:
                pending += line.units
            fresh_opener = line.opens and start == line.start
            if not fresh_opener:  # a cut right after an opener would show an empty block
                line_end = line.end
            if (blank or line.closes) and units * 2 >= limit:
                paragraph = line.end
            begun = True
            j += 1
        else:
            cut = len(text)
        if cut is None:
            cut = paragraph if paragraph is not None else line_end
            if cut is None:
                cut = self._split(lines[j], max(shown_from, lines[j].start), units + pending)
        return self._made(inside, shown_from, cut, head_guard)

    def _cost(self, line: _Line, start: int) -> tuple[int, int, int]:
        """Of the part of `line` from `start`: units of a closer after it, of its visible part, and of all of it."""
        if start == line.start:
            visible, whole = line.stop_units, line.units
        elif max(line.stop, start) - start > self.limit:
            return (
                0,
                self.limit + 1,
                self.limit + 1,
            )  # doesn't fit, whatever it is: not measured again and again
        else:
            visible = utf16_len(self.text[start : line.stop])
            whole = visible + (line.units - line.stop_units)
            if start > line.stop:
                visible, whole = 0, line.end - start
        if line.after is None:
            return 0, visible, whole
        return (0 if line.eol_units else 1) + line.after.closer_units, whole, whole

    def _first_shown(self, start: int, line: _Line) -> int:
        """Where a chunk outside a fence begins to be shown: an indentation too wide for it is left out."""
        space = _SPACE.match(self.text, start, line.end)
        assert space is not None
        return start if space.end() - start <= self.limit // 8 else space.end()

    def _split(self, line: _Line, start: int, units: int) -> int:
        """Where to cut a line that is too long for what is left of the chunk, which has no earlier place to cut."""
        tail = 1 + line.after.closer_units if line.after else 0
        opens = line.opens and start == line.start
        if start == line.start and not opens and _LOOKS_LIKE_FENCE.match(self.text, start):
            tail += 1  # the guard before its first part
        room = self.limit - units - tail
        if start > self.at and start == line.start and line.inside and (room < 8 or line.closes):
            return start  # only an opener stands before it, and it leaves no room
        stop = start + _fitting(self.text[start : min(line.end, start + room)], room)
        space = _SPACE.match(self.text, start, stop)
        least = (space.end() if space else start) + (line.after.length if opens and line.after else 1)
        if least > stop:  # a fence's white space only
            least = start + 1
        for place in range(stop, least - 1, -1):
            before, after = self.text[place - 1], self.text[place]
            if (_breaks(before) or (place == stop and _breaks(after))) and not _belongs(before, after):
                return place
        for place in range(stop, max(least, stop - _LONGEST_CLUSTER) - 1, -1):
            if not _belongs(self.text[place - 1], self.text[place]):
                return place
        return stop

    def _made(self, inside: _Fence | None, shown_from: int, cut: int, head_guard: bool) -> Chunk:
        """The chunk up to `cut`, and the walk moved behind it."""
        text, lines = self.text, self.lines
        begin, last = self.at, self.index
        while last + 1 < len(lines) and lines[last + 1].start < cut:
            last += 1
        line = lines[last]
        open_fence = line.after
        parts = [inside.opener if inside else ""]
        position = shown_from
        if head_guard:
            parts.append(_GUARD)
        for each in range(self.index, last + 1):
            if lines[each].start < shown_from:
                continue
            if lines[each].defused or (each == last and self._misread(line, cut)):
                parts += [text[position : lines[each].start], _GUARD]
                position = lines[each].start
        parts.append(text[position:cut])
        shown = "".join(parts)
        if open_fence is None:
            shown = shown.rstrip()
            cut = self._behind_space(cut)
        else:
            shown += ("" if shown.endswith(("\n", "\r")) else "\n") + open_fence.closer
        self.at, self.index = cut, last
        while self.index < len(lines) and lines[self.index].end <= cut:
            self.index += 1
        return Chunk(shown, text[begin:cut])

    def _misread(self, line: _Line, cut: int) -> bool:
        """Whether the part of a line before a cut inside it reads as a fence, though the whole line is none."""
        whole = line.opens or line.closes or cut >= line.end
        return not whole and _LOOKS_LIKE_FENCE.match(self.text, line.start) is not None

    def _behind_space(self, cut: int) -> int:
        """`cut` moved over the white space behind it, which nobody sees; a line's indentation stays with its line."""
        space = _SPACE.match(self.text, cut)
        end = space.end() if space else cut
        if end == len(self.text):
            return end
        start = max(self.text.rfind("\n", cut, end), self.text.rfind("\r", cut, end)) + 1
        if start > cut:
            return start
        at_line_start = cut > 0 and self.text[cut - 1] in "\r\n"
        return cut if at_line_start else end


def _fitting(piece: str, room: int) -> int:
    """How many code points of `piece` fit into `room` UTF-16 code units."""
    if piece.isascii():
        return min(len(piece), room)
    for count, character in enumerate(piece):
        room -= 2 if character > "\uffff" else 1
        if room < 0:
            return count
    return len(piece)


def _breaks(character: str) -> bool:
    return character.isspace() and character not in "\u00a0\u202f\u2007"


def _belongs(before: str, after: str) -> bool:
    """Whether a cut between these two would take a character apart, or make two fences of one."""
    return (
        unicodedata.category(after) in ("Mn", "Me", "Mc")
        or after in "\u200c\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (_is_flag_letter(before) and _is_flag_letter(after))
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or (before == after and after in "`~")
        or (before == "\r" and after == "\n")
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"

"""JSON that knows on which line each part of it stands, so that a mistake in access.json can be found again.

It reads what `json.loads` reads, and is stricter where a config must be: a key that stands twice is reported, and NaN,
Infinity, numbers beyond reason, lone surrogates and deep nesting are refused. It never touches files, and never quotes
more of the text than one word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import cast

Where = tuple[str | int, ...]
"""The way from the top of the file to one value: keys and places in lists."""

DEEPEST = 32
LONGEST_NUMBER = 40

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\s\"',:{}\[\]]+")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}
_ALMOST = {"True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null"}


class SourceMistake(ValueError):
    """Text that isn't JSON. The message says what is wrong and how it is right; `line` counts from 1."""

    def __init__(self, line: int, words: str) -> None:
        super().__init__(words)
        self.line = line


@dataclass(frozen=True, slots=True)
class Twice:
    """A key that stands twice in one object. The value read is that of the first."""

    where: Where
    line: int
    first: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text that was read: its value, the line of each key or list item, and the keys that stand twice."""

    value: object
    lines: dict[Where, int]
    twice: tuple[Twice, ...]

    def line(self, where: Where) -> int:
        """The line of `where`, or of the nearest part around it that the text holds."""
        for end in range(len(where), 0, -1):
            if (line := self.lines.get(where[:end])) is not None:
                return line
        return 1


def scan(text: str) -> Source:
    """Read a whole JSON text. SourceMistake for the first place where it isn't one."""
    return _Scanner(text).whole()


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    breaks: list[int] = field(default_factory=lambda: cast(list[int], []))
    lines: dict[Where, int] = field(default_factory=lambda: cast(dict[Where, int], {}))
    twice: list[Twice] = field(default_factory=lambda: cast(list[Twice], []))

    def __post_init__(self) -> None:
        self.breaks = [found.start() for found in re.finditer("\n", self.text)]

    def whole(self) -> Source:
        self._space()
        if self.at == len(self.text):
            raise SourceMistake(1, "the file is empty")
        value = self._value((), 0)
        self._space()
        if self.at < len(self.text):
            raise self._odd("something stands after the end of the JSON; take it out")
        return Source(value, self.lines, tuple(self.twice))

    def _line(self, at: int) -> int:
        return bisect_right(self.breaks, at - 1) + 1

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _value(self, where: Where, depth: int) -> object:
        char = self._peek()
        if char in ("{", "["):
            if depth == DEEPEST:
                raise self._mistake(f"this is nested more than {DEEPEST} levels deep")
            return self._object(where, depth + 1) if char == "{" else self._list(where, depth + 1)
        if char == '"':
            return self._string()
        if char == "-" or "0" <= char <= "9":
            return self._number()
        found = _WORD.match(self.text, self.at)
        if found and found[0] in _WORDS:
            self.at = found.end()
            return _WORDS[found[0]]
        raise self._odd("a value is missing here")

    def _object(self, where: Where, depth: int) -> dict[str, object]:
        start, value = self.at, cast(dict[str, object], {})
        self.at += 1
        self._space()
        while self._peek() != "}":
            self._open(start)
            if self._peek() != '"':
                raise self._odd('a key in "double quotes" is missing here')
            key_at = self.at
            key = self._string()
            inner, line = (*where, key), self._line(key_at)
            self._space()
            if self._peek() != ":":
                self._open(start)
                raise self._mistake("a colon is missing after the key")
            self.at += 1
            self._space()
            self._open(start)
            if key in value:
                # Read on for mistakes of form, but keep the lines of the first.
                self.twice.append(Twice(inner, line, self.lines[inner]))
                lines, self.lines = self.lines, {}
                self._value(inner, depth)
                self.lines = lines
            else:
                self.lines[inner] = line
                value[key] = self._value(inner, depth)
            self._comma(start, "}")
        self.at += 1
        return value

    def _list(self, where: Where, depth: int) -> list[object]:
        start, value = self.at, cast(list[object], [])
        self.at += 1
        self._space()
        while self._peek() != "]":
            self._open(start)
            inner = (*where, len(value))
            self.lines[inner] = self._line(self.at)
            value.append(self._value(inner, depth))
            self._comma(start, "]")
        self.at += 1
        return value

    def _comma(self, start: int, end: str) -> None:
        """Step over a comma, or stand at the end of the object or list that began at `start`."""
        self._space()
        self._open(start)
        if self._peek() == end:
            return
        if self._peek() != ",":
            raise self._odd(f"a comma or {end} is missing before this")
        comma = self.at
        self.at += 1
        self._space()
        if self._peek() == end:
            raise SourceMistake(self._line(comma), f"the comma before {end} is one too many")

    def _open(self, start: int) -> None:
        if self.at >= len(self.text):
            raise SourceMistake(self._line(start), f"this {self.text[start]} is never closed")

    def _string(self) -> str:
        start = self.at
        self.at += 1
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self.text, self.at)
            if found:
                parts.append(found[0])
                self.at = found.end()
            char = self._peek()
            if char == '"':
                self.at += 1
                break
            if char == "\\":
                parts.append(self._escape())
            elif char in ("", "\n", "\r"):
                raise SourceMistake(self._line(start), 'a text is never closed: its last " is missing')
            else:
                raise self._mistake("a text holds a control character; take it out, or write \\t for a tab")
        text = "".join(parts)
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise SourceMistake(self._line(start), "a text holds half a character (\\ud800 to \\udfff)")
        return text

    def _escape(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        if char in _ESCAPES:
            self.at += 2
            return _ESCAPES[char]
        code = self._unit(self.at)
        if code is None:
            raise self._mistake("a text holds a \\ that means nothing; write \\\\ for a backslash")
        self.at += 6
        low = self._unit(self.at) if 0xD800 <= code <= 0xDBFF else None
        if low is not None and 0xDC00 <= low <= 0xDFFF:
            self.at += 6
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
        return chr(code)

    def _unit(self, at: int) -> int | None:
        found = _HEX.match(self.text, at + 2) if self.text.startswith("\\u", at) else None
        return int(found[0], 16) if found else None

    def _number(self) -> int | float:
        found, word = _NUMBER.match(self.text, self.at), _WORD.match(self.text, self.at)
        if found is None or word is None or found.end() != word.end():
            raise self._odd("this is no number")
        if len(found[0]) > LONGEST_NUMBER:
            raise self._mistake(f"a number has more than {LONGEST_NUMBER} characters")
        value = float(found[0]) if found[1] or found[2] else int(found[0])
        if value in (float("inf"), float("-inf")):
            raise self._mistake("a number is too large")
        self.at = found.end()
        return value

    def _mistake(self, words: str) -> SourceMistake:
        return SourceMistake(self._line(self.at), words)

    def _odd(self, otherwise: str) -> SourceMistake:
        """What to say of what stands here, with the advice that fits it; else `otherwise`."""
        char = self._peek()
        found = _WORD.match(self.text, self.at)
        word = found[0] if found else ""
        if char in ("/", "#"):
            return self._mistake("JSON has no comments; take this one out")
        if char in ("'", "‘", "’", "“", "”", "„", "«", "»"):
            return self._mistake('texts and keys stand in straight double quotes, like "this"')
        if word in ("NaN", "Infinity", "-Infinity"):
            return self._mistake(f"{word} is no number that JSON knows")
        if word in _ALMOST:
            return self._mistake(f"{word} is written {_ALMOST[word]} in JSON")
        if (
            word.isascii()
            and word.isprintable()
            and 0 < len(word) <= 20
            and word[0].isalnum()
            and word not in _WORDS
        ):
            return self._mistake(f'{otherwise}; a text stands in double quotes, like "{word}"')
        if char and not char.isprintable():
            return self._mistake(f"an invisible character (U+{ord(char):04X}) stands here; take it out")
        return self._mistake(otherwise)

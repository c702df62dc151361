"""The words of one line of a script: quoted texts, plain words, lengths of time. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_S = 3600.0

_OPENING = '"“”„'
_CLOSING = {'"': '"', "“": "”“", "”": "”", "„": "“”"}
_LENGTH = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,3})?)(ms|s|m)\Z")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


class Wrong(ValueError):
    """What is wrong in a line, as a sentence."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    quoted: bool = False


def words(line: str) -> list[Word]:
    """Split a line. In quotes `\\n` is a line end, and `\\"` and `\\\\` are what they show. Raises `Wrong`."""
    found: list[Word] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
        elif line[at] in _OPENING:
            text, at = quoted(line, at)
            found.append(Word(text, quoted=True))
        else:
            end = at
            while end < len(line) and not line[end].isspace():
                end += 1
            found.append(Word(line[at:end]))
            at = end
    return found


def quoted(line: str, at: int) -> tuple[str, int]:
    """The text between the quote at `at` and the one that closes it, and where the line goes on. Raises `Wrong`."""
    closing = _CLOSING[line[at]]
    kept: list[str] = []
    here = at + 1
    while here < len(line):
        char = line[here]
        if char == "\\" and here + 1 < len(line):
            escaped = line[here + 1]
            kept.append("\n" if escaped == "n" else escaped if escaped in '"\\' + closing else char + escaped)
            here += 2
        elif char in closing:
            return "".join(kept), here + 1
        else:
            kept.append(char)
            here += 1
    raise Wrong(f"the quote that begins at {line[at : at + 20]!r} isn't closed; end it with {closing[0]}")


def seconds(text: str) -> float:
    """A length of time such as `500ms`, `2s` or `1.5m`. Raises `Wrong`."""
    found = _LENGTH.match(text)
    if not found:
        raise Wrong(f"{text[:40]!r} is no length of time; write 500ms, 2s or 1m")
    length = float(found[1]) * _UNITS[found[2]]
    if length > LONGEST_S:
        raise Wrong(f"{text} is longer than an hour, which is the most")
    return length

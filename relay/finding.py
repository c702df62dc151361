"""What a look at the relay's surroundings has found: that something is in order, or what is to be done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` is a sentence; `advice` says what to do, and where. Of a note, nothing has to be done."""

    kind: Literal["fine", "note", "todo"]
    what: str
    advice: str = ""


def fine(what: str) -> Finding:
    return Finding("fine", what)


def note(what: str, advice: str = "") -> Finding:
    return Finding("note", what, advice)


def todo(what: str, advice: str) -> Finding:
    return Finding("todo", what, advice)

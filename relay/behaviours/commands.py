"""A command, as people type it (`!word …`) or fill it in (a slash command's options): one catalogue for both ways.

What is filled in becomes the line that somebody would have typed, so that a command means the same whichever way it
came. What stands in one option can never become another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from relay.ledger.canonical import clean_text
from relay.ledger.fold import View

Value = str | int | bool
MOST_OFFERED = 25
LONGEST_VALUE = 1_000
_ONE_WORD = re.compile(r"\w[\w./:+-]*")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What an option may be filled in with: what is put in, and how it reads in the list."""

    value: str
    label: str


Suggests = Callable[[View, str], Iterable[Suggestion]]
"""What an option may be filled in with in a scope, most likely first. Pure."""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to fill in. In the line it stands as `before` and the value: a switch that is on as `before` alone.

    A text with choices or in quotes is always one value. One that is neither is the rest of its line, so it must be
    the last option.
    """

    name: str
    about: str
    kind: Literal["text", "number", "switch"] = "text"
    before: str = ""
    quoted: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()
    suggests: Suggests | None = None

    def typed(self, value: Value) -> str | None:
        """How that value stands in the line; empty for nothing, None for a value of another kind."""
        if self.kind == "switch":
            return None if not isinstance(value, bool) else self.before if value else ""
        if isinstance(value, bool) or (self.kind == "number") != isinstance(value, int):
            return None
        text = " ".join(clean_text(str(value)).split())[:LONGEST_VALUE]
        if not text:
            return ""
        return f"{self.before} {quoted(text) if self.quoted else text}".strip()


@dataclass(frozen=True, slots=True)
class Command:
    """A `!word` that people type, and the slash command of the same name. What was said while no relay listened does
    not act. A usage with more than the word and no `options` is filled in as one line."""

    word: str
    usage: str
    about: str
    owner_only: bool = False
    options: tuple[Option, ...] = ()

    @property
    def name(self) -> str:
        """The word without its mark."""
        return self.word.lstrip("!")

    @property
    def to_fill_in(self) -> tuple[Option, ...]:
        """The options, or the one that stands for all of them."""
        if self.options or self.usage.strip() == self.word:
            return self.options
        return (Option("line", self.usage),)

    def line(self, values: Mapping[str, Value]) -> str | None:
        """The line that somebody would have typed; None when an option is unknown or of another kind."""
        options = {option.name: option for option in self.to_fill_in}
        if values.keys() - options.keys():
            return None
        parts = [options[name].typed(values[name]) for name in options if name in values]
        if any(part is None for part in parts):
            return None
        return " ".join([self.word, *(part for part in parts if part)])

    def suggestions(self, option: str, typed: str, view: View, scope: str) -> list[Suggestion]:
        """What fits what was typed of that option so far."""
        for one in self.to_fill_in:
            if one.name == option and one.suggests is not None:
                return fitting(one.suggests(view, scope), typed)
        return []


def fitting(offered: Iterable[Suggestion], typed: str) -> list[Suggestion]:
    """Those whose value holds what was typed, or a word of whose label begins with it; first those that begin so."""
    part = typed.strip().casefold()
    found = [one for one in offered if _fits(one, part)]
    found.sort(key=lambda one: not one.value.casefold().startswith(part))
    return found[:MOST_OFFERED]


def _fits(one: Suggestion, part: str) -> bool:
    words = one.label.casefold().split()
    return part in one.value.casefold() or any(word.startswith(part) for word in words)


def quoted(text: str) -> str:
    """Such that whatever reads the line finds exactly it: in double quotes, unless it is one plain word."""
    if _ONE_WORD.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def named(commands: Sequence[Command], name: str) -> Command | None:
    """The command of that name, without its mark."""
    return next((command for command in commands if command.name == name), None)

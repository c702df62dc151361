"""What a script consists of, and what is wrong with one. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relay.errors import UsageError

LAST = ""
"""A target's text that stands for `last`: the newest message of the place."""

MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Say:
    """Somebody posts. `to` is the text of the message it replies to (`LAST` for the newest), or None."""

    person: str
    text: str
    to: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """Who wrote a message edits it to `text`, or deletes it (None)."""

    target: str
    text: str | None


@dataclass(frozen=True, slots=True)
class React:
    emoji: str
    target: str
    person: str


@dataclass(frozen=True, slots=True)
class Choose:
    value: str
    target: str
    person: str
    reason: str


@dataclass(frozen=True, slots=True)
class OpenThread:
    title: str
    alias: str


@dataclass(frozen=True, slots=True)
class File:
    """A change of a file in the room's workspace. `text` is what is written, or the new path of a rename."""

    act: Literal["write", "append", "delete", "rename"]
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Seen:
    """`see`: a text is shown after what the last `see` of the place found. `within_s` bounds the wait."""

    text: str
    by: str | None
    within_s: float


@dataclass(frozen=True, slots=True)
class SeenReaction:
    """`see 👀 on …`: the reaction stands, whoever set it."""

    emoji: str
    target: str
    within_s: float


@dataclass(frozen=True, slots=True)
class Unseen:
    """`not`: nothing of that text since what the last `see` of the place found, and for so long from now on."""

    text: str
    by: str | None
    for_s: float


@dataclass(frozen=True, slots=True)
class Count:
    """Exactly so many messages of the place have the text, and for so long from then on."""

    text: str
    number: int
    by: str | None
    for_s: float
    within_s: float


@dataclass(frozen=True, slots=True)
class Working:
    """The agent works in the place; with a text, on what that names."""

    text: str
    within_s: float


@dataclass(frozen=True, slots=True)
class Settle:
    within_s: float


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Process:
    act: Literal["kill", "stop", "restart"]


Act = (
    Say
    | Change
    | React
    | Choose
    | OpenThread
    | File
    | Seen
    | SeenReaction
    | Unseen
    | Count
    | Working
    | Settle
    | Wait
    | Process
)
EXPECTATIONS = (Seen, SeenReaction, Unseen, Count, Working, Settle)


@dataclass(frozen=True, slots=True)
class Step:
    """One act, with the line it stands in and the place where it happens: a room, a thread's alias, or `room/t1`."""

    line: int
    shown: str
    place: str
    act: Act


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script. `humans` belong to every room, `guests` to none; `config` is as it was written."""

    steps: tuple[Step, ...]
    humans: tuple[str, ...]
    guests: tuple[str, ...]
    rooms: tuple[str, ...]
    aliases: tuple[str, ...]
    config: str | None
    limit_s: float


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong in a line, and the right form."""

    line: int
    problem: str


class ScriptMistakes(UsageError):
    """A script that can't be played. Nothing was started."""

    def __init__(self, name: str, mistakes: list[Mistake]) -> None:
        lines = [f"{name}:{mistake.line}: {mistake.problem}" for mistake in mistakes[:MOST_TOLD]]
        if len(mistakes) > MOST_TOLD:
            lines.append(f"… and {len(mistakes) - MOST_TOLD} more")
        super().__init__(
            "this script can't be played:\n" + "\n".join(lines), "docs/scripts.md shows each line."
        )
        self.mistakes = mistakes

"""What the page shows of the relay besides the chat, and who tells it. Read only: nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class WatchFact:
    """A watch, for people. `due` is when it next looks or fires (UTC ms); `fires` how often it has fired."""

    scope: str
    name: str
    what: str
    """One line: what it watches."""
    state: str
    """`watching`, `waiting`, `done` …"""
    fires: int
    due: int | None
    last: str
    """The last thing that happened, in one line; may be empty."""


@dataclass(frozen=True, slots=True)
class TurnFact:
    """A running turn, or a lane that waits without one (`paused`, `waiting`). `started_at` in UTC ms, of a lane since
    when its first message waits; `waiting` counts the messages behind it."""

    scope: str
    state: str
    doing: str
    started_at: int
    waiting: int


@dataclass(frozen=True, slots=True)
class WhyLine:
    """One interaction of a causal chain. `depth` counts the steps away from what was asked about."""

    id: str
    verb: str
    at: int
    actor: str
    text: str
    depth: int


class Facts(Protocol):
    """Where the page's facts come from. Scopes are whole (`web:main/t2`)."""

    def watches(self) -> Sequence[WatchFact]: ...

    def turns(self) -> Sequence[TurnFact]: ...

    def trouble(self) -> Sequence[str]:
        """What a person should know and act on, one sentence each."""
        ...

    async def why(self, id: str) -> Sequence[WhyLine]:
        """The causal chain of a message of the page (`m17`) or of an interaction; empty when nothing is known."""
        ...

    async def moved(self, since: int) -> int:
        """Wait until the facts are newer than that revision; returns theirs. The first revision is above 0."""
        ...

    async def blob(self, digest: str) -> bytes | None:
        """The bytes of a file that was shared, or None."""
        ...

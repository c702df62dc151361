"""A gateway session: its number of the last event, what it may hear, and the events it can be told again."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from fakes.discord.model import App, Json

REMEMBERED = 2_000
"""Events that RESUME can give back."""


class Link(Protocol):
    """One open connection."""

    def send(self, packet: Json) -> None: ...
    def close(self, code: int, reason: str = "") -> None: ...
    def cut(self) -> None: ...


@dataclass
class Session:
    app: App
    intents: int
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    last: int = 0
    told: deque[tuple[int, Json]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    link: Link | None = None
    left_at: float | None = None
    """When the connection broke; None while there is one."""

    def dispatch(self, name: str, data: Json) -> None:
        """Counts the event, remembers it, and sends it if there is a connection."""
        self.last += 1
        packet: Json = {"op": 0, "t": name, "s": self.last, "d": data}
        self.told.append((self.last, packet))
        if self.link is not None:
            self.link.send(packet)

    def again(self) -> None:
        """The last event once more, with its old number."""
        if self.link is not None and self.told:
            self.link.send(self.told[-1][1])

    def since(self, number: int) -> list[Json] | None:
        """The events after `number`; None where some of them are forgotten."""
        oldest = self.told[0][0] if self.told else self.last + 1
        if oldest > number + 1:
            return None
        return [packet for seq, packet in self.told if seq > number]

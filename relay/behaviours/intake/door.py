"""Who else is asked before a message is taken in. Pure.

A behaviour with a limit of its own has a concept that is a `Doorkeeper`: the way in asks each of them, and records what
was turned away, so that the same message isn't taken in when it comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from relay.behaviours.intake.verbs import Role
from relay.config import Limits


@dataclass(frozen=True, slots=True)
class Asking:
    """A message that is said to us. `person` is `surface:person`; `limits` are those in force."""

    scope: str
    room: str
    person: str
    role: Role
    command: str | None
    sent_at: int
    limits: Limits


@dataclass(frozen=True, slots=True)
class Away:
    """Which behaviour keeps it out, how many its limit lets in, until when (None: until a person does something)."""

    keeper: str
    most: int
    until: int | None = None


@runtime_checkable
class Doorkeeper(Protocol):
    """See the module."""

    def turns_away(self, asking: Asking) -> Away | None:
        """Whether that message is kept out."""
        ...

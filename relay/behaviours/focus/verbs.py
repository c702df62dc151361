"""The verbs of focus."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload


class FocusAdded(Payload):
    """The scope follows the thing (`file:notes.md`)."""

    VERB: ClassVar[str] = "focus.added"
    thing: str


class FocusRemoved(Payload):
    """It no longer does."""

    VERB: ClassVar[str] = "focus.removed"
    thing: str

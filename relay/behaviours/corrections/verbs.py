"""The verbs of corrections."""

from __future__ import annotations

from typing import ClassVar, Literal

from relay.ledger.interaction import Payload

Outcome = Literal["taken", "stopped", "left", "replaced", "withdrawn"]


class CorrectionOffered(Payload):
    """A running turn works on a message that has changed since. Its id is the card's."""

    VERB: ClassVar[str] = "correction.offered"
    turn: str
    room: str
    change: str
    """The interaction of the edit or the deletion: what the agent is given."""
    source: str
    message: str
    author: str
    """`surface:person`, who may decide beside the owner."""
    name: str
    deleted: bool
    joins: bool
    """Whether the agent can take it into the running turn; else it comes next."""


class CorrectionClosed(Payload):
    """The one decision: every outcome has the same key, so the first one stands. What follows needs the rest."""

    VERB: ClassVar[str] = "correction.closed"
    offered: str
    turn: str
    outcome: Outcome
    by: str
    room: str
    change: str
    message: str
    author: str
    name: str

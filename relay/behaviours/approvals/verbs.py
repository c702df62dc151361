"""The verbs of approvals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from relay.ledger.interaction import Payload

CARD_COMMAND = 4000
"""Characters of a command that a card shows; a longer one can't be shown whole, so it can't be allowed by a card."""

Outcome = Literal["allowed", "denied", "expired", "withdrawn"]


class ApprovalAsked(Payload):
    """Leave is asked for exactly these bytes. Its id is the approval's id."""

    VERB: ClassVar[str] = "approval.asked"
    TEXTS: ClassVar[Mapping[str, Any]] = {"title": "", "command": "", "digest": ""}
    turn: str
    request: str
    room: str
    title: str
    command: str
    cwd: str
    digest: str
    """sha256 of the command: what is allowed is these bytes and nothing else."""
    approvers: tuple[str, ...]
    """Who may decide: `surface:person`, or `owner`."""
    asker: str
    deadline: int


class ApprovalClosed(Payload):
    """The one decision: every outcome has the same key, so the first one stands."""

    VERB: ClassVar[str] = "approval.closed"
    TEXTS: ClassVar[Mapping[str, Any]] = {"reason": "", "digest": ""}
    approval: str
    turn: str
    request: str
    outcome: Outcome
    by: str
    reason: str = ""
    digest: str


class DecisionRefused(Payload):
    """Somebody tried to decide a card and may not: it changes nothing, and stands here."""

    VERB: ClassVar[str] = "approval.refused"
    approval: str
    by: str
    why: Literal["not an approver", "already decided", "nobody waits"]

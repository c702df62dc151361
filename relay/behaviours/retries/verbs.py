"""The verb of retrying."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload


class TurnRetryAsked(Payload):
    """Somebody who may wants the work of that turn run again."""

    VERB: ClassVar[str] = "turn.retry_asked"
    turn: str
    by: str
    person: str
    room: str
    sources: tuple[str, ...]
    woken_by: tuple[str, ...] = ()
    """The watches that had woken it, by name: the reply says so again."""
    message: str | None = None
    run_as: str = ""
    """The authority that it runs with: never more than the turn had, nor than who asks has."""

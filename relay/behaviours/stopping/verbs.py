"""The verb of stopping."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload


class TurnStopAsked(Payload):
    """Somebody who may wants the turn to end."""

    VERB: ClassVar[str] = "turn.stop_asked"
    turn: str
    by: str

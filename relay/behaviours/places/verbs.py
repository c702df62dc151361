"""The verbs of places."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload


class PlaceOpened(Payload):
    """The scope (of the interaction) is posted there. `limit` is the longest message, in UTF-16 code units."""

    VERB: ClassVar[str] = "place.opened"
    surface: str
    place: str
    room: str
    thread: bool
    limit: int

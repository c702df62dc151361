"""The verbs of places."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Draft, Payload, Position


class PlaceOpened(Payload):
    """The scope (of the interaction) is posted there. `limit` is the longest message, in UTF-16 code units."""

    VERB: ClassVar[str] = "place.opened"
    surface: str
    place: str
    room: str
    thread: bool
    limit: int
    since: Position = 0
    """The position of the message that we joined the place for; what was said before it was not said to us."""


class PlaceLost(Payload):
    """The place of the scope (of the interaction) was deleted; nothing can be posted there any more."""

    VERB: ClassVar[str] = "place.lost"
    surface: str
    place: str


def opened(
    scope: str, *, surface: str, place: str, room: str, thread: bool, limit: int, since: int = 0
) -> Draft:
    """The record that a scope is posted there; one for each scope."""
    payload = PlaceOpened(surface=surface, place=place, room=room, thread=thread, limit=limit, since=since)
    return Draft.of(payload, scope, 0, actor="relay", scope=scope)

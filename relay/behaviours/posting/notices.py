"""A text for people, of any length, as the posts that its place takes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from relay.behaviours.places.concept import Places
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.verbs import CardChoice, Kind, PostRequested
from relay.ledger.fold import View
from relay.ledger.interaction import Draft

MOST_UNKNOWN = 1_900
"""The longest message of a place that is not known yet, in UTF-16 units: what every surface takes."""


def limit_of(view: View, scope: str) -> int:
    """The longest message that may be posted in the scope, in UTF-16 units."""
    place = view.of(Places).of(scope)
    return place.limit if place is not None else MOST_UNKNOWN


def notices(
    cause: str,
    scope: str,
    text: str,
    view: View,
    *,
    label: str,
    by: str,
    kind: Kind = "notice",
    reply_to: str | None = None,
    ping: tuple[str, ...] = (),
    turn: str | None = None,
    approval: str | None = None,
    choices: tuple[CardChoice, ...] = (),
    room: int = 0,
    shows: Iterable[str] = (),
) -> Iterable[Draft]:
    """One post for each chunk of `text`, in order. The first one replies; the last one calls, and bears the buttons
    of a card, whose outcome needs `room` units below it. `shows` are the interactions whose texts it repeats."""
    limit, shown = limit_of(view, scope), list(shows)
    pieces = [piece.shown for piece in chunk(text, max(limit - room, 200))]
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        yield Draft.of(
            PostRequested(
                kind=kind,
                text=piece,
                reply_to=reply_to if index == 0 else None,
                ping=ping if last else (),
                turn=turn,
                approval=approval if last else None,
                choices=choices if last else (),
            ),
            label,
            cause,
            kind,
            index,
            actor=by,
            scope=scope,
            caused_by=[cause],
            outside=[*([f"card:{approval}"] if approval and last else []), *(f"shows:{id}" for id in shown)],
        )

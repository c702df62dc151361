"""A reply asks for posts."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.places.concept import Places
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.verbs import PostDead, PostRequested
from relay.behaviours.turns.verbs import TurnReplied
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

MOST_UNKNOWN = 1_900
"""The longest message of a place that nobody wrote in yet, in UTF-16 units: what every surface takes."""


@rule(TurnReplied)
def post_on_reply(i: Interaction, p: TurnReplied, view: View) -> Iterable[Draft]:
    """Each chunk of a reply is one post, in order. Who asked is called once, on the last one."""
    place = view.of(Places).of(i.scope)
    text = p.text
    if p.index == 0:
        woken_by = [o.name for o in p.origins if o.kind == "watch"]
        if woken_by:
            text = f"{texts.attribution(woken_by)}\n{text}"
    shown = [piece.shown for piece in chunk(text, place.limit if place else MOST_UNKNOWN)]
    if not shown and p.files:
        shown = ["📎"]
    message = next((o.message for o in reversed(p.origins) if o.message), None)
    persons = tuple(dict.fromkeys(o.person for o in p.origins if o.person))
    for index, piece in enumerate(shown):
        last = p.last and index == len(shown) - 1
        yield Draft.of(
            PostRequested(
                kind="answer",
                text=piece,
                reply_to=message if p.index == 0 and index == 0 else None,
                ping=persons if last else (),
                files=p.files if last else (),
                turn=p.turn,
            ),
            "post-on-reply",
            i.id,
            "answer",
            index,
            actor="rule:post-on-reply",
            scope=i.scope,
            caused_by=[i.id],
        )


@rule(PostDead)
def offer_in_room(i: Interaction, p: PostDead, view: View) -> Iterable[Draft]:
    """An answer whose thread is gone or closed is not lost: it stands in the room."""
    if not p.room or p.room == i.scope:
        return
    place = view.of(Places).of(p.room)
    text = f"{texts.THREAD_CLOSED}\n{p.text}"
    for index, piece in enumerate(chunk(text, place.limit if place else MOST_UNKNOWN)):
        yield Draft.of(
            PostRequested(kind="answer", text=piece.shown, files=p.files if index == 0 else ()),
            "offer-in-room",
            i.id,
            "answer",
            index,
            actor="rule:offer-in-room",
            scope=p.room,
            caused_by=[i.id],
        )

"""A reply asks for posts."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.places.concept import Places
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.verbs import PostRequested
from relay.behaviours.turns.verbs import TurnReplied
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(TurnReplied)
def post_on_reply(i: Interaction, p: TurnReplied, view: View) -> Iterable[Draft]:
    """Each chunk of a reply is one post, in order. Who asked is called once, on the last one."""
    place = view.of(Places).of(i.scope)
    text = p.text
    if p.index == 0:
        woken_by = [o.name for o in p.origins if o.kind == "watch"]
        if woken_by:
            text = f"{texts.attribution(woken_by)}\n{text}"
    shown = [piece.shown for piece in chunk(text, place.limit if place else 2000)]
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

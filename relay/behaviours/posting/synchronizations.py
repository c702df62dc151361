"""A reply asks for posts; one that its thread can't take any more is offered in the room."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.places.concept import Places
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.imitation import MOST_ADDED, neutralised
from relay.behaviours.posting.notices import limit_of
from relay.behaviours.posting.verbs import PostDead, PostRequested
from relay.behaviours.turns.verbs import TurnReplied
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(TurnReplied)
def post_on_reply(i: Interaction, p: TurnReplied, view: View) -> Iterable[Draft]:
    """Each chunk of a reply is one post, in order. Who asked is called once, on the last one."""
    woken_by = [o.name for o in p.origins if o.kind == "watch"] if p.index == 0 else []
    text = neutralised(p.text)
    if woken_by:
        text = f"{texts.attribution(woken_by)}\n{text}"
    limit = limit_of(view, i.scope) - MOST_ADDED
    # A cut may put words at a message's beginning that were none of a line's.
    shown = [
        piece.shown if woken_by and index == 0 else neutralised(piece.shown)
        for index, piece in enumerate(chunk(text, limit))
    ]
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
    """An answer whose thread is gone or closed is not lost: it stands in the room, behind a line that names the thread.

    That line has one key for the whole turn, so it is said once, however many parts the answer has.
    """
    if not p.room or p.room == i.scope:
        return
    place = view.of(Places).of(i.scope)
    title = place.title or place.place if place is not None else i.scope
    head = PostRequested(kind="answer", text=texts.thread_closed(title, p.why), turn=p.turn)
    yield _offered(i, p, head, p.turn or i.id, "head")
    pieces = [piece.shown for piece in chunk(p.text, limit_of(view, p.room))]
    for index, piece in enumerate(pieces):
        last = index == len(pieces) - 1
        part = PostRequested(
            kind="answer",
            text=piece,
            files=p.files if last else (),
            ping=p.ping if last else (),
            turn=p.turn,
        )
        yield _offered(i, p, part, i.id, index)


def _offered(i: Interaction, p: PostDead, post: PostRequested, *key: str | int) -> Draft:
    return Draft.of(post, "offer-in-room", *key, actor="rule:offer-in-room", scope=p.room, caused_by=[i.id])

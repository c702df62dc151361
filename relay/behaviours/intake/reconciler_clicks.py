"""Clicks on cards on their way in: recorded, and answered privately where they change nothing."""

from __future__ import annotations

from relay import texts
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.approvals.verbs import ApprovalAsked
from relay.behaviours.intake.verbs import ChannelChosen, ClickRefused, Role
from relay.behaviours.posting.verbs import PostRequested
from relay.ledger.canonical import clean_text
from relay.ledger.interaction import Draft
from relay.parts import Parts
from relay.surfaces.surface import ChoiceEvent


async def chosen(parts: Parts, surface: str, event: ChoiceEvent, room: str, role: Role) -> str | None:
    """Record the click; what to tell the one who clicked, and nobody else."""
    known = await parts.engine.store.by_ids([event.card]) if _is_id(event.card) else {}
    if event.card not in known:
        return texts.CARD_UNKNOWN
    person = f"{surface}:{event.person.id}"
    if role in ("stranger", "webhook", "peer"):
        await _keep_refused(parts, surface, event, room, role)
        return texts.CARD_NOT_YOURS
    open_card = parts.engine.view.of(Approvals).state.open.get(event.card)
    said: str | None = None
    if known[event.card].verb != ApprovalAsked.VERB:
        # Another kind of card, whose behaviour judges it; the buttons of a view are the owner's.
        view = known[event.card].verb == PostRequested.VERB
        said = texts.OWNER_ONLY if view and role != "owner" else None
    elif open_card is None:
        said = texts.CARD_DECIDED
    elif not open_card.may_be_decided_by(person, role):
        said = texts.CARD_NOT_YOURS
    payload = ChannelChosen(
        surface=surface,
        place=event.place,
        room=room,
        card=event.card,
        choice=event.value[:100],
        reason=clean_text(event.reason)[:1000],
        person=event.person.id,
        name=clean_text(event.person.name),
    )
    await parts.engine.admit(
        Draft.of(
            payload,
            surface,
            event.event,
            actor=f"person:{person}",
            role=role,
            scope=f"{surface}:{event.place}",
            caused_by=[event.card],
        )
    )
    return said


async def _keep_refused(parts: Parts, surface: str, event: ChoiceEvent, room: str, role: Role) -> None:
    """Who clicked on a card that isn't theirs: once for each choice, so that nobody can fill the ledger by clicking."""
    payload = ClickRefused(
        surface=surface,
        place=event.place,
        room=room,
        card=event.card,
        choice=event.value[:100],
        person=event.person.id,
        name=clean_text(event.person.name),
    )
    await parts.engine.admit(
        Draft.of(
            payload,
            event.card,
            surface,
            event.person.id,
            payload.choice,
            actor=f"person:{surface}:{event.person.id}",
            role=role,
            scope=f"{surface}:{event.place}",
            caused_by=[event.card],
        )
    )


def _is_id(text: str) -> bool:
    return len(text) == 64 and all(c in "0123456789abcdef" for c in text)

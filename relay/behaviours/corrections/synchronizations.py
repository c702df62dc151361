"""A changed message of a running turn opens a card: into the turn, stop, or leave it. The first valid choice counts."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.corrections.concept import Changed, Corrections, OpenCorrection
from relay.behaviours.corrections.verbs import CorrectionClosed, CorrectionOffered, Outcome
from relay.behaviours.intake.verbs import ChannelChosen, ChannelDeleted, ChannelEdited
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.posting.verbs import CardChoice, PostEditRequested, PostRequested
from relay.behaviours.turns.concept import Running, Turns
from relay.behaviours.turns.verbs import (
    Origin,
    TurnEnded,
    TurnPrompted,
    TurnStarted,
    TurnSteered,
    TurnStopAsked,
)
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

OUTCOMES: tuple[tuple[str, Outcome], ...] = (("take", "taken"), ("stop", "stopped"), ("leave", "left"))


@rule(ChannelEdited)
def offer_when_edited(i: Interaction, p: ChannelEdited, view: View) -> Iterable[Draft]:
    yield from _offer_change(i, p.source, view)


@rule(ChannelDeleted)
def offer_when_deleted(i: Interaction, p: ChannelDeleted, view: View) -> Iterable[Draft]:
    yield from _offer_change(i, p.target, view)


def _offer_change(i: Interaction, source: str, view: View) -> Iterable[Draft]:
    running = view.of(Turns).lane(i.scope).running
    changed = view.of(Corrections).state.changed.get(source)
    if running is not None and changed is not None and source in running.sources:
        yield from _offer(i, running, source, changed, view)


@rule(TurnStarted)
def offer_when_started(i: Interaction, p: TurnStarted, view: View) -> Iterable[Draft]:
    """A change that was recorded while the turn's prompt was being made."""
    running = view.of(Turns).lane(i.scope).running
    if running is None or running.turn != i.id:
        return
    taken = dict(zip(p.sources, p.revisions, strict=False))
    for source in p.sources:
        changed = view.of(Corrections).missed(source, taken.get(source, 0))
        if changed is not None:
            yield from _offer(i, running, source, changed, view)


@rule(TurnSteered)
def offer_when_steered(i: Interaction, p: TurnSteered, view: View) -> Iterable[Draft]:
    running = view.of(Turns).lane(i.scope).running
    changed = view.of(Corrections).missed(p.source, p.revision)
    if running is not None and running.turn == p.turn and changed is not None:
        yield from _offer(i, running, p.source, changed, view)


def _offer(i: Interaction, running: Running, source: str, changed: Changed, view: View) -> Iterable[Draft]:
    if changed.role not in ("owner", "human") or running.stop is not None:
        return  # a bot that shows its progress edits one message again and again
    for earlier in view.of(Corrections).of_turn(running.turn):
        if earlier.source == source and earlier.change != changed.change:
            yield _closing(earlier, "replaced", "relay", i.id)
    yield Draft.of(
        CorrectionOffered(
            turn=running.turn,
            room=running.room,
            change=changed.change,
            source=source,
            message=changed.message,
            author=changed.author,
            name=changed.name,
            deleted=changed.deleted,
            joins=running.steers,
        ),
        running.turn,
        changed.change,
        actor="rule:offer-correction",
        role=changed.role,
        scope=i.scope,
        caused_by=[changed.change, running.turn],
    )


@rule(CorrectionOffered)
def post_correction(i: Interaction, p: CorrectionOffered, view: View) -> Iterable[Draft]:
    running = view.of(Turns).lane(i.scope).running
    if running is None or running.turn != p.turn:
        # The turn has ended in between, and closed the cards that it knew of.
        one = view.of(Corrections).state.open.get(i.id)
        if one is not None:
            yield _closing(one, "withdrawn", "relay", i.id)
        return
    take, stop, leave = texts.correction_choices(deleted=p.deleted, joins=p.joins)
    yield Draft.of(
        PostRequested(
            kind="card",
            text=texts.correction(p.name, deleted=p.deleted),
            reply_to=None if p.deleted else p.message,
            turn=p.turn,
            approval=i.id,
            choices=(
                CardChoice(value="take", label=take),
                CardChoice(value="stop", label=stop),
                CardChoice(value="leave", label=leave),
            ),
        ),
        "post-correction",
        i.id,
        "card",
        0,
        actor="rule:post-correction",
        scope=i.scope,
        caused_by=[i.id],
        outside=[f"card:{i.id}"],
    )


@rule(ChannelChosen)
def decide_correction(i: Interaction, p: ChannelChosen, view: View) -> Iterable[Draft]:
    """Who wrote the message, or the owner. Another's click changes nothing."""
    one = view.of(Corrections).state.open.get(p.card)
    outcome = dict(OUTCOMES).get(p.choice)
    if one is None or outcome is None:
        return
    if i.role == "owner" or one.author == f"{p.surface}:{p.person}":
        yield _closing(one, outcome, p.name, i.id)


@rule(TurnEnded)
def withdraw_correction(i: Interaction, p: TurnEnded, view: View) -> Iterable[Draft]:
    for one in view.of(Corrections).of_turn(p.turn):
        yield _closing(one, "withdrawn", "relay", i.id)


def _closing(one: OpenCorrection, outcome: Outcome, by: str, cause: str) -> Draft:
    return Draft.of(
        CorrectionClosed(
            offered=one.offered,
            turn=one.turn,
            outcome=outcome,
            by=by,
            room=one.room,
            change=one.change,
            message=one.message,
            author=one.author,
            name=one.name,
        ),
        one.offered,
        actor="rule:decide-correction",
        role=one.role,
        scope=one.scope,
        caused_by=list(dict.fromkeys([one.offered, cause])),
    )


@rule(CorrectionClosed)
def act_on_correction(i: Interaction, p: CorrectionClosed, view: View) -> Iterable[Draft]:
    """Into the turn, or an end to it. A turn that is over by then is followed by one with the new text."""
    if p.outcome == "taken":
        origin = Origin(kind="message", name=p.name, person=p.author, message=p.message)
        yield Draft.of(
            TurnPrompted(room=p.room, source=p.change, origin=origin, joins=True),
            "act-on-correction",
            i.id,
            actor="rule:act-on-correction",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
    elif p.outcome == "stopped":
        yield Draft.of(
            TurnStopAsked(turn=p.turn, by=p.by),
            i.id,
            actor="rule:act-on-correction",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )


@rule(CorrectionClosed)
def close_correction(i: Interaction, p: CorrectionClosed, view: View) -> Iterable[Draft]:
    """The card says how it ended."""
    card = view.of(Outbox).state.cards.get(p.offered)
    if card is None:
        return
    yield Draft.of(
        PostEditRequested(
            post=card.post, version=1, text=texts.correction_outcome(p.outcome, p.by), close_card=True
        ),
        card.post,
        1,
        actor="rule:close-correction",
        scope=i.scope,
        caused_by=[i.id],
    )

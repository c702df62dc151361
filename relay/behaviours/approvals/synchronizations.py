"""A tool call that wants leave opens a card; the first valid decision closes it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime

from relay import texts
from relay.behaviours.approvals.concept import Approvals, OpenApproval
from relay.behaviours.approvals.verbs import ApprovalAsked, ApprovalClosed, DecisionRefused, Outcome
from relay.behaviours.config.concept import Configured
from relay.behaviours.intake.verbs import ChannelChosen, ChannelDeleted, ChannelReacted
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.posting.notices import notices
from relay.behaviours.posting.verbs import CardChoice, PostEditRequested
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import ToolAsked, TurnEnded
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

OUTCOME_ROOM = 400
"""UTF-16 units that the line of a card's outcome may take, below what the card says."""
CHOICES = (CardChoice(value="allow", label="✅ Allow once"), CardChoice(value="deny", label="❌ Deny"))


@rule(ToolAsked)
def open_card(i: Interaction, p: ToolAsked, view: View) -> Iterable[Draft]:
    loaded = view.of(Configured).loaded
    if p.request is None or loaded is None:
        return
    room = loaded.rooms.get(p.room)
    approvers: list[str] = []
    for name in (room.approvers if room else ()) or ("owner",):
        if name == "owner":
            approvers.append("owner")
        else:
            approvers.extend(f"{surface}:{id}" for surface, id in loaded.people.get(name, {}).items())
    yield Draft.of(
        ApprovalAsked(
            turn=p.turn,
            request=p.request,
            room=p.room,
            title=p.title,
            command=p.command,
            cwd=p.cwd,
            digest=hashlib.sha256(p.command.encode()).hexdigest(),
            approvers=tuple(approvers),
            asker=p.asker,
            deadline=i.at + loaded.approval_ms,
        ),
        i.id,
        actor="rule:open-card",
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(ApprovalAsked)
def post_card(i: Interaction, p: ApprovalAsked, view: View) -> Iterable[Draft]:
    running = view.of(Turns).lane(i.scope).running
    if running is None or running.turn != p.turn:
        # The turn ended in between, and withdrew the cards that it knew of.
        approval = view.of(Approvals).state.open.get(i.id)
        if approval is not None:
            yield closing(approval, "withdrawn", "relay", texts.CARD_OF_ENDED_TURN, i.id, "rule:post-card")
        return
    yield from notices(
        i.id,
        i.scope,
        _card_text(p, view),
        view,
        label="post-card",
        by="rule:post-card",
        kind="card",
        ping=tuple(a for a in p.approvers if a != "owner") or ("owner",),
        turn=p.turn,
        approval=i.id,
        choices=CHOICES,
        room=OUTCOME_ROOM,
    )


def _card_text(p: ApprovalAsked, view: View) -> str:
    until = datetime.fromtimestamp(p.deadline / 1000, UTC).astimezone(view.of(Configured).zone)
    return texts.card(p.title, p.command, p.cwd, p.asker, f"{until:%H:%M:%S}")


@rule(ChannelChosen)
def decide_by_choice(i: Interaction, p: ChannelChosen, view: View) -> Iterable[Draft]:
    outcomes: dict[str, Outcome] = {"allow": "allowed", "deny": "denied"}
    outcome = outcomes.get(p.choice)
    if outcome is not None:
        yield from _decide(i, p.card, outcome, f"{p.surface}:{p.person}", p.name, p.reason, view)


@rule(ChannelReacted)
def decide_by_reaction(i: Interaction, p: ChannelReacted, view: View) -> Iterable[Draft]:
    outcomes: dict[str, Outcome] = {"✅": "allowed", "❌": "denied"}
    outcome = outcomes.get(p.emoji)
    if p.approval is not None and p.set and outcome is not None:
        yield from _decide(i, p.approval, outcome, f"{p.surface}:{p.person}", p.name, "", view)


def _decide(
    i: Interaction, card: str, outcome: Outcome, person: str, name: str, reason: str, view: View
) -> Iterable[Draft]:
    approval = view.of(Approvals).state.open.get(card)
    if approval is None or not approval.may_be_decided_by(person, i.role):
        yield Draft.of(
            DecisionRefused(approval=card, by=name, why="not an approver" if approval else "already decided"),
            i.id,
            actor="rule:decide",
            scope=i.scope,
            caused_by=[i.id],
        )
        return
    turns = view.of(Turns)
    running = turns.lane(approval.scope).running
    if running is None or running.turn != approval.turn or approval.turn in turns.state.orphans:
        # Nobody waits for it: to say that it was allowed would be untrue.
        yield Draft.of(
            DecisionRefused(approval=card, by=name, why="nobody waits"),
            i.id,
            actor="rule:decide",
            scope=i.scope,
            caused_by=[i.id],
        )
        yield closing(approval, "withdrawn", "relay", texts.card_too_late(name), i.id, "rule:decide")
        return
    yield closing(approval, outcome, name, reason, i.id, "rule:decide")


def closing(approval: OpenApproval, outcome: Outcome, by: str, reason: str, cause: str, actor: str) -> Draft:
    """The decision. All outcomes share one key, so whoever is first decides."""
    return Draft.of(
        ApprovalClosed(
            approval=approval.approval,
            turn=approval.turn,
            request=approval.request,
            outcome=outcome,
            by=by,
            reason=reason,
            digest=approval.digest,
        ),
        approval.approval,
        actor=actor,
        scope=approval.scope,
        caused_by=[approval.approval, cause] if cause != approval.approval else [cause],
    )


@rule(ChannelDeleted)
def deny_with_card(i: Interaction, p: ChannelDeleted, view: View) -> Iterable[Draft]:
    """A card that nobody can read any more is answered with no."""
    approval = view.of(Approvals).state.open.get(p.approval or "")
    if approval is not None:
        yield closing(approval, "denied", "relay", texts.CARD_DELETED, i.id, "rule:deny-with-card")


@rule(TurnEnded)
def withdraw_with_turn(i: Interaction, p: TurnEnded, view: View) -> Iterable[Draft]:
    """A card of a turn that has ended can't be answered any more."""
    for approval in view.of(Approvals).of_turn(p.turn):
        yield closing(
            approval, "withdrawn", "relay", texts.CARD_OF_ENDED_TURN, i.id, "rule:withdraw-with-turn"
        )


@rule(ApprovalClosed)
def close_card(i: Interaction, p: ApprovalClosed, view: View) -> Iterable[Draft]:
    card = view.of(Outbox).state.cards.get(p.approval)
    if card is None:
        return
    yield Draft.of(
        PostEditRequested(
            post=card.post, version=1, text=texts.card_outcome(p.outcome, p.by, p.reason), close_card=True
        ),
        card.post,
        1,
        actor="rule:close-card",
        scope=i.scope,
        caused_by=[i.id],
    )

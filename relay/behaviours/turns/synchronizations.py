"""What asks for a turn, and what is told of its end."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.config.concept import Configured
from relay.behaviours.intake.verbs import ChannelDeleted, ChannelMessage
from relay.behaviours.posting.verbs import PostRequested, ReactionRequested, notice
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import (
    Origin,
    SessionLost,
    TurnEnded,
    TurnPrompted,
    TurnStarted,
    TurnSteered,
    TurnWithdrawn,
)
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

MOST_TRIES = 3
"""How often interrupted work is picked up by itself; then a person is asked."""
SILENT = "👌"
TAKEN = "👀"
WAITS = "📥"
DROPPED = "🚫"


@rule(ChannelMessage)
def prompt_on_message(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """A message that is no command asks for a turn."""
    if p.command is None:
        by_hand = p.via == "surface"  # a program acts as the owner, and no surface holds what it sent
        person = f"{p.surface}:{p.author}" if by_hand else "owner"
        origin = Origin(kind="message", name=p.name, person=person, message=p.message if by_hand else None)
        yield Draft.of(
            TurnPrompted(room=p.room, source=i.id, origin=origin),
            "prompt-on-message",
            i.id,
            actor="rule:prompt-on-message",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
            outside=[] if by_hand else [f"prompt:{i.id}"],
        )


@rule(TurnPrompted)
def acknowledge_prompt(i: Interaction, p: TurnPrompted, view: View) -> Iterable[Draft]:
    """The receipt, once it is durable: 👀 when it runs at once, 📥 when it waits. What goes on has its own already."""
    if p.continues is not None or p.origin.message is None:
        return
    for waiting in view.of(Turns).lane(i.scope).waiting:
        if waiting.prompt == i.id:
            yield _mark(i, p.origin.message, WAITS if waiting.held else TAKEN)


@rule(TurnStarted)
def mark_started(i: Interaction, p: TurnStarted, view: View) -> Iterable[Draft]:
    yield from _mark_taken(i, view)


@rule(TurnSteered)
def mark_steered(i: Interaction, p: TurnSteered, view: View) -> Iterable[Draft]:
    yield from _mark_taken(i, view)


def _mark_taken(i: Interaction, view: View) -> Iterable[Draft]:
    """What waited and is taken by a turn: 📥 becomes 👀."""
    running = view.of(Turns).lane(i.scope).running
    waited = [w for w in running.newest if w.held and w.continues is None] if running is not None else []
    for message in dict.fromkeys(w.origin.message for w in waited):
        if message is not None:
            yield _mark(i, message, TAKEN)
            yield _mark(i, message, WAITS, add=False)


@rule(TurnWithdrawn)
def mark_dropped(i: Interaction, p: TurnWithdrawn, view: View) -> Iterable[Draft]:
    """What leaves the lane without a turn: 🚫."""
    running = view.of(Turns).lane(i.scope).running
    if running is not None and p.prompt in running.prompts:
        return  # the agent was given it in that moment
    if p.message is not None:
        yield _mark(i, p.message, DROPPED)
        if p.why != "queue full":
            yield _mark(i, p.message, WAITS, add=False)


def _mark(i: Interaction, message: str, emoji: str, *, add: bool = True) -> Draft:
    return Draft.of(
        ReactionRequested(message=message, emoji=emoji, add=add),
        "receipt",
        i.id,
        message,
        emoji,
        actor="rule:receipt",
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(TurnPrompted)
def withdraw_when_full(i: Interaction, p: TurnPrompted, view: View) -> Iterable[Draft]:
    """A lane has a length: what comes over it is dropped, and that is said."""
    if i.id not in view.of(Turns).lane(i.scope).over:
        return
    yield Draft.of(
        TurnWithdrawn(prompt=i.id, why="queue full", by="relay", message=p.origin.message),
        i.id,
        actor="rule:withdraw-when-full",
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(ChannelDeleted)
def withdraw_when_deleted(i: Interaction, p: ChannelDeleted, view: View) -> Iterable[Draft]:
    """A message that was deleted while it waited gets no turn. Work that a restart cut off is not called off by it."""
    for waiting in view.of(Turns).lane(i.scope).waiting:
        if (
            p.target in waiting.gone
            and waiting.continues is None
            and set(waiting.sources) <= set(waiting.gone)
        ):
            yield Draft.of(
                TurnWithdrawn(prompt=waiting.prompt, why="deleted", by=p.name or "relay", message=p.message),
                waiting.prompt,
                actor="rule:withdraw-when-deleted",
                scope=i.scope,
                caused_by=[i.id],
            )


@rule(TurnWithdrawn)
def tell_withdrawn(i: Interaction, p: TurnWithdrawn, view: View) -> Iterable[Draft]:
    loaded = view.of(Configured).loaded
    if p.why == "queue full" and loaded is not None:
        yield notice(i, texts.queue_full(loaded.queue), label="tell-withdrawn", reply_to=p.message)


@rule(TurnEnded)
def continue_after_interruption(i: Interaction, p: TurnEnded, view: View) -> Iterable[Draft]:
    """A turn that a restart cut off goes on in its session, a few times; what it had taken stays taken."""
    if p.status != "interrupted" or not p.resumable or p.tries >= MOST_TRIES or not p.origins:
        return
    yield Draft.of(
        TurnPrompted(
            room=p.room,
            source=p.sources[0],
            sources=p.sources,
            origin=p.origins[-1],
            origins=p.origins,
            continues=p.turn,
            tries=p.tries + 1,
        ),
        "continue-after-interruption",
        i.id,
        actor="rule:continue-after-interruption",
        role=i.role,
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(TurnEnded)
def tell_ended(i: Interaction, p: TurnEnded, view: View) -> Iterable[Draft]:
    """Every end but a completed one is told in the thread, with what can be done."""
    message = next((o.message for o in reversed(p.origins) if o.message), None)
    if p.status == "completed":
        if p.replies == 0:
            yield from _silent(i, p)
        return
    again = texts.run_again(message is not None)
    text = {
        "cancelled": texts.turn_cancelled(p.reason or "asked", again),
        "failed": texts.turn_failed(p.reason or "no reason given", again),
        "refused": texts.turn_refused(p.reason or "no reason given"),
        "limited": texts.turn_limited(p.reason),
        "interrupted": _interrupted(p, again, view),
    }[p.status]
    # Who asked is called once: by the answer's last part, if there is one.
    quiet = p.status in ("cancelled", "interrupted") or p.replies > 0
    ping = () if quiet else tuple(dict.fromkeys(o.person for o in p.origins if o.person))
    yield Draft.of(
        PostRequested(kind="notice", text=text, reply_to=message, ping=ping, turn=p.turn),
        "tell-ended",
        i.id,
        "notice",
        0,
        actor="rule:tell-ended",
        scope=i.scope,
        caused_by=[i.id],
    )


def _interrupted(p: TurnEnded, again: str, view: View) -> str:
    if not p.resumable or p.tries >= MOST_TRIES:
        return texts.turn_interrupted(again, others=len(p.sources) - 1)
    paused = view.of(Turns).pause_of(p.room) is not None
    return texts.TURN_GOES_ON_LATER if paused else texts.TURN_GOES_ON


@rule(SessionLost)
def tell_session_lost(i: Interaction, p: SessionLost, view: View) -> Iterable[Draft]:
    yield notice(i, texts.SESSION_LOST, label="tell-session-lost")


def _silent(i: Interaction, p: TurnEnded) -> Iterable[Draft]:
    for message in dict.fromkeys(o.message for o in p.origins if o.message):
        yield Draft.of(
            ReactionRequested(message=message, emoji=SILENT),
            "tell-ended",
            i.id,
            message,
            SILENT,
            actor="rule:tell-ended",
            scope=i.scope,
            caused_by=[i.id],
        )

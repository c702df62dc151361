"""`!retry` and 🔁: the work of an earlier turn runs again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay import texts
from relay.behaviours.commands import Command
from relay.behaviours.intake.verbs import ChannelMessage, ChannelReacted
from relay.behaviours.posting.verbs import notice
from relay.behaviours.retries.verbs import TurnRetryAsked
from relay.behaviours.turns.concept import Lane, Turns
from relay.behaviours.turns.verbs import Origin, TurnPrompted
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

RETRY = Command("!retry", "!retry", texts.ABOUT_RETRY)


def _retry(
    i: Interaction,
    turn: str,
    name: str,
    person: str,
    room: str,
    sources: Sequence[str],
    message: str,
    had: str,
    woken_by: Sequence[str],
) -> Draft:
    """`had` is the role that the turn had. What somebody else asked for does not become the owner's by being run
    again, and what was the owner's does not stay so for another."""
    asked = TurnRetryAsked(
        turn=turn,
        by=name,
        person=person,
        room=room,
        sources=tuple(sources),
        woken_by=tuple(woken_by),
        message=message,
        run_as=had if i.role == "owner" and had else i.role,
    )
    return Draft.of(
        asked,
        i.id,
        actor="rule:retry",
        role=i.role,
        scope=i.scope,
        caused_by=[i.id],
    )


def _at_work(lane: Lane, sources: Sequence[str]) -> bool:
    """Whether the lane runs or will run some of it: after a restart an interrupted turn goes on by itself, and what is
    run again beside that, or steered into it, would be answered twice."""
    asked = set(sources)
    running = lane.running.sources if lane.running is not None else []
    return not asked.isdisjoint(running) or any(not asked.isdisjoint(w.sources) for w in lane.waiting)


@rule(ChannelMessage)
def retry_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != RETRY.word or p.late:
        return
    last = view.of(Turns).lane(i.scope).last
    person = f"{p.surface}:{p.author}"
    if last is None:
        yield notice(i, texts.NO_TURN_TO_RETRY, label="retry-by-command", reply_to=p.message)
    elif i.role != "owner" and all(o.person != person for o in last.origins):
        yield notice(i, texts.NOT_YOURS_TO_RETRY, label="retry-by-command", reply_to=p.message)
    elif _at_work(view.of(Turns).lane(i.scope), last.sources):
        yield notice(i, texts.RETRY_AT_WORK, label="retry-by-command", reply_to=p.message)
    else:
        woken_by = [o.name for o in last.origins if o.kind == "watch"]
        yield _retry(i, last.turn, p.name, person, p.room, last.sources, p.message, last.role, woken_by)


@rule(ChannelReacted)
def retry_by_reaction(i: Interaction, p: ChannelReacted, view: View) -> Iterable[Draft]:
    """🔁 on a message or on a reply, however old: the edge has looked up which turn it was."""
    person = f"{p.surface}:{p.person}"
    if p.emoji != "🔁" or not p.set or p.turn is None or not p.sources:
        return
    if i.role != "owner" and p.asker != person:
        return
    if _at_work(view.of(Turns).lane(i.scope), p.sources):
        yield notice(i, texts.RETRY_AT_WORK, label="retry-by-reaction", reply_to=p.message)
    else:
        yield _retry(i, p.turn, p.name, person, p.room, p.sources, p.message, p.turn_role, p.woken_by)


@rule(TurnRetryAsked)
def prompt_on_retry(i: Interaction, p: TurnRetryAsked, view: View) -> Iterable[Draft]:
    origin = Origin(kind="message", name=p.by, person=p.person, message=p.message)
    watches = (Origin(kind="watch", name=name, person=p.person) for name in dict.fromkeys(p.woken_by))
    yield Draft.of(
        TurnPrompted(
            room=p.room, source=p.sources[0], sources=p.sources, origin=origin, origins=(*watches, origin)
        ),
        "prompt-on-retry",
        i.id,
        actor="rule:prompt-on-retry",
        role=p.run_as or i.role,
        scope=i.scope,
        caused_by=[i.id],
    )

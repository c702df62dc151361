"""`!stop`, 🛑, and a message that interrupts: the running turn is asked to end."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option
from relay.behaviours.config.concept import Configured
from relay.behaviours.intake.verbs import ChannelMessage, ChannelReacted
from relay.behaviours.places.verbs import PlaceLost
from relay.behaviours.posting.verbs import notice
from relay.behaviours.settings.concept import Settings
from relay.behaviours.turns.concept import Running, Turns
from relay.behaviours.turns.verbs import TurnPrompted, TurnSteered, TurnStopAsked, TurnWithdrawn
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

STOP = Command(
    "!stop",
    "!stop [all]",
    texts.ABOUT_STOP,
    options=(Option("all", texts_for_commands.OPTION_STOP_ALL, "switch", before="all"),),
)


def _stop(i: Interaction, turn: str, by: str) -> Draft:
    return Draft.of(
        TurnStopAsked(turn=turn, by=by), i.id, actor="rule:stop", role=i.role, scope=i.scope, caused_by=[i.id]
    )


def _may(i: Interaction, person: str, running: Running) -> bool:
    return i.role == "owner" or any(o.person == person for o in running.origins)


@rule(ChannelMessage)
def stop_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != STOP.word or p.late:
        return
    if p.text.lower().split()[1:2] == ["all"]:
        yield from _stop_all(i, p, view)
        return
    running = view.of(Turns).lane(i.scope).running
    if running is None:
        yield notice(i, texts.NO_TURN_TO_STOP, label="stop-by-command", reply_to=p.message)
    elif not _may(i, f"{p.surface}:{p.author}", running):
        yield notice(i, texts.NOT_YOURS_TO_STOP, label="stop-by-command", reply_to=p.message)
    else:
        yield _stop(i, running.turn, p.name)


def _stop_all(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """Every turn of every room: the owner's alone."""
    turns = view.of(Turns)
    if i.role != "owner":
        yield notice(i, texts.OWNER_ONLY, label="stop-by-command", reply_to=p.message)
        return
    stopped, waiting = 0, sum(len(lane.waiting) for lane in turns.state.lanes.values())
    for scope, turn in turns.state.running.items():
        stopped += 1
        yield Draft.of(
            TurnStopAsked(turn=turn, by=p.name),
            i.id,
            turn,
            actor="rule:stop",
            role=i.role,
            scope=scope,
            caused_by=[i.id],
        )
    paused = "" in turns.state.paused
    yield notice(
        i, texts.stopping_all(stopped, 0 if paused else waiting), label="stop-all", reply_to=p.message
    )


@rule(ChannelReacted)
def stop_by_reaction(i: Interaction, p: ChannelReacted, view: View) -> Iterable[Draft]:
    """🛑 on a message of the running turn stops it; on one that still waits, it takes that one out of the lane."""
    if p.emoji != "🛑" or not p.set:
        return
    lane = view.of(Turns).lane(i.scope)
    person = f"{p.surface}:{p.person}"
    running = lane.running
    if running is not None and (p.turn == running.turn or p.target in running.sources):
        if _may(i, person, running):
            yield _stop(i, running.turn, p.name)
        return
    for waiting in lane.waiting:
        if p.target in waiting.sources and (i.role == "owner" or waiting.origin.person == person):
            yield Draft.of(
                TurnWithdrawn(prompt=waiting.prompt, why="dropped", by=p.name, message=p.message),
                waiting.prompt,
                actor="rule:stop",
                scope=i.scope,
                caused_by=[i.id],
            )


@rule(TurnWithdrawn)
def stop_what_was_given(i: Interaction, p: TurnWithdrawn, view: View) -> Iterable[Draft]:
    """The agent was given the message in the moment in which it was taken back: it can't be taken out of the turn."""
    running = view.of(Turns).lane(i.scope).running
    if p.why == "dropped" and running is not None and p.prompt in running.prompts:
        yield _stop(i, running.turn, p.by)


@rule(TurnSteered)
def stop_what_was_taken_back(i: Interaction, p: TurnSteered, view: View) -> Iterable[Draft]:
    """As above, the other way round."""
    running = view.of(Turns).lane(i.scope).running
    by = running.dropped.get(p.prompt) if running is not None and running.turn == p.turn else None
    if by is not None:
        yield _stop(i, p.turn, by)


@rule(PlaceLost)
def stop_with_place(i: Interaction, p: PlaceLost, view: View) -> Iterable[Draft]:
    """Where nobody can read any more, nothing runs and nothing waits."""
    lane = view.of(Turns).lane(i.scope)
    if lane.running is not None:
        yield _stop(i, lane.running.turn, texts.PLACE_DELETED)
    for waiting in lane.waiting:
        yield _withdrawn(i, waiting.prompt, None)


def _withdrawn(i: Interaction, prompt: str, message: str | None) -> Draft:
    return Draft.of(
        TurnWithdrawn(prompt=prompt, why="dropped", by="relay", message=message),
        prompt,
        actor="rule:stop",
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(TurnPrompted)
def interrupt_when_chosen(i: Interaction, p: TurnPrompted, view: View) -> Iterable[Draft]:
    """Where the owner chose `interrupt`, a person's message ends the running turn and runs next."""
    running = view.of(Turns).lane(i.scope).running
    room = view.of(Configured).room(p.room)
    if running is None or p.origin.kind != "message" or room is None or p.joins:
        return
    if view.of(Turns).pause_of(p.room) is not None:
        return  # it would end what runs, and not run itself
    if view.of(Settings).busy(i.scope, room.busy) == "interrupt":
        yield _stop(i, running.turn, p.origin.name)

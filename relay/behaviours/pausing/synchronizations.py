"""`!pause` and `!resume`, for a room or for all: no turn begins while it holds, and what comes in waits, visibly.

What runs goes on to its end and takes in nothing more. Watches go on looking; their fires wait like messages.
"""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import notice
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import TurnPrompted
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

EVERY_ROOM = Option("all", texts_for_commands.OPTION_EVERY_ROOM, "switch", before="all")
PAUSE = Command("!pause", "!pause [all]", texts.ABOUT_PAUSE, owner_only=True, options=(EVERY_ROOM,))
RESUME = Command("!resume", "!resume [all]", texts.ABOUT_RESUME, owner_only=True, options=(EVERY_ROOM,))
EVERYWHERE = ""


@rule(ChannelMessage)
def pause_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != PAUSE.word or p.late:
        return
    turns = view.of(Turns)
    where = _where(p)
    before = turns.state.paused.get(where)
    if i.role != "owner":
        text = texts.OWNER_ONLY
    elif before is not None:
        text = texts.paused_already(before.by)
    else:
        yield _chosen(i, p, where, "yes")
        lanes = turns.state.lanes
        running = sum(where in (EVERYWHERE, lanes[scope].room) for scope in turns.state.running)
        text = texts.paused_now(where == EVERYWHERE, running)
    yield notice(i, text, label="pause-by-command", reply_to=p.message)


@rule(ChannelMessage)
def resume_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """`!resume all` ends every pause, those of single rooms as well."""
    if p.command != RESUME.word or p.late:
        return
    turns = view.of(Turns)
    where = _where(p)
    paused = turns.state.paused
    if i.role != "owner":
        text = texts.OWNER_ONLY
    elif where != EVERYWHERE and EVERYWHERE in paused:
        text = texts.ALL_PAUSED
    elif not (where in paused or (where == EVERYWHERE and paused)):
        text = texts.NOT_PAUSED
    else:
        yield _chosen(i, p, where, "no")
        held = [
            lane
            for lane in turns.state.lanes.values()
            if lane.room in paused or (EVERYWHERE in paused and where == EVERYWHERE)
        ]
        waiting = sum(len(lane.waiting) for lane in held if where in (EVERYWHERE, lane.room))
        text = texts.resumed(where == EVERYWHERE, waiting)
    yield notice(i, text, label="resume-by-command", reply_to=p.message)


@rule(TurnPrompted)
def tell_paused(i: Interaction, p: TurnPrompted, view: View) -> Iterable[Draft]:
    """Who writes in a paused lane is told so once."""
    turns = view.of(Turns)
    pause = turns.pause_of(p.room)
    if pause is not None and pause.told.get(f"{i.scope} {p.origin.person}") == i.id:
        text = texts.paused_told(pause.by, EVERYWHERE in turns.state.paused)
        yield notice(i, text, label="tell-paused", reply_to=p.origin.message)


def _where(p: ChannelMessage) -> str:
    return EVERYWHERE if p.text.lower().split()[1:2] == ["all"] else p.room


def _chosen(i: Interaction, p: ChannelMessage, where: str, value: str) -> Draft:
    return Draft.of(
        SettingChosen(name="paused", value=value, by=p.name),
        i.id,
        "paused",
        actor="rule:pause",
        role=i.role,
        scope=where,
        caused_by=[i.id],
    )

"""Quiet and bounds: `!snooze`, `!mute`, `!unmute`, `!budget`, and what is told of held fires."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from relay import texts, texts_of_quiet
from relay.behaviours.config.concept import Configured
from relay.behaviours.furniture import Command
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.notices import notices
from relay.behaviours.posting.verbs import notice
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.turns.verbs import Origin, TurnPrompted
from relay.behaviours.watches.concept import Watches
from relay.behaviours.watches.holding import FOR_GOOD, HOUR
from relay.behaviours.watches.verbs import WatchFired, WatchReleased, WatchSnoozed
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction
from watch_supervisor.spec import SpecError, parse_duration

SNOOZE = Command("!snooze", "!snooze NAME 1h|off", texts_of_quiet.ABOUT_SNOOZE, owner_only=True)
MUTE = Command("!mute", "!mute NAME", texts_of_quiet.ABOUT_MUTE, owner_only=True)
UNMUTE = Command("!unmute", "!unmute NAME", texts_of_quiet.ABOUT_UNMUTE, owner_only=True)
BUDGET = Command("!budget", "!budget [lift 1h]", texts_of_quiet.ABOUT_BUDGET, owner_only=True)


@rule(ChannelMessage)
def quiet_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """`!snooze NAME 1h`, `!mute NAME`, `!unmute NAME`: it goes on looking, and wakes nobody."""
    if p.command not in (SNOOZE.word, MUTE.word, UNMUTE.word) or p.late:
        return
    words = p.text.split()[1:]
    watches = view.of(Watches)
    armed = watches.named(i.scope, words[0]) if words else None
    if i.role != "owner":
        text = texts.OWNER_ONLY
    elif len(words) != (2 if p.command == SNOOZE.word else 1):
        text = texts_of_quiet.SNOOZE_USAGE if p.command == SNOOZE.word else texts_of_quiet.MUTE_USAGE
    elif armed is None:
        text = texts.watch_unknown(words[0], [a.spec.name for a in watches.of_scope(i.scope)])
    else:
        try:
            until = _until(p.command, words, i.at)
        except SpecError as error:
            yield notice(i, str(error), label="quiet-by-command", reply_to=p.message)
            return
        payload = WatchSnoozed(armed=armed.armed, name=armed.spec.name, until=until, by=p.name)
        yield Draft.of(
            payload,
            armed.armed,
            i.id,
            actor="rule:quiet-by-command",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
        when = moment(until, view.of(Configured).zone, i.at) if until else ""
        text = texts_of_quiet.watch_quiet(armed.spec.name, when, muted=until == FOR_GOOD, ends=until is None)
    yield notice(i, text, label="quiet-by-command", reply_to=p.message)


def _until(command: str, words: list[str], now: int) -> int | None:
    if command == MUTE.word:
        return FOR_GOOD
    if command == UNMUTE.word or words[1].lower() == "off":
        return None
    return now + parse_duration(words[1])


@rule(ChannelMessage)
def budget_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """`!budget` says what is spent; `!budget lift 1h` goes on without bounds in this room and its threads."""
    if p.command != BUDGET.word or p.late:
        return
    words = p.text.lower().split()[1:]
    watches, zone = view.of(Watches), view.of(Configured).zone
    if i.role != "owner":
        text = texts.OWNER_ONLY
    elif not words:
        text = "\n".join(_spent(watches, i.scope, p.room, i.at))
    elif words[0] != "lift" or len(words) > 2:
        text = texts_of_quiet.BUDGET_USAGE
    else:
        try:
            until = i.at + (parse_duration(words[1]) if len(words) == 2 else HOUR)
        except SpecError as error:
            yield notice(i, str(error), label="budget-by-command", reply_to=p.message)
            return
        yield Draft.of(
            SettingChosen(name="budget", value=str(until), by=p.name),
            i.id,
            "budget",
            actor="rule:budget-by-command",
            role=i.role,
            scope=p.room,
            caused_by=[i.id],
        )
        held = sum(h.count for h in watches.state.held.values() if h.room == p.room)
        text = texts_of_quiet.budget_lifted(moment(until, zone, i.at), held)
    yield notice(i, text, label="budget-by-command", reply_to=p.message)


def _spent(watches: Watches, scope: str, room: str, now: int) -> list[str]:
    bounds, spent = watches.state.bounds, watches.state.spent
    thread, of_room = spent.count(f"thread {scope}", now), spent.count(f"room {room}", now)
    lines = [
        texts_of_quiet.budget_line("in this thread", thread, bounds.thread, "this hour"),
        texts_of_quiet.budget_line("in this room", of_room, bounds.room, "this hour"),
        texts_of_quiet.budget_line("everywhere", spent.in_day(now), bounds.day, "today"),
    ]
    held = [h for h in watches.state.held.values() if h.scope == scope]
    return lines + [texts_of_quiet.held_line(h.name, h.count, h.why) for h in held]


@rule(WatchFired)
def tell_held(i: Interaction, p: WatchFired, view: View) -> Iterable[Draft]:
    """A bound is reached: that is told once, with the way to go on."""
    watches = view.of(Watches)
    held = watches.state.held.get(p.armed)
    if held is None or held.told_at != i.id:
        return
    most = {"fires": watches.state.bounds.fires, "thread": watches.state.bounds.thread}
    most |= {"room": watches.state.bounds.room, "day": watches.state.bounds.day}
    most |= {"tokens": watches.state.bounds.tokens}
    until = moment(held.until, view.of(Configured).zone, i.at)
    yield notice(
        i, texts_of_quiet.budget_reached(held.name, held.why, most.get(held.why, 0), until), label="tell-held"
    )


@rule(WatchReleased)
def resume_on_release(i: Interaction, p: WatchReleased, view: View) -> Iterable[Draft]:
    """What was held wakes the agent once, or is posted."""
    if p.notify:
        text = texts.watch_notified(p.name, p.why, p.text, is_diff=p.is_diff)
        yield from notices(i.id, i.scope, text, view, label="resume-on-release", by="rule:resume-on-release")
        return
    yield Draft.of(
        TurnPrompted(
            room=p.room,
            source=i.id,
            sources=(i.id, *p.fires),
            origin=Origin(kind="watch", name=p.name, person=p.person),
        ),
        "resume-on-release",
        i.id,
        actor="rule:resume-on-release",
        role=i.role,
        scope=i.scope,
        caused_by=[i.id],
    )


def moment(at: int, zone: ZoneInfo, now: int) -> str:
    """The time of day, with its date unless it is near."""
    when = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)
    return f"{when:%H:%M}" if abs(at - now) < 12 * HOUR else f"{when:%d %b %H:%M}"

"""Arming, firing and disarming: what follows from each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import orjson

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option, Suggestion
from relay.behaviours.config.concept import Configured
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.places.verbs import PlaceLost
from relay.behaviours.posting.notices import notices
from relay.behaviours.posting.verbs import PostRequested, notice
from relay.behaviours.turns.verbs import Origin, TurnPrompted
from relay.behaviours.watches.concept import Armed, Watches
from relay.behaviours.watches.verbs import (
    WatchArmed,
    WatchDisarmed,
    WatchFired,
    WatchJudged,
    WatchRefused,
    WatchRequested,
)
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction
from watch_supervisor.spec import SpecError, WatchSpec, describe, from_fields, parse_line


def armed_here(view: View, scope: str) -> Iterable[Suggestion]:
    """The names of the watches of a scope."""
    for armed in view.of(Watches).of_scope(scope):
        yield Suggestion(armed.spec.name, f"{armed.spec.name} · {describe(armed.spec)}")


WATCH = Command(
    "!watch",
    '!watch NAME --file PATH | !watch --in 2h "TEXT" | !watch --at 09:30 "TEXT"',
    texts.ABOUT_WATCH,
    owner_only=True,
    options=(
        Option("name", texts_for_commands.OPTION_NAME, before="--name", quoted=True, suggests=armed_here),
        Option("file", texts_for_commands.OPTION_FILE, before="--file", quoted=True),
        Option("match", texts_for_commands.OPTION_MATCH, before="--match", quoted=True),
        Option("in", texts_for_commands.OPTION_IN, before="--in", quoted=True),
        Option("at", texts_for_commands.OPTION_AT, before="--at", quoted=True),
        Option("text", texts_for_commands.OPTION_TEXT, before="--text", quoted=True),
        Option("once", texts_for_commands.OPTION_ONCE, "switch", before="--once"),
        Option("notify", texts_for_commands.OPTION_NOTIFY, "switch", before="--notify"),
        Option("more", texts_for_commands.OPTION_MORE),
    ),
)
UNWATCH = Command(
    "!unwatch",
    "!unwatch NAME",
    texts.ABOUT_UNWATCH,
    owner_only=True,
    options=(Option("name", texts_for_commands.OPTION_UNWATCH, required=True, suggests=armed_here),),
)
WATCHES = Command("!watches", "!watches", texts.ABOUT_WATCHES)


@rule(ChannelMessage)
def request_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """`!watch …`, typed by the owner: typing it is the approval."""
    if p.command != WATCH.word or p.late:
        return
    if i.role != "owner":
        yield notice(i, texts.OWNER_ONLY, label="request-by-command", reply_to=p.message)
        return
    line = p.text.strip()[len(WATCH.word) :].strip()
    taken = view.of(Watches).state.names.get(i.scope, {})
    try:
        # The time that counts is when it was typed, not when it was taken in.
        spec = parse_line(line, now_ms=p.sent_at, zone=view.of(Configured).zone, taken=list(taken))
    except SpecError as error:
        yield notice(i, texts.watch_wrong(str(error)), label="request-by-command", reply_to=p.message)
        return
    yield Draft.of(
        WatchRequested(
            spec=spec,
            room=p.room,
            via="message",
            by=p.name,
            person=f"{p.surface}:{p.author}",
            message=p.message,
        ),
        i.id,
        actor="rule:request-by-command",
        role=i.role,
        scope=i.scope,
        caused_by=[i.id],
    )


@rule(ConfigLoaded)
def request_declared(i: Interaction, p: ConfigLoaded, view: View) -> Iterable[Draft]:
    """What access.json declares is armed when its text is new, and disarmed when it is gone. One that somebody disarmed
    stays off until its text changes."""
    watches = view.of(Watches)
    zone = view.of(Configured).zone
    wanted: set[tuple[str, str]] = set()
    for room, rules in p.rooms.items():
        for fields in rules.watches:
            digest = hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()
            name = str(fields.get("name", ""))
            wanted.add((room, name))
            if watches.state.declared.get(room, {}).get(name) == digest:
                continue
            try:
                spec = from_fields(fields, now_ms=i.at, zone=zone)
            except SpecError as error:  # the loader has read it; a moment may have passed since
                if error.option == "at":
                    continue  # said at the terminal; nobody in the room can mend it, at each start anew
                yield notice_in(room, i, texts.watch_refused(name, str(error)), f"declared-{room}-{name}")
                continue
            yield Draft.of(
                WatchRequested(
                    spec=spec, room=room, via="config", by="access.json", person="owner", declared=digest
                ),
                i.id,
                room,
                name,
                actor="rule:request-declared",
                role="owner",
                scope=room,
                caused_by=[i.id],
            )
    for armed in list(watches.state.armed.values()):
        if armed.via == "config" and (armed.room, armed.spec.name) not in wanted:
            yield off(armed, "not declared any more", by="access.json", cause=i.id)


def notice_in(scope: str, i: Interaction, text: str, label: str) -> Draft:
    return Draft.of(
        PostRequested(kind="notice", text=text),
        label,
        i.id,
        "notice",
        0,
        actor="rule:request-declared",
        scope=scope,
        caused_by=[i.id],
    )


@rule(WatchJudged)
def arm_or_refuse(i: Interaction, p: WatchJudged, view: View) -> Iterable[Draft]:
    watches = view.of(Watches)
    loaded = view.of(Configured).loaded
    request = watches.state.requests.get(p.request)
    if request is None:
        return
    reasons = list(p.reasons)
    before = watches.named(request.scope, request.spec.name)
    if p.allowed and loaded is not None and before is None and len(watches.state.armed) >= loaded.watches:
        reasons.append(texts.watches_full(loaded.watches))
    if reasons or not p.allowed:
        yield Draft.of(
            WatchRefused(request=p.request, name=request.spec.name, reason="; ".join(reasons)),
            p.request,
            actor="rule:arm-or-refuse",
            scope=request.scope,
            caused_by=[i.id],
            outside=[f"decided:{p.request}"],
        )
        return
    if before is not None:
        yield off(before, "replaced", by=request.by, cause=i.id)
    yield Draft.of(
        WatchArmed(
            request=p.request,
            spec=request.spec,
            room=request.room,
            via=request.via,  # pyright: ignore[reportArgumentType]
            by=request.by,
            person=request.person,
            confined=p.confined,
            replaced=before.armed if before else None,
        ),
        p.request,
        actor="rule:arm-or-refuse",
        role=request.role,
        scope=request.scope,
        caused_by=[i.id],
        outside=[f"decided:{p.request}"],
    )


def off(armed: Armed, reason: str, *, by: str, cause: str, detail: str = "") -> Draft:
    """The disarm of a watch: one key, so the first reason stands."""
    return Draft.of(
        WatchDisarmed(
            armed=armed.armed,
            name=armed.spec.name,
            reason=reason,  # pyright: ignore[reportArgumentType]
            by=by,
            detail=detail,
            path=armed.spec.path,
        ),
        armed.armed,
        actor=f"by:{by}",
        scope=armed.scope,
        caused_by=[cause],
    )


@rule(PlaceLost)
def disarm_with_place(i: Interaction, p: PlaceLost, view: View) -> Iterable[Draft]:
    for armed in view.of(Watches).of_scope(i.scope):
        yield off(armed, "failed", by="relay", cause=i.id, detail=texts.PLACE_DELETED)


@rule(WatchArmed)
def tell_armed(i: Interaction, p: WatchArmed, view: View) -> Iterable[Draft]:
    what = describe(p.spec, now_ms=i.at)
    yield notice(i, texts.watch_armed(p.spec.name, what, p.by, p.replaced is not None), label="tell-armed")


@rule(WatchRefused)
def tell_refused(i: Interaction, p: WatchRefused, view: View) -> Iterable[Draft]:
    yield notice(i, texts.watch_refused(p.name, p.reason), label="tell-refused")


@rule(WatchFired)
def resume_on_watch(i: Interaction, p: WatchFired, view: View) -> Iterable[Draft]:
    """A fire asks for a turn where the watch was armed; with `--notify` it is posted and nobody is woken."""
    watches = view.of(Watches)
    if p.armed not in watches.state.armed:  # disarmed in the same moment: a cancelled watch never fires
        return
    if p.notify:
        text = texts.watch_notified(
            p.name, p.why, p.text, is_diff=watches.state.armed[p.armed].spec.source == "file"
        )
        yield from notices(i.id, i.scope, text, view, label="resume-on-watch", by="rule:resume-on-watch")
    else:
        yield Draft.of(
            TurnPrompted(room=p.room, source=i.id, origin=Origin(kind="watch", name=p.name, person=p.person)),
            "resume-on-watch",
            i.id,
            actor="rule:resume-on-watch",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
    if p.last:
        armed = watches.state.armed[p.armed]
        done = armed.spec.max_fires is not None and not armed.spec.once and armed.spec.source == "file"
        yield off(armed, "max fires" if done else "done", by="relay", cause=i.id)


@rule(WatchDisarmed)
def tell_disarmed(i: Interaction, p: WatchDisarmed, view: View) -> Iterable[Draft]:
    """Every end is told but the two that speak for themselves: a one-shot that fired, and a replacement."""
    if p.reason not in ("done", "replaced"):
        yield notice(i, texts.watch_off(p.name, p.reason, p.detail), label="tell-disarmed")


@rule(ChannelMessage)
def unwatch_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != UNWATCH.word or p.late:
        return
    name = p.text.strip()[len(UNWATCH.word) :].strip()
    watches = view.of(Watches)
    armed = watches.named(i.scope, name)
    if i.role != "owner":
        yield notice(i, texts.OWNER_ONLY, label="unwatch-by-command", reply_to=p.message)
    elif not name:
        yield notice(i, texts.UNWATCH_USAGE, label="unwatch-by-command", reply_to=p.message)
    elif armed is None:
        names = [a.spec.name for a in watches.of_scope(i.scope)]
        yield notice(i, texts.watch_unknown(name, names), label="unwatch-by-command", reply_to=p.message)
    else:
        yield off(armed, "asked", by=p.name, cause=i.id)


@rule(ChannelMessage)
def list_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != WATCHES.word or p.late:
        return
    lines = view.of(Watches).told(i.scope, i.at)
    text = "\n".join(lines) or texts.NO_WATCHES
    yield from notices(
        i.id, i.scope, text, view, label="list-by-command", by="rule:list-by-command", reply_to=p.message
    )


def judged_by_rule(spec: WatchSpec, inside: bool, protected: bool, via: str) -> list[str]:
    """Why a file may not be watched: empty when it may. The owner may look outside the workspace; nobody at secrets."""
    reasons: list[str] = []
    if spec.source == "file":
        if protected:
            reasons.append(texts.WATCH_PROTECTED)
        if not inside and via == "tool":
            reasons.append(texts.WATCH_NOT_INSIDE)
    return reasons

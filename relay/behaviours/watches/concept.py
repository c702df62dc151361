"""Which watches are armed, with their state, and what is still to be done about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from relay import texts, texts_of_quiet
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.turns.verbs import TurnEnded
from relay.behaviours.watches.holding import (
    FOR_GOOD,
    MOST_HELD,
    Bounds,
    Held,
    Quiet,
    Spent,
    Why,
    wanted_quiet,
)
from relay.behaviours.watches.verbs import (
    WatchAdvanced,
    WatchArmed,
    WatchDisarmed,
    WatchExited,
    WatchFired,
    WatchHeldOn,
    WatchJudged,
    WatchRefused,
    WatchReleased,
    WatchRequested,
    WatchSnoozed,
    WatchStarted,
)
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction
from watch_supervisor.spec import WatchSpec, describe


@dataclass(slots=True)
class Request:
    """An arm that is asked for and not decided."""

    request: str
    scope: str
    room: str
    role: str
    spec: WatchSpec
    via: str
    by: str
    person: str
    judged: bool = False


@dataclass(slots=True)
class Armed:
    """A watch that is on. `source_state` is the source's after its last fire or advance."""

    armed: str
    scope: str
    room: str
    spec: WatchSpec
    via: str
    by: str
    person: str
    confined: bool
    armed_at: int
    request: str
    run: str = ""
    fires: int = 0
    fired_at: int = 0
    last: str = ""
    quiet: Quiet | None = None
    source_state: dict[str, Any] | None = None


@dataclass(slots=True)
class WatchesState:
    boot: str = ""
    requests: dict[str, Request] = field(default_factory=dict[str, Request])
    armed: dict[str, Armed] = field(default_factory=dict[str, Armed])
    names: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """scope → name → armed."""
    unstarted: dict[str, str] = field(default_factory=dict[str, str])
    """armed → scope: no life of its source has begun in this boot."""
    ending: dict[str, str] = field(default_factory=dict[str, str])
    """run → armed: disarmed, and its source is still to be ended."""
    declared: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """room → name → digest of the declaration that was taken up last."""
    bounds: Bounds = field(default_factory=Bounds)
    spent: Spent = field(default_factory=Spent)
    held: dict[str, Held] = field(default_factory=dict[str, Held])
    """armed → its fires that wake nobody yet; a watch that is done may still have some."""


class Watches(Concept[WatchesState]):
    """See the module. A request is forgotten when it is decided, a watch when it is disarmed, a run when it has exited.
    Of declared watches the digest stays as long as access.json declares the name. A held fire is forgotten when it is
    told, or when somebody takes the watch off; what was spent, an hour or a day after it."""

    NAME = "watches"
    VERSION = 2
    State = WatchesState

    @on(ConfigLoaded)
    def begin_boot(self, i: Interaction, p: ConfigLoaded) -> None:
        b = p.budgets
        self.state.bounds = Bounds(b.thread_per_hour, b.room_per_hour, b.day, b.day_tokens, b.watch_per_hour)
        for room in list(self.state.declared):
            names = (
                {str(fields.get("name", "")) for fields in p.rooms[room].watches}
                if room in p.rooms
                else set[str]()
            )
            kept = {name: digest for name, digest in self.state.declared[room].items() if name in names}
            self.state.declared[room] = kept
            if not kept:
                del self.state.declared[room]
        if p.boot == self.state.boot:
            return
        self.state.boot = p.boot
        self.state.ending.clear()  # the sources of an earlier boot died with it
        for armed in self.state.armed.values():
            armed.run = ""
            self.state.unstarted[armed.armed] = armed.scope

    @on(WatchRequested)
    def requested(self, i: Interaction, p: WatchRequested) -> None:
        self.state.requests[i.id] = Request(i.id, i.scope, p.room, i.role, p.spec, p.via, p.by, p.person)
        if p.declared is not None:
            self.state.declared.setdefault(p.room, {})[p.spec.name] = p.declared

    @on(WatchJudged)
    def judged(self, i: Interaction, p: WatchJudged) -> None:
        request = self.state.requests.get(p.request)
        if request is not None:
            request.judged = True

    @on(WatchRefused)
    def refused(self, i: Interaction, p: WatchRefused) -> None:
        self.state.requests.pop(p.request, None)

    @on(WatchArmed)
    def arm(self, i: Interaction, p: WatchArmed) -> None:
        self.state.requests.pop(p.request, None)
        self.state.armed[i.id] = Armed(
            i.id, i.scope, p.room, p.spec, p.via, p.by, p.person, p.confined, armed_at=i.at, request=p.request
        )
        self.state.names.setdefault(i.scope, {})[p.spec.name] = i.id
        self.state.unstarted[i.id] = i.scope

    @on(WatchStarted)
    def started(self, i: Interaction, p: WatchStarted) -> None:
        armed = self.state.armed.get(p.armed)
        if armed is None or p.boot != self.state.boot:
            return
        armed.run, armed.source_state = p.run, p.source_state
        self.state.unstarted.pop(p.armed, None)

    @on(WatchFired)
    def fired(self, i: Interaction, p: WatchFired) -> None:
        armed = self.state.armed.get(p.armed)
        if armed is None:
            return
        armed.fires += 1
        armed.fired_at = i.at
        armed.last = p.why
        armed.source_state = p.source_state
        self._hold_or_count(i, p, armed)

    def _hold_or_count(self, i: Interaction, p: WatchFired, armed: Armed) -> None:
        """A fire wakes somebody, or is held: decided here and not by a rule, so that two fires of one moment can't both
        take the last place."""
        before = self.state.held.get(p.armed)
        is_diff = armed.spec.source == "file"
        held = before or Held(
            *(p.armed, i.scope, p.room, p.name, p.person, i.role, p.notify, is_diff, "fires", i.at)
        )
        closed = self.closed(held, i.at)
        if before is None and closed is None:
            self.state.spent.fire(p.armed, i.at)
            if not p.notify:
                self.state.spent.wake(i.scope, p.room, i.at)
            return
        if closed is not None:
            held.why, held.until = closed
            if self.state.spent.first_over(held):
                held.told_at = i.id
        self.state.held[p.armed] = held
        held.fires = [*held.fires, i.id][-MOST_HELD:]
        held.count += 1

    def closed(self, held: Held, now: int) -> tuple[Why, int] | None:
        """Why what is held of a watch may not be told now, and until when; None when it may."""
        armed = self.state.armed.get(held.armed)
        if armed is not None and (quiet := wanted_quiet(armed.spec, armed.quiet, now)) is not None:
            return quiet
        return self.state.spent.over(self.state.bounds, held, now)

    @on(WatchAdvanced)
    def advanced(self, i: Interaction, p: WatchAdvanced) -> None:
        armed = self.state.armed.get(p.armed)
        if armed is not None:
            armed.source_state = p.source_state

    @on(WatchSnoozed)
    def snoozed(self, i: Interaction, p: WatchSnoozed) -> None:
        armed, held = self.state.armed.get(p.armed), self.state.held.get(p.armed)
        if armed is None:
            return
        was_muted = armed.quiet is not None and armed.quiet.until == FOR_GOOD
        armed.quiet = Quiet(p.until, p.by) if p.until is not None else None
        if held is not None and was_muted and p.until != FOR_GOOD:
            del self.state.held[p.armed]  # what came while it was muted isn't wanted
        elif held is not None:
            held.why, held.until = self.closed(held, i.at) or (held.why, i.at)

    @on(SettingChosen)
    def lifted(self, i: Interaction, p: SettingChosen) -> None:
        if p.name != "budget" or not p.value.isdigit():
            return
        self.state.spent.lift(i.scope, int(p.value), i.at)
        for held in self.state.held.values():
            if held.room == i.scope:
                held.why, held.until = self.closed(held, i.at) or (held.why, i.at)

    @on(WatchHeldOn)
    def held_on(self, i: Interaction, p: WatchHeldOn) -> None:
        held = self.state.held.get(p.armed)
        if held is not None:
            held.why, held.until = cast("Why", p.why), p.until

    @on(WatchReleased)
    def released(self, i: Interaction, p: WatchReleased) -> None:
        held = self.state.held.pop(p.armed, None)
        if held is None:
            return
        if p.armed in self.state.armed:
            self.state.spent.fire(p.armed, i.at)
        if not held.notify:
            self.state.spent.wake(held.scope, held.room, i.at)

    @on(TurnEnded)
    def turn_ended(self, i: Interaction, p: TurnEnded) -> None:
        if p.origins and all(origin.kind == "watch" for origin in p.origins):
            self.state.spent.use(sum(n for name, n in p.usage.items() if name.endswith("tokens")), i.at)

    @on(WatchDisarmed)
    def disarm(self, i: Interaction, p: WatchDisarmed) -> None:
        armed = self.state.armed.pop(p.armed, None)
        if armed is None:
            return
        self.state.unstarted.pop(p.armed, None)
        held = self.state.held.get(p.armed)
        unwanted = p.reason in ("asked", "replaced", "not declared any more")
        if held is not None and (unwanted or held.until == FOR_GOOD):
            del self.state.held[p.armed]
        names = self.state.names.get(armed.scope, {})
        if names.get(armed.spec.name) == p.armed:
            del names[armed.spec.name]
            if not names:
                del self.state.names[armed.scope]
        if armed.run:
            self.state.ending[armed.run] = p.armed

    @on(WatchExited)
    def exited(self, i: Interaction, p: WatchExited) -> None:
        self.state.ending.pop(p.run, None)

    def named(self, scope: str, name: str) -> Armed | None:
        """The watch of that name in the scope."""
        return self.state.armed.get(self.state.names.get(scope, {}).get(name, ""))

    def of_scope(self, scope: str) -> list[Armed]:
        return [self.state.armed[armed] for armed in self.state.names.get(scope, {}).values()]

    def quiet_of(self, armed: Armed, now_ms: int) -> tuple[str, int]:
        """Why it wakes nobody now, in a word (`muted`, `snoozed`, `waiting`; empty when it may), and until when."""
        held = self.state.held.get(armed.armed)
        wanted = wanted_quiet(armed.spec, armed.quiet, now_ms)
        if wanted is not None and wanted[0] != "hours":
            return wanted
        return ("waiting", held.until) if held is not None else ("", 0)

    def next_due(self, armed: Armed) -> int | None:
        """When a timer or schedule rings next (UTC ms)."""
        following = (armed.source_state or {}).get("next") if armed.spec.source == "schedule" else None
        return following if isinstance(following, int) else armed.spec.due

    def told(self, scope: str, now_ms: int) -> list[str]:
        lines: list[str] = []
        for a in self.of_scope(scope):
            quiet, until = self.quiet_of(a, now_ms)
            held = self.state.held.get(a.armed)
            left = texts.span(until - now_ms) if until > now_ms else ""
            more = texts_of_quiet.quiet_told(quiet, left, held.count if held is not None else 0)
            lines.append(
                texts.watch_line(a.spec.name, describe(a.spec, now_ms=now_ms), a.fires, a.last, a.by, more)
            )
        return lines

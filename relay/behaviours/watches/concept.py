"""Which watches are armed, with their state, and what is still to be done about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from relay import texts
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.watches.verbs import (
    WatchAdvanced,
    WatchArmed,
    WatchDisarmed,
    WatchExited,
    WatchFired,
    WatchJudged,
    WatchRefused,
    WatchRequested,
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


class Watches(Concept[WatchesState]):
    """See the module. A request is forgotten when it is decided, a watch when it is disarmed, a run when it has exited.
    Of declared watches the digest stays as long as access.json declares the name."""

    NAME = "watches"
    State = WatchesState

    @on(ConfigLoaded)
    def begin_boot(self, i: Interaction, p: ConfigLoaded) -> None:
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

    @on(WatchAdvanced)
    def advanced(self, i: Interaction, p: WatchAdvanced) -> None:
        armed = self.state.armed.get(p.armed)
        if armed is not None:
            armed.source_state = p.source_state

    @on(WatchDisarmed)
    def disarm(self, i: Interaction, p: WatchDisarmed) -> None:
        armed = self.state.armed.pop(p.armed, None)
        if armed is None:
            return
        self.state.unstarted.pop(p.armed, None)
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

    def in_use(self) -> Iterable[str]:
        """The options of each watch that is on or asked for, and what its file held when it was looked at last."""
        yield from self.state.requests
        for armed in self.state.armed.values():
            yield from (armed.armed, armed.request)
            digest = (armed.source_state or {}).get("sha256")
            if digest:
                yield str(digest)

    def told(self, scope: str, now_ms: int) -> list[str]:
        return [
            texts.watch_line(a.spec.name, describe(a.spec, now_ms=now_ms), a.fires, a.last, a.by)
            for a in self.of_scope(scope)
        ]

"""Lanes and turns: what waits in each scope, and what runs there."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay import texts
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.intake.verbs import ChannelDeleted, ChannelEdited
from relay.behaviours.places.verbs import PlaceOpened
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.turns.verbs import (
    FileShared,
    Origin,
    SessionLost,
    SessionOpened,
    SharedFile,
    ToolAsked,
    TurnEnded,
    TurnPrompted,
    TurnReplied,
    TurnStarted,
    TurnSteered,
    TurnStopAsked,
    TurnWithdrawn,
)
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class Waiting:
    """A prompt in the lane."""

    prompt: str
    room: str
    sources: list[str]
    origin: Origin
    continues: str | None
    tries: int
    role: str
    at: int
    boot: str = ""
    """The boot in which it came into the lane."""
    joins: bool = False
    gone: list[str] = field(default_factory=list[str])
    """Those of its sources that were deleted."""
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    """source → its newest revision, for those that were edited since it waits."""
    number: int = 0
    """What people call it by, as long as it waits: it grows in a lane and begins anew when nothing waits there."""
    held: bool = False
    """It did not run at once, and its message says so."""
    origins: list[Origin] = field(default_factory=list[Origin])
    """All whom it is for."""
    files: list[SharedFile] = field(default_factory=list[SharedFile])
    """For a continuation: what the agent had handed over before it was cut off."""


@dataclass(slots=True)
class Running:
    """The turn of a scope. `boot` is the boot that runs it: of another boot, it is interrupted."""

    turn: str
    boot: str
    room: str
    agent: str
    role: str
    session: str
    started_at: int
    prompts: list[str]
    sources: list[str]
    origins: list[Origin]
    steers: bool
    tries: int
    replies: int = 0
    files: list[SharedFile] = field(default_factory=list[SharedFile])
    tool: str = ""
    stop: str | None = None
    """Who asked it to end."""
    newest: list[Waiting] = field(default_factory=list[Waiting])
    """What it took last out of the lane."""
    dropped: dict[str, str] = field(default_factory=dict[str, str])
    """Prompts that were taken out of the lane while it runs → by whom: the agent may be given one in that moment."""


@dataclass(slots=True)
class Last:
    """The turn that ended last, for those who want it again."""

    turn: str
    room: str
    sources: list[str]
    origins: list[Origin]
    status: str
    role: str = ""
    """Whose authority it ran with."""
    files: list[SharedFile] = field(default_factory=list[SharedFile])


@dataclass(slots=True)
class Lane:
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    over: list[str] = field(default_factory=list[str])
    """Prompts that came when the lane was full: no turn may take them, they are to be withdrawn."""
    running: Running | None = None
    last: Last | None = None
    session: str | None = None
    agent: str = ""
    room: str = ""
    seen: int = 0
    """The position up to which the agent was given what was said in the place."""


@dataclass(slots=True)
class Pause:
    """No turn begins: since when, and by whom."""

    by: str
    at: int
    told: dict[str, str] = field(default_factory=dict[str, str])
    """Lane and person → the prompt by which they are told of it, once."""


@dataclass(slots=True)
class TurnsState:
    boot: str = ""
    queue: int = 0
    """How many prompts may wait in a scope, as access.json says; 0 before it was read."""
    agents: int = 0
    """How many turns may run at once; 0 when nobody said."""
    paused: dict[str, Pause] = field(default_factory=dict[str, Pause])
    """room → its pause; under the empty name that of every room."""
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])
    startable: dict[str, int] = field(default_factory=dict[str, int])
    """Scopes whose lane has prompts and no turn: what the driver owes; the value is the seq since when."""
    running: dict[str, str] = field(default_factory=dict[str, str])
    """scope → turn."""
    orphans: dict[str, str] = field(default_factory=dict[str, str])
    """Turns of an earlier boot → scope: they are to be ended as interrupted."""


class Turns(Concept[TurnsState]):
    """See the module. A prompt is forgotten when a turn has taken it or it was withdrawn, a turn when it has ended (the
    last one of a scope when the next ends), a pause when it is over. So the state grows with the number of scopes and
    with what waits."""

    NAME = "turns"
    VERSION = 4
    State = TurnsState

    @on(ConfigLoaded)
    def begin_boot(self, i: Interaction, p: ConfigLoaded) -> None:
        self.state.queue, self.state.agents = p.queue, p.agents
        if p.boot == self.state.boot:
            return
        self.state.boot = p.boot
        self.state.orphans |= {turn: scope for scope, turn in self.state.running.items()}

    @on(PlaceOpened)
    def placed(self, i: Interaction, p: PlaceOpened) -> None:
        self.state.lanes.setdefault(i.scope, Lane()).room = p.room

    @on(SettingChosen)
    def chosen(self, i: Interaction, p: SettingChosen) -> None:
        if p.name != "paused":
            return
        if p.value == "yes":
            self.state.paused.setdefault(i.scope, Pause(p.by, i.at))
        elif i.scope:
            self.state.paused.pop(i.scope, None)
        else:
            self.state.paused.clear()

    @on(TurnPrompted)
    def prompted(self, i: Interaction, p: TurnPrompted) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        lane.room = p.room
        # Decided here and not by a rule: until the rule's withdrawal is durable a turn could have taken the prompt.
        # What continues was taken before a restart, and stays taken.
        if p.origin.kind == "message" and p.continues is None and 0 < self.state.queue <= len(lane.waiting):
            lane.over.append(i.id)
            return
        sources = list(p.sources) or [p.source]
        waiting = Waiting(
            i.id, p.room, sources, p.origin, p.continues, p.tries, i.role, i.at, self.state.boot, p.joins
        )
        waiting.origins = list(p.origins) or [p.origin]
        waiting.number = max((w.number for w in lane.waiting), default=0) + 1
        pause = self.pause_of(p.room)
        waiting.held = pause is not None or lane.running is not None or bool(lane.waiting) or self._all_busy
        if pause is not None and p.origin.kind == "message" and p.continues is None:
            pause.told.setdefault(f"{i.scope} {p.origin.person}", i.id)
        if lane.last is not None and lane.last.turn == p.continues:
            waiting.files = lane.last.files
        # Work that was cut off began before everything that waits, so it goes on first.
        lane.waiting.insert(0 if p.continues else len(lane.waiting), waiting)
        if lane.running is None:
            self.state.startable.setdefault(i.scope, i.seq)

    @on(TurnStarted)
    def started(self, i: Interaction, p: TurnStarted) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        taken = [w for w in lane.waiting if w.prompt in p.takes]
        lane.waiting = [w for w in lane.waiting if w.prompt not in p.takes]
        lane.running = Running(
            turn=i.id,
            boot=self.state.boot,
            room=p.room,
            agent=p.agent,
            role=i.role,
            session=p.session,
            started_at=i.at,
            prompts=list(p.takes),
            sources=list(p.sources),
            origins=[origin for w in taken for origin in w.origins],
            steers=p.steers,
            tries=max((w.tries for w in taken), default=0),
            files=[file for w in taken for file in w.files],
            newest=taken,
        )
        lane.seen = max(lane.seen, p.seen)
        self.state.startable.pop(i.scope, None)
        self.state.running[i.scope] = i.id

    @on(TurnSteered)
    def steered(self, i: Interaction, p: TurnSteered) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        taken = [w for w in lane.waiting if w.prompt == p.prompt]
        lane.waiting = [w for w in lane.waiting if w.prompt != p.prompt]
        if lane.running is not None and lane.running.turn == p.turn:
            lane.running.prompts.append(p.prompt)
            lane.running.sources.extend([s for w in taken for s in w.sources] or [p.source])
            lane.running.origins.extend(origin for w in taken for origin in w.origins)
            # What joined is interrupted for the first time when the turn is: it may go on as often as any other.
            lane.running.tries = min([lane.running.tries, *(w.tries for w in taken)])
            lane.running.newest = taken
        if not lane.waiting:
            self.state.startable.pop(i.scope, None)

    @on(TurnWithdrawn)
    def withdrawn(self, i: Interaction, p: TurnWithdrawn) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        lane.waiting = [w for w in lane.waiting if w.prompt != p.prompt]
        lane.over = [prompt for prompt in lane.over if prompt != p.prompt]
        if lane.running is not None and p.why == "dropped":
            lane.running.dropped[p.prompt] = p.by
        if not lane.waiting:
            self.state.startable.pop(i.scope, None)

    @on(ChannelEdited)
    def source_edited(self, i: Interaction, p: ChannelEdited) -> None:
        for waiting in self.lane(i.scope).waiting:
            if p.source in waiting.sources:
                waiting.revisions[p.source] = p.revision

    @on(ChannelDeleted)
    def source_deleted(self, i: Interaction, p: ChannelDeleted) -> None:
        for waiting in self.lane(i.scope).waiting:
            if p.target in waiting.sources and p.target not in waiting.gone:
                waiting.gone.append(p.target)

    @on(TurnStopAsked)
    def stop_asked(self, i: Interaction, p: TurnStopAsked) -> None:
        running = self.lane(i.scope).running
        if running is not None and running.turn == p.turn and running.stop is None:
            running.stop = p.by

    @on(TurnReplied)
    def replied(self, i: Interaction, p: TurnReplied) -> None:
        running = self.lane(i.scope).running
        if running is not None and running.turn == p.turn:
            running.replies += 1

    @on(FileShared)
    def shared(self, i: Interaction, p: FileShared) -> None:
        running = self.lane(i.scope).running
        if running is not None and running.turn == p.turn:
            running.files.append(SharedFile(name=p.name, digest=p.digest, size=p.size))

    @on(ToolAsked)
    def tool_asked(self, i: Interaction, p: ToolAsked) -> None:
        running = self.lane(i.scope).running
        if running is not None and running.turn == p.turn:
            running.tool = p.title[:200]

    @on(TurnEnded)
    def ended(self, i: Interaction, p: TurnEnded) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        self.state.orphans.pop(p.turn, None)
        if lane.running is None or lane.running.turn != p.turn:
            return
        files = lane.running.files
        lane.last = Last(p.turn, p.room, list(p.sources), list(p.origins), p.status, i.role, files)
        lane.running = None
        self.state.running.pop(i.scope, None)
        if lane.waiting:
            self.state.startable[i.scope] = i.seq

    @on(SessionOpened)
    def session_opened(self, i: Interaction, p: SessionOpened) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        lane.session, lane.agent = p.token, p.agent

    @on(SessionLost)
    def session_lost(self, i: Interaction, p: SessionLost) -> None:
        lane = self.state.lanes.setdefault(i.scope, Lane())
        if lane.session == p.token:
            lane.session = None

    def lane(self, scope: str) -> Lane:
        """The scope's lane; an empty one for a scope that was never prompted."""
        return self.state.lanes.get(scope) or Lane()

    def pause_of(self, room: str) -> Pause | None:
        """The pause that holds a room's lanes, if one does: that of all rooms, or its own."""
        return self.state.paused.get("") or self.state.paused.get(room)

    @property
    def _all_busy(self) -> bool:
        return 0 < self.state.agents <= len(self.state.running)

    def told(self, scope: str, now_ms: int) -> list[str]:
        lane = self.lane(scope)
        running, pause = lane.running, self.pause_of(lane.room)
        lines: list[str] = []
        if running is not None:
            since = texts.span(now_ms - running.started_at)
            lines.append(texts.running(running.agent, since, running.tool, len(lane.waiting)))
        else:
            lines.append(texts.nothing_runs(len(lane.waiting)))
        if pause is not None:
            everywhere = "" in self.state.paused
            lines.append(texts.paused_line(pause.by, texts.span(now_ms - pause.at), everywhere))
        return lines

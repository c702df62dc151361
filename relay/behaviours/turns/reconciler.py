"""The TurnDriver: takes what waits in a lane, runs the agent's turn, records the reply and the end.

It holds one turn a scope. While the turn runs it puts the lane's messages into it where the agent can take them, hands
it decisions, stops it when asked or at a limit, and shows what it does. A turn of an earlier boot is ended as
interrupted; what follows from that is a rule's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import anyio

from relay import texts
from relay.agents.runtime import AgentGone, Session, SessionSpec
from relay.behaviours.turns.concept import Lane, Running, Turns, Waiting
from relay.behaviours.turns.holding import HoldsBack, held_until, holders
from relay.behaviours.turns.reconciler_course import Course, ended, insist
from relay.behaviours.turns.reconciler_prompt import Prompt, Prompts
from relay.behaviours.turns.verbs import SessionLost, SessionOpened, TurnStarted
from relay.errors import AgentError, RelayError
from relay.ledger.fold import View
from relay.ledger.interaction import Draft
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts

MOST_TAKEN = 20
OPEN_LIMIT_S = 60.0
CHANGES_LIMIT_S = 10.0

log = logging.getLogger("relay.turns")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [TurnDriver(parts)]


@dataclass(slots=True)
class _Warm:
    """A session that is kept open between turns."""

    session: Session
    agent: str
    used_at: int


@dataclass(slots=True)
class TurnDriver:
    """See the module."""

    parts: Parts
    name: str = "turns"
    kind: Literal["short", "holding"] = "holding"
    _warm: dict[str, _Warm] = field(default_factory=dict[str, _Warm])
    _count: int = 0
    _holders: tuple[HoldsBack, ...] | None = None

    @property
    def cap(self) -> int:
        return self.parts.access.limits.agents

    def owes(self, view: View) -> Iterable[Item]:
        turns = view.of(Turns)
        state = turns.state
        for turn, scope in list(state.orphans.items()):
            yield Item(f"interrupted:{turn}", scope)
        for scope in list(state.startable):
            lane = turns.lane(scope)
            if turns.pause_of(lane.room) is not None or not self._named(lane):
                continue
            if self._held(turns.lane(scope).waiting[:1]):
                continue
            if not any(orphaned == scope for orphaned in state.orphans.values()):
                yield Item(f"lane:{scope}", scope)

    def _named(self, lane: Lane) -> bool:
        """Whether access.json names the room of what waits there. What waits in one that it names no more, perhaps for
        a minute only, runs when it is back."""
        return not lane.waiting or lane.waiting[0].room in self.parts.access.rooms

    def due(self, view: View) -> int | None:
        turns, now = view.of(Turns), self.parts.clock.now_ms()
        heads = (turns.lane(scope).waiting[:1] for scope in turns.state.startable)
        ends = [self._held_until(head) for head in heads]
        return min((end for end in ends if end is not None and end > now), default=None)

    def _held_until(self, waiting: Iterable[Waiting]) -> int | None:
        if self._holders is None:
            self._holders = holders(self.parts.engine.view)
        return held_until(self._holders, (source for w in waiting for source in w.sources))

    def _held(self, waiting: Iterable[Waiting]) -> bool:
        """Whether one of those is held back, such as for its files."""
        end = self._held_until(waiting)
        return end is not None and end > self.parts.clock.now_ms()

    async def act(self, item: Item, held: Held) -> None:
        kind, _, rest = item.key.partition(":")
        if kind == "interrupted":
            await self._end_interrupted(rest, item.lane, held)
        else:
            await self._run_lane(rest, held)

    async def close(self) -> None:
        """A clean stop: the warm sessions are closed."""
        for warm in self._warm.values():
            with anyio.move_on_after(5, shield=True):
                await warm.session.close()

    # -- a turn that a restart cut off ------------------------------------------------------------------------------

    async def _end_interrupted(self, turn: str, scope: str, held: Held) -> None:
        lane = held.view.of(Turns).lane(scope)
        running = lane.running
        if running is None or running.turn != turn:
            return
        resumable = lane.session is not None and running.agent in self.parts.access.agents
        await held.admit(ended(scope, running, "interrupted", texts.RESTARTED, resumable=resumable))

    # -- a lane -----------------------------------------------------------------------------------------------------

    async def _run_lane(self, scope: str, held: Held) -> None:
        lane = held.view.of(Turns).lane(scope)
        if (
            lane.running is not None
            or not lane.waiting
            or held.view.of(Turns).pause_of(lane.room) is not None
            or not self._named(lane)
        ):
            return
        await self._wait_for_changes(scope, lane)
        lane = held.view.of(Turns).lane(scope)
        if lane.running is not None or not lane.waiting or self._held(lane.waiting[:1]):
            return
        taken = self._choose(lane)
        room = taken[0].room
        rules = self.parts.access.rooms.get(room)
        agent = rules.agent if rules else ""
        try:
            if rules is None:
                raise AgentError(texts.ROOM_GONE)
            session = await self._session(scope, room, agent, lane, held)
            prompts = Prompts(self.parts)
            prompt = await prompts.for_turn(scope, taken)
        except AgentError as error:
            await self._fail(scope, taken, room, agent, f"{error} {error.advice}".strip(), held)
            return
        started = await self._start(scope, taken, room, agent, session, prompt, held)
        if started is None:
            return  # taken back, edited or deleted meanwhile: what waits now is looked at anew
        course = Course(self.parts, held, scope, started, session, prompts)
        try:
            await course.run(prompt.text)
        finally:
            if course.session_broken:
                await self._drop(scope)
        warm = self._warm.get(scope)
        if warm is not None:
            warm.used_at = self.parts.clock.now_ms()

    async def _wait_for_changes(self, scope: str, lane: Lane) -> None:
        """What waited over a restart may have been edited or deleted meanwhile: the surface is heard first, for a
        while."""
        here = self.parts.engine.view.of(Turns).state.boot
        surface = scope.partition(":")[0]
        if surface in self.parts.surfaces.by_name and any(
            w.origin.message and w.boot != here for w in lane.waiting
        ):
            with anyio.move_on_after(CHANGES_LIMIT_S):
                await self.parts.listening_to(surface).wait()

    def _choose(self, lane: Lane) -> list[Waiting]:
        """What the next turn takes: all that waits, but interrupted work goes on alone, and in its own turn."""
        first = lane.waiting[0]
        if first.continues is not None:
            return [first]
        taken: list[Waiting] = []
        for waiting in lane.waiting[:MOST_TAKEN]:
            if waiting.continues is not None or waiting.role != first.role:
                break  # another role is another authority: it gets a turn of its own
            if taken and self._held([waiting]):
                break
            taken.append(waiting)
        return taken

    async def _start(
        self,
        scope: str,
        taken: list[Waiting],
        room: str,
        agent: str,
        session: Session | None,
        prompt: Prompt,
        held: Held,
    ) -> Running | None:
        """None, and no turn, when by the time it would be recorded the prompt isn't what waits there any more: what
        was told to be dropped must not run."""

        def still_so() -> bool:
            waits = {w.prompt: w for w in held.view.of(Turns).lane(scope).waiting}
            if not prompt.text:  # the agent can't be opened: that is told whatever the messages read by now
                return all(w.prompt in waits for w in taken)
            return all(w.prompt in waits and not prompt.misses(waits[w.prompt]) for w in taken)

        self._count += 1
        sources = tuple(dict.fromkeys(source for w in taken for source in w.sources))
        payload = TurnStarted(
            room=room,
            agent=agent,
            runtime=self.parts.access.agents[agent].runtime if agent in self.parts.access.agents else "",
            takes=tuple(w.prompt for w in taken),
            sources=sources,
            session=session.token if session else "",
            nonce=prompt.nonce,
            steers=session.capabilities.steer if session else False,
            prompt=await self.parts.blobs.put(prompt.text.encode()),
            revisions=tuple(prompt.revisions.get(source, 0) for source in sources),
            above=prompt.above,
            seen=prompt.seen,
        )
        draft = Draft.of(
            payload,
            scope,
            held.lease.token,
            self._count,
            actor=f"agent:{agent}",
            role=taken[0].role,
            scope=scope,
            caused_by=payload.takes,
            outside=[
                *(f"took:{source}" for source in payload.sources),
                *(f"quotes:{message}" for message in prompt.quotes),
            ],
        )
        if not await held.admit(draft, only_if=still_so):
            return None
        running = held.view.of(Turns).lane(scope).running
        if running is None:
            raise RelayError(f"the turn of {scope} did not start")
        return running

    async def _fail(
        self, scope: str, taken: list[Waiting], room: str, agent: str, why: str, held: Held
    ) -> None:
        """The agent can't be opened: the prompts are taken by a turn that failed, and that is told."""
        running = await self._start(scope, taken, room, agent, None, Prompt(), held)
        if running is not None:
            await insist(held, ended(scope, running, "failed", why))

    # -- sessions ---------------------------------------------------------------------------------------------------

    async def _session(self, scope: str, room: str, agent: str, lane: Lane, held: Held) -> Session:
        warm = self._warm.get(scope)
        if warm is not None and warm.agent == agent:
            return warm.session
        await self._drop(scope)
        await self._make_room()
        resume = lane.session if lane.agent == agent else None
        session = await self._open(scope, room, agent, resume, held)
        self._warm[scope] = _Warm(session, agent, self.parts.clock.now_ms())
        if session.token != lane.session:
            runtime = self.parts.access.agents[agent].runtime
            payload = SessionOpened(
                runtime=runtime, agent=agent, token=session.token, resumes=resume is not None
            )
            await held.admit(
                Draft.of(payload, scope, held.lease.token, session.token, actor=f"agent:{agent}", scope=scope)
            )
        return session

    async def _open(self, scope: str, room: str, agent: str, resume: str | None, held: Held) -> Session:
        profile = self.parts.access.agents.get(agent)
        runtime = self.parts.runtimes.get(profile.runtime) if profile else None
        if profile is None or runtime is None:
            raise AgentError(texts.agent_unknown(agent))
        workspace = self.parts.workspace(room)
        if workspace is None:
            raise AgentError(texts.ROOM_GONE)
        folder = self.parts.state / "agents" / profile.runtime
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        spec = SessionSpec(
            scope=scope,
            workspace=workspace,
            state=folder,
            tools=self.parts.make_tools(scope, room),
            model=profile.model,
            effort=profile.effort,
            resume=resume,
            kept=self.parts.kept,
        )
        with anyio.move_on_after(OPEN_LIMIT_S):
            try:
                return await runtime.open(spec)
            except AgentGone as error:
                if resume is None:
                    raise
                await held.admit(
                    Draft.of(
                        SessionLost(token=resume, why=str(error)),
                        scope,
                        resume,
                        actor=f"agent:{agent}",
                        scope=scope,
                    )
                )
                return await self._open(scope, room, agent, None, held)
        raise AgentError(texts.agent_slow(agent, OPEN_LIMIT_S))

    async def _drop(self, scope: str) -> None:
        warm = self._warm.pop(scope, None)
        if warm is not None:
            with anyio.move_on_after(5, shield=True):
                await warm.session.close()

    async def _make_room(self) -> None:
        """Sessions are capped: the one that was idle longest is closed, and resumed when it is needed."""
        running = self.parts.engine.view.of(Turns).state.running
        while len(self._warm) >= max(2 * self.cap, 2):
            idle = [scope for scope in self._warm if scope not in running]
            if not idle:
                return
            await self._drop(min(idle, key=lambda scope: self._warm[scope].used_at))

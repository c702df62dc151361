"""The WatchRunner: makes the supervisor watch what is armed, and records what it sees.

It looks where a path leads (the verdict itself is a rule's), starts a life of each armed watch's source from its last
recorded state, and ends those of disarmed ones. A fire is recorded before the source's state moves on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from relay import texts, texts_for_agents, texts_of_quiet
from relay.behaviours.watches.concept import Armed, Request, Watches
from relay.behaviours.watches.holding import FOR_GOOD, MOST_HELD
from relay.behaviours.watches.synchronizations import judged_by_rule, off
from relay.behaviours.watches.verbs import (
    WatchAdvanced,
    WatchExited,
    WatchFired,
    WatchHeldOn,
    WatchJudged,
    WatchReleased,
    WatchStarted,
)
from relay.errors import WorkspaceUnusable
from relay.ledger.canonical import clean_text
from relay.ledger.fold import View
from relay.ledger.interaction import Draft
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts
from watch_supervisor.places import is_inside, resolve
from watch_supervisor.supervisor import Ended, Fire, Run, Supervisor

START_LIMIT_S = 20.0
INLINE = 24 * 1024
SPACE_MS = 60_000
MOST_SPACED = 16

log = logging.getLogger("relay.watches")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [WatchRunner(parts)]


class WatchRunner:
    """See the module."""

    name = "watches"
    kind: Literal["short", "holding"] = "short"
    cap = 16

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._fence: int | None = None
        self._starting: dict[str, anyio.Event] = {}
        self._spacing = 0
        self._supervisor = Supervisor(
            parts.clock,
            on_fire=self._fired,
            on_started=self._started,
            on_advanced=self._advanced,
            on_ended=self._ended,
            snapshots=parts.blobs,
        )
        parts.own_writes.append(self._own_write)

    def _own_write(self, scope: str, workspace: Path, path: str, digest: str) -> None:
        """What an agent writes doesn't wake it: the watches of its own thread let it pass, others don't."""
        runs = {armed.run for armed in self._parts.engine.view.of(Watches).of_scope(scope)}
        self._supervisor.expect(workspace, path, digest, only=runs)

    async def run(self) -> None:
        """The supervisor's own life; beside the runner, until cancelled."""
        await self._supervisor.run()

    # -- the contract -----------------------------------------------------------------------------------------------

    def owes(self, view: View) -> Iterable[Item]:
        state = view.of(Watches).state
        for request in list(state.requests.values()):
            if not request.judged:
                yield Item(f"judge:{request.request}", f"judge:{request.request}")
        for run in list(state.ending):
            yield Item(f"end:{run}", f"end:{run}")
        for armed in list(state.unstarted):
            yield Item(f"start:{armed}", f"start:{armed}")
        now = self._parts.clock.now_ms()
        for held in list(state.held.values()):
            if held.until != FOR_GOOD and held.until <= now:
                yield Item(f"tell:{held.armed}", "tell")

    def due(self, view: View) -> int | None:
        held = view.of(Watches).state.held.values()
        return min((h.until for h in held if h.until != FOR_GOOD), default=None)

    async def act(self, item: Item, held: Held) -> None:
        self._fence = held.lease.fence
        kind, _, id = item.key.partition(":")
        if kind == "judge":
            await self._judge(id, held)
        elif kind == "end":
            await self._end(id, held)
        elif kind == "tell":
            await self._tell(id, held)
        else:
            await self._start(id, held)

    # -- acts -------------------------------------------------------------------------------------------------------

    async def _judge(self, request_id: str, held: Held) -> None:
        request = held.view.of(Watches).state.requests.get(request_id)
        if request is None:
            return
        reasons, inside = await self._look(request)
        payload = WatchJudged(
            request=request_id,
            allowed=not reasons,
            reasons=tuple(reasons),
            confined=inside or request.via == "tool",
        )
        await held.admit(
            Draft.of(
                payload,
                request_id,
                actor="relay",
                scope=request.scope,
                caused_by=[request_id],
                role=request.role,
            )
        )

    async def _look(self, request: Request) -> tuple[list[str], bool]:
        try:
            root = self._parts.workspace(request.room)
        except WorkspaceUnusable as error:
            return [f"{error} {error.advice}"], False
        if root is None:
            return [texts.ROOM_GONE], False
        if request.spec.path is None:
            return [], True
        where = await anyio.to_thread.run_sync(resolve, root, request.spec.path)
        if where.problem:
            return [texts.watch_unreachable(where.problem)], False
        if await anyio.to_thread.run_sync(self._parts.kept.at, where.path):
            return [texts.WATCH_KEPT], False
        if is_inside(self._parts.state, str(where.path)):
            # It changes with each word that is said, so the watch would wake itself for ever.
            return [texts.WATCH_OWN_STATE], where.inside
        return judged_by_rule(request.spec, where.inside, where.protected, request.via), where.inside

    async def _start(self, armed_id: str, held: Held) -> None:
        armed = held.view.of(Watches).state.armed.get(armed_id)
        if armed is None:
            return
        try:
            root = self._parts.workspace(armed.room)
        except WorkspaceUnusable as error:
            await held.admit(self._off(armed, "failed", f"{error} {error.advice}".rstrip(".")))
            return
        if root is None:
            await held.admit(self._off(armed, "failed", texts.ROOM_GONE))
            return
        run = f"{armed_id}.{self._parts.boot}"
        started = self._starting.setdefault(run, anyio.Event())
        self._supervisor.start(
            Run(
                run=run,
                spec=armed.spec,
                root=root,
                state=armed.source_state,
                fires=armed.fires,
                armed_at=armed.armed_at,
                confined=armed.confined,
            )
        )
        with anyio.move_on_after(START_LIMIT_S):
            await started.wait()
        self._starting.pop(run, None)

    async def _end(self, run: str, held: Held) -> None:
        armed = held.view.of(Watches).state.ending.get(run)
        await self._supervisor.stop(run)
        if armed is not None:
            await held.admit(
                Draft.of(WatchExited(armed=armed, run=run), run, actor="relay", caused_by=[armed])
            )

    async def _tell(self, armed_id: str, held: Held) -> None:
        """What was held is told now, in one; unless something else holds it."""
        watches = held.view.of(Watches)
        kept = watches.state.held.get(armed_id)
        if kept is None:
            return
        closed = watches.closed(kept, self._parts.clock.now_ms())
        newest = kept.fires[-1]
        if closed is not None:
            payload = WatchHeldOn(armed=armed_id, name=kept.name, why=closed[0], until=closed[1])
            key = (armed_id, newest, closed[1])
            await held.admit(Draft.of(payload, *key, actor="relay", scope=kept.scope, caused_by=[newest]))
            return
        text = texts_for_agents.held_fires(kept.name, kept.count, len(kept.fires), kept.why)
        if kept.notify:
            known = await self._parts.engine.store.by_ids(kept.fires)
            texts_kept = [str(known[fire].body.get("text", "")) for fire in kept.fires if fire in known]
            text = "\n\n".join([texts_of_quiet.held_told(kept.count, kept.why), *texts_kept])
        released = WatchReleased(
            armed=armed_id,
            name=kept.name,
            room=kept.room,
            person=kept.person,
            notify=kept.notify,
            is_diff=kept.is_diff,
            why=texts_of_quiet.held_told(kept.count, kept.why),
            text=text.encode()[:INLINE].decode(errors="ignore"),
            fires=tuple(kept.fires),
            count=kept.count,
        )
        await held.admit(
            Draft.of(
                released,
                armed_id,
                newest,
                actor="relay",
                role=kept.role,
                scope=kept.scope,
                caused_by=list(kept.fires),
                outside=[f"shows:{fire}" for fire in kept.fires],
            )
        )

    # -- what the supervisor says -----------------------------------------------------------------------------------

    def _armed(self, run: str) -> Armed | None:
        return self._parts.engine.view.of(Watches).state.armed.get(run.partition(".")[0])

    async def _admit(self, *drafts: Draft) -> None:
        await self._parts.engine.admit(*drafts, fence=self._fence)

    async def _started(self, run: str, state: dict[str, Any]) -> None:
        armed = self._armed(run)
        if armed is not None:
            payload = WatchStarted(armed=armed.armed, run=run, boot=self._parts.boot, source_state=state)
            await self._admit(self._draft(payload, armed, run))
        event = self._starting.get(run)
        if event is not None:
            event.set()

    async def _fired(self, fire: Fire) -> None:
        await self._space(fire.run)
        armed = self._armed(fire.run)
        if armed is None:  # disarmed a moment ago: a cancelled watch never fires
            return
        if armed.spec.path is not None and await anyio.to_thread.run_sync(self._is_kept, armed):
            await self._admit(self._off(armed, "failed", texts.WATCH_KEPT))
            return
        text = clean_text(fire.text)
        data = text.encode()
        blob = await self._parts.blobs.put(data) if len(data) > INLINE else None
        payload = WatchFired(
            armed=armed.armed,
            run=fire.run,
            number=fire.number,
            name=armed.spec.name,
            room=armed.room,
            by=armed.by,
            person=armed.person,
            notify=armed.spec.notify,
            why=fire.why,
            text=data[:INLINE].decode(errors="ignore"),
            blob=blob,
            count=fire.count,
            dropped=fire.dropped,
            source_state=dict(fire.state),
            last=fire.last,
        )
        await self._admit(self._draft(payload, armed, fire.run, fire.number))

    async def _space(self, run: str) -> None:
        """Fires of a watch that is held are taken more slowly once as many are kept as may be: a flood that nobody is
        told of must not fill the ledger. Meanwhile its source puts what comes into the next one.
        """
        if self._spacing >= MOST_SPACED:
            return
        self._spacing += 1
        try:
            while (armed := self._armed(run)) is not None:
                held = self._parts.engine.view.of(Watches).state.held.get(armed.armed)
                left = armed.fired_at + SPACE_MS - self._parts.clock.now_ms()
                if held is None or held.count < MOST_HELD or not 0 < left <= SPACE_MS:
                    return
                await self._parts.clock.sleep(min(left / 1000, 1.0))
        finally:
            self._spacing -= 1

    def _is_kept(self, armed: Armed) -> bool:
        """Whether the file has become one of the relay's own, by a hard link. Blocking."""
        rules = self._parts.access.rooms.get(armed.room)
        if rules is None or armed.spec.path is None:
            return False
        return self._parts.kept.at(resolve(Path(rules.workspace), armed.spec.path).path)

    async def _advanced(self, run: str, state: dict[str, Any]) -> None:
        armed = self._armed(run)
        if armed is not None:
            payload = WatchAdvanced(armed=armed.armed, run=run, source_state=state)
            await self._admit(self._draft(payload, armed, run, self._parts.clock.now_ms()))

    async def _ended(self, ended: Ended) -> None:
        armed = self._armed(ended.run)
        event = self._starting.get(ended.run)
        if event is not None:
            event.set()
        if armed is not None:
            reason = {"max-fires": "max fires", "lost": "failed"}.get(ended.reason, ended.reason)
            # The other reasons say it themselves. Should the store refuse, the supervisor tells it again.
            detail = ended.detail.rstrip(".") if reason == "failed" else ""
            await self._admit(self._off(armed, reason, detail))

    def _draft(
        self, payload: WatchStarted | WatchFired | WatchAdvanced, armed: Armed, *key: str | int
    ) -> Draft:
        return Draft.of(
            payload, *key, actor="relay", role=self._role(armed), scope=armed.scope, caused_by=[armed.armed]
        )

    def _role(self, armed: Armed) -> str:
        return "owner" if armed.via != "tool" else "agent"

    def _off(self, armed: Armed, reason: str, detail: str) -> Draft:
        return off(armed, reason, by="relay", cause=armed.armed, detail=detail)

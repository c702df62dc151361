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

from relay import texts
from relay.behaviours.watches.concept import Armed, Request, Watches
from relay.behaviours.watches.synchronizations import judged_by_rule, off
from relay.behaviours.watches.verbs import (
    WatchAdvanced,
    WatchExited,
    WatchFired,
    WatchJudged,
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
        self._supervisor = Supervisor(
            parts.clock,
            on_fire=self._fired,
            on_started=self._started,
            on_advanced=self._advanced,
            on_ended=self._ended,
            snapshots=parts.blobs,
        )

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

    def due(self, view: View) -> int | None:
        return None

    async def act(self, item: Item, held: Held) -> None:
        self._fence = held.lease.fence
        kind, _, id = item.key.partition(":")
        if kind == "judge":
            await self._judge(id, held)
        elif kind == "end":
            await self._end(id, held)
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
            reason = "max fires" if ended.reason == "max-fires" else ended.reason
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

"""The tools of one scope: watch, unwatch, watch_list, share. Authority is that of the turn that runs now.

A tool asks the ledger as everyone does: it admits a request, and waits for what the rules make of it. Without a running
turn every call is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from relay import texts
from relay.agents.runtime import ToolResult
from relay.behaviours.config.concept import Configured
from relay.behaviours.turns.concept import Running, Turns
from relay.behaviours.turns.verbs import FileShared
from relay.behaviours.watches.concept import Watches
from relay.behaviours.watches.verbs import WatchArmed, WatchDisarmed, WatchRefused, WatchRequested
from relay.ledger.blobs import Blobs
from relay.ledger.canonical import clean_text
from relay.ledger.engine import Engine
from relay.ledger.interaction import Draft
from watch_supervisor.places import resolve
from watch_supervisor.spec import SpecError, describe, from_fields

DECIDE_LIMIT_S = 30.0
LARGEST_SHARED = 8 * 1024 * 1024
MOST_SHARED = 40
"""Files of one turn."""


class Desk:
    """See the module. `workspace` gives the room's folder."""

    def __init__(self, engine: Engine, blobs: Blobs, scope: str, room: str, workspace: Path) -> None:
        self._engine = engine
        self._blobs = blobs
        self._scope = scope
        self._room = room
        self._workspace = workspace

    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
        """Never raises for what an agent passes: the answer says what was wrong."""
        running = self._engine.view.of(Turns).lane(self._scope).running
        if running is None:
            return ToolResult(texts.TOOL_WITHOUT_TURN, failed=True)
        match name:
            case "watch":
                return await self._watch(arguments, call_id, running)
            case "unwatch":
                return await self._unwatch(str(arguments.get("name", "")), running)
            case "watch_list":
                lines = self._engine.view.of(Watches).told(self._scope, self._engine.clock.now_ms())
                return ToolResult("\n".join(lines) or texts.NO_WATCHES)
            case "share":
                return await self._share(clean_text(str(arguments.get("path", ""))), call_id, running)
            case _:
                return ToolResult(texts.tool_unknown(name), failed=True)

    def _draft(
        self, payload: WatchRequested | WatchDisarmed | FileShared, running: Running, *key: str
    ) -> Draft:
        return Draft.of(
            payload,
            *key,
            actor=f"agent:{running.agent}",
            role="agent",
            scope=self._scope,
            caused_by=[running.turn],
        )

    async def _watch(self, arguments: Mapping[str, Any], call_id: str, running: Running) -> ToolResult:
        view = self._engine.view
        now = self._engine.clock.now_ms()
        taken = view.of(Watches).state.names.get(self._scope, {})
        try:
            spec = from_fields(dict(arguments), now_ms=now, zone=view.of(Configured).zone, taken=list(taken))
        except SpecError as error:
            return ToolResult(str(error), failed=True)
        person = next((o.person for o in reversed(running.origins) if o.person), "")
        payload = WatchRequested(
            spec=spec, room=self._room, via="tool", by=running.agent, person=person, turn=running.turn
        )
        (request,) = await self._engine.admit(self._draft(payload, running, running.turn, call_id))
        with anyio.move_on_after(DECIDE_LIMIT_S):
            while True:
                head = self._engine.head
                decided = await self._engine.store.by_outside(f"decided:{request.id}")
                if decided and decided[-1].verb == WatchArmed.VERB:
                    return ToolResult(texts.tool_armed(spec.name, describe(spec, now_ms=now)))
                if decided:
                    refused = decided[-1].read(WatchRefused)
                    return ToolResult(texts.watch_refused(refused.name, refused.reason), failed=True)
                await self._engine.moved(head)
        return ToolResult(texts.TOOL_UNDECIDED, failed=True)

    async def _unwatch(self, name: str, running: Running) -> ToolResult:
        watches = self._engine.view.of(Watches)
        armed = watches.named(self._scope, name)
        if armed is None:
            names = [a.spec.name for a in watches.of_scope(self._scope)]
            return ToolResult(texts.watch_unknown(name, names), failed=True)
        payload = WatchDisarmed(
            armed=armed.armed, name=name, reason="asked", by=running.agent, path=armed.spec.path
        )
        await self._engine.admit(self._draft(payload, running, armed.armed))
        return ToolResult(texts.watch_off(name, "asked", ""))

    async def _share(self, path: str, call_id: str, running: Running) -> ToolResult:
        if len(running.files) >= MOST_SHARED:
            return ToolResult(texts.share_many(MOST_SHARED), failed=True)
        try:
            name, data = await anyio.to_thread.run_sync(_read_shared, self._workspace, path)
        except _NotShared as error:
            return ToolResult(str(error), failed=True)
        digest = await self._blobs.put(data)
        payload = FileShared(turn=running.turn, name=name, digest=digest, size=len(data))
        await self._engine.admit(self._draft(payload, running, running.turn, call_id, name))
        return ToolResult(texts.tool_shared(name, len(data)))


class _NotShared(Exception):
    """Why a file is not handed over."""


def _read_shared(workspace: Path, path: str) -> tuple[str, bytes]:
    where = resolve(workspace, path) if path and "\0" not in path else None
    if where is None or not where.inside:
        raise _NotShared(texts.share_outside(path))
    if where.protected:
        raise _NotShared(texts.share_protected(path))
    try:
        handle = os.open(where.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _NotShared(texts.share_failed(path, error.strerror or "it can't be opened")) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _NotShared(texts.share_failed(path, "it is not a file"))
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        # Between the look and the open a folder on the way could have become a link: what was opened must be it.
        again = resolve(workspace, path)
        there = os.stat(again.path) if again.inside and not again.protected else None
        if there is None or (there.st_dev, there.st_ino) != (facts.st_dev, facts.st_ino):
            raise _NotShared(texts.share_outside(path))
        data = file.read(LARGEST_SHARED + 1)
    if len(data) > LARGEST_SHARED:
        raise _NotShared(texts.share_failed(path, f"it is larger than {LARGEST_SHARED >> 20} MiB"))
    return where.path.name, data

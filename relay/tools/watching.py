"""`watch`, `unwatch`, `watch_list`: the agent arms and takes off watches where it works."""

from __future__ import annotations

import anyio

from relay import texts, texts_for_agents
from relay.agents.runtime import ToolResult
from relay.behaviours.config.concept import Configured
from relay.behaviours.watches.concept import Watches
from relay.behaviours.watches.verbs import WatchArmed, WatchDisarmed, WatchRefused, WatchRequested
from relay.tools.desk import Call, Desk, Tool
from watch_supervisor.spec import SpecError, describe, from_fields

DECIDE_LIMIT_S = 30.0


async def _watch(desk: Desk, call: Call) -> ToolResult:
    running = call.running
    view = desk.engine.view
    now = desk.engine.clock.now_ms()
    taken = view.of(Watches).state.names.get(desk.scope, {})
    try:
        spec = from_fields(dict(call.arguments), now_ms=now, zone=view.of(Configured).zone, taken=list(taken))
    except SpecError as error:
        return ToolResult(str(error), failed=True)
    person = next((o.person for o in reversed(running.origins) if o.person), "")
    payload = WatchRequested(
        spec=spec, room=desk.room, via="tool", by=running.agent, person=person, turn=running.turn
    )
    (request,) = await desk.engine.admit(desk.draft(payload, call, running.turn, call.id))
    with anyio.move_on_after(DECIDE_LIMIT_S):
        while True:
            head = desk.engine.head
            decided = await desk.engine.store.by_outside(f"decided:{request.id}")
            if decided and decided[-1].verb == WatchArmed.VERB:
                return ToolResult(texts_for_agents.tool_armed(spec.name, describe(spec, now_ms=now)))
            if decided:
                refused = decided[-1].read(WatchRefused)
                return ToolResult(texts.watch_refused(refused.name, refused.reason), failed=True)
            await desk.engine.moved(head)
    return ToolResult(texts_for_agents.TOOL_UNDECIDED, failed=True)


async def _unwatch(desk: Desk, call: Call) -> ToolResult:
    name = call.text("name")
    watches = desk.engine.view.of(Watches)
    armed = watches.named(desk.scope, name)
    if armed is None:
        names = [a.spec.name for a in watches.of_scope(desk.scope)]
        return ToolResult(texts.watch_unknown(name, names), failed=True)
    payload = WatchDisarmed(
        armed=armed.armed, name=name, reason="asked", by=call.running.agent, path=armed.spec.path
    )
    await desk.engine.admit(desk.draft(payload, call, armed.armed))
    return ToolResult(texts.watch_off(name, "asked", ""))


async def _list(desk: Desk, call: Call) -> ToolResult:
    lines = desk.engine.view.of(Watches).told(desk.scope, desk.engine.clock.now_ms())
    return ToolResult("\n".join(lines) or texts.NO_WATCHES)


WATCH = Tool("watch", _watch)
UNWATCH = Tool("unwatch", _unwatch)
WATCH_LIST = Tool("watch_list", _list)

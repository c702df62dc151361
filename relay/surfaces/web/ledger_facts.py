"""What the page shows besides the chat, read from the folds. Secrets are masked, as on every other way out."""

from __future__ import annotations

from collections.abc import Sequence

from relay import texts
from relay.behaviours.status.telling import tell
from relay.behaviours.turns.concept import Turns
from relay.behaviours.watches.concept import Watches
from relay.ledger.chain import chain_of
from relay.parts import Parts
from relay.surfaces.web.facts import TurnFact, WatchFact, WhyLine
from watch_supervisor.spec import WatchSpec, describe


class LedgerFacts:
    """See `Facts`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def watches(self) -> Sequence[WatchFact]:
        watches, mask = self._parts.engine.view.of(Watches), self._parts.mask
        state, now = watches.state, self._parts.clock.now_ms()
        return [
            WatchFact(
                scope=armed.scope,
                name=mask(armed.spec.name),
                what=mask(_what(armed.spec)),
                state="starting"
                if armed.armed in state.unstarted
                else watches.quiet_of(armed, now)[0] or "watching",
                fires=armed.fires,
                due=watches.next_due(armed),
                last=mask(armed.last),
            )
            for armed in state.armed.values()
        ]

    def turns(self) -> Sequence[TurnFact]:
        turns = self._parts.engine.view.of(Turns)
        facts: list[TurnFact] = []
        for scope in turns.state.running:
            lane = turns.lane(scope)
            if lane.running is not None:
                doing = self._parts.mask(lane.running.tool or "working")
                facts.append(TurnFact(scope, "running", doing, lane.running.started_at, len(lane.waiting)))
        for scope in turns.state.startable:
            lane = turns.lane(scope)
            if lane.running is None and lane.waiting and lane.waiting[0].held:
                state = "paused" if turns.pause_of(lane.room) is not None else "waiting"
                facts.append(TurnFact(scope, state, state, lane.waiting[0].at, len(lane.waiting)))
        return facts

    def trouble(self) -> Sequence[str]:
        return [self._parts.mask(f"{name}: {why}") for name, why in self._parts.trouble().items()]

    async def why(self, id: str) -> Sequence[WhyLine]:
        links = await chain_of(self._parts.engine.store, id, self._parts.surfaces.by_name)
        return [
            WhyLine(
                id=link.interaction.id,
                verb=link.interaction.verb,
                at=link.interaction.at,
                actor=link.interaction.actor,
                text=self._parts.mask(tell(link.interaction)),
                depth=link.depth,
            )
            for link in links
        ]

    async def moved(self, since: int) -> int:
        return await self._parts.engine.moved(since)

    async def blob(self, digest: str) -> bytes | None:
        return await self._parts.blobs.get(digest)


def _what(spec: WatchSpec) -> str:
    """What is watched. When a timer is due stands beside it already."""
    if spec.source != "timer":
        return describe(spec)
    return " · ".join(part for part in ("timer", texts.inline(spec.text or "", 200)) if part)

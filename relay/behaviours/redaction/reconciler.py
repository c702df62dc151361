"""The Redactor: takes out what was recorded as redacted, and once a day what is older than `redaction.keep_days`.

Old texts are looked at in small slices with a rest between them, from where the last look ended, so a day's work is
what a day has written. Each slice is recorded before anything of it is taken out.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import anyio.lowlevel

from relay.behaviours.redaction.concept import Redactions
from relay.behaviours.redaction.reconciler_plan import keepers
from relay.behaviours.redaction.reconciler_taking import (
    MOST_ROWS,
    complete,
    drop_states,
    in_use,
    residue,
    state_of,
    take_out,
)
from relay.behaviours.redaction.verbs import InteractionRedacted
from relay.behaviours.turns.concept import Turns
from relay.ledger.fold import View
from relay.ledger.interaction import Draft, Interaction
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts

DAY_MS = 24 * 3600 * 1000
SLICE = 100
"""Records, or messages of the page, that are looked at in one go."""
REST_S = 0.05
"""Between two slices: everything else goes first."""
QUIET_SLICES = 50
"""After so many slices without an old text, how far the look has come is recorded all the same."""
AT_MOST_OPEN = 20
"""Slices that are taken out before the files are scrubbed."""

log = logging.getLogger("relay.redaction")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Redactor(parts)]


class Redactor:
    """See the module."""

    name = "redaction"
    kind: Literal["short", "holding"] = "short"
    cap = 2

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._taken_out: set[str] = set()
        """Open redactions that are taken out in this boot, and wait for the files to be scrubbed."""
        self._next_sweep = 0
        self._sweeping = False
        self._pages: dict[str, int] = {}
        """surface → the position up to which no text is too old, as far as this boot has looked."""

    def owes(self, view: View) -> Iterable[Item]:
        records = view.of(Redactions).state.open
        if records:
            # Named after the newest: a new one doesn't wait because an earlier one had to.
            yield Item(f"open:{next(reversed(records))}", "open")
        if self._keep_ms() is not None and self._parts.clock.now_ms() >= self._next_sweep:
            yield Item("sweep", "sweep")

    def due(self, view: View) -> int | None:
        return self._next_sweep if self._keep_ms() is not None else None

    def _keep_ms(self) -> int | None:
        days = self._parts.access.redaction.keep_days
        return None if days is None else days * DAY_MS

    async def act(self, item: Item, held: Held) -> None:
        if item.lane == "open":
            await self._complete(held)
            return
        self._sweeping = True
        try:
            await self._sweep(held)
        finally:
            self._sweeping = False

    # -- what is recorded -------------------------------------------------------------------------------------------

    async def _complete(self, held: Held) -> None:
        """Take out what is open; scrub when a person asked for it, when much waits, or when the sweep is over."""
        wanted = False
        records = list(held.view.of(Redactions).state.open)
        known = await held.engine.store.by_ids(records)
        for id in records:
            wanted = wanted or bool(known[id].body["target"])
            if id not in self._taken_out:
                await take_out(self._parts, known[id])
                self._taken_out.add(id)
                await anyio.lowlevel.checkpoint()
        now = wanted or not self._sweeping or len(records) >= AT_MOST_OPEN
        if now and await complete(self._parts, records):
            self._taken_out.difference_update(records)

    # -- what is too old --------------------------------------------------------------------------------------------

    async def _sweep(self, held: Held) -> None:
        keep_ms = self._keep_ms()
        if keep_ms is None:
            return
        clock = self._parts.clock
        begun = clock.now_ms()
        before_ms = begun - keep_ms
        await self._sweep_pages(before_ms)
        at, quiet = held.view.of(Redactions).state.swept, 0
        while True:
            rows = await self._slice(at, before_ms, held)
            if not rows:
                break
            at, quiet = rows[-1].seq, quiet + 1
            if await self._record(rows, at, held, anyway=quiet >= QUIET_SLICES):
                quiet = 0
            await clock.sleep(REST_S)
        self._next_sweep = begun + DAY_MS

    async def _sweep_pages(self, before_ms: int) -> None:
        for name, keeper in keepers(self._parts).items():
            begun = at = self._pages.get(name, 0)
            while (reached := await keeper.redact_older(at, before_ms, SLICE)) > at:
                at = reached
                await self._parts.clock.sleep(REST_S)
            # Also after a crash: what an earlier boot took out may not be scrubbed.
            if at > begun or name not in self._pages:
                await keeper.scrub()
            self._pages[name] = at

    async def _slice(self, after: int, before_ms: int, held: Held) -> list[Interaction]:
        """The next records that are old enough. What a turn that still runs has to do with is not."""
        lanes = held.view.of(Turns)
        begun = [lane.running.started_at for s in lanes.state.running if (lane := lanes.lane(s)).running]
        page = await held.engine.store.read(after, SLICE)
        # A record stands before those that were written later, whatever the clock said then.
        last = max((n for n, i in enumerate(page) if i.at < min([before_ms, *begun])), default=-1)
        return page[: last + 1]

    async def _record(self, rows: list[Interaction], through: int, held: Held, *, anyway: bool) -> bool:
        """Record what of a slice is redacted, with what repeats it elsewhere. False when there is nothing."""
        used = in_use(self._parts)
        await drop_states(self._parts, [state for i in rows if (state := state_of(i))])
        found: dict[str, Interaction] = {}
        sessions: dict[str, None] = {}
        for i in rows:
            for each in [i, *await self._with(i, held)]:
                if each.id not in used:
                    found[each.id] = each
            if i.verb == "turn.started" and i.body["session"]:
                sessions[f"{i.body['runtime']}/{i.body['session']}"] = None
            await anyio.lowlevel.checkpoint()
        left = {id: raw for id, i in found.items() if (raw := residue(self._parts, i)) is not None}
        if not left and not anyway:
            return False
        await held.admit(*self._drafts(left, list(sessions), through))
        return True

    async def _with(self, i: Interaction, held: Held) -> list[Interaction]:
        """Younger records that repeat the text of an old one, and the options of a watch that is off."""
        store, body = held.engine.store, i.body
        repeating: list[Interaction] = []
        if i.verb in ("channel.message", "post.sent"):
            surface = i.scope.partition(":")[0]
            repeating += await store.by_outside(f"quotes:{surface}:{body['message']}")
        if i.verb in ("channel.message", "turn.replied", "post.requested", "watch.fired", "turn.ended"):
            repeating += await store.by_outside(f"shows:{i.id}")
        if i.verb == "channel.message":
            repeating += await store.by_outside(f"took:{i.id}")
        if i.verb == "watch.disarmed":
            armed = (await store.by_ids([str(body["armed"])])).values()
            repeating += armed
            repeating += (await store.by_ids([str(a.body["request"]) for a in armed])).values()
        running = set(held.view.of(Turns).state.running.values())
        return [each for each in repeating if each.id not in running]

    def _drafts(self, left: Mapping[str, bytes], sessions: Sequence[str], through: int) -> list[Draft]:
        """One redaction; several when what repeats those texts makes it too large for a payload."""
        ids, drafts = list(left), list[Draft]()
        for start in range(0, max(len(ids), len(sessions), 1), MOST_ROWS):
            rows = ids[start : start + MOST_ROWS]
            payload = InteractionRedacted(
                target="",
                by="redaction.keep_days",
                rows=tuple(rows),
                residues=tuple(hashlib.sha256(left[id]).hexdigest() for id in rows),
                sessions=tuple(sessions[start : start + MOST_ROWS]),
                through=through,
            )
            outside = [f"redacted:{id}" for id in rows]
            drafts.append(Draft.of(payload, "old", through, len(drafts), actor="relay", outside=outside))
        return drafts

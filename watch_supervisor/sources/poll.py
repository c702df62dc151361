"""A command that is run every so often: fires when what it prints has changed, matches, or each time.

A child runs only for the check; between two checks nothing does. What is compared is the output with the exit
code where that isn't 0. On change it is held against what escalated last, so a change that is taken back before
it was told is none; the first check is the baseline. On a match a line counts that the check before didn't
have. A check that takes longer than the interval (and than a minute) is ended and says so.
"""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.to_thread

from watch_supervisor.diffs import unified_diff
from watch_supervisor.fire_budget import FireBudget
from watch_supervisor.gate import Gate, Value
from watch_supervisor.keeping import Keeping, NotNow
from watch_supervisor.moments import rough_duration
from watch_supervisor.output.framing import Block
from watch_supervisor.output.reading import Reading
from watch_supervisor.plain_text import capped, plain_lines
from watch_supervisor.processes.endings import told
from watch_supervisor.processes.port import SpawnFailed
from watch_supervisor.runs import Ended, Fire, Output, Run, Snapshots, State
from watch_supervisor.sources.reports import Reports
from watch_supervisor.sources.rig import Rig

SHORTEST_LIMIT_SECONDS = 60.0
LARGEST_VALUE_BYTES = 256 * 1024
_MOST_FAILED_SPAWNS = 6
_ADVANCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Check:
    """What one check printed."""

    digest: str
    lines: Sequence[str]


class PollSource:
    """One run over one check."""

    def __init__(
        self,
        run: Run,
        rig: Rig,
        reports: Reports,
        fires: FireBudget,
        snapshots: Snapshots,
        threads: anyio.CapacityLimiter,
    ) -> None:
        self._run = run
        self._spec = run.spec
        self._rig = rig
        self._clock = rig.clock
        self._reports = reports
        self._budget = fires
        self._keeping = Keeping(run.run, rig.clock, snapshots)
        self._threads = threads
        self._gate = Gate(run.spec)
        self._every = (run.spec.every_ms or 0) / 1000
        digest = (run.state or {}).get("sha256")
        self._base: str | None = digest if isinstance(digest, str) else None
        self._base_lines: Sequence[str] | None = None
        self._recorded = self._base
        self._advance_at = 0.0
        self._pending: _Check | None = None
        self._why = ""
        self._count = 0
        self._fires = run.fires
        self._window_ends = 0.0
        self._wake = anyio.Event()
        self._last: _Check | None = None
        self._failed_spawns = 0

    def output(self) -> Output:
        """What the last check printed."""
        return Output(tuple(self._last.lines) if self._last is not None else (), (), None, False, 0)

    def go_on(self) -> None:
        """Its fires of this hour are forgiven."""
        self._budget.go_on()
        self._wake.set()

    async def live(self) -> Ended:
        """Until the watch is done, for whatever reason of its own. Cancel it to stop it."""
        if ended := self._over():
            return ended
        ttl = self._spec.ttl_ms
        alarm = self._rig.alarms.at_wall(self._run.armed_at + ttl, self._ring) if ttl is not None else None
        try:
            await self._reports.started({"sha256": self._base})
            return await self._go_on()
        finally:
            if alarm is not None:
                alarm.cancel()

    def _ring(self) -> None:
        self._wake.set()

    async def _go_on(self) -> Ended:
        next_at = self._clock.monotonic()
        while True:
            self._wake = anyio.Event()
            now = self._clock.monotonic()
            expired = self._over()
            try:
                if self._pending is not None and (expired or now >= self._due()):
                    if ended := await self._fire(self._pending):
                        return ended
                    continue
                if expired:
                    return expired
                if now >= next_at:
                    next_at = max(next_at + self._every, now)
                    if ended := await self._look():
                        return ended
                    continue
            except NotNow:
                # What was seen is seen again by the next check.
                await self._pause(max(self._keeping.ready_at, now))
                continue
            if self._pending is not None and self._budget.to_tell(now):
                await self._reports.throttled(self._budget.next_at())
            await self._pause(min(next_at, max(self._due(), now)) if self._pending is not None else next_at)

    def _due(self) -> float:
        return max(self._window_ends, self._budget.next_at(), self._keeping.ready_at)

    async def _pause(self, until: float) -> None:
        alarm = self._rig.alarms.at(until, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            alarm.cancel()

    async def _look(self) -> Ended | None:
        try:
            check = await self._check()
        except FileNotFoundError as error:
            return Ended(self._run.run, "failed", str(error))
        except SpawnFailed as error:
            self._failed_spawns += 1
            if not error.again or self._failed_spawns >= _MOST_FAILED_SPAWNS:
                return Ended(self._run.run, "failed", str(error))
            return None
        self._failed_spawns = 0
        before, self._last = self._last, check
        if self._spec.fire == "change":
            await self._observe_change(check)
        else:
            await self._observe_lines(before, check)
        return None

    async def _check(self) -> _Check:
        rig, spec = self._rig, self._spec
        if rig.spawner is None:
            raise SpawnFailed("Commands can't be run here.")
        child = await rig.spawner.spawn(rig.order(spec.command or "", self._run.root))
        kept = _Kept()
        reading = Reading(child.stdout, child.stderr, self._clock, rig.alarms, kept.take, rig.budget)
        limit = max(self._every, SHORTEST_LIMIT_SECONDS)
        code: int | None = None
        try:
            ended = False
            async with anyio.create_task_group() as group:

                async def too_long() -> None:
                    await self._clock.sleep(limit)
                    group.cancel_scope.cancel()

                group.start_soon(too_long)
                code = (await child.exited()).code
                ended = True
                group.cancel_scope.cancel()
            await reading.to_the_end()
        finally:
            reading.close()
            with anyio.CancelScope(shield=True):
                await child.end()
        # How long it took is no part of it, or every check that fails would be a change.
        status = f"[{told(code)}]" if ended else f"[ended: it took longer than {_length(limit)}]"
        return kept.check([] if ended and code == 0 else [status])

    async def _observe_change(self, check: _Check) -> None:
        if self._base is None:
            await self._keep(check)
            self._base, self._base_lines = check.digest, check.lines
            await self._advance()
        elif check.digest == self._base:
            self._pending, self._count = None, 0
        elif self._pending is None or self._pending.digest != check.digest:
            self._pending, self._why = check, "changed"
            self._count += 1

    async def _observe_lines(self, before: _Check | None, check: _Check) -> None:
        if self._spec.fire == "each-line":
            why = "printed" if any(line.strip() for line in check.lines) else None
        else:
            old = before.lines if before is not None else await self._restored()
            why = self._gate.judge(Value(self._base, old), Value(check.digest, check.lines))
        self._base = check.digest
        if why is not None:
            self._pending, self._why = check, why
            self._count += 1
        elif self._base != self._recorded and self._clock.monotonic() >= self._advance_at:
            await self._keep(check)
            await self._advance()

    async def _restored(self) -> Sequence[str]:
        """The lines of the last check that an earlier life recorded."""
        data = await self._keeping.get(self._base) if self._base is not None else None
        return plain_lines(data) if data is not None else ()

    async def _keep(self, check: _Check) -> None:
        """Its text goes to the snapshots, before a state may name it. Raises `NotNow`."""
        await self._keeping.put("\n".join(check.lines).encode())

    async def _advance(self) -> None:
        self._advance_at = self._clock.monotonic() + _ADVANCE_SECONDS
        await self._reports.advanced({"sha256": self._base})
        self._recorded = self._base

    async def _fire(self, check: _Check) -> Ended | None:
        spec = self._spec
        await self._keep(check)
        if spec.fire == "change":
            old = self._base_lines if self._base_lines is not None else await self._restored()
            diff = functools.partial(unified_diff, old, check.lines, "output")
            lines = await anyio.to_thread.run_sync(diff, abandon_on_cancel=True, limiter=self._threads)
        else:
            lines = list(check.lines)
        text, dropped = capped(lines)
        number = self._fires + 1
        last = spec.once or (spec.max_fires is not None and number >= spec.max_fires)
        state: State = {"sha256": check.digest}
        why, count = self._why, self._count
        self._pending, self._count = None, 0
        if spec.fire == "change":
            self._base, self._base_lines = check.digest, check.lines
        await self._reports.fired(Fire(self._run.run, number, why, text, count, dropped, state, last))
        self._recorded = check.digest
        self._fires = number
        now = self._clock.monotonic()
        self._budget.fired(now)
        self._window_ends = now + spec.window_ms / 1000
        return self._over() if last else None

    def _over(self) -> Ended | None:
        """The end that the fires so far, or the time, call for."""
        spec, run = self._spec, self._run.run
        if spec.once and self._fires > 0:
            return Ended(run, "done", "It has fired, and was to fire once.")
        if spec.max_fires is not None and self._fires >= spec.max_fires:
            return Ended(run, "max-fires", f"It has fired {self._fires} times, which was the most.")
        if spec.ttl_ms is not None and self._clock.now_ms() >= self._run.armed_at + spec.ttl_ms:
            return Ended(run, "ttl", f"Its time ({rough_duration(spec.ttl_ms)}) is up.")
        return None


class _Kept:
    """What a check printed, as far as it is compared."""

    def __init__(self) -> None:
        self._blocks = {"": list[bytes](), "stderr: ": list[bytes]()}
        self._size = 0
        self._more = 0
        self._rest = hashlib.sha256()

    def take(self, tag: str, block: Block) -> None:
        """A block of either stream."""
        self._more += block.dropped
        if self._size + len(block.data) <= LARGEST_VALUE_BYTES:
            self._blocks[tag].append(block.data)
            self._size += len(block.data)
        else:
            self._more += len(block.data)
            self._rest.update(block.data)

    def check(self, status: list[str]) -> _Check:
        """All of it, and the status. What it says on stderr counts where it says nothing else, or has failed."""
        lines = plain_lines(b"".join(self._blocks[""]))
        if status or not lines:
            lines += plain_lines(b"".join(self._blocks["stderr: "]))
        if self._more:
            lines.append(f"[{self._more:,} bytes more, sha256 {self._rest.hexdigest()[:16]}]")
        lines += status
        return _Check(hashlib.sha256("\n".join(lines).encode()).hexdigest(), lines)


def _length(seconds: float) -> str:
    return rough_duration(int(seconds * 1000))

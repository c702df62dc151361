"""Instants to be woken at: any number of them, by wall time or after a while, with one sleeper for all.

The sleeper wakes at least every 30 s, and every 5 s when an alarm by wall time is less than ten minutes
away, so that it rings in time after a suspend and after the clock was set. It calls plain functions and never
awaits what they start.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from watch_supervisor.runs import Clock

SLICE_SECONDS = 30.0
NEAR_SLICE_SECONDS = 5.0
_NEAR_SECONDS = 600.0
_SHORTEST_SECONDS = 0.001
_SET_BACK_MS = 60_000


@dataclass(order=True, slots=True)
class Alarm:
    """One instant. `cancel` makes it silent; ringing twice never happens."""

    at: float
    number: int
    ring: Callable[[], None] | None = field(compare=False)

    def cancel(self) -> None:
        """Don't ring."""
        self.ring = None


class Alarms:
    """Alarms of one clock. Set them at any time; they ring while `run` runs. One by wall time also rings when that
    clock is set back: whoever is woken looks at the time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall: list[Alarm] = []
        self._steady: list[Alarm] = []
        self._count = 0
        self._changed = anyio.Event()
        self._looked: tuple[int, float] | None = None

    def at_wall(self, at_ms: int, ring: Callable[[], None]) -> Alarm:
        """Ring when the wall clock shows `at_ms` or later."""
        return self._add(self._wall, at_ms, ring)

    def at(self, monotonic: float, ring: Callable[[], None]) -> Alarm:
        """Ring when the monotonic clock shows `monotonic` seconds or later."""
        return self._add(self._steady, monotonic, ring)

    async def run(self) -> None:
        """Ring, until cancelled."""
        while True:
            self._changed = anyio.Event()
            if self._was_set_back():
                self._ring(self._wall, float("inf"))
            self._ring(self._wall, self._clock.now_ms())
            self._ring(self._steady, self._clock.monotonic())
            if self._changed.is_set():
                continue
            async with anyio.create_task_group() as group:
                group.start_soon(self._sleep, group.cancel_scope, self._next_seconds())
                await self._changed.wait()
                group.cancel_scope.cancel()

    def _was_set_back(self) -> bool:
        """Whether the wall clock lost more than a minute since the last look. Then whoever waits for an instant on it
        is woken, to say anew how long that is.
        """
        now = (self._clock.now_ms(), self._clock.monotonic())
        before, self._looked = self._looked or now, now
        return now[0] - before[0] < (now[1] - before[1]) * 1000 - _SET_BACK_MS

    async def _sleep(self, scope: anyio.CancelScope, seconds: float) -> None:
        await self._clock.sleep(seconds)
        scope.cancel()

    def _next_seconds(self) -> float:
        seconds = SLICE_SECONDS
        if self._wall:
            left = (self._wall[0].at - self._clock.now_ms()) / 1000
            seconds = min(NEAR_SLICE_SECONDS if left <= _NEAR_SECONDS else seconds, left)
        if self._steady:
            seconds = min(seconds, self._steady[0].at - self._clock.monotonic())
        return max(seconds, _SHORTEST_SECONDS)

    def _add(self, heap: list[Alarm], at: float, ring: Callable[[], None]) -> Alarm:
        self._count += 1
        alarm = Alarm(at, self._count, ring)
        self._drop_silent(heap)
        heapq.heappush(heap, alarm)
        if heap[0] is alarm:
            self._changed.set()
        return alarm

    def _drop_silent(self, heap: list[Alarm]) -> None:
        """Forget cancelled alarms, now and then, so that the heap stays as large as what is set."""
        if self._count % 1024 == 0:
            heap[:] = [alarm for alarm in heap if alarm.ring is not None]
            heapq.heapify(heap)

    def _ring(self, heap: list[Alarm], now: float) -> None:
        while heap and (heap[0].at <= now or heap[0].ring is None):
            ring = heapq.heappop(heap).ring
            if ring is not None:
                ring()

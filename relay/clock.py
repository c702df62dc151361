"""Time, passed in.

Everything that waits or stamps takes a `Clock`, so tests run days in milliseconds. Nothing else in the product reads
the machine's clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, Self

import anyio


class Clock(Protocol):
    """Wall time for records and deadlines, monotonic time for waiting."""

    def now_ms(self) -> int:
        """Wall time in UTC milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds (a cancellation point, even for 0)."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment by both clocks: a monotonic clock may stand still while the machine sleeps (Linux's does), and a wall
    clock may be set."""

    wall_ms: int
    steady: float

    @classmethod
    def now(cls, clock: Clock) -> Self:
        return cls(clock.now_ms(), clock.monotonic())

    def passed(self, clock: Clock) -> float:
        """Seconds since then, by the clock that says more: for what must not be trusted for too long."""
        return max(clock.monotonic() - self.steady, (clock.now_ms() - self.wall_ms) / 1000)

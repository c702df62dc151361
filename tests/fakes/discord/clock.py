"""The tests' Discord's time: it runs like the real one, and a test may push it forward. It never goes back.

Ids and every window (nonces, interaction tokens, rate limits, sessions) are measured by this clock, so a test reaches
"fifteen minutes later" without waiting.
"""

import itertools
import time
from datetime import UTC, datetime

EPOCH_MS = 1_420_070_400_000
"""The first millisecond of 2015, from which ids count."""


class Clock:
    """Seconds since 1970 (UTC), moved forward by `advance`."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """It is `seconds` later, at once."""
        if seconds < 0:
            raise ValueError("Time only goes forward.")
        self._ahead += seconds


def iso(seconds: float) -> str:
    """The form in which Discord writes a time."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


class Snowflakes:
    """Ids that grow and hold the time at which they were made (ms since 2015, shifted by 22 bits)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = 0
        self._in_order = itertools.count()

    def next(self) -> int:
        """A new id, larger than every one before."""
        made = (int(self._clock.now() * 1000) - EPOCH_MS) << 22
        self._last = max(made | (next(self._in_order) & 0xFFF), self._last + 1)
        return self._last


def made_at(snowflake: int) -> float:
    """Seconds since 1970 at which an id was made."""
    return ((snowflake >> 22) + EPOCH_MS) / 1000

"""How often a watch may fire: so many times an hour, and then it is silent until the hour has room again.

Pure. What comes in the silence is not lost: the source goes on collecting, as it does within its window.
"""

from collections import deque

HOUR_SECONDS = 3600.0


class FireBudget:
    """The fires of one run. `limit` None: as many as there are."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._fired = deque[float]()
        self._told = False

    def fired(self, now: float) -> None:
        """It has fired at `now` (seconds of the monotonic clock)."""
        if self._limit is not None:
            self._fired.append(now)
            if len(self._fired) > self._limit:
                self._fired.popleft()

    def next_at(self) -> float:
        """When it may fire again; 0 for at any time."""
        if self._limit is None or len(self._fired) < self._limit:
            return 0.0
        return self._fired[0] + HOUR_SECONDS

    def to_tell(self, now: float) -> bool:
        """Whether it is silent and that hasn't been said; it is said once for each silence."""
        silent = self.next_at() > now
        told, self._told = self._told, silent
        return silent and not told

    def go_on(self) -> None:
        """Forget the fires so far."""
        self._fired.clear()
        self._told = False

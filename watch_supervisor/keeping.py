"""One run's way to the snapshots, for as long as they refuse too: after a refusal they are left alone for a
pause that grows from half a second to 30 s.

It never waits by itself and never forgets a refusal silently: whoever asks too early, or asks in vain, gets
`NotNow` and must leave its own state as it was.
"""

import logging

from watch_supervisor.runs import Clock, Snapshots

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0


class NotNow(Exception):
    """The snapshots refuse at the moment. Nothing was kept or read; ask again at `Keeping.ready_at`."""


class Keeping:
    """The snapshots as one run sees them."""

    def __init__(self, run: str, clock: Clock, snapshots: Snapshots) -> None:
        self._run = run
        self._clock = clock
        self._snapshots = snapshots
        self._pause = FIRST_PAUSE_SECONDS
        self._refuses = False
        self.ready_at = 0.0
        """When to ask again, in seconds of the monotonic clock."""

    async def put(self, data: bytes) -> None:
        """Keep `data`. Raises `NotNow`."""
        self._ask()
        try:
            await self._snapshots.put(data)
        except Exception as error:
            raise self._refused(error) from error
        self._went_well()

    async def get(self, digest: str) -> bytes | None:
        """The bytes with this sha256; None when they aren't kept. Raises `NotNow`."""
        self._ask()
        try:
            data = await self._snapshots.get(digest)
        except Exception as error:
            raise self._refused(error) from error
        self._went_well()
        return data

    def _ask(self) -> None:
        if self._clock.monotonic() < self.ready_at:
            raise NotNow

    def _refused(self, error: Exception) -> NotNow:
        # Once for each time of trouble: a full disk with a thousand watches must not fill the log as well.
        level = logging.DEBUG if self._refuses else logging.WARNING
        logging.getLogger(__name__).log(
            level, "watch run %s waits, since snapshots can't be kept or read: %s", self._run, error
        )
        self._refuses = True
        self.ready_at = self._clock.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        return NotNow()

    def _went_well(self) -> None:
        self._refuses = False
        self._pause = FIRST_PAUSE_SECONDS

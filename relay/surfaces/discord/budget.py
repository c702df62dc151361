"""How often the bot may open a session: Discord takes the token away after a thousand a day.

Every IDENTIFY is noted on disk before it is sent, so that a relay which crashes and restarts in a loop slows down long
before that. RESUMEs cost nothing.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import orjson

from relay.clock import Clock

DAY_MS = 24 * 3_600_000
PACES: tuple[tuple[int, float], ...] = ((600, 600.0), (300, 300.0), (100, 60.0), (30, 15.0))
"""(so many in the last day, so many seconds of wait before the next): over a day they come to far under 1,000."""
MOST = 900
HOUR_S = 3_600.0

log = logging.getLogger(__name__)


class IdentifyBudget:
    """See the module. The file holds the times (UTC ms) of the last day."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def spent(self) -> list[int]:
        """When a session was opened in the last day. A file that can't be read counts as empty, and is said."""
        now = self._clock.now_ms()
        try:
            found = orjson.loads(self._path.read_bytes())
            times = [min(int(time), now) for time in found]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            log.warning("the record of Discord sessions can't be read: %s", error)
            return []
        return [time for time in times if time > now - DAY_MS]

    def wait_s(self) -> float:
        """How long to wait before the next one, in seconds."""
        count = len(self.spent())
        if count >= MOST:
            return HOUR_S
        return next((pace for least, pace in PACES if count >= least), 0.0)

    async def spend(self) -> None:
        """Wait as long as is fit, and note one more."""
        wait = self.wait_s()
        while wait:
            log.warning("the bot opened %d sessions in a day; the next waits %.0f s", len(self.spent()), wait)
            await self._clock.sleep(wait)
            if wait < HOUR_S:
                break
            wait = self.wait_s()
        times = [*self.spent(), self._clock.now_ms()]
        part = self._path.with_suffix(".part")
        try:
            part.write_bytes(orjson.dumps(times))
            os.replace(part, self._path)
        except OSError as error:
            log.warning("the record of Discord sessions can't be written: %s", error)

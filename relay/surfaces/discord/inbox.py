"""What the gateway told, until the relay has it: in order, one at a time, and never dropped in silence.

Live events wait while a gap is closed. What could not be recorded is brought again. When more waits than there is room
for, the newest messages are left to Discord's history and a gap scan fetches them as soon as there is room.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from relay.clock import Clock
from relay.errors import RelayError, StoreUnavailable, SurfaceError

ROOM = 1_000
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 15.0
MOST_TRIES = 4
"""How often Discord may refuse for now what an event needs; the store may as often as it likes."""
LOOK_AGAIN_S = 60.0

log = logging.getLogger(__name__)

Bring = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    what: str
    bring: Bring
    scan: bool = False


class Inbox:
    """See the module. `trouble` is why what was heard waits."""

    def __init__(self, clock: Clock, scan: Bring, room: int = ROOM) -> None:
        self._clock = clock
        self._scan = scan
        self._room = room
        self._waiting: deque[_Waiting] = deque()
        self._came = anyio.Event()
        self._overflowed = False
        self.trouble = ""

    def put(self, what: str, bring: Bring, *, kept: bool = False) -> None:
        """At the end of the line; never waits. `kept`: it stands nowhere else, so it has room even when there is
        none for messages (people click and react seldom)."""
        if len(self._waiting) >= self._room * (2 if kept else 1):
            if not self._overflowed:
                log.warning("%d events of Discord wait; what comes now is read from its history", self._room)
            self._overflowed = True
            return
        self._waiting.append(_Waiting(what, bring))
        self._came.set()

    def look_for_gaps(self) -> None:
        """A gap scan, after what was heard before it."""
        if not (self._waiting and self._waiting[-1].scan):
            self._waiting.append(_Waiting("the look for missed messages", self._scan, scan=True))
        self._came.set()

    async def run(self) -> None:
        """Bring what waits, until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                while not self._waiting:
                    if self._overflowed:
                        self._overflowed = False
                        self.look_for_gaps()
                        continue
                    self._came = anyio.Event()
                    await self._came.wait()
                if not await self._taken(self._waiting[0]):
                    tasks.start_soon(self._look_later)
                self._waiting.popleft()

    async def _look_later(self) -> None:
        await self._clock.sleep(LOOK_AGAIN_S)
        self.look_for_gaps()

    async def _taken(self, waiting: _Waiting) -> bool:
        """False when Discord didn't let it be brought: what is in its history is read later, and one channel that
        can't be read holds up no other."""
        wait, tries = FIRST_WAIT_S, 0
        while True:
            try:
                await waiting.bring()
            except RelayError as error:
                tries += isinstance(error, SurfaceError)
                if tries >= MOST_TRIES:
                    log.error("%s could not be brought; the history is read later: %s", waiting.what, error)
                    return False
                if isinstance(error, SurfaceError | StoreUnavailable) and error.kind != "permanent":
                    self.trouble = f"{waiting.what} waits: {error}"
                    log.warning("%s", self.trouble)
                    asked = error.retry_after_ms if isinstance(error, SurfaceError) else None
                    await self._clock.sleep(max(wait, (asked or 0) / 1000))
                    wait = min(wait * 2, LONGEST_WAIT_S)
                    continue
                if error.kind != "permanent":
                    raise
                # It would be refused each time, and everything behind it would wait for ever.
                log.error("the relay refused %s: %s", waiting.what, error)
            self.trouble = ""
            return True

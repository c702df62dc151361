"""What the gateway told, until the relay has it: in order within a place, and never dropped in silence.

Places don't wait for each other, so that one whose message has to be looked up holds up no other, and what comes at
once becomes durable in one commit. While a gap is closed, all live events wait. What could not be recorded is brought
again. When more waits than there is room for, the newest messages are left to Discord's history and a gap scan fetches
them as soon as there is room.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import anyio.abc

from relay.clock import Clock
from relay.errors import RelayError, StoreUnavailable, SurfaceError

ROOM = 1_000
AT_ONCE = 64
"""How many events are brought at the same time, all places together."""
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
    place: str = ""
    scan: bool = False


class Inbox:
    """See the module."""

    def __init__(self, clock: Clock, scan: Bring, room: int = ROOM) -> None:
        self._clock = clock
        self._scan = scan
        self._room = room
        self._waiting: deque[_Waiting] = deque()
        self._came = anyio.Event()
        self._overflowed = False
        self._lanes: dict[str, deque[_Waiting]] = {}
        """Of each place that is being brought: what of it comes next."""
        self._brought = 0
        """How many are in the lanes."""
        self._less = anyio.Event()
        self._troubles: dict[str, str] = {}

    @property
    def trouble(self) -> str:
        """Why what was heard waits."""
        return next(iter(self._troubles.values()), "")

    def put(self, what: str, bring: Bring, *, place: str, kept: bool = False) -> None:
        """At the end of the line of its place; never waits. `kept`: it stands nowhere else, so it has room even when
        there is none for messages (people click and react seldom)."""
        if len(self._waiting) + self._brought >= self._room * (2 if kept else 1):
            if not self._overflowed:
                log.warning("%d events of Discord wait; what comes now is read from its history", self._room)
            self._overflowed = True
            return
        self._waiting.append(_Waiting(what, bring, place))
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
                next_one = self._waiting[0]
                while self._brought > (0 if next_one.scan else AT_ONCE - 1):
                    self._less = anyio.Event()
                    await self._less.wait()
                self._waiting.popleft()
                self._brought += 1
                if next_one.scan:
                    await self._lane(deque([next_one]), tasks)
                elif (lane := self._lanes.get(next_one.place)) is not None:
                    lane.append(next_one)
                else:
                    self._lanes[next_one.place] = deque([next_one])
                    tasks.start_soon(self._lane, self._lanes[next_one.place], tasks)

    async def _lane(self, lane: deque[_Waiting], tasks: anyio.abc.TaskGroup) -> None:
        while lane:
            waiting = lane[0]
            if not await self._taken(waiting):
                tasks.start_soon(self._look_later)
            lane.popleft()
            self._brought -= 1
            if not lane:
                self._lanes.pop(waiting.place, None)
            self._less.set()

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
                    self._troubles.pop(waiting.what, None)
                    log.error("%s could not be brought; the history is read later: %s", waiting.what, error)
                    return False
                if isinstance(error, SurfaceError | StoreUnavailable) and error.kind != "permanent":
                    self._troubles[waiting.what] = f"{waiting.what} waits: {error}"
                    log.warning("%s waits: %s", waiting.what, error)
                    asked = error.retry_after_ms if isinstance(error, SurfaceError) else None
                    await self._clock.sleep(max(wait, (asked or 0) / 1000))
                    wait = min(wait * 2, LONGEST_WAIT_S)
                    continue
                if error.kind != "permanent":
                    raise
                # It would be refused each time, and everything behind it would wait for ever.
                log.error("the relay refused %s: %s", waiting.what, error)
            self._troubles.pop(waiting.what, None)
            return True

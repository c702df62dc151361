"""The contract of those who act, and the runner that drives them.

A reconciler says what it owes (outstanding items that its concept keeps) and when something falls due; the runner
starts `act` for each item: *short* ones in order within a lane, *holding* ones as a task of their own for as long as
they last.
What failed is tried again after a growing pause. Nothing is started before the folds have reached the head that was
there at boot, and what was owed then starts paced.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import anyio

from relay.clock import Clock
from relay.errors import ConceptStopped, Fenced, RelayError
from relay.ledger.engine import Engine
from relay.ledger.fold import View
from relay.ledger.interaction import Draft, Interaction
from relay.ledger.lease import Lease, Leases

LOOK_AGAIN_S = 30.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
BOOT_PACE_S = 0.01

log = logging.getLogger("relay.reconciler")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing owed. Items of one `lane` are acted on one at a time, in the order in which `owes` gives them."""

    key: str
    lane: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Held:
    """What `act` is given: the view, and a way to record under its lease."""

    engine: Engine
    lease: Lease

    @property
    def view(self) -> View:
        return self.engine.view

    @property
    def clock(self) -> Clock:
        return self.engine.clock

    async def admit(self, *drafts: Draft, only_if: Callable[[], bool] | None = None) -> list[Interaction]:
        """As `Engine.admit`, fenced by the lease."""
        return await self.engine.admit(*drafts, fence=self.lease.fence, only_if=only_if)


class Reconciler(Protocol):
    """See the module. `cap` bounds how many acts run at once."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Literal["short", "holding"]: ...

    @property
    def cap(self) -> int: ...

    def owes(self, view: View) -> Iterable[Item]:
        """Outstanding items, kept by the fold: never a scan of what is settled."""
        ...

    def due(self, view: View) -> int | None:
        """The next instant (UTC ms) at which something falls due, or None."""
        ...

    async def act(self, item: Item, held: Held) -> None:
        """Look, act, record. When it returns the item is no longer owed, or is owed for a later instant."""
        ...


@runtime_checkable
class LivesOn(Protocol):
    """A reconciler that has something of its own to run beside its acts, until it is cancelled."""

    async def run(self) -> None: ...


@runtime_checkable
class Closes(Protocol):
    """A reconciler that has something to close at a clean stop. Bounded."""

    async def close(self) -> None: ...


@dataclass(slots=True)
class _Pause:
    until: float
    seconds: float


@dataclass(frozen=True, slots=True)
class _Instant:
    wall_ms: int
    monotonic: float


@dataclass(slots=True)
class Runner:
    """Drives one reconciler until it is cancelled. `trouble` is what it last failed with, for the status."""

    reconciler: Reconciler
    engine: Engine
    leases: Leases
    trouble: str = ""
    _lanes: dict[str, str] = field(default_factory=dict[str, str])
    _paused: dict[str, _Pause] = field(default_factory=dict[str, _Pause])
    _again: anyio.Event = field(default_factory=anyio.Event)

    async def run(self) -> None:
        """Until cancelled. Owns the tasks of its acts. Raises `Fenced` when another relay has taken over."""
        with self.engine.telling(self._look_again):
            async with anyio.create_task_group() as tasks:
                await self._drive(tasks)

    async def _drive(self, tasks: anyio.abc.TaskGroup) -> None:
        first = True
        while True:
            self._again = anyio.Event()
            looked = _Instant(self.engine.clock.now_ms(), self.engine.clock.monotonic())
            for item in self._ready():
                self._lanes[item.lane] = item.key
                tasks.start_soon(self._act, item, name=f"{self.reconciler.name}:{item.key}")
                if first:
                    await self.engine.clock.sleep(BOOT_PACE_S)
            first = False
            await self._wait(looked)

    def _ready(self) -> list[Item]:
        now = self.engine.clock.monotonic()
        ready: list[Item] = []
        lanes = set(self._lanes)
        owed: set[str] = set()
        try:
            for item in self.reconciler.owes(self.engine.view):
                owed.add(item.key)
                if item.lane in lanes or len(self._lanes) + len(ready) >= self.reconciler.cap:
                    continue
                lanes.add(item.lane)  # also when paused: the order within a lane holds
                pause = self._paused.get(item.key)
                if pause is None or pause.until <= now:
                    ready.append(item)
        except Exception as error:
            self._stuck(error)
            return []
        for key in self._paused.keys() - owed:
            del self._paused[key]
        return ready

    async def _wait(self, looked: _Instant) -> None:
        """Until the head moves, an act ends, or something falls due. What was due when the runner looked was started
        then, or waits for a lane: it must not be looked at again and again."""
        clock = self.engine.clock
        limit = LOOK_AGAIN_S
        try:
            due = self.reconciler.due(self.engine.view)
        except Exception as error:
            due = None
            self._stuck(error)
        if due is not None and due > looked.wall_ms:
            limit = min(limit, (due - clock.now_ms()) / 1000)
        now = clock.monotonic()
        for pause in self._paused.values():
            if pause.until > looked.monotonic:
                limit = min(limit, max(0.0, pause.until - now))
        if self._again.is_set():
            return
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(self._ring, max(limit, 0.001))
            await self._again.wait()
            waiting.cancel_scope.cancel()

    async def _ring(self, seconds: float) -> None:
        await self.engine.clock.sleep(seconds)
        self._again.set()

    def _look_again(self) -> None:
        self._again.set()

    def _stuck(self, error: Exception) -> None:
        """What is owed can't be told: its fold stands still, or `owes` has a defect. The others go on."""
        trouble = str(error) if isinstance(error, ConceptStopped) else f"{type(error).__name__}: {error}"
        if trouble != self.trouble and not isinstance(error, ConceptStopped):
            log.error("%s can't tell what it owes", self.reconciler.name, exc_info=error)
        self.trouble = trouble

    async def _act(self, item: Item) -> None:
        lease: Lease | None = None
        try:
            lease = await self.leases.claim(f"{self.reconciler.name}/{item.lane}")
            if lease is None:
                self._pause(item)
                return
            before = self.engine.head
            await self.reconciler.act(item, Held(self.engine, lease))
            if self.engine.head == before and self._still_owed(item):
                self._pause(item)  # nothing came of it: not again at once
            else:
                self._paused.pop(item.key, None)
            self.trouble = ""
        except Fenced:
            log.error("%s: another relay has taken over", self.reconciler.name)
            raise
        except RelayError as error:
            self.trouble = str(error)
            log.warning("%s: %s: %s", self.reconciler.name, item.key, error)
            self._pause(item)
        except (
            Exception
        ) as error:  # a defect in one item must not stop the others; the status and the log say it
            self.trouble = f"{type(error).__name__}: {error}"
            log.exception("%s: %s failed", self.reconciler.name, item.key)
            self._pause(item)
        finally:
            self._lanes.pop(item.lane, None)
            self._again.set()
            if lease is not None:
                with anyio.CancelScope(shield=True):
                    await self.leases.release(lease)

    def _still_owed(self, item: Item) -> bool:
        return any(owed.key == item.key for owed in self.reconciler.owes(self.engine.view))

    def _pause(self, item: Item) -> None:
        before = self._paused.get(item.key)
        seconds = min(LONGEST_PAUSE_S, before.seconds * 2) if before else FIRST_PAUSE_S
        self._paused[item.key] = _Pause(self.engine.clock.monotonic() + seconds, seconds)

"""What all watches of files share in one supervisor."""

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from watch_supervisor.alarms import Alarms
from watch_supervisor.folders import Folders
from watch_supervisor.runs import Clock, Snapshots
from watch_supervisor.sources.backstop import Backstop

MOST_HELD = 200


@dataclass(frozen=True, slots=True)
class Around:
    """The clock, the kernel's notices, the snapshots, and how much may be read and kept open at once."""

    clock: Clock
    alarms: Alarms
    folders: Folders
    snapshots: Snapshots
    threads: anyio.CapacityLimiter
    looks: anyio.Semaphore
    backstop: Backstop
    held: set[int] = field(default_factory=set[int])

    def holds(self, fd: int, begins: bool) -> bool:
        """Whether one more file may stay open between two looks (`begins`); without that it is given back."""
        if not begins:
            self.held.discard(fd)
        elif fd not in self.held and len(self.held) < MOST_HELD:
            self.held.add(fd)
        return begins and fd in self.held


class Expecting(Protocol):
    """A source that lets certain writes pass."""

    @property
    def expected(self) -> deque[tuple[str, float]]:
        """Digests of writes that don't fire, each with until when (monotonic seconds)."""
        ...

"""What the supervisor wants of whoever runs commands for it.

A spawner runs a command once, hands its output on as two pipes, says how it ended, and ends it with all it has
started. The guard is one (its commands die with the supervisor); one that outlives the supervisor may be another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class SpawnFailed(Exception):
    """The command was never executed. The message is a sentence for people. `again`: the machine lacked something
    (processes, memory, descriptors) that it may have in a moment.
    """

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


@dataclass(frozen=True, slots=True)
class Order:
    """What to run: the program's absolute path first in `argv`, and the whole of its environment.

    `writable` are the files and folders it may write, and nothing else; None is anywhere. A spawner that can't see to
    that doesn't run it.
    """

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    writable: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: its exit code, negative for a signal; None when nobody can know any more."""

    code: int | None


class Child(Protocol):
    """One command that runs. Whoever spawned it calls `end` in every case, and closes the two descriptors."""

    @property
    def pid(self) -> int:
        """Its process."""
        ...

    @property
    def stdout(self) -> int:
        """The reading end of a pipe, not blocking."""
        ...

    @property
    def stderr(self) -> int:
        """The same, for its errors."""
        ...

    async def exited(self) -> Exit:
        """Wait until the command itself has ended; what it has started may still run."""
        ...

    async def end(self) -> bool:
        """End it and everything it has started: TERM, 3 s, KILL. Whether nothing is left; it takes 6 s at most."""
        ...


class Spawner(Protocol):
    """Runs commands."""

    async def spawn(self, order: Order) -> Child:
        """Run `order`; returns once it is executed. Raises SpawnFailed."""
        ...

"""The way from a source to whoever keeps the record.

Each call returns once the record has it, however often that had to be tried; it never returns for a run that
was stopped.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from watch_supervisor.runs import Fire, State


class Reports(Protocol):
    """What a source may say of its run."""

    @property
    def started(self) -> Callable[[State], Awaitable[None]]:
        """The source is in place, and this state is where it begins."""
        ...

    @property
    def advanced(self) -> Callable[[State], Awaitable[None]]:
        """The source's state moved on without a fire."""
        ...

    @property
    def fired(self) -> Callable[[Fire], Awaitable[None]]:
        """One escalation."""
        ...

    @property
    def throttled(self) -> Callable[[float], Awaitable[None]]:
        """The run has used up its fires, and is silent until then (seconds of the monotonic clock)."""
        ...

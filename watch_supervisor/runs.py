"""What goes into the supervisor (a run) and what comes out (fires, an end), and the two ports it needs.

Plain values and protocols. They know nothing of who keeps the record of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from watch_supervisor.spec import WatchSpec

JSON = None | bool | int | str | Sequence["JSON"] | Mapping[str, "JSON"]
State = dict[str, JSON]


class Clock(Protocol):
    """Where time comes from."""

    def now_ms(self) -> int:
        """Wall time, UTC milliseconds since 1970. It may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds` of monotonic time."""
        ...


class Snapshots(Protocol):
    """Content by its digest, kept for as long as a state that names it may come back."""

    async def put(self, data: bytes) -> str:
        """Keep `data`; its sha256 in hex."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """The bytes with this sha256, or None when they aren't kept."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One life of a watch.

    `state` is what the last life's fires and advances left (None on the first life), `fires` counts over all
    lives, `armed_at` is UTC milliseconds and starts the time to live. A `confined` run reads nothing outside
    `root` and no protected file, whatever symlinks say.
    """

    run: str
    spec: WatchSpec
    root: Path
    state: State | None
    fires: int
    armed_at: int
    confined: bool = True


@dataclass(frozen=True, slots=True)
class Fire:
    """One escalation.

    `number` counts from 1 over all lives. `why` is a few words, `text` a unified diff or a reminder (at most
    24 KiB of UTF-8, no control characters), `count` the changes that went into it, `dropped` the lines left
    out of `text`. `state` is the source's state once this fire is recorded. `last` says that the watch is
    done after it.
    """

    run: str
    number: int
    why: str
    text: str
    count: int
    dropped: int
    state: State
    last: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over by itself. `detail` is a sentence for people."""

    run: str
    reason: Literal["done", "ttl", "max-fires", "failed", "lost"]
    detail: str


@dataclass(frozen=True, slots=True)
class Throttled:
    """A run has used up its fires of this hour. It is silent until `until` (UTC milliseconds) and collects what
    comes; said once for each silence.
    """

    run: str
    limit: int
    until: int


@dataclass(frozen=True, slots=True)
class Output:
    """What a command has been saying: the last lines of each stream, oldest first, and how it does.

    `held_back`: it prints more than is read, and waits in between. `dropped` bytes were beyond the longest line.
    """

    stdout: Sequence[str]
    stderr: Sequence[str]
    pid: int | None
    held_back: bool
    dropped: int

"""A look at every watched file each 30 s, whatever the kernel told: for hard links, memory maps, network folders.

All files share one timer and one visit to a worker thread a second, in which a thirtieth of them is looked at. It only
stats them, and wakes whoever watches one that is no longer as it was.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from watch_supervisor.content import Signature, signature
from watch_supervisor.runs import Clock

BACKSTOP_SECONDS = 30.0
_STEP_SECONDS = 1.0

Wake = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Seen:
    root: Path
    path: str
    signature: Signature | None


class Backstop:
    """The files of one supervisor. `watch` and `forget` at any time; it looks while `run` runs."""

    def __init__(self, clock: Clock, threads: anyio.CapacityLimiter) -> None:
        self._clock = clock
        self._threads = threads
        self._seen: dict[Wake, _Seen] = {}

    def watch(self, wake: Wake, root: Path, path: str, now: Signature | None) -> None:
        """Call `wake` when the file's signature isn't `now` any more (None: nothing regular is there)."""
        self._seen.pop(wake, None)
        self._seen[wake] = _Seen(root, path, now)

    def forget(self, wake: Wake) -> None:
        """Never call `wake` again."""
        self._seen.pop(wake, None)

    async def run(self) -> None:
        """Look, until cancelled."""
        while True:
            await self._clock.sleep(_STEP_SECONDS)
            share = -(-len(self._seen) * _STEP_SECONDS // BACKSTOP_SECONDS)
            batch = [(wake, self._seen[wake]) for _, wake in zip(range(int(share)), self._seen, strict=False)]
            if not batch:
                continue
            changed = await anyio.to_thread.run_sync(
                functools.partial(_changed, [seen for _, seen in batch]),
                abandon_on_cancel=True,
                limiter=self._threads,
            )
            for (wake, seen), has_changed in zip(batch, changed, strict=True):
                if self._seen.get(wake) is seen:  # looked at meanwhile, it stands at the end already
                    self._seen[wake] = self._seen.pop(wake)
                    if has_changed:
                        wake()


def _changed(batch: list[_Seen]) -> list[bool]:
    return [signature(seen.root, seen.path) != seen.signature for seen in batch]

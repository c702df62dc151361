"""Who goes through the way in beside whom: live events of different places together, a gap's closing alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio


class Turnstile:
    """Shared by many, or taken by one. Who waits to be alone goes before those who come later, so that a flood of
    messages never keeps a gap open."""

    def __init__(self) -> None:
        self._inside = 0
        self._alone = anyio.Lock()
        self._left = anyio.Event()
        self._people: dict[str, tuple[anyio.Lock, int]] = {}

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Nobody else is inside."""
        async with self._alone:
            while self._inside:
                self._left = anyio.Event()
                await self._left.wait()
            yield

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None]:
        """Others may be inside too, but nobody who has to be alone."""
        async with self._alone:
            self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
            self._left.set()

    @asynccontextmanager
    async def one_by_one(self, person: str) -> AsyncGenerator[None]:
        """One at a time of those with that name: what a limit counts must be recorded before the next is judged."""
        lock, waiting = self._people.get(person, (anyio.Lock(), 0))
        self._people[person] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._people[person]
            if waiting > 1:
                self._people[person] = (lock, waiting - 1)
            else:
                del self._people[person]

"""The right of one relay to do something until a time, and the fence that makes a late holder harmless.

With SQLite the lock on the state folder already keeps other relays out, so a lease is the epoch of this boot: no row
and no commit an item. A holder from an earlier boot has an older epoch, and the store refuses what it writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from relay.errors import Fenced


@dataclass(frozen=True, slots=True)
class Lease:
    """`key` says of what, `token` rises whenever the holder changes, `fence` rides in each write under the lease."""

    key: str
    token: int
    fence: int


class Leases(Protocol):
    """Where leases come from."""

    async def claim(self, key: str) -> Lease | None:
        """The lease, or None while somebody else holds it."""
        ...

    async def release(self, lease: Lease) -> None: ...


class EpochLeases:
    """One epoch per boot stands for every lease of that boot.

    With `current`, which asks the store for the epoch in force, a claim raises `Fenced` once another relay has begun
    one: what an old holder still owes by its view may long be done, and the world has no fence.
    """

    def __init__(self, epoch: int, current: Callable[[], Awaitable[int]] | None = None) -> None:
        self._epoch = epoch
        self._current = current

    async def claim(self, key: str) -> Lease | None:
        if self._current is not None and await self._current() != self._epoch:
            raise Fenced("another relay has taken over; this one does nothing any more.")
        return Lease(key, self._epoch, self._epoch)

    async def release(self, lease: Lease) -> None:
        return

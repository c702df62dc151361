"""The right of one relay to do something until a time, and the fence that makes a late holder harmless.

With SQLite the lock on the state folder already keeps other relays out, so a lease is the epoch of this boot: no row
and no commit an item. A holder from an earlier boot has an older epoch, and the store refuses what it writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
    """One epoch per boot stands for every lease of that boot."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    async def claim(self, key: str) -> Lease | None:
        return Lease(key, self._epoch, self._epoch)

    async def release(self, lease: Lease) -> None:
        return

"""The port to a store, and what it promises.

A store keeps interactions in one total order (`seq`), each key once. It is told what to write by the engine's one
committer and by nobody else; anybody may read. Two stores stand behind it: `memory` and `sqlite`; one contract suite
runs on both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from relay.ledger.interaction import Interaction


@dataclass(frozen=True, slots=True)
class Group:
    """Records that are admitted together or not at all. `fence` is the epoch of a write under a lease."""

    records: tuple[Interaction, ...]
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a group: for each record the one that stands, new or first; or that it was fenced off."""

    stands: tuple[Interaction, ...]
    fresh: tuple[bool, ...]
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Residue:
    """What is left of the record `id` without its texts (see `residue_of`), and the blobs that it named."""

    id: str
    raw: bytes
    blobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A concept's state as it was at `seq`: a cache, refolded when it is missing or of another version."""

    concept: str
    version: int
    seq: int
    state: bytes


class Store(Protocol):
    """Where interactions are kept."""

    @property
    def head(self) -> int:
        """The highest `seq` that is durable."""
        ...

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        """Write the groups in one transaction, durable when it returns.

        A record whose key stands already is not written; the first one is given back. A group whose fence is not the
        store's epoch is not written at all. Raises `StoreUnavailable` when nothing was written.
        """
        ...

    async def read(self, after: int, limit: int) -> list[Interaction]:
        """Up to `limit` records with `seq` > `after`, in order."""
        ...

    async def read_back(self, before: int, limit: int) -> list[Interaction]:
        """Up to `limit` records with `seq` < `before`, newest first."""
        ...

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Interaction]:
        """Those of the ids that are known."""
        ...

    async def by_prefix(self, prefix: str, limit: int) -> list[Interaction]:
        """Records whose id begins with `prefix` (hex), up to `limit`."""
        ...

    async def by_outside(self, outside: str) -> list[Interaction]:
        """Records known outside by that id, oldest first."""
        ...

    async def epoch(self) -> int:
        """The epoch that a fence is held against."""
        ...

    async def begin_epoch(self) -> int:
        """Raise the epoch by one: every earlier holder's fenced writes are refused from here on."""
        ...

    async def cursors(self) -> dict[str, int]:
        """How far each rule has come."""
        ...

    async def save_cursors(self, cursors: Mapping[str, int]) -> None: ...

    async def checkpoints(self) -> dict[str, Checkpoint]: ...

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None: ...

    async def redact(self, residues: Sequence[Residue]) -> None:
        """Put the residues in the place of the payloads, and forget the salts and the names of the blobs; in one
        transaction, durable when it returns. A record that is unknown or redacted already is passed over. Raises
        `StoreUnavailable`."""
        ...

    async def renew_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Those and no others, with nothing left of what stood there before."""
        ...

    async def scrub(self) -> bool:
        """Take out of the store's own files what was overwritten or deleted. False when somebody who reads just now
        keeps a part of it there: to be called again. Raises `StoreUnavailable`."""
        ...

    async def idle(self) -> None:
        """Called when nothing waits: the time for housekeeping (SQLite: a WAL checkpoint)."""
        ...

    async def close(self) -> None: ...

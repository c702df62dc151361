"""A store in memory: for tests, and for the simulator, where several relays share one and a kill loses none of it.

It makes the same promises as the SQLite store while the process lives; it is never used by `relay up`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relay.ledger.interaction import Interaction, blob_name
from relay.ledger.store import Checkpoint, Group, Outcome, Residue


class MemoryStore:
    """See `Store`. Nothing is forgotten: growth is the log's."""

    def __init__(self) -> None:
        self._log: list[Interaction] = []
        self._keys: dict[str, Interaction] = {}
        self._ids: dict[str, Interaction] = {}
        self._outside: dict[str, list[Interaction]] = {}
        self._cursors: dict[str, int] = {}
        self._checkpoints: dict[str, Checkpoint] = {}
        self._epoch = 0

    @property
    def head(self) -> int:
        return len(self._log)

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        return [self._admit(group) for group in groups]

    def _admit(self, group: Group) -> Outcome:
        if group.fence is not None and group.fence != self._epoch:
            return Outcome((), (), fenced=True)
        stands: list[Interaction] = []
        fresh: list[bool] = []
        for record in group.records:
            first = self._keys.get(record.key)
            if first is None:
                record.seq = len(self._log) + 1
                self._log.append(record)
                self._keys[record.key] = record
                self._ids[record.id] = record
                for name in record.outside:
                    self._outside.setdefault(name, []).append(record)
            stands.append(first or record)
            fresh.append(first is None)
        return Outcome(tuple(stands), tuple(fresh))

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return self._log[after : after + limit]

    async def read_back(self, before: int, limit: int) -> list[Interaction]:
        end = min(max(before - 1, 0), len(self._log))
        return self._log[max(0, end - limit) : end][::-1]

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Interaction]:
        return {id: self._ids[id] for id in ids if id in self._ids}

    async def by_prefix(self, prefix: str, limit: int) -> list[Interaction]:
        prefix = prefix.lower()
        return [i for i in self._log if prefix and i.id.startswith(prefix)][:limit]

    async def by_outside(self, outside: str) -> list[Interaction]:
        return list(self._outside.get(outside, ()))

    async def epoch(self) -> int:
        return self._epoch

    async def begin_epoch(self) -> int:
        self._epoch += 1
        return self._epoch

    async def cursors(self) -> dict[str, int]:
        return dict(self._cursors)

    async def save_cursors(self, cursors: Mapping[str, int]) -> None:
        self._cursors.update(cursors)

    async def checkpoints(self) -> dict[str, Checkpoint]:
        return dict(self._checkpoints)

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._checkpoints[checkpoint.concept] = checkpoint

    async def redact(self, residues: Sequence[Residue]) -> None:
        for residue in residues:
            found = self._ids.get(residue.id)
            if found is None or found.redacted:
                continue
            # Another object: whoever has the record in hand goes on with what it read.
            left = found.emptied(residue.raw, [blob_name(digest) for digest in residue.blobs])
            self._log[found.seq - 1] = self._keys[found.key] = self._ids[found.id] = left
            for name in found.outside:
                kept = [left] if name in left.outside else []
                self._outside[name] = [
                    each for i in self._outside[name] for each in (kept if i is found else [i])
                ]

    async def renew_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        self._checkpoints = {checkpoint.concept: checkpoint for checkpoint in checkpoints}

    async def scrub(self) -> bool:
        return True

    async def idle(self) -> None:
        return

    async def close(self) -> None:
        return

"""Those who wait together share one commit."""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import pytest
from ledger.records import draft, record
from ledger.small_house import (
    booted,
    house,
    running,
)

from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group, Outcome

pytestmark = pytest.mark.anyio


async def test_fifty_who_wait_share_their_commits(tmp_path: Path):
    """At least four times the appends of one commit each, in one run on one disk; and never more than a few commits."""
    supply = itertools.count()

    class Counting(SqliteStore):
        commits = 0

        async def append(self, groups: Sequence[Group]) -> list[Outcome]:
            self.commits += 1
            return await super().append(groups)

    async def of_fifty(append: Callable[[str], Awaitable[object]], seconds: float = 0.3) -> float:
        count, until = 0, time.perf_counter() + seconds

        async def produce() -> None:
            nonlocal count
            while time.perf_counter() < until:
                await append(str(next(supply)))
                count += 1

        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(produce)
        return count / (time.perf_counter() - begun)

    store = await Counting.open(tmp_path / "grouped.db")
    alone_store = await SqliteStore.open(tmp_path / "alone.db")
    lock = anyio.Lock()

    async def alone(name: str) -> None:
        made = record(name)
        async with lock:
            await alone_store.append([Group((made,))])

    ratios: list[float] = []
    async with running(await booted(store, house())) as engine:
        for _ in range(
            8
        ):  # a machine with other work has bad moments; one good one shows what the code can do
            slow = await of_fifty(alone)
            ratios.append(await of_fifty(lambda name: engine.admit(draft(name))) / slow)
            if ratios[-1] >= 4:
                break
    assert store.commits * 20 <= store.head
    await store.close()
    await alone_store.close()
    assert max(ratios) >= 4, ratios

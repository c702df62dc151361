"""Durable appends a second: the engine's group commit beside one commit for each append, on the same schema."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from _measured import FURNITURE, drafts, line, on_disk, percentile, salt

from relay.clock import SystemClock
from relay.ledger.engine import Engine
from relay.ledger.interaction import Draft, prepare
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group

ROUNDS = 3
ROUND_S = 1.0

Append = Callable[[Draft], Awaitable[object]]


async def rate(append: Append, producers: int, seconds: float) -> tuple[float, list[float]]:
    """Appends a second of so many who each wait for their own, and how long each waited."""
    supply = drafts_of_this_run
    times: list[float] = []
    until = time.perf_counter() + seconds

    async def produce() -> None:
        while (begun := time.perf_counter()) < until:
            await append(next(supply))
            times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(producers):
            tasks.start_soon(produce)
    return len(times) / (time.perf_counter() - begun), times


drafts_of_this_run = drafts()


async def grouped(folder: Path, producers: int, seconds: float = ROUND_S) -> tuple[float, list[float]]:
    """Through the engine."""
    store = await SqliteStore.open(folder / "grouped.db")
    engine = Engine(store, FURNITURE, SystemClock(), salt)
    await engine.boot()
    async with anyio.create_task_group() as tasks:
        await tasks.start(engine.run)
        found = await rate(engine.admit, producers, seconds)
        tasks.cancel_scope.cancel()
    await store.close()
    return found


async def each_alone(folder: Path, producers: int, seconds: float = ROUND_S) -> tuple[float, list[float]]:
    """A transaction for each append, one after the other."""
    store = await SqliteStore.open(folder / "alone.db")
    lock = anyio.Lock()

    async def append(draft: Draft) -> None:
        record = prepare(draft, at=0, salt=salt())
        async with lock:
            await store.append([Group((record,))])

    found = await rate(append, producers, seconds)
    await store.close()
    return found


async def main() -> None:
    with on_disk() as folder:
        for producers in (1, 10, 50, 100):
            ours, baseline = [], []
            for _ in range(ROUNDS):
                baseline.append(await each_alone(folder, producers))
                ours.append(await grouped(folder, producers))
            fast, slow = statistics.median(r for r, _ in ours), statistics.median(r for r, _ in baseline)
            waits = [t for _, times in ours for t in times]
            slow_waits = [t for _, times in baseline for t in times]
            line(f"appends/s, {producers} producers", f"{fast:,.0f}/s", f"{slow:,.0f}/s", fast / slow)
            both = [f"{percentile(w, 0.5):.2f} / {percentile(w, 0.99):.2f} ms" for w in (waits, slow_waits)]
            line("  an append waits, p50 / p99", *both, percentile(waits, 0.5) / percentile(slow_waits, 0.5))


if __name__ == "__main__":
    anyio.run(main)

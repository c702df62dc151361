"""Boot: 100,000 interactions folded by every concept, beside reading the rows and beside a boot from checkpoints."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio
from _measured import line, on_disk, salt

from relay.behaviours import discover
from relay.clock import SystemClock
from relay.ledger.engine import PAGE, Engine
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from ledger.settled_life import SettledLife

COUNT = 100_000
TAIL = 1_000
FURNITURE = tuple(behaviour.furniture for behaviour in discover())


async def fill(path: Path) -> None:
    """A ledger of so many records of everyday life."""
    store = await SqliteStore.open(path)
    records: list[Interaction] = []
    SettledLife(records.append).until(COUNT)
    for start in range(0, len(records), 2000):
        await store.append([Group(tuple(records[start : start + 2000]))])
    await store.close()


async def read_only(path: Path) -> float:
    """Seconds to read every row, as a boot does, and do nothing with it."""
    store = await SqliteStore.open(path)
    begun, at = time.perf_counter(), 0
    while page := await store.read(at, PAGE):
        at = page[-1].seq
    taken = time.perf_counter() - begun
    await store.close()
    return taken


async def boot(path: Path, *, stop: bool = False) -> tuple[float, bytes]:
    """Seconds from the open file to folded states, and their digest. With `stop`, a clean one follows."""
    store = await SqliteStore.open(path)
    engine = Engine(store, FURNITURE, SystemClock(), salt)
    begun = time.perf_counter()
    await engine.boot()
    taken = time.perf_counter() - begun
    if stop:
        await engine.close()
    await store.close()
    return taken, engine.view.digest()


async def main() -> None:
    with on_disk() as folder:
        path = folder / "ledger.db"
        await fill(path)
        await read_only(path)  # warm
        rows = await read_only(path)
        fold, digest = await boot(path)
        line(f"{COUNT:,} interactions folded", f"{fold:.2f} s", f"rows only {rows:.2f} s", fold / rows)
        _, again = await boot(path, stop=True)
        assert again == digest
        store = await SqliteStore.open(path)
        records: list[Interaction] = []
        life = SettledLife(records.append)
        life.until(COUNT + TAIL)
        await store.append([Group(tuple(records[-TAIL:]))])
        await store.close()
        quick, _ = await boot(path)
        line(
            "boot from checkpoints, tail of 1,000",
            f"{quick:.3f} s",
            f"from nothing {fold:.2f} s",
            quick / fold,
        )


if __name__ == "__main__":
    anyio.run(main)

"""What a long life costs: a ledger of 1,000,000 interactions beside one of 1,000, in processes of their own.

Open: from the closed file to folded states, from the last checkpoints, and the most memory the process ever held. A
turn: from a message on the page to its reply in the chat, through the whole relay. Give other sizes as arguments.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import anyio
from _measured import line, on_disk, percentile, salt
from latency import through_the_relay

from relay.behaviours import discover
from relay.clock import SystemClock
from relay.ledger.engine import Engine
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from ledger.settled_life import SettledLife

SIZES = (1_000, 1_000_000)
ROUNDS = 5
FURNITURE = tuple(behaviour.furniture for behaviour in discover())


async def fill(folder: Path, count: int) -> None:
    """A ledger of so many records of everyday life, closed as a clean stop leaves it."""
    folder.mkdir()
    store = await SqliteStore.open(folder / "ledger.db")
    records: list[Interaction] = []
    life = SettledLife(records.append)
    for size in range(0, count, 20_000):
        life.until(min(count, size + 20_000))
        for start in range(0, len(records), 2_000):
            await store.append([Group(tuple(records[start : start + 2_000]))])
        records.clear()
        if sys.stderr.isatty():
            sys.stderr.write(f"\rwriting {size:,} of {count:,} records ...")
    engine = Engine(store, FURNITURE, SystemClock(), salt)
    await engine.boot()
    await engine.close()
    await store.close()


async def opened(folder: Path) -> dict[str, float]:
    store = await SqliteStore.open(folder / "ledger.db")
    engine = Engine(store, FURNITURE, SystemClock(), salt)
    begun = time.perf_counter()
    await engine.boot()
    seconds = time.perf_counter() - begun
    await store.close()
    return {"seconds": seconds, "mib": most_memory()}


def most_memory() -> float:
    """In MiB. Of this program: getrusage also counts what the process was before its exec, see proc(5), VmHWM."""
    status = Path("/proc/self/status").read_text()
    return int(next(row for row in status.splitlines() if row.startswith("VmHWM")).split()[1]) / 1024


async def turned(folder: Path) -> dict[str, float]:
    _, replies = await through_the_relay(folder)
    return {"p50": percentile(replies, 0.5), "p95": percentile(replies, 0.95)}


def apart(what: str, folder: Path) -> dict[str, float]:
    """In a process of its own, since memory that was held once is never given back."""
    done = subprocess.run([sys.executable, __file__, what, str(folder)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main(sizes: tuple[int, ...]) -> None:
    with on_disk() as folder:
        opens: list[dict[str, float]] = []
        turns: list[dict[str, float]] = []
        for size in sizes:
            home = folder / str(size)
            anyio.run(fill, home, size)
            opens.append(min((apart("open", home) for _ in range(ROUNDS)), key=lambda one: one["seconds"]))
            turns.append(apart("turn", home))
            shutil.rmtree(home)
        for size, o, t in zip(sizes[1:], opens[1:], turns[1:], strict=True):
            small, base, first = sizes[0], opens[0], turns[0]
            for key, unit in (("seconds", "s"), ("mib", "MiB")):
                digits = 3 if unit == "s" else 0
                line(
                    f"{size:,} interactions open, {unit}",
                    f"{o[key]:.{digits}f} {unit}",
                    f"{small:,}: {base[key]:.{digits}f} {unit}",
                    o[key] / base[key],
                )
            for part in ("p50", "p95"):
                line(
                    f"a turn at {size:,}, {part}",
                    f"{t[part]:.2f} ms",
                    f"{small:,}: {first[part]:.2f} ms",
                    t[part] / first[part],
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["open"]:
        print(json.dumps(anyio.run(opened, Path(sys.argv[2]))))
    elif sys.argv[1:2] == ["turn"]:
        print(json.dumps(anyio.run(turned, Path(sys.argv[2]))))
    else:
        main(tuple(int(size) for size in sys.argv[1:]) or SIZES)

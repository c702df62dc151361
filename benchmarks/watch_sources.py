"""Watches that wait: the CPU of 2,000 quiet file watches and tails, and the memory of 10,000 timers.

Each is measured in a process of its own, started sixteen at a time as the relay does. The baselines do the same by the
simplest means: a task for each file that looks at it every second, a task for each timer that sleeps.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from _measured import line

from relay.clock import SystemClock
from relay.ledger.blobs import Blobs
from watch_supervisor.spec import WatchSpec
from watch_supervisor.supervisor import Ended, Fire, Run, State, Supervisor

FILES = 2_000
TIMERS = 10_000
AT_ONCE = 16
IDLE_S = 10.0
SETTLE_S = 3.0


def resident_mb() -> float:
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def inotify_instances() -> int:
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum(os.path.lexists(link) and "inotify" in os.readlink(link) for link in links)


def files(root: Path) -> list[Path]:
    """One in each of so many folders."""
    made: list[Path] = []
    for number in range(FILES):
        folder = root / f"{number:04}"
        folder.mkdir()
        (folder / "notes.md").write_text(f"note {number}\n")
        made.append(folder / "notes.md")
    return made


def specs(kind: str, root: Path) -> list[WatchSpec]:
    if kind == "timers":
        due = int((time.time() + 86_400) * 1000)
        return [
            WatchSpec(name=f"t{number}", source="timer", due=due + number, text="stretch")
            for number in range(TIMERS)
        ]
    source = "file" if kind == "files" else "tail"
    return [
        WatchSpec(name=f"w{number}", source=source, path=str(path)) for number, path in enumerate(files(root))
    ]


async def supervised(kind: str, root: Path) -> None:
    wanted = specs(kind, root)
    begins = anyio.Semaphore(AT_ONCE)
    in_place = 0

    async def on_started(run: str, state: State) -> None:
        nonlocal in_place
        in_place += 1
        begins.release()

    async def on_advanced(run: str, state: State) -> None: ...

    async def on_fire(fire: Fire) -> None:
        raise RuntimeError(f"nothing should fire: {fire}")

    async def on_ended(ended: Ended) -> None:
        raise RuntimeError(f"nothing should end: {ended}")

    before = resident_mb()
    clock = SystemClock()
    supervisor = Supervisor(
        clock,
        on_fire=on_fire,
        on_started=on_started,
        on_advanced=on_advanced,
        on_ended=on_ended,
        snapshots=Blobs(root / "blobs"),
        limit=len(wanted),
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(supervisor.run)
        for number, spec in enumerate(wanted):
            await begins.acquire()
            supervisor.start(Run(f"run-{number}", spec, root, None, 0, clock.now_ms(), confined=False))
        while in_place < len(wanted):  # noqa: ASYNC110 - the last sixteen
            await anyio.sleep(0.01)
        await report(before)
        tasks.cancel_scope.cancel()


async def by_tasks(kind: str, root: Path) -> None:
    watched = files(root) if kind == "files-baseline" else []
    before = resident_mb()

    async def looks(path: Path) -> None:
        seen = path.stat()
        while True:
            await anyio.sleep(1)
            now = path.stat()
            if (now.st_mtime_ns, now.st_size) != (seen.st_mtime_ns, seen.st_size):
                raise RuntimeError("nothing should change")

    async with anyio.create_task_group() as tasks:
        for path in watched:
            tasks.start_soon(looks, path)
        for number in range(0 if watched else TIMERS):
            tasks.start_soon(anyio.sleep, 86_400 + number / 1000)
        await report(before)
        tasks.cancel_scope.cancel()


async def report(before: float) -> None:
    await anyio.sleep(SETTLE_S)
    begun, used = time.monotonic(), time.process_time()
    await anyio.sleep(IDLE_S)
    cpu = (time.process_time() - used) / (time.monotonic() - begun) * 100
    sys.stdout.write(f"{cpu} {resident_mb() - before} {inotify_instances()}\n")


def measured(kind: str) -> tuple[float, float, int]:
    """CPU in per cent of a core, memory in MB, inotify instances."""
    done = subprocess.run([sys.executable, __file__, kind], capture_output=True, text=True, check=True)
    cpu, memory, instances = done.stdout.split()
    return float(cpu), float(memory), int(instances)


def main(arguments: Sequence[str]) -> None:
    if arguments:
        (kind,) = arguments
        with tempfile.TemporaryDirectory(prefix="bench-watches-") as folder:
            run = supervised if kind in ("files", "tails", "timers") else by_tasks
            anyio.run(run, kind, Path(folder))
        return
    slow, _, _ = measured("files-baseline")
    for kind in ("files", "tails"):
        cpu, memory, instances = measured(kind)
        line(f"{FILES:,} quiet {kind}, CPU of a core", f"{cpu:.2f} %", f"{slow:.2f} %", cpu / slow)
        line("  memory, inotify instances", f"{memory:.0f} MB, {instances}", "one instance", instances)
    _, plain, _ = measured("timers-baseline")
    _, memory, _ = measured("timers")
    line(f"{TIMERS:,} timers, memory", f"{memory:.1f} MB", f"{plain:.1f} MB", memory / plain)


if __name__ == "__main__":
    main(sys.argv[1:])

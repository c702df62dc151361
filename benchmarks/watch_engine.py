"""The watch engine's commands: speed of a match, fairness beside floods, memory, and the arming of many.

Each figure stands beside a baseline that ran a moment before. `all` as argument makes the long ones as long as the
goals have them (10 GB without a newline, 1,000 commands).
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
from _measured import line, percentile

from relay.clock import SystemClock
from watch_supervisor.processes.guarded import Guarded
from watch_supervisor.spec import WatchSpec
from watch_supervisor.supervisor import Ended, Fire, Run, State, Supervisor

WHOLE = "all" in sys.argv[1:]
LOG_LINES = 1_000_000
TIMES = 8
"""How often the log is printed."""
ROUNDS = 3
FLOODS = 4
QUIET_LINES = 400
GIGABYTES = 10 if WHOLE else 1
COMMANDS = 1_000 if WHOLE else 200
PATTERN = "ERROR"

QUIET = f"""
import time
for _ in range({QUIET_LINES}):
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.01)
"""


class Nowhere:
    """Keeps no content; nothing here has any."""

    async def put(self, data: bytes) -> str:
        return ""

    async def get(self, digest: str) -> bytes | None:
        return None


class Bench:
    """A supervisor, and what it said."""

    def __init__(self, folder: Path, spawner: Guarded, budget: int | None) -> None:
        self.folder = folder
        self.clock = SystemClock()
        self.ended: list[Ended] = []
        self.fires: list[tuple[int, Fire]] = []
        self.started: list[str] = []
        self._more = anyio.Event()
        self.supervisor = Supervisor(
            self.clock,
            on_fire=self._on_fire,
            on_started=self._on_started,
            on_advanced=self._on_started,
            on_ended=self._on_ended,
            snapshots=Nowhere(),
            spawner=spawner,
            environ=os.environ,
            fires_an_hour=None,
            bytes_a_second=budget,
        )

    def start(self, command: str, run: str, **more: object) -> None:
        spec = WatchSpec(name="bench", source="process", command=command, **more)  # type: ignore[arg-type]
        self.supervisor.start(Run(run, spec, self.folder, None, 0, self.clock.now_ms()))

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self._more = anyio.Event()
            await self._more.wait()

    async def _on_fire(self, fire: Fire) -> None:
        self.fires.append((time.monotonic_ns(), fire))

    async def _on_started(self, run: str, state: State) -> None:
        if state.get("life") == "running":
            self.started.append(run)
        self._more.set()

    async def _on_ended(self, ended: Ended) -> None:
        self.ended.append(ended)
        self._more.set()


@asynccontextmanager
async def bench(folder: Path, budget: int | None = None) -> AsyncIterator[Bench]:
    async with Guarded() as spawner:
        made = Bench(folder, spawner, budget)
        async with anyio.create_task_group() as group:
            await group.start(made.supervisor.run)
            yield made
            group.cancel_scope.cancel()


def write_log(path: Path) -> None:
    """Log lines of about 100 bytes, one in 100,000 an error."""
    with path.open("wb") as out:
        for number in range(LOG_LINES):
            level = b"ERROR" if number % 100_000 == 99_999 else b"INFO "
            at = b"2026-11-30T18:%02d:%02d.%03d" % (number // 60 % 60, number % 60, number % 1000)
            worker, item, queue = number % 16, number % 99_999, number % 10
            out.write(
                b"%s %s worker-%02d request done path=/api/v1/items/%05d status=200 q=%d ms=12\n"
                % (at, level, worker, item, queue)
            )


def grep_cpu(log: Path) -> float:
    """Seconds of CPU of `grep -c` on a pipe."""
    with subprocess.Popen(["cat", *[str(log)] * TIMES], stdout=subprocess.PIPE) as cat:
        grep = subprocess.Popen(["grep", "-c", PATTERN], stdin=cat.stdout, stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(grep.pid, 0)
        grep.returncode = 0
    return used.ru_utime + used.ru_stime


async def match_cpu(log: Path) -> float:
    """Seconds of CPU of this process while a watch matches what `cat` prints."""
    async with bench(log.parent) as made:
        began = time.process_time()
        made.start(f"cat {' '.join([str(log)] * TIMES)}", "run-1", fire="match", match=PATTERN)
        await made.until(lambda: bool(made.ended))
        took = time.process_time() - began
        assert sum(fire.count for _, fire in made.fires) == LOG_LINES * TIMES // 100_000
        return took


async def match(folder: Path) -> None:
    log = folder / "app.log"
    write_log(log)
    theirs = statistics.median(grep_cpu(log) for _ in range(ROUNDS))
    ours = statistics.median([await match_cpu(log) for _ in range(ROUNDS)])
    line(
        "match, log lines per CPU second",
        f"{LOG_LINES * TIMES / ours / 1e6:.1f} M",
        f"grep -c {LOG_LINES * TIMES / theirs / 1e6:.1f} M",
        theirs / ours,
    )
    log.unlink()


async def quiet_delays(folder: Path, floods: int) -> list[float]:
    """Seconds from a line being printed to its being read, of a quiet command beside so many that flood."""
    script = folder / "quiet.py"
    script.write_text(QUIET)
    async with bench(folder, 32 << 20) as made:
        for number in range(floods):
            made.start(
                "yes 2026-11-30 a line of a log that nobody has asked for", f"flood-{number}", fire="exit"
            )
        await made.until(lambda: len(made.started) == floods)
        delays: list[float] = []
        # What a line waits for before it is judged: the reading. Batches and windows come after that.
        made.start(f"{sys.executable} {script}", "quiet", fire="each-line")
        await made.until(lambda: "quiet" in made.started)
        life = made.supervisor._lives["quiet"].command  # pyright: ignore[reportPrivateUsage]
        gate = life._gate  # type: ignore[union-attr]  # pyright: ignore
        judge = gate.judge

        def timed(block: object, collected: object, tag: str = "") -> None:
            now = time.monotonic_ns()
            delays.extend((now - int(stamp)) / 1e9 for stamp in block.lines())  # type: ignore[attr-defined]
            judge(block, collected, tag)

        gate.judge = timed
        await made.until(lambda: any(ended.run == "quiet" for ended in made.ended))
        return delays


async def fairness(folder: Path) -> None:
    alone = await quiet_delays(folder, 0)
    beside = await quiet_delays(folder, FLOODS)
    for name, part in (("p50", 0.5), ("p99", 0.99)):
        a, b = percentile(alone, part), percentile(beside, part)
        line(f"a quiet watch beside {FLOODS} floods, {name}", f"{b:.2f} ms", f"alone {a:.2f} ms", b / a)


def resident() -> float:
    """MB that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


async def memory(folder: Path) -> None:
    """The most memory that this process has held while it read a line without an end."""
    async with bench(folder) as made:
        before = most = resident()
        began = time.perf_counter()
        size = GIGABYTES * 10**9
        made.start(f"head -c {size} /dev/zero | tr '\\0' x", "run-1", fire="exit")
        async with anyio.create_task_group() as group:

            async def look() -> None:
                nonlocal most
                while True:
                    most = max(most, resident())
                    await anyio.sleep(0.05)

            group.start_soon(look)
            await made.until(lambda: bool(made.ended))
            group.cancel_scope.cancel()
        speed = size / 1e6 / (time.perf_counter() - began)
        line(
            f"{GIGABYTES} GB without a newline ({speed:.0f} MB/s)",
            f"{most:.1f} MB",
            f"before {before:.1f} MB",
            most / before,
        )


async def lag_of(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    """(longest the loop was held, in CPU time, since others use the machine too; seconds it took) while `work` runs."""
    # A collection looks through the whole process, whose size isn't what is measured here.
    gc.collect()
    gc.freeze()
    longest = 0.0
    async with anyio.create_task_group() as group:

        async def tick() -> None:
            nonlocal longest
            while True:
                began = time.thread_time()
                await anyio.sleep(0.001)
                longest = max(longest, time.thread_time() - began)

        group.start_soon(tick)
        began = time.perf_counter()
        await work()
        took = time.perf_counter() - began
        group.cancel_scope.cancel()
    return longest, took


async def plain_children(children: list[asyncio.subprocess.Process]) -> None:
    """The baseline: asyncio's own children, one after the other."""
    while len(children) < COMMANDS:
        children.append(
            await asyncio.create_subprocess_exec(
                *("bash", "--norc", "--noprofile", "-c", "exec sleep 1000"), stdout=asyncio.subprocess.PIPE
            )
        )


async def ended_children(children: list[asyncio.subprocess.Process]) -> None:
    for child in children:
        child.kill()
    for child in children:
        await child.wait()


async def arming(folder: Path) -> None:
    children: list[asyncio.subprocess.Process] = []
    theirs, their_time = await lag_of(lambda: plain_children(children))
    their_end, their_end_time = await lag_of(lambda: ended_children(children))
    async with bench(folder) as made:

        async def arm() -> None:
            for number in range(COMMANDS):
                made.start("exec sleep 1000", f"run-{number}", fire="exit")
                if number % 20 == 0:
                    await anyio.lowlevel.checkpoint()
            await made.until(lambda: len(made.started) == COMMANDS)

        async def disarm() -> None:
            async with anyio.create_task_group() as group:
                for number in range(COMMANDS):
                    group.start_soon(made.supervisor.stop, f"run-{number}")

        ours, our_time = await lag_of(arm)
        our_end, our_end_time = await lag_of(disarm)
    told(f"{COMMANDS} commands armed, loop held", ours, our_time, theirs, their_time)
    told(f"{COMMANDS} commands disarmed, loop held", our_end, our_end_time, their_end, their_end_time)


def told(what: str, ours: float, our_time: float, theirs: float, their_time: float) -> None:
    line(
        what,
        f"{ours * 1000:.0f} ms in {our_time:.1f} s",
        f"asyncio {theirs * 1000:.0f} ms in {their_time:.1f} s",
        ours / theirs,
    )


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as name:
        folder = Path(name).resolve()
        await match(folder)
        await fairness(folder)
        await memory(folder)
        await arming(folder)


if __name__ == "__main__":
    anyio.run(main)

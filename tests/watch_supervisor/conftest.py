"""A supervisor over a real folder, with everything it says kept in lists; a fast clock, and one turned by hand."""

import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from watch_supervisor.processes.guarded import Guarded
from watch_supervisor.spec import WatchSpec
from watch_supervisor.supervisor import Ended, Fire, Run, State, Supervisor, Throttled


class FastClock:
    """The machine's clock, `speed` times as fast."""

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = speed
        self._began = time.time()
        self._steady = time.monotonic()

    def now_ms(self) -> int:
        return int((self._began + (time.monotonic() - self._steady) * self._speed) * 1000)

    def monotonic(self) -> float:
        return time.monotonic() * self._speed

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds) / self._speed)


class HandClock:
    """Stands still until a test turns it; wall time can jump by itself, as a suspend or a person makes it."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        self.wall = now_ms
        self.steady = 1000.0
        self._sleepers: list[tuple[float, anyio.Event]] = []

    def now_ms(self) -> int:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        entry = (self.steady + seconds, anyio.Event())
        self._sleepers.append(entry)
        try:
            await entry[1].wait()
        finally:
            self._sleepers.remove(entry)

    async def turn(self, seconds: float, step: float = 5.0) -> None:
        """Both clocks go on, in steps, and everybody who wakes gets to act."""
        left = seconds
        while left > 0:
            part = min(step, left)
            left -= part
            self.steady += part
            self.wall += int(part * 1000)
            await self.settle()

    async def settle(self) -> None:
        for _ in range(60):
            for at, event in list(self._sleepers):
                if at <= self.steady + 1e-9:
                    event.set()
            await anyio.lowlevel.checkpoint()


class FolderSnapshots:
    """Content by digest in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    async def put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / digest).write_bytes(data)
        return digest

    async def get(self, digest: str) -> bytes | None:
        path = self.folder / digest
        return path.read_bytes() if path.exists() else None


class Stand:
    """A workspace, a supervisor, and what it said."""

    def __init__(
        self,
        folder: Path,
        clock: FastClock | HandClock | None = None,
        limit: int = 2000,
        **options: object,
    ) -> None:
        self.root = folder / "workspace"
        self.root.mkdir(exist_ok=True)
        self.clock = clock or FastClock()
        self.snapshots = FolderSnapshots(folder / "snapshots")
        self.fires: list[Fire] = []
        self.started: dict[str, State] = {}
        self.advanced: list[tuple[str, State]] = []
        self.ended: list[Ended] = []
        self.throttled: list[Throttled] = []
        self.refuse_fires = 0
        self.during_fire: Callable[[Fire], object] | None = None
        self.supervisor = Supervisor(
            self.clock,
            on_fire=self._on_fire,
            on_started=self._on_started,
            on_advanced=self._on_advanced,
            on_ended=self._on_ended,
            snapshots=self.snapshots,
            limit=limit,
            on_throttled=self._on_throttled,
            **options,  # type: ignore[arg-type]
        )

    async def _on_throttled(self, throttled: Throttled) -> None:
        self.throttled.append(throttled)

    async def _on_fire(self, fire: Fire) -> None:
        await anyio.lowlevel.checkpoint()
        if self.refuse_fires:
            self.refuse_fires -= 1
            raise RuntimeError("the ledger is busy")
        self.fires.append(fire)
        if self.during_fire is not None:
            outcome = self.during_fire(fire)
            if hasattr(outcome, "__await__"):
                await outcome  # type: ignore[misc]

    async def _on_started(self, run: str, state: State) -> None:
        self.started[run] = state

    async def _on_advanced(self, run: str, state: State) -> None:
        self.advanced.append((run, state))

    async def _on_ended(self, ended: Ended) -> None:
        self.ended.append(ended)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Stand"]:
        async with anyio.create_task_group() as group:
            await group.start(self.supervisor.run)
            yield self
            group.cancel_scope.cancel()

    def file(self, path: str = "notes.md", *, run: str = "run-1", **more: object) -> Run:
        """A run over a file; `state`, `fires`, `confined` go to the run, the rest to the spec."""
        own = {key: more.pop(key) for key in ("state", "fires", "confined", "armed_at") if key in more}
        if "match" in more:
            more["fire"] = "match"
        spec = WatchSpec(name="notes", source="file", path=path, **{"window_ms": 0, **more})  # type: ignore[arg-type]
        return Run(
            run, spec, self.root, **{"state": None, "fires": 0, "armed_at": self.clock.now_ms(), **own}
        )  # type: ignore[arg-type]

    def tail(self, path: str = "app.log", *, run: str = "run-1", **more: object) -> Run:
        """A run over the lines that are added to a file."""
        own = {key: more.pop(key) for key in ("state", "fires", "confined", "armed_at") if key in more}
        if "match" in more:
            more["fire"] = "match"
        spec = WatchSpec(name="log", source="tail", path=path, **{"window_ms": 0, **more})  # type: ignore[arg-type]
        return Run(
            run, spec, self.root, **{"state": None, "fires": 0, "armed_at": self.clock.now_ms(), **own}
        )  # type: ignore[arg-type]

    def schedule(self, cron: str, *, run: str = "daily", tz: str = "UTC", **more: object) -> Run:
        """A run over a schedule."""
        own = {key: more.pop(key) for key in ("state", "fires", "armed_at") if key in more}
        spec = WatchSpec(name=run, source="schedule", cron=cron, tz=tz, **more)  # type: ignore[arg-type]
        return Run(
            run, spec, self.root, **{"state": None, "fires": 0, "armed_at": self.clock.now_ms(), **own}
        )  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """Every line that was told, in order."""
        return [line for fire in self.fires for line in fire.text.split("\n")]

    def timer(
        self, seconds: float, *, run: str = "timer-1", fires: int = 0, text: str | None = "stretch"
    ) -> Run:
        due = self.clock.now_ms() + int(seconds * 1000)
        spec = WatchSpec(name=run, source="timer", due=due, text=text)
        return Run(run, spec, self.root, None, fires, self.clock.now_ms())

    def command(self, command: str, *, run: str = "run-1", **more: object) -> Run:
        """A run of a command, or of a check `every` so many seconds; `state`, `fires` and `armed_at` go to the run."""
        own = {key: more.pop(key) for key in ("state", "fires", "armed_at") if key in more}
        if "match" in more:
            more["fire"] = "match"
        every = more.pop("every", None)
        source, fire = ("process", "each-line") if every is None else ("poll", "change")
        fields = {"window_ms": 0, "fire": fire, **more}
        if every is not None:
            fields["every_ms"] = int(float(every) * 1000)  # type: ignore[arg-type]
        spec = WatchSpec(name="build", source=source, command=command, **fields)  # type: ignore[arg-type]
        return Run(
            run, spec, self.root, **{"state": None, "fires": 0, "armed_at": self.clock.now_ms(), **own}
        )  # type: ignore[arg-type]

    async def arm(self, run: Run) -> None:
        """Start a run and wait until it is in place."""
        self.supervisor.start(run)
        await self.until(lambda: run.run in self.started)

    async def until(self, true: Callable[[], bool], seconds: float = 7.0) -> None:
        with anyio.fail_after(seconds):
            while not true():  # noqa: ASYNC110 - what is waited for is a file, or in another's hands
                await anyio.sleep(0.01)

    async def fire(self, number: int = 1) -> Fire:
        """The fire with this place in the list, once it is there."""
        await self.until(lambda: len(self.fires) >= number)
        return self.fires[number - 1]


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Time goes four times as fast: quiet is 40 ms, and the backstop comes later than any test waits."""
    return Stand(tmp_path, FastClock(4))


@pytest.fixture
def fast_stand(tmp_path: Path) -> Stand:
    """Time goes thirty times as fast: the backstop of 30 s comes after one."""
    return Stand(tmp_path, FastClock(30))


@pytest.fixture
def hand_stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path, HandClock())


@pytest.fixture
def make_stand(tmp_path: Path) -> Callable[..., Stand]:
    """Another supervisor over the same folders: the next life."""
    return lambda **options: Stand(tmp_path, **options)


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Stand]:
    """A supervisor that runs commands, which have half a second after TERM; time goes as it does."""
    async with Guarded(gentle_seconds=0.5) as spawner:
        environ = {**os.environ, "RELAY_DISCORD_TOKEN": "not-for-children"}
        stand = Stand(tmp_path, spawner=spawner, environ=environ, fires_an_hour=None)
        async with stand.running():
            yield stand

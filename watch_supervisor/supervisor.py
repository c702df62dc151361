"""Keeps what ought to be watched watched: starts runs, stops them, and hands their fires on until they are
recorded.

A run that was stopped never fires again, and a stale run never fires for the one that took its place, since
each run has an id and a task of its own. It decides nothing about what a fire leads to.
"""

import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel

from watch_supervisor.alarms import Alarm, Alarms
from watch_supervisor.fire_budget import FireBudget
from watch_supervisor.folders import Folders
from watch_supervisor.output.reading import BYTES_A_SECOND
from watch_supervisor.places import typed
from watch_supervisor.plain_text import plain
from watch_supervisor.processes.confinement import NONE, Confinement
from watch_supervisor.processes.port import Spawner
from watch_supervisor.runs import JSON, Clock, Ended, Fire, Output, Run, Snapshots, State, Throttled
from watch_supervisor.sources import schedule, timer
from watch_supervisor.sources.around import Around
from watch_supervisor.sources.backstop import Backstop
from watch_supervisor.sources.file import FileSource
from watch_supervisor.sources.poll import PollSource
from watch_supervisor.sources.process import ProcessSource
from watch_supervisor.sources.rig import Rig
from watch_supervisor.sources.tail import TailSource
from watch_supervisor.spec_error import SpecError

__all__ = ["JSON", "Clock", "Ended", "Fire", "Run", "Snapshots", "State", "Supervisor", "Throttled"]

_READING_THREADS = 4
_LOOKS_AT_ONCE = 8
_CALLS_AT_ONCE = 32
_COMMANDS_AT_ONCE = 20
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_NEW_TRIES = 6
_FORGIVEN_AFTER_SECONDS = 600.0
_LONGEST_REASON = 200


@dataclass(eq=False, slots=True)
class _Life:
    """One run here: its task's scope while it has a task, its alarm while it waits without one. `run` goes on
    with what was recorded of it.
    """

    run: Run
    in_place: bool = False
    refused: bool = False
    stopped: bool = False
    scope: anyio.CancelScope | None = None
    task_id: int | None = None
    alarm: Alarm | None = None
    file: FileSource | TailSource | None = None
    command: ProcessSource | PollSource | None = None
    fires: FireBudget | None = None
    over: anyio.Event | None = None
    """Made by who waits for its end: a timer that waits needs to be small."""


@dataclass(frozen=True, slots=True)
class _Reports:
    """What a source may say, bound to its run."""

    started: Callable[[State], Awaitable[None]]
    advanced: Callable[[State], Awaitable[None]]
    fired: Callable[[Fire], Awaitable[None]]
    throttled: Callable[[float], Awaitable[None]]


class Supervisor:
    """All runs of one process. `start` and `stop` at any time; they live while `run` runs."""

    def __init__(
        self,
        clock: Clock,
        *,
        on_fire: Callable[[Fire], Awaitable[None]],
        on_started: Callable[[str, State], Awaitable[None]],
        on_advanced: Callable[[str, State], Awaitable[None]],
        on_ended: Callable[[Ended], Awaitable[None]],
        snapshots: Snapshots,
        limit: int = 2000,
        spawner: Spawner | None = None,
        environ: Mapping[str, str] | None = None,
        on_throttled: Callable[[Throttled], Awaitable[None]] | None = None,
        confinement: Confinement = NONE,
        fires_an_hour: int | None = None,
        bytes_a_second: int | None = BYTES_A_SECOND,
    ) -> None:
        """Without a `spawner` a run that needs a command fails, with that sentence. Of `environ` a command gets what
        `processes.command` passes on; `confinement` holds it in. `fires_an_hour` and `bytes_a_second`
        bound each command; None is no bound.
        """
        self._clock = clock
        self._on_fire = on_fire
        self._on_started = on_started
        self._on_advanced = on_advanced
        self._on_ended = on_ended
        self._on_throttled = on_throttled
        self._limit = limit
        self._fires_an_hour = fires_an_hour
        self._alarms = Alarms(clock)
        self._rig = Rig(clock, self._alarms, spawner, environ or {}, confinement, bytes_a_second)
        self._folders = Folders()
        self._snapshots = snapshots
        self._lives: dict[str, _Life] = {}
        self._waiting = deque[_Life]()
        self._group: anyio.abc.TaskGroup | None = None
        self._around: Around | None = None
        self._calls: anyio.Semaphore | None = None

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Watch until cancelled. Then nothing fires any more, and what was started counts as not running."""
        threads = anyio.CapacityLimiter(_READING_THREADS)
        looks = anyio.Semaphore(_LOOKS_AT_ONCE)
        backstop = Backstop(self._clock, threads)
        shared = (self._clock, self._alarms, self._folders, self._snapshots, threads, looks, backstop)
        self._around = Around(*shared)
        self._calls = anyio.Semaphore(_CALLS_AT_ONCE)
        try:
            with self._folders:
                async with anyio.create_task_group() as group:
                    self._group = group
                    group.start_soon(self._alarms.run)
                    group.start_soon(self._folders.run)
                    group.start_soon(backstop.run)
                    for life in list(self._lives.values()):
                        self._begin(life)
                    task_status.started()
        finally:
            self._group = None
            for life in self._lives.values():
                life.stopped = True
                if life.over is not None:
                    life.over.set()
            self._lives.clear()
            self._waiting.clear()

    def start(self, run: Run) -> None:
        """Begin a run. A run id that is running already stays as it is."""
        if run.run in self._lives:
            return
        life = _Life(run, refused=len(self._lives) >= self._limit)
        self._lives[run.run] = life
        self._begin(life)

    def _begin(self, life: _Life) -> None:
        """Give it its task; commands in slices, so that a thousand which are armed together don't hold the loop up."""
        if self._group is None:
            return
        if life.run.spec.command is None:
            self._group.start_soon(self._live, life)
            return
        self._waiting.append(life)
        if len(self._waiting) == 1:
            self._group.start_soon(self._begin_commands)

    async def _begin_commands(self) -> None:
        while self._waiting and self._group is not None:
            await anyio.lowlevel.checkpoint()
            for life in [self._waiting.popleft() for _ in range(min(_COMMANDS_AT_ONCE, len(self._waiting)))]:
                self._group.start_soon(self._live, life)

    async def stop(self, run_id: str) -> None:
        """End a run without a word. Once this returns nothing of it fires; an unknown id is no error.

        Called from within one of that run's own callbacks it returns at once, and the run ends when the
        callback does.
        """
        life = self._lives.pop(run_id, None)
        if life is None:
            return
        life.stopped = True
        if life.alarm is not None:
            life.alarm.cancel()
        if life.task_id is None or life.task_id == anyio.get_current_task().id:
            return
        life.over = anyio.Event()
        if life.scope is not None:
            life.scope.cancel()
        await life.over.wait()

    def running(self) -> Collection[str]:
        """The ids of the runs that were started and haven't ended."""
        return tuple(self._lives)

    def output(self, run_id: str) -> Output | None:
        """What the command of a run has been saying; None for a run without one."""
        life = self._lives.get(run_id)
        return life.command.output() if life is not None and life.command is not None else None

    def go_on(self, run_id: str) -> None:
        """Forgive a run the fires of this hour, so that it isn't silent any more."""
        life = self._lives.get(run_id)
        if life is not None and life.command is not None:
            life.command.go_on()

    def expect(self, root: Path, path: str, digest: str, *, only: Collection[str] | None = None) -> None:
        """A write by the agent itself: `path` getting content with this sha256 soon doesn't fire.

        Call it before the write or right after it. It holds for a minute and for one write; where `only` is
        given, for those runs.
        """
        absolute = typed(root, path)
        names = {absolute, os.path.realpath(absolute)}
        for life in self._lives.values():
            if life.file is not None and (only is None or life.run.run in only):
                life.file.expect(names, digest)

    async def _live(self, life: _Life) -> None:
        """The task of a run: all of a file's life; a timer's first and last moments."""
        if life.stopped:
            return
        life.task_id = anyio.get_current_task().id
        ended: Ended | None = None
        with anyio.CancelScope() as scope:
            life.scope = scope
            try:
                ended = await self._source(life)
                if ended is not None:
                    final = ended
                    await self._insist(life, lambda: self._on_ended(final))
            finally:
                life.task_id = None
                life.scope = None
                if (life.stopped or ended is not None) and life.over is not None:
                    life.over.set()
                if ended is not None and self._lives.get(life.run.run) is life:
                    del self._lives[life.run.run]

    async def _source(self, life: _Life) -> Ended | None:
        run = life.run
        if life.refused:
            return Ended(run.run, "failed", f"{self._limit} watches run already, which is the most.")
        tries = 0
        while True:
            began = self._clock.monotonic()
            try:
                return await self._attempt(life)
            except SpecError as error:
                return Ended(run.run, "failed", str(error))
            except Exception as error:
                # What nobody thought of may pass (no threads left, say), so the source begins anew where the
                # record is. One that went well for long gets all its tries again.
                if self._clock.monotonic() - began >= _FORGIVEN_AFTER_SECONDS:
                    tries = 0
                if tries >= _NEW_TRIES:
                    logging.getLogger(__name__).exception("watch run %s broke for good", run.run)
                    return Ended(run.run, "failed", _broken(error, tries))
                pause = _FIRST_PAUSE_SECONDS * 2**tries
                tries += 1
                logging.getLogger(__name__).warning(
                    "watch run %s broke; again in %.1f s", run.run, pause, exc_info=True
                )
            await self._clock.sleep(pause)

    async def _attempt(self, life: _Life) -> Ended | None:
        if life.run.spec.source in ("process", "poll"):
            life.command = self._command(life)
            return await life.command.live()
        if life.run.spec.source == "schedule":
            return await self._schedule(life)
        if life.run.spec.source == "timer":
            return await self._timer(life)
        assert self._around is not None
        before = life.file
        if life.run.spec.source == "tail":
            life.file = TailSource(life.run, self._around, self._reports(life))
        else:
            life.file = FileSource(life.run, self._around, self._reports(life))
        if before is not None:
            life.file.take_over(before)
        return await life.file.live()

    def _command(self, life: _Life) -> ProcessSource | PollSource:
        reports = self._reports(life)
        life.fires = life.fires or FireBudget(self._fires_an_hour)
        if life.run.spec.source == "process":
            return ProcessSource(life.run, self._rig, reports, life.fires)
        assert self._around is not None
        threads = self._around.threads
        return PollSource(life.run, self._rig, reports, life.fires, self._snapshots, threads)

    async def _schedule(self, life: _Life) -> Ended | None:
        """None while it waits: an alarm starts this task again."""
        again = await schedule.look(life.run, self._clock, self._reports(life))
        if not isinstance(again, int):
            return again
        life.alarm = self._alarms.at_wall(again, lambda: self._resume(life))
        return None

    async def _timer(self, life: _Life) -> Ended | None:
        """None while it waits: an alarm starts this task again."""
        run = life.run
        if timer.is_spent(run):
            return Ended(run.run, "done", "The timer has gone off before.")
        if life.alarm is None:
            await self._reports(life).started({})
        if timer.due_ms(run) > self._clock.now_ms():
            life.alarm = self._alarms.at_wall(timer.due_ms(run), lambda: self._resume(life))
            return None
        return await timer.ring(run, self._clock, self._reports(life))

    def _resume(self, life: _Life) -> None:
        if self._group is not None and not life.stopped:
            self._group.start_soon(self._live, life)

    def _reports(self, life: _Life) -> "_Reports":
        run = life.run.run

        async def started(state: State) -> None:
            if not life.in_place:
                await self._insist(life, lambda: self._on_started(run, state))
                life.in_place = True
                life.run = replace(life.run, state=state)

        async def advanced(state: State) -> None:
            await self._insist(life, lambda: self._on_advanced(run, state))
            life.run = replace(life.run, state=state)

        async def fired(fire: Fire) -> None:
            await self._insist(life, lambda: self._on_fire(fire))
            life.run = replace(life.run, state=fire.state, fires=fire.number)

        async def throttled(until: float) -> None:
            tell, limit = self._on_throttled, self._fires_an_hour
            if tell is None or limit is None:
                return
            at = self._clock.now_ms() + int((until - self._clock.monotonic()) * 1000)
            await self._insist(life, lambda: tell(Throttled(run, limit, at)))

        return _Reports(started, advanced, fired, throttled)

    async def _insist(self, life: _Life, call: Callable[[], Awaitable[None]]) -> None:
        """Make `call` until it returns, with pauses that grow to a minute. Doesn't return for a stopped
        run.
        """
        pause = _FIRST_PAUSE_SECONDS
        assert self._calls is not None
        while True:
            try:
                async with self._calls:
                    await self._leave_if_stopped(life)
                    await call()
                await self._leave_if_stopped(life)
                return
            except Exception:
                logging.getLogger(__name__).warning(
                    "watch run %s couldn't be recorded; again in %.1f s", life.run.run, pause, exc_info=True
                )
            await self._leave_if_stopped(life)
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _leave_if_stopped(self, life: _Life) -> None:
        if life.stopped and life.scope is not None:
            life.scope.cancel()
            await anyio.lowlevel.checkpoint()


def _broken(error: Exception, tries: int) -> str:
    said = " ".join(plain(str(error)).split())[:_LONGEST_REASON]
    reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return f"The watch broke inside the relay, and {tries} new tries didn't help ({reason})."

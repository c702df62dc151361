"""A command that runs for as long as it is watched: fires for its lines, and with how it ended.

It fires 200 ms after the first line that counts, then once a window with what came in it, whatever the number
of lines. When the command ends by itself there is one last fire: lines that weren't told yet, then the status.
Ending it from here (unwatch, time to live, a restart of the relay) never fires. A job that is watched for its
exit is started once and never again. It reads pipes and never knows who runs the command.
"""

from collections import deque

import anyio

from watch_supervisor.fire_budget import FireBudget
from watch_supervisor.moments import rough_duration
from watch_supervisor.output.block_gate import BlockGate
from watch_supervisor.output.collected import Collected
from watch_supervisor.output.framing import Block
from watch_supervisor.output.reading import Reading
from watch_supervisor.plain_text import capped
from watch_supervisor.processes.endings import told
from watch_supervisor.processes.port import Child, Exit, SpawnFailed
from watch_supervisor.runs import Ended, Fire, Output, Run, State
from watch_supervisor.sources.reports import Reports
from watch_supervisor.sources.rig import Rig

BATCH_SECONDS = 0.2
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_SHORT_LIFE_SECONDS = 60.0
_MOST_SHORT_LIVES = 8
_SPAWN_TRIES = 6
_SHOWN_AT_EXIT = 60
_MOST_NOTES = 4


class ProcessSource:
    """One run over one command."""

    def __init__(self, run: Run, rig: Rig, reports: Reports, fires: FireBudget) -> None:
        self._run = run
        self._spec = run.spec
        self._rig = rig
        self._clock = rig.clock
        self._reports = reports
        self._budget = fires
        state = run.state or {}
        last = state.get("last")
        self._gate = BlockGate(run.spec, last if isinstance(last, str) else None)
        self._fires = run.fires
        self._collected = Collected()
        self._notes = deque[str](maxlen=_MOST_NOTES)
        self._ready_at = 0.0
        self._window_ends = 0.0
        self._wake = anyio.Event()
        self._child: Child | None = None
        self._reading: Reading | None = None
        self._exit: Exit | None = None
        self._began_ms = 0
        self._state: State = {}

    def output(self) -> Output:
        """What it has been saying."""
        reading = self._reading
        if reading is None:
            return Output((), (), None, False, 0)
        return Output(
            reading.out.ring.lines(reading.out.framer.partial),
            reading.err.ring.lines(reading.err.framer.partial),
            self._child.pid if self._child is not None else None,
            reading.throttled,
            reading.flow.dropped,
        )

    def go_on(self) -> None:
        """Its fires of this hour are forgiven."""
        self._budget.go_on()
        self._wake.set()

    async def live(self) -> Ended:
        """Until the watch is done, for whatever reason of its own. Cancel it to stop it."""
        ttl = self._spec.ttl_ms
        alarm = self._rig.alarms.at_wall(self._run.armed_at + ttl, self._ring) if ttl is not None else None
        try:
            return await self._begin() or await self._go_on()
        finally:
            if alarm is not None:
                alarm.cancel()
            await self._end_child()

    async def _begin(self) -> Ended | None:
        if ended := self._over():
            return ended
        if self._spec.fire == "exit" and self._run.state is not None:
            return Ended(
                self._run.run,
                "lost",
                "The relay was restarted while it ran, so how it ended isn't known; it isn't run a second time.",
            )
        # Recorded before the command runs: what may have begun is never begun again unnoticed.
        self._state = {"life": "starting", "last": self._gate.last}
        await self._reports.started(self._state)
        return await self._spawn()

    async def _spawn(self) -> Ended | None:
        spec, rig = self._spec, self._rig
        if rig.spawner is None:
            return Ended(self._run.run, "failed", "Commands can't be run here.")
        for attempt in range(_SPAWN_TRIES):
            try:
                self._child = await rig.spawner.spawn(rig.order(spec.command or "", self._run.root))
                break
            except FileNotFoundError as error:
                return Ended(self._run.run, "failed", str(error))
            except SpawnFailed as error:
                if not error.again or attempt == _SPAWN_TRIES - 1:
                    return Ended(self._run.run, "failed", str(error))
            await self._clock.sleep(min(_FIRST_PAUSE_SECONDS * 2**attempt, _LONGEST_PAUSE_SECONDS))
        assert self._child is not None
        self._exit = None
        self._began_ms = self._clock.now_ms()
        self._reading = Reading(
            self._child.stdout,
            self._child.stderr,
            self._clock,
            rig.alarms,
            self._take,
            rig.budget,
        )
        self._state = {
            "life": "running",
            "pid": self._child.pid,
            "at": self._began_ms,
            "last": self._gate.last,
        }
        await self._reports.advanced(self._state)
        return None

    def _take(self, tag: str, block: Block) -> None:
        fresh = not self._collected
        self._gate.judge(block, self._collected, tag)
        if fresh and self._collected:
            self._ready_at = self._clock.monotonic() + BATCH_SECONDS
            self._wake.set()

    def _ring(self) -> None:
        self._wake.set()

    async def _go_on(self) -> Ended:
        pause, short_lives = _FIRST_PAUSE_SECONDS, 0
        while True:
            if ended := await self._life():
                return ended
            assert self._exit is not None
            lived = (self._clock.now_ms() - self._began_ms) / 1000
            short_lives = short_lives + 1 if lived < _SHORT_LIFE_SECONDS else 0
            pause = pause if short_lives else _FIRST_PAUSE_SECONDS
            if not self._starts_again(self._exit) or short_lives >= _MOST_SHORT_LIVES:
                return await self._told_end(gave_up=short_lives >= _MOST_SHORT_LIVES)
            self._notes.append(f"[{told(self._exit.code, lived)}, so it was started again]")
            if ended := await self._rest(pause):
                return ended
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            if ended := await self._spawn():
                return ended

    def _starts_again(self, exit: Exit) -> bool:
        policy = self._spec.restart
        return policy == "always" or (policy == "on-failure" and exit.code != 0)

    async def _life(self) -> Ended | None:
        """One life of the command; None when it has ended by itself, and everything it said was taken in."""
        assert self._child is not None
        assert self._reading is not None
        ended: Ended | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._await_exit, self._child)
            while self._exit is None:
                if ended := await self._step():
                    break
            group.cancel_scope.cancel()
        if ended is None:
            await self._reading.to_the_end()
            await self._end_child()
        return ended

    async def _await_exit(self, child: Child) -> None:
        self._exit = await child.exited()
        self._wake.set()

    async def _step(self) -> Ended | None:
        """The next fire, the end of its time, or a pause until something happens."""
        self._wake = anyio.Event()
        now = self._clock.monotonic()
        expired = self._over()
        if self._collected and (expired or now >= self._due()):
            return await self._fire(self._gate.why(self._collected.count)) or expired
        if expired:
            return expired
        if self._collected and self._budget.to_tell(now):
            await self._reports.throttled(self._budget.next_at())
            return None
        await self._pause(self._due() if self._collected else None)
        return None

    def _due(self) -> float:
        return max(self._ready_at, self._window_ends, self._budget.next_at())

    async def _pause(self, until: float | None) -> None:
        alarm = self._rig.alarms.at(until, self._wake.set) if until is not None else None
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _rest(self, seconds: float) -> Ended | None:
        """A while without the command, in which what was collected may come due."""
        until = self._clock.monotonic() + seconds
        while (now := self._clock.monotonic()) < until:
            self._wake = anyio.Event()
            expired = self._over()
            if self._collected and (expired or now >= self._due()):
                if ended := await self._fire(self._gate.why(self._collected.count)):
                    return ended
            elif expired:
                return expired
            else:
                await self._pause(min(until, max(now, self._due())) if self._collected else until)
        return None

    async def _told_end(self, *, gave_up: bool) -> Ended:
        """The last fire: what wasn't told, then how it ended."""
        assert self._exit is not None
        how = told(self._exit.code, (self._clock.now_ms() - self._began_ms) / 1000)
        if gave_up:
            how += f"; it has ended {_MOST_SHORT_LIVES} times within a minute, so it isn't started again"
        if self._spec.fire == "exit":
            text, dropped = capped([*self._last_lines(), how])
            count = 1
        else:
            text, dropped, count = self._told()
            text = f"{text}\n{how}" if text else how
        await self._escalate(how, text, max(count, 1), dropped, last=True)
        return Ended(self._run.run, "done", f"The command {how}.")

    def _last_lines(self) -> list[str]:
        out = self.output()
        lines = list(out.stdout[-_SHOWN_AT_EXIT:])
        if out.stderr:
            lines += ["stderr:", *out.stderr[-_SHOWN_AT_EXIT:]] if lines else out.stderr[-_SHOWN_AT_EXIT:]
        return lines

    async def _fire(self, why: str) -> Ended | None:
        number = self._fires + 1
        last = self._spec.once or (self._spec.max_fires is not None and number >= self._spec.max_fires)
        text, dropped, count = self._told()
        await self._escalate(why, text, count, dropped, last=last)
        return self._over() if last else None

    def _told(self) -> tuple[str, int, int]:
        """What was collected, as text, with what of it is left out and how many lines it was."""
        text, dropped = self._collected.text()
        count = self._collected.count
        text = "\n".join([*self._notes, text] if text else self._notes)
        self._notes.clear()
        self._collected = Collected()
        return text, dropped, count

    async def _escalate(self, why: str, text: str, count: int, dropped: int, *, last: bool) -> None:
        number = self._fires + 1
        state = {**self._state, "last": self._gate.last}
        await self._reports.fired(Fire(self._run.run, number, why, text, count, dropped, state, last))
        self._fires = number
        self._state = state
        now = self._clock.monotonic()
        self._budget.fired(now)
        self._window_ends = now + self._spec.window_ms / 1000

    def _over(self) -> Ended | None:
        """The end that the fires so far, or the time, call for."""
        spec, run = self._spec, self._run.run
        if spec.once and self._fires > 0:
            return Ended(run, "done", "It has fired, and was to fire once.")
        if spec.max_fires is not None and self._fires >= spec.max_fires:
            return Ended(run, "max-fires", f"It has fired {self._fires} times, which was the most.")
        if spec.ttl_ms is not None and self._clock.now_ms() >= self._run.armed_at + spec.ttl_ms:
            return Ended(run, "ttl", f"Its time ({rough_duration(spec.ttl_ms)}) is up.")
        return None

    async def _end_child(self) -> None:
        """Nothing of it is left, and nothing more is read."""
        if self._reading is not None:
            self._reading.close()
        if self._child is not None:
            with anyio.CancelScope(shield=True):
                await self._child.end()
            self._child = None

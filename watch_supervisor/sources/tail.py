"""A watched log: the lines that are added to a file, each once, through rotation, truncation and restarts.

It reads on when the kernel tells of a change, every 30 s by itself as well, and every second where the kernel tells
nothing. What counts is collected for 200 ms, then told; what follows within the window comes as one fire. Where
reading stands goes with each fire, so a restart neither misses nor repeats a line. It reads in worker threads, 64 KiB
of a line at most, and never writes the file.
"""

import functools
import hashlib
import math
from collections import deque
from collections.abc import Collection

import anyio
import anyio.from_thread
import anyio.to_thread

from watch_supervisor.content import look
from watch_supervisor.line_gate import LineGate
from watch_supervisor.moments import rough_duration
from watch_supervisor.output.collected import Collected
from watch_supervisor.output.framing import Block, Framer
from watch_supervisor.patterns import compile_block_pattern
from watch_supervisor.places import typed
from watch_supervisor.plain_text import plain, without_escapes
from watch_supervisor.runs import Clock, Ended, Fire, Run, State
from watch_supervisor.sources.around import Around, Expecting
from watch_supervisor.sources.file import POLL_SECONDS
from watch_supervisor.sources.following import QUIET_SECONDS, Follower, Piece
from watch_supervisor.sources.reports import Reports

BATCH_SECONDS = 0.2
PARTIAL_SECONDS = 1.0
LONGEST_RATE = 32 << 20
"""Bytes a second that one tail reads at most."""
_SAVE_SECONDS = 60.0
_SHORTEST_PAUSE = 0.001
_LINGER_LOOK_SECONDS = 0.5
_REFUSED_SECONDS = 2.0
_EXPECTED_SECONDS = 60.0
_MOST_EXPECTED = 32
_FIRST_LOOKS = 5
_NOTES = {
    "rotated": "the file was rotated",
    "truncated": "the file was truncated",
    "replaced": "another file took its place",
    "rewritten": "the file was written anew",
    "edited": "the file was edited",
}


class LinesGate:
    """Which lines of a block count, and why they do."""

    def __init__(self, run: Run) -> None:
        spec = run.spec
        self._each = LineGate(spec)
        self._pattern = compile_block_pattern(spec.match) if spec.match is not None else None
        self._changes = spec.fire == "change"
        last = (run.state or {}).get("last")
        self.last = last if isinstance(last, str) else None
        """On change: the digest of the line that counted last."""
        self.why = ""

    @property
    def takes_all(self) -> bool:
        """Whether a line counts whatever it holds, so that even the start of one does."""
        return not self._each.asks

    def judge(self, block: Block) -> list[bytes]:
        """Those that count. `why` is then the reason of the last one."""
        data = without_escapes(block.data)
        if self._pattern is not None:
            lines = self._pattern.lines_of(data)
        else:
            lines = [line for line in data[:-1].split(b"\n") if line.strip()]
        if self._each.asks:
            lines = [line for line in lines if self._counts(line)]
        return self._changed(lines) if self._changes else lines

    def _counts(self, line: bytes) -> bool:
        why = self._each.why(line.decode("utf-8", "replace"))
        self.why = why or self.why
        return why is not None

    def _changed(self, lines: list[bytes]) -> list[bytes]:
        found: list[bytes] = []
        for line in lines:
            digest = hashlib.sha256(line).hexdigest()[:16]
            if digest != self.last:
                self.last = digest
                found.append(line)
        return found

    def told(self, count: int, notes: Collection[str]) -> str:
        """Why so many lines escalate, in a few words."""
        lines = "1 line" if count == 1 else f"{count:,} lines"
        what = self.why if self._each.asks else f"{lines} that changed" if self._changes else lines
        more = [lines] if self._each.asks and count > 1 else []
        return ", ".join([what, *more, *(_NOTES[note] for note in notes)])


class TailSource:
    """One run over one log."""

    def __init__(self, run: Run, around: Around, reports: Reports) -> None:
        self._run = run
        self._path = run.spec.path or ""
        self._around = around
        self._clock: Clock = around.clock
        self._reports = reports
        self._gate = LinesGate(run)
        self._framer = Framer()
        self._collected = Collected()
        self._notes: list[str] = []
        skips = (run.state or {}).get("skips") is True
        self._skips = skips
        """The rest of the line was told already, with its start."""
        self._follower = Follower(
            run.root, self._path, confined=run.confined, state=run.state, holds=around.holds
        )
        self._typed = typed(run.root, self._path)
        self._real = self._typed
        self._wake = anyio.Event()
        self._touched = True
        self._look_at = 0.0
        self._listening = False
        self._partial_at: float | None = None
        self._fire_at: float | None = None
        self._window_ends = 0.0
        self._save_at: float | None = None
        self._refused_since: float | None = None
        self._fires = run.fires
        self._expected: deque[tuple[str, float]] = deque(maxlen=_MOST_EXPECTED)
        self._own_until = 0

    def expect(self, names: Collection[str], digest: str) -> None:
        """If one of the absolute `names` is this file: what makes its content have this sha256 doesn't fire."""
        if self._typed in names or self._real in names:
            self._expected.append((digest, self._clock.monotonic() + _EXPECTED_SECONDS))

    @property
    def expected(self) -> deque[tuple[str, float]]:
        """Digests of writes that don't fire, each with until when."""
        return self._expected

    def take_over(self, before: Expecting) -> None:
        """Expect the writes that `before`, which broke, still expected."""
        self._expected = before.expected

    async def live(self) -> Ended:
        """Until the watch is done, for whatever reason of its own. Cancel it to stop it."""
        ttl = self._run.spec.ttl_ms
        alarm = self._around.alarms.at_wall(self._run.armed_at + ttl, self._ring) if ttl is not None else None
        try:
            return await self._begin() or await self._go_on()
        finally:
            self._around.folders.forget(self._touch)
            self._around.backstop.forget(self._touch)
            self._follower.close()
            if alarm is not None:
                alarm.cancel()

    async def _begin(self) -> Ended | None:
        if ended := self._over():
            return ended
        if self._run.state is not None:
            await self._reports.started(self._run.state)
            return None
        piece = await self._step()
        for _ in range(_FIRST_LOOKS):
            if piece.kind != "trouble":
                break
            await self._clock.sleep(POLL_SECONDS)
            piece = await self._step()
        if piece.kind in ("refused", "trouble"):
            return self._failed(piece.detail)
        await self._reports.started(self._state())
        return None

    async def _go_on(self) -> Ended:
        while True:
            expired = self._over()
            if self._touched or self._clock.monotonic() >= self._look_at:
                self._touched = False
                if ended := await self._read():
                    return await self._told_before(ended)
            now = self._clock.monotonic()
            if self._collected:
                if expired or (self._fire_at is not None and now >= self._fire_at):
                    if ended := await self._fire() or expired:
                        return ended
                    continue
            elif expired := self._over():
                return expired
            elif self._save_at is not None and now >= self._save_at:
                self._save_at = None
                await self._reports.advanced(self._state())
                continue
            if self._partial_at is not None and now >= self._partial_at:
                self._judge_partial()
                continue
            await self._pause()

    async def _told_before(self, ended: Ended) -> Ended:
        """What was collected is told before the watch ends for a reason of its own."""
        if self._collected:
            await self._fire()
        return ended

    def _touch(self) -> None:
        self._touched = True
        self._wake.set()

    def _ring(self) -> None:
        self._wake.set()

    async def _pause(self) -> None:
        """Until something may have changed, or the next thing this run has to do by itself."""
        waits = [self._look_at, self._partial_at]
        waits.append(self._fire_at if self._collected else self._save_at)
        self._wake = anyio.Event()
        if self._touched:
            return
        until = min(at for at in waits if at is not None)
        alarm = self._around.alarms.at(until, self._wake.set) if until < math.inf else None
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _read(self) -> Ended | None:
        """All there is to read now, with a bound on how fast."""
        if self._expected:
            await self._clock.sleep(QUIET_SECONDS)  # a write in parts is known only when it is whole
            await self._look_for_own()
        while True:
            began = self._clock.monotonic()
            before = self._follower.seen
            piece = await self._step()
            if piece.kind in ("refused", "trouble"):
                return self._refused(piece)
            self._refused_since = None
            self._take(piece, before)
            if not piece.more:
                break
            due = self._fire_at is not None and self._clock.monotonic() >= self._fire_at
            if due or self._over():
                self._touched = True
                return None
            pause = len(piece.data) / LONGEST_RATE + began - self._clock.monotonic()
            await self._clock.sleep(pause if pause >= _SHORTEST_PAUSE else 0.0)
        self._own_until = 0
        every = math.inf if self._listening else POLL_SECONDS
        if self._follower.lingers:
            every = _LINGER_LOOK_SECONDS
        if self._follower.waits:
            every = QUIET_SECONDS
        self._look_at = self._clock.monotonic() + every
        return None

    async def _step(self) -> Piece:
        """One step of the follower, with its names listened to."""
        async with self._around.looks:
            piece = await anyio.to_thread.run_sync(
                self._follower.step,
                self._clock.monotonic(),
                abandon_on_cancel=True,
                limiter=self._around.threads,
            )
        if piece.links:
            self._real = piece.real or self._real
            self._listening, new = self._around.folders.listen(self._touch, piece.links)
            self._touched = self._touched or new
        self._around.backstop.watch(self._touch, self._run.root, self._path, self._follower.signature)
        return piece

    def _refused(self, piece: Piece) -> Ended | None:
        """A moment's refusal is no end: tools change rights and kinds of files in steps."""
        now = self._clock.monotonic()
        self._look_at = now + POLL_SECONDS
        if piece.kind == "trouble":
            return None
        self._refused_since = now if self._refused_since is None else self._refused_since
        if piece.forbidden or now >= self._refused_since + _REFUSED_SECONDS:
            return self._failed(piece.detail)
        return None

    def _take(self, piece: Piece, before: int) -> None:
        """Judge what a step found. `before` is how far the file had been read."""
        if piece.ends:
            if piece.ends == "flush" and not self._skips:
                self._judge(self._framer.flush(final=True))
            self._framer, self._skips, self._partial_at = Framer(), False, None
            before = self._follower.seen - len(piece.data)
        if piece.note and (piece.note != "edited" or not self._own_until):
            self._notes = [note for note in self._notes if note != piece.note] + [piece.note]
        if piece.lines and self._own_until:
            self._save_at = self._clock.monotonic()
        for line in () if self._own_until else piece.lines:
            self._judge(Block(line + b"\n"))
        data = piece.data
        if own := min(len(data), max(0, self._own_until - before)):
            # The agent's own: not judged, and not told after a restart either.
            self._framer, data, before = Framer(), data[own:], before + own
            self._follower.unfinished, self._save_at = before, self._clock.monotonic()
        if self._skips:
            end = data.find(b"\n")
            self._skips = end < 0
            data, before = (b"", before + len(data)) if end < 0 else (data[end + 1 :], before + end + 1)
            self._follower.unfinished = before
        if data:
            for block in self._framer.feed(data):
                self._judge(block)
            end = data.rfind(b"\n")
            if end >= 0:
                self._follower.unfinished = before + end + 1
        partial = self._framer.has_partial
        self._partial_at = self._clock.monotonic() + PARTIAL_SECONDS if partial else None
        if (piece.data or piece.lines or piece.ends) and self._save_at is None:
            self._save_at = self._clock.monotonic() + _SAVE_SECONDS

    def _judge(self, block: Block | None) -> None:
        lines = self._gate.judge(block) if block is not None else []
        if block is None or not lines:
            return
        self._collected.add(lines, dropped=block.dropped)
        if self._fire_at is None:
            self._fire_at = max(self._clock.monotonic() + BATCH_SECONDS, self._window_ends)

    def _judge_partial(self) -> None:
        """A line whose end doesn't come. Where only some lines count, one that doesn't yet may when it is whole."""
        self._partial_at = None
        if self._gate.takes_all:
            self._judge(self._framer.flush())
            self._follower.unfinished = self._follower.seen - len(self._framer.partial)
            return
        last, why = self._gate.last, self._gate.why
        if self._gate.judge(Block(self._framer.partial + b"\n")):
            self._gate.last = last
            self._judge(self._framer.flush(final=True))
            self._follower.unfinished, self._skips = self._follower.seen, True
        else:
            self._gate.last, self._gate.why = last, why

    async def _look_for_own(self) -> None:
        """Whether the file is now as the agent said that it would write it."""
        now = self._clock.monotonic()
        while self._expected and self._expected[0][1] < now:
            self._expected.popleft()
        if not self._expected:
            return
        async with self._around.looks:
            seen = await anyio.to_thread.run_sync(
                functools.partial(
                    look,
                    self._run.root,
                    self._path,
                    confined=self._run.confined,
                    check=anyio.from_thread.check_cancelled,
                ),
                abandon_on_cancel=True,
                limiter=self._around.threads,
            )
        for entry in self._expected:
            if entry[0] == seen.digest:
                self._expected.remove(entry)
                self._own_until = seen.size
                return

    # -- telling ------------------------------------------------------------------------------------------------------

    async def _fire(self) -> Ended | None:
        spec = self._run.spec
        text, dropped = self._collected.text()
        count = self._collected.count
        number = self._fires + 1
        last = spec.once or (spec.max_fires is not None and number >= spec.max_fires)
        why = plain(self._gate.told(count, self._notes))
        self._collected, self._notes = Collected(), []
        self._fire_at = self._save_at = None
        await self._reports.fired(Fire(self._run.run, number, why, text, count, dropped, self._state(), last))
        self._fires = number
        self._window_ends = self._clock.monotonic() + spec.window_ms / 1000
        return self._over() if last else None

    def _state(self) -> State:
        """Where reading stands, with what the gate remembers."""
        more: State = {"skips": True} if self._skips else {}
        if self._gate.last is not None:
            more["last"] = self._gate.last
        return {**self._follower.state(), **more}

    def _over(self) -> Ended | None:
        """The end that the fires so far, or the time, call for."""
        spec, run = self._run.spec, self._run.run
        if spec.once and self._fires > 0:
            return Ended(run, "done", "It has fired, and was to fire once.")
        if spec.max_fires is not None and self._fires >= spec.max_fires:
            return Ended(run, "max-fires", f"It has fired {self._fires} times, which was the most.")
        if spec.ttl_ms is not None and self._clock.now_ms() >= self._run.armed_at + spec.ttl_ms:
            return Ended(run, "ttl", f"Its time ({rough_duration(spec.ttl_ms)}) is up.")
        return None

    def _failed(self, detail: str) -> Ended:
        return Ended(self._run.run, "failed", plain(detail).replace("\n", " "))

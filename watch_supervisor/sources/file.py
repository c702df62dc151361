"""A watched file: notices every kind of edit, and fires with a unified diff against what it fired with last.

It looks when the kernel tells of a change to a name on the way to the file, waits for 150 ms of quiet (at
most 1 s), and compares content, never times. Every 30 s it looks by itself as well, and every second where
there is no inotify (macOS) or a folder can't be watched. It reads in worker threads and never writes the
file. While the snapshots refuse it goes on looking, and keeps what it has to tell until they are back.
"""

import functools
import math
import zlib
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

import anyio
import anyio.from_thread
import anyio.to_thread

from watch_supervisor.content import LARGEST_TEXT, Look, Signature, look, signature
from watch_supervisor.diffs import unified_diff
from watch_supervisor.gate import Gate, Value
from watch_supervisor.keeping import Keeping, NotNow
from watch_supervisor.moments import rough_duration
from watch_supervisor.places import typed
from watch_supervisor.plain_text import capped, plain, plain_lines
from watch_supervisor.runs import Ended, Fire, Run, State
from watch_supervisor.sources.around import Around, Expecting
from watch_supervisor.sources.backstop import BACKSTOP_SECONDS
from watch_supervisor.sources.reports import Reports

QUIET_SECONDS = 0.15
LONGEST_UNREST_SECONDS = 1.0
POLL_SECONDS = 1.0
_GONE_SECONDS = 1.0
_REFUSED_SECONDS = 2.0
_EXPECTED_SECONDS = 60.0
_MOST_EXPECTED = 32
_FRESH_MS = 2_000
_MOST_PENDING_LINES = 4_000
_FIRST_LOOKS = 5


@dataclass(frozen=True, slots=True)
class _Baseline:
    """What later looks are compared with. `data` is None when the bytes are with the snapshots (or
    nowhere).
    """

    digest: str | None
    kind: str
    size: int
    data: bytes | None = None


class FileSource:
    """One run over one file."""

    def __init__(self, run: Run, around: Around, reports: Reports) -> None:
        self._run = run
        self._path = run.spec.path or ""
        self._around = around
        self._clock = around.clock
        self._reports = reports
        self._keeping = Keeping(run.run, around.clock, around.snapshots)
        self._gate = Gate(run.spec)
        self._label = plain(self._path).replace("\n", " ").replace("\t", " ")
        self._typed = typed(run.root, self._path)
        self._real = self._typed
        self._wake = anyio.Event()
        self._touched_at: float | None = None
        self._listening = False
        self._signature: Signature | None = None
        self._look_again: float | None = None
        self._next_check = 0.0
        self._rest_until = 0.0
        self._missing_since: float | None = None
        self._refused_since: float | None = None
        self._base = _Baseline(None, "missing", 0)
        self._seen: str | None = None
        self._pending: Look | None = None
        self._why = ""
        self._count = 0
        self._matches: list[str] = []
        self._matches_dropped = 0
        self._save_at: float | None = None
        self._window_ends = 0.0
        self._fires = run.fires
        self._expected: deque[tuple[str, float]] = deque(maxlen=_MOST_EXPECTED)

    def expect(self, names: Collection[str], digest: str) -> None:
        """If one of the absolute `names` is this file: content with this sha256 doesn't fire, for a minute."""
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
            if alarm is not None:
                alarm.cancel()

    async def _begin(self) -> Ended | None:
        if ended := self._over():
            return ended
        seen = await self._look()
        for _ in range(_FIRST_LOOKS):
            if seen.kind != "trouble":
                break
            await self._clock.sleep(POLL_SECONDS)
            seen = await self._look()
        if seen.kind in ("refused", "trouble"):
            return self._failed(seen.detail)
        if too_large := self._too_large(seen):
            return too_large
        if self._run.state is None:
            base = self._baseline(seen)
            while not await self._kept(base):
                if ended := self._over():
                    return ended
                await self._clock.sleep(max(0.0, self._keeping.ready_at - self._clock.monotonic()))
            self._base = _bare(base)
            state = _state(base)
        else:
            state = self._run.state
            self._base = _restored(state)
            self._touched_at = self._clock.monotonic()
        self._seen = self._base.digest
        await self._reports.started(state)
        return None

    async def _go_on(self) -> Ended:
        if not self._listening:
            # Spread over the interval, by the run's id, so that many runs don't all check at one moment.
            share = zlib.crc32(self._run.run.encode("utf-8", "replace")) % 1000 / 1000
            self._next_check = self._clock.monotonic() + POLL_SECONDS * (0.1 + 0.9 * share)
        while True:
            try:
                if ended := await self._step():
                    return ended
            except NotNow:
                again = self._keeping.ready_at
                self._look_again = again if self._look_again is None else min(again, self._look_again)
                await self._pause()

    async def _step(self) -> Ended | None:
        """The next thing there is to do, or a pause. `NotNow` leaves everything as it was before it."""
        expired = self._over()
        if self._touched_at is not None:
            await self._settle()
            if ended := await self._observe(await self._look()):
                if self._has_pending():
                    await self._fire()
                return ended
        now = self._clock.monotonic()
        if self._has_pending():
            if now >= self._keeping.ready_at and (now >= self._window_ends or expired):
                return await self._fire()
        elif expired := self._over():
            return expired
        elif self._save_at is not None and now >= max(self._save_at, self._keeping.ready_at):
            await self._advance()
            return None
        if now >= self._next_check:
            await self._check()
        else:
            await self._pause()
        return None

    def _touch(self) -> None:
        self._touched_at = self._clock.monotonic()
        self._wake.set()

    def _ring(self) -> None:
        self._wake.set()

    async def _pause(self) -> None:
        """Until something may have changed, or the next thing this run has to do by itself."""
        until = self._next_check
        if self._has_pending():
            until = min(until, max(self._window_ends, self._keeping.ready_at))
        elif self._save_at is not None:
            until = min(until, max(self._save_at, self._keeping.ready_at))
        if self._look_again is not None:
            until = min(until, self._look_again)
        self._wake = anyio.Event()
        if self._touched_at is not None:
            return
        alarm = self._around.alarms.at(until, self._wake.set) if until < math.inf else None
        try:
            await self._wake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()
        if self._look_again is not None and self._clock.monotonic() >= self._look_again:
            self._touched_at = self._touched_at or self._look_again - QUIET_SECONDS

    async def _settle(self) -> None:
        """Wait for quiet, but not for long; and after a costly look, rest for a while."""
        began = self._clock.monotonic()
        while True:
            quiet = (self._touched_at if self._touched_at is not None else began) + QUIET_SECONDS
            until = max(min(quiet, began + LONGEST_UNREST_SECONDS), self._rest_until)
            seconds = until - self._clock.monotonic()
            if seconds <= 0:
                break
            await self._clock.sleep(seconds)
        self._touched_at = None
        self._look_again = None

    async def _check(self) -> None:
        """Where nobody gives notice: has the file changed?"""
        self._next_check = self._clock.monotonic() + POLL_SECONDS
        now = await anyio.to_thread.run_sync(
            functools.partial(signature, self._run.root, self._path),
            abandon_on_cancel=True,
            limiter=self._around.threads,
        )
        if now is None or now != self._signature:
            self._touched_at = self._touched_at or self._clock.monotonic()

    async def _look(self) -> Look:
        """Look, and listen on the way that was found; once more if that way is new."""
        # A few at a time, so that a thousand that start together, or change together, don't hold up the loop.
        async with self._around.looks:
            return await self._look_now()

    async def _look_now(self) -> Look:
        began = self._clock.monotonic()
        seen = Look("trouble", detail=f"{self._path} keeps moving.")
        for _ in range(3):
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
            complete, new = self._around.folders.listen(self._touch, seen.links)
            self._listening = complete and bool(seen.links)
            if not new:
                break
        took = self._clock.monotonic() - began
        if seen.kind == "large":
            self._rest_until = self._clock.monotonic() + min(10 * took, BACKSTOP_SECONDS)
        self._real = seen.real or self._real
        self._signature = seen.signature
        if self._listening:
            self._around.backstop.watch(self._touch, self._run.root, self._path, seen.signature)
            self._next_check = math.inf
            return seen
        self._around.backstop.forget(self._touch)
        if self._is_fresh(seen):
            self._signature = None
        self._next_check = min(self._next_check, self._clock.monotonic() + POLL_SECONDS)
        return seen

    def _is_fresh(self, seen: Look) -> bool:
        """Written so lately that one more write, within the file system's clock tick, wouldn't show."""
        written = seen.signature[-1] // 1_000_000 if seen.signature is not None else 0
        return abs(self._clock.now_ms() - written) < _FRESH_MS

    async def _observe(self, seen: Look) -> Ended | None:
        now = self._clock.monotonic()
        if seen.kind == "refused":
            self._refused_since = now if self._refused_since is None else self._refused_since
            if seen.forbidden or now >= self._refused_since + _REFUSED_SECONDS:
                return self._failed(seen.detail)
            self._look_again = self._refused_since + _REFUSED_SECONDS
            return None
        self._refused_since = None
        if seen.kind == "trouble":
            self._look_again = now + POLL_SECONDS
            return None
        if seen.kind == "missing" and self._base.digest is not None:
            # Many tools delete a file and write it anew: a moment's absence is no news.
            self._missing_since = now if self._missing_since is None else self._missing_since
            if now < self._missing_since + _GONE_SECONDS:
                self._look_again = self._missing_since + _GONE_SECONDS
                return None
        else:
            self._missing_since = None
        if too_large := self._too_large(seen):
            return too_large
        if seen.digest == self._seen:
            return None
        if (own := self._was_expected(seen.digest)) and (self._gate.needs_lines or not self._has_pending()):
            self._base = self._baseline(seen)
            self._save_at = now
        elif self._gate.needs_lines and not own:
            await self._observe_match(seen)
        else:
            self._observe_change(seen)
        self._seen = seen.digest
        return None

    def _observe_change(self, seen: Look) -> None:
        why = self._gate.judge(Value(self._base.digest), Value(seen.digest))
        if why is None:
            self._pending, self._count = None, 0
            return
        self._pending, self._why = seen, why
        self._count += 1

    async def _observe_match(self, seen: Look) -> None:
        """Lines that matched are kept at once, since the next edit may take them away again."""
        before = await self._before()
        why, lines, dropped = await anyio.to_thread.run_sync(
            functools.partial(
                _matching_diff, self._gate, self._base.digest, before or b"", seen, self._label
            ),
            abandon_on_cancel=True,
            limiter=self._around.threads,
        )
        self._base = self._baseline(seen)
        if why is not None:
            self._why = why
            self._count += 1
            room = _MOST_PENDING_LINES - len(self._matches)
            self._matches += lines[:room]
            self._matches_dropped += dropped + max(0, len(lines) - room)
        elif self._save_at is None:
            self._save_at = self._clock.monotonic() + BACKSTOP_SECONDS

    def _was_expected(self, digest: str | None) -> bool:
        now = self._clock.monotonic()
        while self._expected and self._expected[0][1] < now:
            self._expected.popleft()
        for entry in self._expected:
            if entry[0] == digest:
                self._expected.remove(entry)
                return True
        return False

    def _has_pending(self) -> bool:
        return self._pending is not None or bool(self._matches)

    async def _advance(self) -> None:
        """Record progress that fires nothing."""
        await self._keep(self._base)
        self._base = _bare(self._base)
        self._save_at = None
        await self._reports.advanced(_state(self._base))

    async def _fire(self) -> Ended | None:
        spec = self._run.spec
        base = self._base if self._pending is None else self._baseline(self._pending)
        await self._keep(base)
        if self._pending is not None:
            text, dropped = await self._change_text(self._pending)
        else:
            text, dropped = capped(self._matches)
            dropped += self._matches_dropped
        number = self._fires + 1
        last = spec.once or (spec.max_fires is not None and number >= spec.max_fires)
        self._base = _bare(base)
        why, count = plain(self._why), self._count
        self._pending, self._count, self._matches, self._matches_dropped = None, 0, [], 0
        self._save_at = None
        await self._reports.fired(Fire(self._run.run, number, why, text, count, dropped, _state(base), last))
        self._fires = number
        self._window_ends = self._clock.monotonic() + spec.window_ms / 1000
        return self._over() if last else None

    async def _change_text(self, seen: Look) -> tuple[str, int]:
        before = self._base
        if seen.kind == "missing":
            return f"{self._label} was deleted ({_bytes(before.size)}).", 0
        if seen.kind == "large" or before.kind == "large":
            return self._facts(seen, f"a file larger than {LARGEST_TEXT >> 20} MiB"), 0
        if seen.kind == "binary" or before.kind == "binary":
            return self._facts(seen, "a file that isn't UTF-8 text"), 0
        old = await self._before()
        if old is None:
            return self._facts(seen, "this one: the text before isn't kept any more"), 0
        lines = await anyio.to_thread.run_sync(
            functools.partial(_diff, old, seen.data, self._label),
            abandon_on_cancel=True,
            limiter=self._around.threads,
        )
        return capped(lines)

    def _facts(self, seen: Look, what: str) -> str:
        return (
            f"{self._label}: {_bytes(seen.size)} (before: {_bytes(self._base.size)}), sha256 {seen.digest}. "
            f"There is no diff for {what}."
        )

    def _baseline(self, seen: Look) -> _Baseline:
        keeps = seen.kind == "text" or (seen.kind == "binary" and self._gate.needs_lines)
        return _Baseline(seen.digest, seen.kind, seen.size, seen.data if keeps else None)

    async def _before(self) -> bytes | None:
        """The bytes of the baseline; None when they are kept nowhere."""
        if self._base.data is not None or self._base.digest is None:
            return self._base.data or b""
        return await self._keeping.get(self._base.digest)

    async def _keep(self, base: _Baseline) -> None:
        """Its bytes go to the snapshots, before a state may name them. Raises `NotNow`."""
        if base.data is not None and base.digest is not None:
            await self._keeping.put(base.data)

    async def _kept(self, base: _Baseline) -> bool:
        try:
            await self._keep(base)
        except NotNow:
            return False
        return True

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

    def _too_large(self, seen: Look) -> Ended | None:
        if seen.kind != "large" or not self._gate.needs_lines:
            return None
        limit = f"{LARGEST_TEXT >> 20} MiB"
        return self._failed(
            f"{self._path} is larger than {limit}, too large to look for lines in it; watch it without a pattern."
        )


def _matching_diff(
    gate: Gate, digest: str | None, before: bytes, seen: Look, label: str
) -> tuple[str | None, list[str], int]:
    """Why the step to `seen` escalates (None: it doesn't), its diff, and how many lines that diff leaves
    out.
    """
    old, new = plain_lines(before), plain_lines(seen.data)
    why = gate.judge(Value(digest, old), Value(seen.digest, new))
    if why is None:
        return None, [], 0
    text, dropped = capped(unified_diff(old, new, label))
    return why, text.split("\n"), dropped


def _restored(state: State) -> _Baseline:
    """The baseline of an earlier life. A state that isn't ours counts as an absent file."""
    digest, kind, size = state.get("sha256"), state.get("kind"), state.get("size")
    if not isinstance(digest, str) or not isinstance(kind, str) or not isinstance(size, int):
        return _Baseline(None, "missing", 0)
    return _Baseline(digest, kind, size)


def _state(base: _Baseline) -> State:
    return {"sha256": base.digest, "kind": base.kind, "size": base.size}


def _bare(base: _Baseline) -> _Baseline:
    """Without the bytes, which the snapshots have."""
    return _Baseline(base.digest, base.kind, base.size)


def _diff(old: bytes, new: bytes, label: str) -> list[str]:
    return unified_diff(plain_lines(old), plain_lines(new), label)


def _bytes(size: int) -> str:
    return f"{size:,} bytes"

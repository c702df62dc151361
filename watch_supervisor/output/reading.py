"""The two pipes of a command, read as they fill: 64 KiB a turn of the loop, 256 KiB of one that floods, and at most so
many bytes a second.

Over its budget a command isn't read for a moment: its pipe fills, and the kernel holds it. Each stream has a
framer and a ring of its own. It never judges what it reads.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from watch_supervisor.alarms import Alarm, Alarms
from watch_supervisor.output.framing import Block, Framer
from watch_supervisor.output.ring import Ring
from watch_supervisor.runs import Clock

READ_BYTES = 64 * 1024
FLOOD_BYTES = 256 * 1024
SILENCE_SECONDS = 1.0
AFTER_EXIT_SECONDS = 1.0
BYTES_A_SECOND = 32 * 1024 * 1024
_FULL_READS = 4
_LARGEST_PIPE_BYTES = 1 << 20
_BURST_BYTES = 256 * 1024
_SHORTEST_PAUSE_SECONDS = 0.002
_THROTTLED_FOR_SECONDS = 2.0

Sink = Callable[[str, Block], None]


@dataclass(slots=True)
class Flow:
    """What went through."""

    bytes_read: int = 0
    dropped: int = 0
    """Bytes beyond the longest line."""
    pauses: int = 0


class Stream:
    """One pipe."""

    def __init__(self, tag: str, fd: int) -> None:
        self.tag = tag
        self.fd = fd
        self.framer = Framer()
        self.ring = Ring()
        self.open = True
        self.read_bytes = READ_BYTES
        self._full_reads = 0
        self.read_at = 0.0
        self.alarm: Alarm | None = None

    def read(self) -> bytes:
        """What is there now; nothing when it has ended. BlockingIOError when nothing is there.

        A pipe that is full at each read gets larger, and so do the reads: what a turn of the loop costs is then shared
        by four times as much. Most pipes stay as small as they are.
        """
        data = os.read(self.fd, self.read_bytes)
        if len(data) == READ_BYTES and self._full_reads < _FULL_READS:
            self._full_reads += 1
            if self._full_reads == _FULL_READS:
                with contextlib.suppress(OSError):
                    fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, FLOOD_BYTES)
                    self.read_bytes = FLOOD_BYTES
        return data


class Reading:
    """Both streams of one command. `budget` is bytes a second, None for no bound.

    `sink` gets each block with its stream's tag (`""` or `"stderr: "`), from within the loop.
    """

    def __init__(
        self,
        stdout: int,
        stderr: int,
        clock: Clock,
        alarms: Alarms,
        sink: Sink,
        budget: int | None = BYTES_A_SECOND,
    ) -> None:
        self.flow = Flow()
        self.ended = anyio.Event()
        """Nothing more can come."""
        self.out, self.err = Stream("", stdout), Stream("stderr: ", stderr)
        self._clock = clock
        self._alarms = alarms
        self._sink = sink
        self._budget = budget
        self._tokens = float(_BURST_BYTES)
        self._filled_at = clock.monotonic()
        self._paused_at: float | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._resume()

    @property
    def is_open(self) -> bool:
        """Whether more may come."""
        return self.out.open or self.err.open

    @property
    def throttled(self) -> bool:
        """Whether it was held back within the last moments."""
        return (
            self._paused_at is not None and self._clock.monotonic() < self._paused_at + _THROTTLED_FOR_SECONDS
        )

    async def to_the_end(self) -> None:
        """For a command that has ended: take in what is still in the pipes, and close them. Something that it left
        behind may hold them open, and gets a second.
        """
        with anyio.move_on_after(AFTER_EXIT_SECONDS):
            await self.ended.wait()
        self._finish()

    def _finish(self) -> None:
        """Read what is in the pipes now, at most what fits into one, whatever the budget."""
        for stream in (self.out, self.err):
            left = _LARGEST_PIPE_BYTES
            while stream.open and left > 0 and (size := self._read(stream)):
                left -= size
            if stream.open:
                self._end(stream)

    def close(self) -> None:
        """Close the pipes; what they hold isn't read."""
        if self._resuming is not None:
            self._resuming.cancel()
        for stream in (self.out, self.err):
            self._shut(stream)

    def _resume(self) -> None:
        self._resuming = None
        for stream in (self.out, self.err):
            if stream.open:
                self._loop.add_reader(stream.fd, self._readable, stream)

    def _pause(self, seconds: float) -> None:
        for stream in (self.out, self.err):
            if stream.open:
                self._loop.remove_reader(stream.fd)
        self.flow.pauses += 1
        self._paused_at = self._clock.monotonic()
        self._resuming = self._loop.call_later(max(seconds, _SHORTEST_PAUSE_SECONDS), self._resume)

    def _readable(self, stream: Stream) -> None:
        size = self._read(stream)
        if size and self._budget is not None:
            now = self._clock.monotonic()
            self._tokens = min(_BURST_BYTES, self._tokens + (now - self._filled_at) * self._budget) - size
            self._filled_at = now
            if self._tokens < 0:
                self._pause(-self._tokens / self._budget)

    def _read(self, stream: Stream) -> int:
        """What is there now, at most 64 KiB of it; how much."""
        try:
            data = stream.read()
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self._end(stream)
            return 0
        stream.read_at = self._clock.monotonic()
        self.flow.bytes_read += len(data)
        for block in stream.framer.feed(data):
            self._take(stream, block)
        if stream.alarm is None and stream.framer.has_partial:
            self._watch_silence(stream)
        return len(data)

    def _take(self, stream: Stream, block: Block) -> None:
        self.flow.dropped += block.dropped
        stream.ring.add(block)
        self._sink(stream.tag, block)

    def _watch_silence(self, stream: Stream) -> None:
        def silent() -> None:
            stream.alarm = None
            if not stream.open or not stream.framer.has_partial:
                return
            if self._clock.monotonic() < stream.read_at + SILENCE_SECONDS:
                self._watch_silence(stream)
            elif block := stream.framer.flush():
                self._take(stream, block)

        stream.alarm = self._alarms.at(stream.read_at + SILENCE_SECONDS, silent)

    def _end(self, stream: Stream) -> None:
        if block := stream.framer.flush(final=True):
            self._take(stream, block)
        self._shut(stream)

    def _shut(self, stream: Stream) -> None:
        if not stream.open:
            return
        stream.open = False
        if stream.alarm is not None:
            stream.alarm.cancel()
        self._loop.remove_reader(stream.fd)
        os.close(stream.fd)
        if not self.is_open:
            self.ended.set()

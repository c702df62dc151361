"""The end of a stream, kept for whoever asks what a command has been saying: 200 lines, 64 KiB.

Pure. Adding costs the same whatever the lines are; they are cut up and cleaned only when somebody reads.
"""

from collections import deque

from watch_supervisor.plain_text import plain_lines

MOST_LINES = 200
MOST_BYTES = 64 * 1024


class Ring:
    """One stream's last lines."""

    def __init__(self) -> None:
        self._blocks = deque[bytes]()
        self._bytes = 0

    def add(self, data: bytes) -> None:
        """Whole lines, each ended by a newline."""
        if len(data) > MOST_BYTES:
            data = data[-MOST_BYTES:]
        self._blocks.append(data)
        self._bytes += len(data)
        while self._bytes - len(self._blocks[0]) >= MOST_BYTES:
            self._bytes -= len(self._blocks.popleft())
        if len(self._blocks) > 2 * MOST_LINES:
            # Many short blocks: each holds a line at least, so the older half is past the most lines.
            whole = b"".join(self._blocks)
            self._blocks = deque([whole])

    def lines(self, partial: bytes = b"") -> list[str]:
        """The last lines, fit to be shown; `partial` is the one that isn't ended yet."""
        whole = (b"".join(self._blocks) + partial)[-MOST_BYTES:]
        return plain_lines(whole)[-MOST_LINES:]

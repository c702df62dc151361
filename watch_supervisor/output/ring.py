"""The end of a stream, kept for whoever asks what a command has been saying: 200 lines, 64 KiB.

Pure. Adding costs the same whatever the lines are; they are cut up and cleaned only when somebody reads.
"""

from collections import deque

from watch_supervisor.output.framing import Block
from watch_supervisor.plain_text import plain_lines

MOST_LINES = 200
MOST_BYTES = 64 * 1024


class Ring:
    """One stream's last lines."""

    def __init__(self) -> None:
        self._blocks = deque[Block]()
        self._bytes = 0

    def add(self, block: Block) -> None:
        """More lines. Of a large block only the end is kept, copied, so that its memory serves the next read while it
        is still in the cache.
        """
        if block.end - block.start >= MOST_BYTES:
            self._blocks.clear()
            self._bytes = 0
            block = Block(block.whole[block.end - MOST_BYTES : block.end])
        self._blocks.append(block)
        self._bytes += block.end - block.start
        while self._bytes - (size := self._blocks[0].end - self._blocks[0].start) >= MOST_BYTES:
            self._bytes -= size
            self._blocks.popleft()
        if len(self._blocks) > 2 * MOST_LINES:
            # Many short blocks. Each holds a line at least, so the last ones are enough.
            kept = b"".join(block.data for block in list(self._blocks)[-MOST_LINES:])
            self._blocks = deque([Block(kept)])
            self._bytes = len(kept)

    def lines(self, partial: bytes = b"") -> list[str]:
        """The last lines, fit to be shown; `partial` is the one that isn't ended yet."""
        whole = b"".join(block.data for block in self._blocks) + partial
        return plain_lines(whole[-MOST_BYTES:])[-MOST_LINES:]

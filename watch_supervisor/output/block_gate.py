"""Which lines of a stream escalate.

Pure. A pattern is searched in whole blocks, and a hit then widened to its line: where nothing matches, no line
is ever cut out. What is judged has no escape sequences. It never decides when a fire is told.
"""

import hashlib

from watch_supervisor.line_gate import LineGate
from watch_supervisor.output.collected import Collected
from watch_supervisor.output.framing import Block
from watch_supervisor.patterns import compile_block_pattern
from watch_supervisor.plain_text import without_escapes
from watch_supervisor.spec import WatchSpec


class BlockGate:
    """The decision of one watch, over all of its streams. Raises SpecError for a pattern that RE2 refuses."""

    def __init__(self, spec: WatchSpec, last: str | None = None) -> None:
        self._fire = spec.fire
        self._pattern = compile_block_pattern(spec.match) if spec.match is not None else None
        self._each = LineGate(spec)
        self._bounded = spec.above is not None or spec.below is not None
        self._why = ""
        self.last = last
        """On change: the digest of the line that escalated last."""

    def judge(self, block: Block, collected: Collected, tag: str = "") -> None:
        """Put the lines that escalate into `collected`."""
        if self._fire == "exit":
            return
        if b"\x1b" in block.whole:
            block = Block(without_escapes(block.data), block.dropped)
        if self._pattern is not None:
            lines = self._pattern.lines_of(block.whole, block.start, block.end)
        else:
            lines = [line for line in block.lines() if line.strip()]
        if lines and self._bounded:
            lines = [line for line in lines if self._is_within(line)]
        if lines and self._fire == "change":
            lines = self._changed(lines)
        if lines:
            if self._pattern is not None and not self._bounded:
                self._why = self._each.why(lines[-1].decode("utf-8", "replace")) or self._why
            collected.add(lines, tag, block.dropped)

    def why(self, count: int) -> str:
        """Why so many lines escalated, in a few words."""
        lines = "1 line" if count == 1 else f"{count:,} lines"
        if self._each.asks:
            return self._why if count == 1 else f"{self._why}, {lines}"
        return f"{lines} that changed" if self._fire == "change" else lines

    def _is_within(self, line: bytes) -> bool:
        why = self._each.why(line.decode("utf-8", "replace"))
        self._why = why or self._why
        return why is not None

    def _changed(self, lines: list[bytes]) -> list[bytes]:
        found = list[bytes]()
        for line in lines:
            if found and line == found[-1]:
                continue
            if not found and self.last is not None and _digest(line) == self.last:
                continue
            found.append(line)
        if found:
            self.last = _digest(found[-1])
        return found


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()

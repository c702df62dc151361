"""Which lines of a stream escalate.

Pure. A pattern is searched in whole blocks, and a hit then widened to its line: where nothing matches, no line
is ever cut out. What is judged has no escape sequences. It never decides when a fire is told.
"""

import hashlib

from watch_supervisor.gate import shown_pattern
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
        self._shown = shown_pattern(spec.match or "")
        self.last = last
        """On change: the digest of the line that escalated last."""

    def judge(self, block: Block, collected: Collected, tag: str = "") -> None:
        """Put the lines that escalate into `collected`."""
        if self._fire == "exit":
            return
        data = without_escapes(block.data)
        if self._pattern is not None:
            lines = self._pattern.lines_of(data)
        else:
            lines = [line for line in data[:-1].split(b"\n") if line.strip()]
            if self._fire == "change":
                lines = self._changed(lines)
        if lines:
            collected.add(lines, tag, block.dropped)

    def why(self, count: int) -> str:
        """Why so many lines escalated, in a few words."""
        what = f"{count:,} lines" if count != 1 else "1 line"
        if self._pattern is not None:
            return f"matched {self._shown}" if count == 1 else f"{what} matched {self._shown}"
        return f"{what} that changed" if self._fire == "change" else what

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

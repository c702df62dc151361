"""Lines that escalate, collected until they are told: the first ones, the last ones, and how many there were.

Pure, and bounded however many lines come. It never decides when they are told.
"""

from collections import deque
from collections.abc import Sequence

from watch_supervisor.plain_text import capped, plain

HEAD_BYTES = 10 * 1024
TAIL_BYTES = 8 * 1024
_LONGEST_LINE = 1_900
_MOST_TAIL_LINES = 100


class Collected:
    """What one fire will tell."""

    def __init__(self) -> None:
        self.count = 0
        """Lines that were added, whether they are kept or not."""
        self._head = list[str]()
        self._head_bytes = 0
        self._head_full = False
        self._tail = deque[str]()
        self._tail_bytes = 0
        self._cut = 0

    def __bool__(self) -> bool:
        return self.count > 0

    def add(self, lines: Sequence[bytes], tag: str = "", dropped: int = 0) -> None:
        """More lines, in the order in which they came. `dropped` bytes of the last one are missing; `tag` is put
        in front of each.
        """
        start = 0
        while start < len(lines) and not self._head_full:
            self._to_head(self._shown(lines, start, tag, dropped))
            start += 1
        # Of what is added at once only the last can stay in the tail.
        for index in range(max(start, len(lines) - _MOST_TAIL_LINES), len(lines)):
            self._to_tail(self._shown(lines, index, tag, dropped))
        self.count += len(lines)

    def text(self) -> tuple[str, int]:
        """All of it as one text of at most 24 KiB, and how many lines were left out or cut."""
        left_out = self.count - len(self._head) - len(self._tail)
        middle = [f"… ({left_out} lines left out) …"] if left_out else []
        text, more = capped([*self._head, *middle, *self._tail])
        return text, left_out + more + self._cut

    def _shown(self, lines: Sequence[bytes], index: int, tag: str, dropped: int) -> str:
        line = plain(lines[index].decode("utf-8", "replace")).replace("\n", " ")
        missing = max(0, len(line) - _LONGEST_LINE) + (dropped if index == len(lines) - 1 else 0)
        if missing:
            self._cut += 1
            line = f"{line[:_LONGEST_LINE]}… ({missing:,} more left out)"
        return f"{tag}{line}"

    def _to_head(self, line: str) -> None:
        size = len(line.encode()) + 1
        if self._head and self._head_bytes + size > HEAD_BYTES:
            self._head_full = True
            self._to_tail(line)
            return
        self._head.append(line)
        self._head_bytes += size

    def _to_tail(self, line: str) -> None:
        self._tail.append(line)
        self._tail_bytes += len(line.encode()) + 1
        while len(self._tail) > _MOST_TAIL_LINES or self._tail_bytes > TAIL_BYTES:
            if len(self._tail) == 1:
                break
            self._tail_bytes -= len(self._tail.popleft().encode()) + 1

"""Whether what a source shows now escalates, seen against what escalated last.

Pure. A pattern is compiled once, by RE2, so that no pattern can hang. It never decides how often to fire:
windows and budgets are the supervisor's and the relay's.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watch_supervisor.line_gate import LineGate
from watch_supervisor.spec import WatchSpec


@dataclass(frozen=True, slots=True)
class Value:
    """What a source shows at one moment: a digest (None: there is nothing), and its lines where they
    matter.
    """

    digest: str | None
    lines: Sequence[str] = ()


class Gate:
    """The decision of one watch. Raises SpecError for a pattern that RE2 refuses."""

    def __init__(self, spec: WatchSpec) -> None:
        self._lines = LineGate(spec)

    @property
    def needs_lines(self) -> bool:
        """Whether `judge` looks at lines, not only at digests."""
        return self._lines.asks

    def judge(self, before: Value, after: Value) -> str | None:
        """Why `after` escalates against `before`, in a few words; None when it doesn't.

        On change: anything that differs. On a match, or with a bound for a number: a line that `after` has more
        often than `before` and that counts; what disappears never does.
        """
        if before.digest == after.digest:
            return None
        if not self._lines.asks:
            if before.digest is None:
                return "created"
            return "deleted" if after.digest is None else "changed"
        whys = (self._lines.why(line) for line in added_lines(before.lines, after.lines))
        return next((why for why in whys if why is not None), None)


def added_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Lines of `after` that `before` has less often, in order. Linear in both; a line that only moved isn't
    added.
    """
    start = 0
    shared = min(len(before), len(after))
    while start < shared and before[start] == after[start]:
        start += 1
    left = Counter(before[start:])
    for line in after[start:]:
        if left[line] > 0:
            left[line] -= 1
        else:
            yield line

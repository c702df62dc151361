"""Whether one line counts: a pattern, and a number captured in it.

Pure. The pattern is RE2, so that no line can hang it; the number is exact (decimal).
"""

import re
from decimal import Decimal, InvalidOperation

from watch_supervisor.patterns import Match, compile_pattern
from watch_supervisor.spec import WatchSpec

_SHOWN_PATTERN = 60
_LONGEST_NUMBER = 40
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?|[0-9]+(?:\.[0-9]+)?", re.ASCII
)


class LineGate:
    """The lines that count for one watch. Raises SpecError for a pattern that RE2 refuses."""

    def __init__(self, spec: WatchSpec) -> None:
        text = spec.match or ""
        self._shown = text if len(text) <= _SHOWN_PATTERN else f"{text[: _SHOWN_PATTERN - 1]}…"
        self._pattern = compile_pattern(spec.match) if spec.match is not None else None
        self._above = Decimal(spec.above) if spec.above is not None else None
        self._below = Decimal(spec.below) if spec.below is not None else None
        self._bounds = " or ".join(
            f"{name} {value}" for name, value in (("above", spec.above), ("below", spec.below)) if value
        )
        between = self._above is not None and self._below is not None and self._above < self._below
        if between:
            self._bounds = self._bounds.replace(" or ", " and ")

    @property
    def asks(self) -> bool:
        """False when every line counts."""
        return self._pattern is not None or bool(self._bounds)

    def why(self, line: str) -> str | None:
        """Why this line counts, in a few words: `matched ERROR`, `0.03 is below 0.1`; None when it doesn't."""
        found = self._pattern.search(line) if self._pattern is not None else None
        if self._pattern is not None and found is None:
            return None
        if not self._bounds:
            return f"matched {self._shown}" if self._pattern is not None else "a line"
        number = _captured(line, found)
        if number is None or not self._within(number):
            return None
        return f"{_told(number)} is {self._bounds}"

    def _within(self, number: Decimal) -> bool:
        """Both bounds, or either of them where no number lies between the two."""
        over = self._above is not None and number > self._above
        under = self._below is not None and number < self._below
        if self._above is None or self._below is None or self._above >= self._below:
            return over or under
        return over and under


def _captured(line: str, found: Match | None) -> Decimal | None:
    """The number in the pattern's first group; without a group the first at or after what matched."""
    if found is None:
        text = line
    elif found.groups():
        text = next((group for group in found.groups() if group is not None), "")
    else:
        text = line[found.start() :]
    number = _NUMBER.search(text)
    if number is None or len(number[0]) > _LONGEST_NUMBER:
        return None
    try:
        return Decimal(number[0])
    except InvalidOperation:
        return None


def _told(number: Decimal) -> str:
    return str(number)

"""Which reactions people have set, as far as this process saw, so that one told twice counts once. Memory only.

Discord doesn't number the times that somebody sets and takes back the same reaction; the relay needs them apart.
"""

from __future__ import annotations

from collections import OrderedDict

MOST = 10_000


class Toggles:
    """Numbers the changes of each (message, person, emoji); the oldest are forgotten."""

    def __init__(self, now_ms: int) -> None:
        # What an earlier process numbered lies below; 0 is for what is found standing.
        self._first = now_ms
        self._known: OrderedDict[tuple[str, str, str], tuple[bool, int]] = OrderedDict()

    def told(self, message: str, person: str, emoji: str, *, is_set: bool) -> int:
        """The number of that change; the same one when nothing changed by it."""
        key = (message, person, emoji)
        known = self._known.get(key)
        if known is not None and known[0] == is_set:
            return known[1]
        count = known[1] + 1 if known is not None and known[1] else self._first
        self._known[key] = (is_set, count)
        self._known.move_to_end(key)
        if len(self._known) > MOST:
            self._known.popitem(last=False)
        return count

    def found(self, message: str, person: str, emoji: str) -> int:
        """The number of a reaction that was found standing: 0, unless its setting was heard."""
        known = self._known.get((message, person, emoji))
        if known is not None and known[0]:
            return known[1]
        self._known[(message, person, emoji)] = (True, 0)
        return 0

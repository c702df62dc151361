"""What a turn waits for before it takes a message. Pure.

A behaviour that has to do something about a message first (fetch its files) has a concept that is a `HoldsBack`: the
lane's turn asks each of them, and waits no longer than they say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from relay.ledger.fold import View


@runtime_checkable
class HoldsBack(Protocol):
    """See the module."""

    def holds_until(self, source: str) -> int | None:
        """Until when (UTC ms) that message is held back at most; None when it isn't."""
        ...


def held_until(view: View, sources: Iterable[str]) -> int | None:
    """Until when any of those messages is held back at most; None when none is."""
    keepers = [c for c in view.all() if isinstance(c, HoldsBack) and not view.stands_still(type(c))]
    ends = (keeper.holds_until(source) for source in sources for keeper in keepers)
    return max((end for end in ends if end is not None), default=None)

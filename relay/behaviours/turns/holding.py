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


def holders(view: View) -> tuple[HoldsBack, ...]:
    """All of them; they are the same as long as the relay runs."""
    return tuple(concept for concept in view.all() if isinstance(concept, HoldsBack))


def held_until(keepers: Iterable[HoldsBack], sources: Iterable[str]) -> int | None:
    """Until when any of those messages is held back at most; None when none is."""
    ends = [
        end for source in sources for keeper in keepers if (end := keeper.holds_until(source)) is not None
    ]
    return max(ends, default=None)

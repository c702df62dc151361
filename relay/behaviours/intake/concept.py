"""How far each place has been taken in."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.intake.verbs import IntakeCaughtUp
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class CaughtUpState:
    positions: dict[str, int] = field(default_factory=dict[str, int])
    begun: dict[str, int] = field(default_factory=dict[str, int])
    """Where the reading of a place began."""


class CaughtUp(Concept[CaughtUpState]):
    """`surface:place` → the position up to which the gap is closed, and the first one. Two numbers a place; it forgets
    none."""

    NAME = "caught_up"
    VERSION = 2
    State = CaughtUpState

    @on(IntakeCaughtUp)
    def catch_up(self, i: Interaction, p: IntakeCaughtUp) -> None:
        place = f"{p.surface}:{p.place}"
        self.state.positions[place] = p.position
        self.state.begun.setdefault(place, p.position)

    def position(self, surface: str, place: str) -> int | None:
        return self.state.positions.get(f"{surface}:{place}")

    def began(self, surface: str, place: str) -> int | None:
        """The position at which a place was seen first; nothing before it was ever ours."""
        return self.state.begun.get(f"{surface}:{place}")

"""How far each place has been taken in."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.intake.verbs import IntakeCaughtUp
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class CaughtUpState:
    positions: dict[str, int] = field(default_factory=dict[str, int])


class CaughtUp(Concept[CaughtUpState]):
    """`surface:place` → the position up to which the gap is closed. One number a place; forgets nothing else."""

    NAME = "caught_up"
    State = CaughtUpState

    @on(IntakeCaughtUp)
    def catch_up(self, i: Interaction, p: IntakeCaughtUp) -> None:
        self.state.positions[f"{p.surface}:{p.place}"] = p.position

    def position(self, surface: str, place: str) -> int | None:
        return self.state.positions.get(f"{surface}:{place}")

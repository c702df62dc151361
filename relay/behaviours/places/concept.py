"""Where each scope is posted."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.places.verbs import PlaceOpened
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class Placed:
    surface: str
    place: str
    room: str
    thread: bool
    limit: int
    since: int = 0


@dataclass(slots=True)
class PlacesState:
    scopes: dict[str, Placed] = field(default_factory=dict[str, Placed])


class Places(Concept[PlacesState]):
    """scope → place. Grows with the number of threads ever used, never with what is said in them; forgets nothing,
    since a reply may be owed to a thread that was silent for a year."""

    NAME = "places"
    State = PlacesState

    @on(PlaceOpened)
    def open_place(self, i: Interaction, p: PlaceOpened) -> None:
        self.state.scopes[i.scope] = Placed(p.surface, p.place, p.room, p.thread, p.limit, p.since)

    def of(self, scope: str) -> Placed | None:
        return self.state.scopes.get(scope)

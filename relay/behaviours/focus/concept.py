"""What each scope follows."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay import texts
from relay.behaviours.focus.verbs import FocusAdded, FocusRemoved
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

WEEK_MS = 7 * 24 * 3600 * 1000


@dataclass(slots=True)
class FocusState:
    scopes: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """scope → thing → when it was last taken up."""


class Focus(Concept[FocusState]):
    """Things are taken up by use. What a scope took up over a week ago is forgotten when it takes up the next thing."""

    NAME = "focus"
    State = FocusState

    @on(FocusAdded)
    def added(self, i: Interaction, p: FocusAdded) -> None:
        things = self.state.scopes.setdefault(i.scope, {})
        for thing in [thing for thing, at in things.items() if i.at - at > WEEK_MS]:
            del things[thing]
        things.pop(p.thing, None)
        things[p.thing] = i.at

    @on(FocusRemoved)
    def removed(self, i: Interaction, p: FocusRemoved) -> None:
        things = self.state.scopes.get(i.scope, {})
        things.pop(p.thing, None)
        if not things:
            self.state.scopes.pop(i.scope, None)

    def of(self, scope: str) -> list[str]:
        return list(self.state.scopes.get(scope, {}))

    def told(self, scope: str, now_ms: int) -> list[str]:
        things = self.of(scope)
        return [texts.follows(things)] if things else []

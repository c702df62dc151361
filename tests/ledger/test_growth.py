"""What is settled costs nothing any more: no fold's state grows with history, only with what is open and with scopes.

A step, a rule and `owes` read nothing but states, so a state that stays small bounds what each of them can cost.
"""

from __future__ import annotations

import pytest
from ledger.records import QuickClock
from ledger.settled_life import SettledLife
from ledger.small_house import counted_salt

from relay.behaviours import discover
from relay.ledger.engine import Engine
from relay.ledger.fold import Concept
from relay.ledger.memory import MemoryStore

FURNITURE = tuple(behaviour.furniture for behaviour in discover())
CONCEPTS = [concept for piece in FURNITURE for concept in piece.concepts]


class Folds:
    """Every concept that there is, and the life that they fold."""

    def __init__(self) -> None:
        pure = tuple(type(piece)(piece.name, piece.verbs, piece.concepts) for piece in FURNITURE)
        self.engine = Engine(MemoryStore(), pure, QuickClock(), counted_salt())
        self.verbs: set[str] = set()
        self.life = SettledLife(self._take)

    def _take(self, interaction) -> None:
        self.verbs.add(interaction.verb)
        self.engine._apply(interaction)

    def sizes(self, count: int) -> dict[str, int]:
        """Bytes of each state after so many records."""
        self.life.until(count)
        assert self.engine.trouble() == {}
        return {concept.NAME: len(concept.dump()) for concept in self.engine.view.all()}


@pytest.fixture(scope="module")
def grown() -> tuple[Folds, dict[str, int], dict[str, int]]:
    folds = Folds()
    return folds, folds.sizes(1_000), folds.sizes(20_000)


@pytest.mark.parametrize("concept", CONCEPTS, ids=lambda concept: concept.NAME)
def test_a_state_does_not_grow_with_what_is_settled(grown, concept: type[Concept]):
    _, early, late = grown
    assert late[concept.NAME] <= early[concept.NAME] * 1.2 + 100


def test_the_life_has_every_verb_that_is_folded(grown):
    """So that a new verb can't be forgotten here."""
    folds, _, _ = grown
    assert {verb for concept in CONCEPTS for verb in concept.steps()} <= folds.verbs


def test_a_settled_relay_owes_nothing(grown):
    folds, _, _ = grown
    states = {type(c).__name__: c.state for c in folds.engine.view.all()}
    assert states["Outbox"].where == {}
    assert states["Turns"].startable == {}
    assert states["Turns"].running == {}
    assert states["Watches"].armed == {}
    assert states["Approvals"].open == {}


@pytest.mark.soak
def test_a_million_settled_records_leave_the_states_as_small():
    folds = Folds()
    early, late, latest = folds.sizes(1_000), folds.sizes(100_000), folds.sizes(1_000_000)
    print({name: (early[name], late[name], latest[name]) for name in early})
    assert {name for name in early if latest[name] > early[name] * 1.3 + 100} == set()

"""Concepts and rules: what is true now, and what follows.

A `Concept` is a pure fold over interactions. Its `state` is one dataclass of JSON-able parts, changed in place by the
methods marked `@on(Verb)`. A `Rule` is a pure function of one interaction and the view of all concepts as they stood
right after it; it answers with drafts. Neither awaits, reads a clock, or touches the world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, runtime_checkable

import orjson
from pydantic import TypeAdapter

from relay.errors import ConceptStopped
from relay.ledger.interaction import Draft, Interaction, Payload

S = TypeVar("S")
C = TypeVar("C", bound="Concept[Any]")
F = TypeVar("F", bound=Callable[..., None])

Step = Callable[[Interaction, Any], None]


def on(model: type[Payload]) -> Callable[[F], F]:
    """Marks a concept's method as the step for that verb: `def prompted(self, i: Interaction, p: TurnPrompted)`."""

    def mark(function: F) -> F:
        models: list[type[Payload]] = getattr(function, "steps_on", [])
        function.__dict__["steps_on"] = [*models, model]
        return function

    return mark


class Concept(Generic[S]):
    """Base of every fold. A subclass names itself, its version and its `State`, and says what it forgets and when."""

    NAME: ClassVar[str]
    VERSION: ClassVar[int] = 1
    State: ClassVar[type[Any]]

    def __init__(self) -> None:
        self.state: S = self.State()

    @classmethod
    def steps(cls) -> dict[str, tuple[type[Payload], str]]:
        """verb → (payload model, name of the method that steps it)."""
        found: dict[str, tuple[type[Payload], str]] = {}
        for name in dir(cls):
            models: list[type[Payload]] = getattr(getattr(cls, name, None), "steps_on", [])
            for model in models:
                found[model.VERB] = (model, name)
        return found

    def dump(self) -> bytes:
        """The state as JSON. Order is kept, since a lane's order is part of the state."""
        state: Any = self.state
        return TypeAdapter(self.State).dump_json(state)

    def told(self, scope: str, now_ms: int) -> list[str]:
        """What `!status` says of the scope: lines for people; none by default."""
        return []

    def load(self, state: bytes) -> None:
        """Take a dumped state. Raises `pydantic.ValidationError` when it is another version's."""
        self.state = cast("S", TypeAdapter(self.State).validate_json(state))


@runtime_checkable
class InUse(Protocol):
    """A concept that still needs some records or blobs as they are: their texts are not taken out for being old."""

    def in_use(self) -> Iterable[str]:
        """Ids of interactions, and digests of blobs."""
        ...


class View:
    """All concepts, for those who read them. `view.of(Turns)` gives the fold by its class."""

    def __init__(self, concepts: Iterable[Concept[Any]]) -> None:
        self._concepts: dict[type[Concept[Any]], Concept[Any]] = {type(c): c for c in concepts}
        self._stopped: dict[type[Concept[Any]], str] = {}

    def of(self, concept: type[C]) -> C:
        """The concept. Raises `ConceptStopped` when its fold stands still."""
        if concept in self._stopped:
            raise ConceptStopped(f"«{concept.NAME}» stands still: {self._stopped[concept]}")
        return cast("C", self._concepts[concept])

    def has(self, concept: type[Concept[Any]]) -> bool:
        """False when that behaviour was taken away."""
        return concept in self._concepts

    def all(self) -> Sequence[Concept[Any]]:
        return list(self._concepts.values())

    def stop(self, concept: type[Concept[Any]], why: str) -> None:
        self._stopped[concept] = why

    def stands_still(self, concept: type[Concept[Any]]) -> bool:
        return concept in self._stopped

    @property
    def stopped(self) -> Mapping[str, str]:
        """Names of the folds that stand still, and why."""
        return {concept.NAME: why for concept, why in self._stopped.items()}

    def digest(self) -> bytes:
        """All states in one canonical form: equal for a live fold and a refold."""
        states = {c.NAME: orjson.loads(c.dump()) for c in self._concepts.values()}
        return orjson.dumps(states, option=orjson.OPT_SORT_KEYS)


Then = Callable[[Interaction, Any, View], Iterable[Draft]]


@dataclass(frozen=True, slots=True)
class Rule:
    """When (a verb), where and then (the function)."""

    name: str
    model: type[Payload]
    then: Then


@dataclass(frozen=True, slots=True)
class Furniture:
    """What one behaviour brings: its payload models, its concepts, its rules."""

    name: str
    verbs: tuple[type[Payload], ...] = ()
    concepts: tuple[type[Concept[Any]], ...] = ()
    rules: tuple[Rule, ...] = ()


def rule(model: type[Payload]) -> Callable[[Then], Rule]:
    """Makes a synchronization of a function; its name is the function's, dashed."""

    def make(then: Then) -> Rule:
        return Rule(then.__name__.replace("_", "-"), model, then)

    return make

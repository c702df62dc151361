"""What a behaviour's folder may hold, and how it is taken up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.behaviours.commands import Command
from relay.ledger.fold import Concept, Furniture, Rule
from relay.ledger.interaction import Payload

__all__ = ["Behaviour", "Command", "collect"]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One capability: its pure furniture, its commands, and the module of its reconcilers (made by the app)."""

    furniture: Furniture
    commands: tuple[Command, ...]
    reconciler_module: str | None

    @property
    def name(self) -> str:
        return self.furniture.name


def collect(name: str, contents: Mapping[str, Sequence[Any]], modules: Mapping[str, str]) -> Behaviour:
    """Pick the furniture out of the modules' contents: only what is defined there, not what they import."""
    verbs = [
        value
        for value in contents.get("verbs", ())
        if isinstance(value, type)
        and issubclass(value, Payload)
        and value.VERB
        and value.__module__ == modules.get("verbs")
    ]
    concepts = [
        cast("type[Concept[Any]]", value)
        for value in contents.get("concept", ())
        if isinstance(value, type)
        and issubclass(value, Concept)
        and value.__module__ == modules.get("concept")
    ]
    rules = [value for value in contents.get("synchronizations", ()) if isinstance(value, Rule)]
    commands = [value for value in contents.get("synchronizations", ()) if isinstance(value, Command)]
    return Behaviour(
        Furniture(name, tuple(verbs), tuple(concepts), tuple(rules)),
        tuple(commands),
        modules.get("reconciler"),
    )

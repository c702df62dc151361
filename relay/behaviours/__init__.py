"""Every capability of the relay, one folder each, always with the same furniture.

`verbs.py` holds the payload of each of its verbs, `concept.py` what is true, `synchronizations.py` what follows,
`reconciler.py` what acts. A command (`!word`) stands in `synchronizations.py`, beside the rule that reads it.
A folder is found by listing this package: a new capability edits no other file, and taking one away is deleting it.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Collection
from types import ModuleType
from typing import Any

from relay.behaviours.furniture import Behaviour, Command, collect

__all__ = ["Behaviour", "Command", "discover"]


def discover(without: Collection[str] = ()) -> tuple[Behaviour, ...]:
    """All behaviours that are there, by name, less those named in `without`."""
    found: list[Behaviour] = []
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg and module.name not in without:
            found.append(_behaviour(module.name))
    return tuple(found)


def _behaviour(name: str) -> Behaviour:
    modules: dict[str, ModuleType] = {}
    for part in ("verbs", "concept", "synchronizations", "reconciler"):
        path = f"{__name__}.{name}.{part}"
        if importlib.util.find_spec(path) is not None:
            modules[part] = importlib.import_module(path)
    contents: dict[str, list[Any]] = {part: list(vars(module).values()) for part, module in modules.items()}
    return collect(name, contents, {part: module.__name__ for part, module in modules.items()})

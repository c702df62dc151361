"""The relay's tools for agents. A tool is found by listing this room, and goes with the behaviour that it asks."""

from __future__ import annotations

import importlib
import pkgutil

from relay.tools.desk import Desk, Tool

__all__ = ["Desk", "Tool", "discover"]


def discover() -> tuple[Tool, ...]:
    """All tools, in the order of their modules."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Tool))

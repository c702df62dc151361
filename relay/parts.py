"""What reconcilers are given: the engine, the ports, and the few facts of this boot. Made once, by the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import anyio

from relay.agents.runtime import Runtime, Tools
from relay.behaviours.furniture import Command
from relay.clock import Clock
from relay.config import Access
from relay.ledger.blobs import Blobs
from relay.ledger.engine import Engine
from relay.surfaces.surface import Surfaces
from relay.workspaces import Kept, ready


class MakeTools(Protocol):
    """Makes the relay's tools for one session."""

    def __call__(self, scope: str, room: str) -> Tools: ...


@dataclass(slots=True)
class Current:
    """The configuration in force: the last good one. Replaced whole when access.json changes."""

    access: Access


@dataclass(slots=True)
class Parts:
    """See the module."""

    engine: Engine
    clock: Clock
    surfaces: Surfaces
    runtimes: Mapping[str, Runtime]
    current: Current
    blobs: Blobs
    state: Path
    boot: str
    entropy: Callable[[int], bytes]
    mask: Callable[[str], str]
    make_tools: MakeTools
    commands: tuple[Command, ...]
    trouble: Callable[[], Mapping[str, str]]
    """What stands still or fails just now, by name."""
    kept: Kept = field(default_factory=Kept)
    """What nobody may read or write through a workspace."""
    _listening: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event], init=False)

    def listening_to(self, surface: str) -> anyio.Event:
        """Set once the surface's gaps were closed in this boot: from then on nothing older is unheard."""
        return self._listening.setdefault(surface, anyio.Event())

    def workspace(self, room: str) -> Path | None:
        """The folder of a room, made when it is missing; None for a room that access.json does not name any more.

        Raises `WorkspaceUnusable`.
        """
        rules = self.access.rooms.get(room)
        if rules is None:
            return None
        folder = Path(rules.workspace)
        ready(folder)
        return folder

    @property
    def access(self) -> Access:
        return self.current.access

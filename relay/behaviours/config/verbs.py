"""The verbs of the configuration. Secrets never stand here: only what rules need."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from relay.ledger.interaction import Payload

Busy = Literal["steer", "queue", "interrupt"]


class RoomRules(BaseModel):
    """What rules need to know of a room."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str
    agent: str
    busy: Busy = "steer"
    approvers: tuple[str, ...] = ()
    """Names as in `people`, or `owner`."""
    watches: tuple[dict[str, Any], ...] = ()
    """Declared watches, as they stand in the file."""


class ConfigLoaded(Payload):
    """A load of access.json. The first one of a boot also marks the boot: what ran before it runs no more."""

    VERB: ClassVar[str] = "config.loaded"
    boot: str
    count: int
    digest: str
    zone: str
    """The machine's time zone (IANA), for times that people type."""
    rooms: dict[str, RoomRules]
    people: dict[str, dict[str, str]]
    """name → surface → id."""
    approval_ms: int
    queue: int
    watches: int
    """The most watches that may be armed at once."""

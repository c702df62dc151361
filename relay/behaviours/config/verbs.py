"""The verbs of the configuration. Secrets never stand here: only what rules need."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, SerializerFunctionWrapHandler, WrapSerializer

from relay.ledger.interaction import Payload

Busy = Literal["steer", "queue", "interrupt"]
_T = TypeVar("_T")


def _as_pairs(named: Any, dump: SerializerFunctionWrapHandler) -> list[list[Any]]:
    return [[name, value] for name, value in dump(named).items()]


def _of_pairs(stored: Any) -> Any:
    return dict(cast("list[tuple[str, Any]]", stored)) if isinstance(stored, list) else stored


Named = Annotated[dict[str, _T], WrapSerializer(_as_pairs), BeforeValidator(_of_pairs)]
"""People's own names lead to something. Stored as pairs: a key in the ledger is ASCII, and a name need not be."""


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


class Budgets(BaseModel):
    """Bounds for what no person asked for; 0 is without one, or where an earlier relay did not say."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    thread_per_hour: int = 0
    room_per_hour: int = 0
    day: int = 0
    day_tokens: int = 0
    watch_per_hour: int = 0


class ConfigLoaded(Payload):
    """A load of access.json. The first one of a boot also marks the boot: what ran before it runs no more."""

    VERB: ClassVar[str] = "config.loaded"
    boot: str
    count: int
    digest: str
    zone: str
    """The machine's time zone (IANA), for times that people type."""
    rooms: Named[RoomRules]
    people: Named[dict[str, str]]
    """name → surface → id."""
    approval_ms: int
    queue: int
    agents: int = 0
    """The most turns that may run at once; 0 where an earlier relay did not say."""
    watches: int
    """The most watches that may be armed at once."""
    budgets: Budgets = Budgets()

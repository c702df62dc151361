"""The verbs of watches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from relay.ledger.interaction import Payload
from watch_supervisor.spec import WatchSpec


def _without_words(body: Mapping[str, Any]) -> dict[str, Any]:
    """Of a watch's options the words of a reminder are a text; name, path and pattern stay."""
    return {name: {**value, "text": None} if name == "spec" else value for name, value in body.items()}


Via = Literal["message", "tool", "config"]


class WatchRequested(Payload):
    """Somebody wants a watch armed in the scope of the interaction."""

    VERB: ClassVar[str] = "watch.requested"
    spec: WatchSpec
    room: str
    via: Via
    by: str
    """Who is named: a person's name, the agent's, or `access.json`."""
    person: str = ""
    turn: str | None = None
    declared: str | None = None
    """For a declared one: the digest of its text in access.json."""
    message: str | None = None

    @classmethod
    def emptied(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        return _without_words(body)


class WatchJudged(Payload):
    """What may be watched was looked at: where the path really leads."""

    VERB: ClassVar[str] = "watch.judged"
    request: str
    allowed: bool
    reasons: tuple[str, ...] = ()
    confined: bool = True


class WatchRefused(Payload):
    """The watch is not armed, and why."""

    VERB: ClassVar[str] = "watch.refused"
    request: str
    name: str
    reason: str


class WatchArmed(Payload):
    """The watch is on. Its id is the watch's id; a name is armed once in a scope."""

    VERB: ClassVar[str] = "watch.armed"
    request: str
    spec: WatchSpec
    room: str
    via: Via
    by: str
    person: str
    confined: bool
    replaced: str | None = None

    @classmethod
    def emptied(cls, body: Mapping[str, Any]) -> dict[str, Any]:
        return _without_words(body)


class WatchStarted(Payload):
    """One life of the source has begun, from that state."""

    VERB: ClassVar[str] = "watch.started"
    armed: str
    run: str
    boot: str
    source_state: dict[str, Any]


class WatchExited(Payload):
    """That life of the source is over, because its watch is off."""

    VERB: ClassVar[str] = "watch.exited"
    armed: str
    run: str


class WatchFired(Payload):
    """An escalation. `text` is a unified diff or the reminder; `source_state` is the source's after it."""

    VERB: ClassVar[str] = "watch.fired"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": "", "blob": None}
    armed: str
    run: str
    number: int
    name: str
    room: str
    by: str
    person: str
    notify: bool
    why: str
    text: str
    blob: str | None = None
    count: int
    dropped: int
    source_state: dict[str, Any]
    last: bool

    def blobs(self) -> tuple[str, ...]:
        return (self.blob,) if self.blob else ()


class WatchAdvanced(Payload):
    """The source's state moved on without a fire."""

    VERB: ClassVar[str] = "watch.advanced"
    armed: str
    run: str
    source_state: dict[str, Any]


class WatchSnoozed(Payload):
    """A person wants the watch quiet until then (UTC ms); 0 is until they say otherwise, and None ends it."""

    VERB: ClassVar[str] = "watch.snoozed"
    armed: str
    name: str
    until: int | None
    by: str


class WatchHeldOn(Payload):
    """What is held of a watch stays held, for another reason."""

    VERB: ClassVar[str] = "watch.held_on"
    armed: str
    name: str
    why: str
    until: int


class WatchReleased(Payload):
    """What was held of a watch is told now. `text` says what came meanwhile; of `count` fires the newest are kept."""

    VERB: ClassVar[str] = "watch.released"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": ""}
    armed: str
    name: str
    room: str
    person: str
    notify: bool
    is_diff: bool
    why: str
    text: str
    fires: tuple[str, ...]
    count: int


class WatchDisarmed(Payload):
    """The watch is off."""

    VERB: ClassVar[str] = "watch.disarmed"
    armed: str
    name: str
    reason: Literal["done", "ttl", "max fires", "replaced", "asked", "failed", "not declared any more"]
    by: str = ""
    detail: str = ""
    path: str | None = None
    """What a file watch looked at."""

"""The verbs of what people say and do on a surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from relay.ledger.interaction import Payload, Position

Role = Literal["owner", "human", "peer", "webhook", "stranger"]
Addressed = Literal["mention", "reply", "thread", "room", "command"]


class QuotedText(BaseModel):
    """What a message brought along of another one: forwarded, or quoted by the surface. Its text is cut at 4 KiB."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["forwarded", "quoted"]
    who: str = ""
    text: str
    at: int = 0


class AttachedFile(BaseModel):
    """A file that hangs on a message, as the surface tells of it: nothing of it is believed. `id` is the surface's."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    name: str
    size: int


class ChannelMessage(Payload):
    """A message that addresses the agent, or a command. `text` is cut at 16 KiB; `blob` then holds all of it."""

    VERB: ClassVar[str] = "channel.message"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": "", "blob": None, "quotes": []}
    surface: str
    place: str
    room: str
    message: str
    position: Position
    author: str
    name: str
    text: str
    blob: str | None = None
    size: int
    """Characters of the whole text."""
    addressed: Addressed
    command: str | None = None
    """The `!word` it begins with, when it is one of ours."""
    reply_to: str | None = None
    target: str | None = None
    """The interaction that the message it replies to belongs to."""
    late: bool = False
    """Caught up after a time offline: a late command does not act."""
    sent_at: int
    quotes: tuple[QuotedText, ...] = ()
    files: tuple[AttachedFile, ...] = ()
    via: Literal["surface", "http"] = "surface"
    """`http`: a program sent it, and no surface holds such a message; its id can be no surface's."""

    def blobs(self) -> tuple[str, ...]:
        return (self.blob,) if self.blob else ()


class ChannelEdited(Payload):
    """The message reads differently now; the newest revision is what the agent is given. `text` is cut as above."""

    VERB: ClassVar[str] = "channel.edited"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": "", "blob": None}
    surface: str
    place: str
    room: str
    message: str
    source: str
    """The interaction of the message."""
    revision: int
    """Grows by one with each change of the content, and with nothing else."""
    author: str
    name: str
    text: str
    blob: str | None = None
    size: int
    sent_at: int
    """When it was edited."""

    def blobs(self) -> tuple[str, ...]:
        return (self.blob,) if self.blob else ()


class IntakeTurnedAway(Payload):
    """A message to the agent that a limit kept out. It is not taken in later: whoever wrote it may send it again."""

    VERB: ClassVar[str] = "intake.turned_away"
    surface: str
    place: str
    room: str
    message: str
    author: str
    name: str
    sent_at: int
    keeper: str
    """Which behaviour kept it out."""
    most: int
    """How many the limit lets in."""
    until: int | None = None
    """When the limit lets in again; None when that needs a person."""


class ChannelReacted(Payload):
    """A reaction on a message that the ledger knows. The edge has looked up what the message was."""

    VERB: ClassVar[str] = "channel.reacted"
    surface: str
    place: str
    room: str
    message: str
    person: str
    name: str
    emoji: str
    set: bool
    target: str
    target_verb: str
    turn: str | None = None
    """The turn that the message belongs to, when there is one."""
    approval: str | None = None
    sources: tuple[str, ...] = ()
    """What that turn had taken: the interactions whose text it was."""
    woken_by: tuple[str, ...] = ()
    """The watches that woke that turn, by name."""
    turn_role: str = ""
    """Whose authority that turn had."""
    asker: str | None = None
    """Who wrote the message, or started the turn."""


class ChannelDeleted(Payload):
    """A message that the ledger knows is gone from its place. The edge has looked up what it was."""

    VERB: ClassVar[str] = "channel.deleted"
    surface: str
    place: str
    message: str
    target: str
    approval: str | None = None
    """The approval whose card it was."""
    author: str = ""
    """Who wrote it, when it was a person's message to us."""
    name: str = ""


class ChannelChosen(Payload):
    """A click on a card."""

    VERB: ClassVar[str] = "channel.chosen"
    TEXTS: ClassVar[Mapping[str, Any]] = {"reason": ""}
    surface: str
    place: str
    room: str
    card: str
    choice: str
    reason: str = ""
    person: str
    name: str


class ClickRefused(Payload):
    """A click on a card by somebody who is a stranger in its room, or a bot. Nothing follows from it."""

    VERB: ClassVar[str] = "channel.click_refused"
    surface: str
    place: str
    room: str
    card: str
    choice: str
    person: str
    name: str


class IntakeCaughtUp(Payload):
    """Everything up to `position` has been taken in or filtered out."""

    VERB: ClassVar[str] = "intake.caught_up"
    surface: str
    place: str
    position: Position

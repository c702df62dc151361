"""The verbs of what people say and do on a surface."""

from __future__ import annotations

from typing import ClassVar, Literal

from relay.ledger.interaction import Payload, Position

Role = Literal["owner", "human", "peer", "webhook", "stranger"]
Addressed = Literal["mention", "reply", "thread", "room", "command"]


class ChannelMessage(Payload):
    """A message that addresses the agent, or a command. `text` is cut at 16 KiB; `blob` then holds all of it."""

    VERB: ClassVar[str] = "channel.message"
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


class ChannelChosen(Payload):
    """A click on a card."""

    VERB: ClassVar[str] = "channel.chosen"
    surface: str
    place: str
    room: str
    card: str
    choice: str
    reason: str = ""
    person: str
    name: str


class IntakeCaughtUp(Payload):
    """Everything up to `position` has been taken in or filtered out."""

    VERB: ClassVar[str] = "intake.caught_up"
    surface: str
    place: str
    position: Position

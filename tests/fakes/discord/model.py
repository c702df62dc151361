"""The things that the tests' Discord holds: people, guilds, channels, messages. Data only; the verbs are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

Json = dict[str, Any]


class Kind(IntEnum):
    """Kinds of channel, by Discord's numbers."""

    TEXT = 0
    DM = 1
    VOICE = 2
    CATEGORY = 4
    NEWS = 5
    NEWS_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    FORUM = 15


THREADS = frozenset({Kind.NEWS_THREAD, Kind.PUBLIC_THREAD, Kind.PRIVATE_THREAD})
WRITTEN_IN = frozenset({Kind.TEXT, Kind.DM, Kind.VOICE, Kind.NEWS, *THREADS})


class MessageKind(IntEnum):
    """Kinds of message; all but the first and the replies are Discord's own words, not a person's."""

    DEFAULT = 0
    RECIPIENT_ADD = 1
    RENAMED = 4
    PINNED = 6
    JOINED = 7
    THREAD_MADE = 18
    REPLY = 19
    COMMAND = 20
    THREAD_STARTER = 21


SPOKEN = frozenset({MessageKind.DEFAULT, MessageKind.REPLY, MessageKind.COMMAND})

SUPPRESS_EMBEDS, EPHEMERAL, LOADING, SILENT, HAS_THREAD = 1 << 2, 1 << 6, 1 << 7, 1 << 12, 1 << 5
HAS_SNAPSHOT = 1 << 14


@dataclass
class User:
    id: int
    name: str
    bot: bool = False
    takes_dms: bool = True
    webhook: bool = False


@dataclass
class App:
    """An application with its bot. `privileged` are the intents switched on in the developer portal (bits)."""

    id: int
    user: User
    token: str
    privileged: int
    token_valid: bool = True
    identifies: list[float] = field(default_factory=list[float])
    commands: dict[int | None, dict[int, Json]] = field(default_factory=dict[int | None, dict[int, Json]])
    creations: list[float] = field(default_factory=list[float])


@dataclass
class Role:
    id: int
    name: str
    permissions: int = 0
    position: int = 0
    mentionable: bool = False


@dataclass
class Overwrite:
    """`kind` 0: for a role, 1: for a member."""

    id: int
    kind: int
    allow: int = 0
    deny: int = 0


@dataclass
class Member:
    user: User
    joined_at: float
    roles: set[int] = field(default_factory=set[int])
    nick: str | None = None


@dataclass
class Guild:
    id: int
    name: str
    owner_id: int
    premium_tier: int = 0
    members: dict[int, Member] = field(default_factory=dict[int, Member])
    roles: dict[int, Role] = field(default_factory=dict[int, Role])
    available: bool = True
    blocked_words: set[str] = field(default_factory=set[str])


@dataclass
class ThreadState:
    made_at: float
    archived: bool = False
    locked: bool = False
    archive_after: int = 4320
    """Minutes of quiet."""
    changed_at: float = 0.0
    members: dict[int, float] = field(default_factory=dict[int, float])
    tags: list[int] = field(default_factory=list[int])
    sent: int = 0


@dataclass
class Channel:
    id: int
    kind: Kind
    name: str
    guild_id: int | None = None
    parent_id: int | None = None
    position: int = 0
    topic: str | None = None
    slowmode: int = 0
    owner_id: int | None = None
    overwrites: list[Overwrite] = field(default_factory=list[Overwrite])
    recipients: tuple[User, ...] = ()
    thread: ThreadState | None = None
    tags: dict[int, str] = field(default_factory=dict[int, str])
    messages: dict[int, Message] = field(default_factory=dict[int, "Message"])
    last_message_id: int | None = None
    renames: list[float] = field(default_factory=list[float])

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS


@dataclass
class Attachment:
    id: int
    filename: str
    data: bytes = field(repr=False)
    content_type: str | None = None
    description: str | None = None


@dataclass
class Message:
    id: int
    channel_id: int
    author: User
    content: str
    kind: MessageKind = MessageKind.DEFAULT
    edited_at: float | None = None
    attachments: list[Attachment] = field(default_factory=list[Attachment])
    embeds: list[Json] = field(default_factory=list[Json])
    components: list[Json] = field(default_factory=list[Json])
    reference: Json | None = None
    snapshots: list[Json] = field(default_factory=list[Json])
    nonce: str | int | None = None
    mentions: list[User] = field(default_factory=list[User])
    mention_roles: list[int] = field(default_factory=list[int])
    mention_everyone: bool = False
    flags: int = 0
    pinned: bool = False
    webhook_id: int | None = None
    application_id: int | None = None
    reactions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    interaction: Json | None = None
    ephemeral_for: int | None = None
    spoken_by: str | None = None
    """The name that a webhook gave itself for this message."""


@dataclass
class Webhook:
    id: int
    channel_id: int
    name: str
    token: str
    user: User
    maker: User
    application_id: int | None = None

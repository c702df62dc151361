"""All that the tests' Discord knows, and how news of it leaves: `emit`. No HTTP and no sockets here.

The verbs are functions over a World in modules of their own: guilds, posting, reading, reacting, threads, commands,
interactions. Each verb checks, changes, then emits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fakes.discord import permissions
from fakes.discord.clock import Clock, Snowflakes
from fakes.discord.errors import ApiError
from fakes.discord.interaction import Interaction
from fakes.discord.model import App, Channel, Guild, Json, Kind, Message, User, Webhook


@dataclass(frozen=True)
class Event:
    """News for bots. Who gets it: members of the guild who see the channel, people of the DM, or `only` these; and
    of those, sessions with one of the `intents` (0: no intent is needed). `message`, where its content may have to be
    hidden."""

    name: str
    data: Json
    guild_id: int | None = None
    channel_id: int | None = None
    intents: int = 0
    only: frozenset[int] | None = None
    message: Message | None = None


@dataclass
class Rules:
    """What may differ between Discord's days, or what a test wants strict."""

    nonce_memory: float = 300.0
    """Seconds for which a nonce is remembered: "the past few minutes"."""
    longest_message: int = 2000
    count_utf16: bool = True
    """Count UTF-16 units: never fewer than Discord counts. False: code points."""
    file_limits: tuple[int, int, int, int] = (10 << 20, 10 << 20, 50 << 20, 100 << 20)
    """Bytes by the guild's boost tier."""
    creations_a_day: int = 200
    identifies_a_day: int = 1000
    ack_within: float = 3.0
    token_for: float = 900.0
    renames_in_10_minutes: int = 2
    session_kept: float = 300.0
    threads_need_membership: bool = False
    """True: a bot hears a thread only once it has joined it."""


@dataclass
class World:
    clock: Clock = field(default_factory=Clock)
    rules: Rules = field(default_factory=Rules)
    users: dict[int, User] = field(default_factory=dict[int, User])
    apps: dict[int, App] = field(default_factory=dict[int, App])
    guilds: dict[int, Guild] = field(default_factory=dict[int, Guild])
    channels: dict[int, Channel] = field(default_factory=dict[int, Channel])
    webhooks: dict[int, Webhook] = field(default_factory=dict[int, Webhook])
    interactions: dict[int, Interaction] = field(default_factory=dict[int, Interaction])
    nonces: dict[tuple[int, str], tuple[float, int, int]] = field(
        default_factory=dict[tuple[int, str], tuple[float, int, int]]
    )
    pings: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """(who was pinged, channel, message), in order."""
    typing: list[tuple[float, int, int]] = field(default_factory=list[tuple[float, int, int]])
    """(when, who typed, channel), in order."""
    listeners: list[Callable[[Event], None]] = field(default_factory=list[Callable[[Event], None]])
    watchers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])

    def __post_init__(self) -> None:
        self.ids = Snowflakes(self.clock)

    def emit(self, *events: Event) -> None:
        for event in events:
            for listener in self.listeners:
                listener(event)
        self.changed()

    def changed(self) -> None:
        """Something that a person can see is different now."""
        for watcher in list(self.watchers):
            watcher()

    # Making people

    def new_user(self, name: str, *, bot: bool = False) -> User:
        user = User(self.ids.next(), name, bot)
        self.users[user.id] = user
        return user

    def new_app(self, name: str, privileged: int) -> App:
        user = self.new_user(name, bot=True)
        app = App(user.id, user, f"test-token.{user.id}.{secrets.token_hex(12)}", privileged)
        self.apps[app.id] = app
        return app

    def app_by_token(self, token: str) -> App | None:
        return next((app for app in self.apps.values() if app.token == token and app.token_valid), None)

    # Finding things, or the refusal that says what is missing

    def channel(self, channel_id: int, viewer: User | None = None) -> Channel:
        """Raises 10003 where there is none, 50001 where `viewer` can't see it."""
        channel = self.channels.get(channel_id)
        if channel is None:
            raise ApiError(10003)
        if viewer is not None and not self.sees(viewer, channel):
            raise ApiError(50001)
        return channel

    def guild(self, guild_id: int, viewer: User | None = None) -> Guild:
        guild = self.guilds.get(guild_id)
        if guild is None or (viewer is not None and viewer.id not in guild.members):
            raise ApiError(10004)
        return guild

    def message(self, channel: Channel, message_id: int, viewer: User | None = None) -> Message:
        message = channel.messages.get(message_id)
        if message is None or (message.ephemeral_for and viewer and message.ephemeral_for != viewer.id):
            raise ApiError(10008)
        return message

    def webhook(self, webhook_id: int, token: str | None = None) -> Webhook:
        hook = self.webhooks.get(webhook_id)
        if hook is None:
            raise ApiError(10015)
        if token is not None and hook.token != token:
            raise ApiError(50027)
        return hook

    # What may whom

    def bits(self, user: User, channel: Channel) -> int:
        if channel.guild_id is None:
            return permissions.EVERYBODY if user in channel.recipients else 0
        parent = self.channels.get(channel.parent_id or 0) if channel.is_thread else None
        return permissions.in_channel(self.guilds[channel.guild_id], channel, user.id, parent)

    def sees(self, user: User, channel: Channel) -> bool:
        bits = self.bits(user, channel)
        if not bits & permissions.VIEW_CHANNEL:
            return False
        if channel.kind is Kind.PRIVATE_THREAD and channel.thread is not None:
            return user.id in channel.thread.members or bool(bits & permissions.MANAGE_THREADS)
        return True

    def need(self, user: User, channel: Channel, bits: int) -> None:
        """Raises 50001 for who can't see the channel, 50013 where a permission is missing."""
        if not self.sees(user, channel):
            raise ApiError(50001)
        if self.bits(user, channel) & bits != bits:
            raise ApiError(50013)

    def threads_of(self, guild_id: int) -> Iterable[Channel]:
        return [one for one in self.channels.values() if one.guild_id == guild_id and one.is_thread]

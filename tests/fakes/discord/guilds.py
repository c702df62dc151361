"""Guilds, their members, roles and channels: made, changed, taken away. And direct-message channels, and webhooks."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from fakes.discord import intents, payloads, permissions, threads
from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import (
    App,
    Channel,
    Guild,
    Json,
    Kind,
    Member,
    Overwrite,
    Role,
    User,
    Webhook,
)
from fakes.discord.world import Event, World


def make(world: World, name: str, owner: User) -> Guild:
    """With its owner, and a role of everybody that has the guild's id."""
    guild = Guild(world.ids.next(), name, owner.id)
    guild.roles[guild.id] = Role(guild.id, "@everyone", permissions.EVERYBODY)
    guild.members[owner.id] = Member(owner, world.clock.now())
    world.guilds[guild.id] = guild
    return guild


def add_member(world: World, guild: Guild, user: User, roles: tuple[Role, ...] = ()) -> Member:
    """A bot hears GUILD_CREATE, the others (with that intent) GUILD_MEMBER_ADD."""
    member = Member(user, world.clock.now(), {role.id for role in roles})
    guild.members[user.id] = member
    if user.bot:
        data = payloads.guild_create(world, guild, user)
        world.emit(Event("GUILD_CREATE", data, intents=intents.GUILDS, only=frozenset({user.id})))
    told = {**payloads.member(member), "guild_id": str(guild.id)}
    world.emit(Event("GUILD_MEMBER_ADD", told, guild.id, None, intents.MEMBERS))
    return member


def remove_member(world: World, guild: Guild, user: User) -> None:
    """A bot that is thrown out hears GUILD_DELETE."""
    guild.members.pop(user.id, None)
    if user.bot:
        gone = {"id": str(guild.id)}
        world.emit(Event("GUILD_DELETE", gone, intents=intents.GUILDS, only=frozenset({user.id})))
    told = {"guild_id": str(guild.id), "user": payloads.user(user)}
    world.emit(Event("GUILD_MEMBER_REMOVE", told, guild.id, None, intents.MEMBERS))


def set_available(world: World, guild: Guild, available: bool) -> None:
    """An outage of one guild: GUILD_DELETE with `unavailable`, GUILD_CREATE when it is back."""
    guild.available = available
    for app in world.apps.values():
        if app.user.id not in guild.members:
            continue
        only = frozenset({app.user.id})
        if available:
            data = payloads.guild_create(world, guild, app.user)
            world.emit(Event("GUILD_CREATE", data, intents=intents.GUILDS, only=only))
        else:
            data = {"id": str(guild.id), "unavailable": True}
            world.emit(Event("GUILD_DELETE", data, intents=intents.GUILDS, only=only))


def add_role(world: World, guild: Guild, name: str, bits: int = 0, *, mentionable: bool = False) -> Role:
    role = Role(world.ids.next(), name, bits, len(guild.roles), mentionable)
    guild.roles[role.id] = role
    told = {"guild_id": str(guild.id), "role": payloads.role(role)}
    world.emit(Event("GUILD_ROLE_CREATE", told, guild.id, None, intents.GUILDS))
    return role


def set_role(world: World, guild: Guild, role: Role, bits: int) -> None:
    """GUILD_ROLE_UPDATE: what its members may do is different at once."""
    with sight_given(world, guild):
        role.permissions = bits
        told = {"guild_id": str(guild.id), "role": payloads.role(role)}
        world.emit(Event("GUILD_ROLE_UPDATE", told, guild.id, None, intents.GUILDS))


@contextmanager
def sight_given(world: World, guild: Guild) -> Iterator[None]:
    """Bots that see more channels after the block than before are told the threads there: THREAD_LIST_SYNC."""
    channels = [one for one in world.channels.values() if one.guild_id == guild.id and not one.is_thread]
    bots = [app.user for app in world.apps.values() if app.user.id in guild.members]
    before = {bot.id: {one.id for one in channels if world.sees(bot, one)} for bot in bots}
    yield
    for bot in bots:
        new = [one for one in channels if world.sees(bot, one) and one.id not in before[bot.id]]
        if new:
            threads.list_sync(world, guild.id, bot, new)


def set_roles(world: World, guild: Guild, user: User, roles: set[int]) -> None:
    """GUILD_MEMBER_UPDATE; a bot hears of itself without the members intent."""
    member = guild.members[user.id]
    with sight_given(world, guild):
        member.roles = roles
        told = {**payloads.member(member), "guild_id": str(guild.id)}
        if user.bot:
            only = frozenset({user.id})
            world.emit(Event("GUILD_MEMBER_UPDATE", told, guild.id, None, intents.GUILDS, only))
        else:
            world.emit(Event("GUILD_MEMBER_UPDATE", told, guild.id, None, intents.MEMBERS))


def add_channel(
    world: World,
    guild: Guild,
    kind: Kind,
    name: str,
    *,
    parent: Channel | None = None,
    topic: str | None = None,
    tags: tuple[str, ...] = (),
) -> Channel:
    siblings = sum(one.guild_id == guild.id and not one.is_thread for one in world.channels.values())
    made = Channel(world.ids.next(), kind, name, guild.id, parent.id if parent else None, siblings, topic)
    made.tags = {world.ids.next(): tag for tag in tags}
    world.channels[made.id] = made
    _told(world, "CHANNEL_CREATE", made)
    return made


def _told(world: World, name: str, channel: Channel) -> None:
    data = payloads.channel(world, channel)
    world.emit(Event(name, data, channel.guild_id, channel.id, intents.GUILDS))


def edit_channel(world: World, who: User, channel: Channel, body: Json) -> Channel:
    """Name, topic, slow mode, parent. Two renames in ten minutes; the third gets a 429 that lasts the rest of them."""
    world.need(who, channel, permissions.MANAGE_CHANNELS)
    if body.get("name") is not None and body["name"] != channel.name:
        if not 1 <= len(body["name"]) <= 100:
            raise wrong_form("name", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters")
        now = world.clock.now()
        recent = [when for when in channel.renames if now - when < 600]
        if len(recent) >= world.rules.renames_in_10_minutes:
            raise ApiError(0, status=429, retry_after=round(600 - (now - recent[0]), 3), **{"global": False})
        channel.renames = [*recent, now]
        channel.name = body["name"]
    channel.topic = body.get("topic", channel.topic)
    channel.slowmode = body.get("rate_limit_per_user", channel.slowmode) or 0
    if "parent_id" in body:
        channel.parent_id = int(body["parent_id"]) if body["parent_id"] else None
    _told(world, "CHANNEL_UPDATE", channel)
    return channel


def overwrite(world: World, channel: Channel, target: User | Role, *, allow: int = 0, deny: int = 0) -> None:
    """Gives or takes permissions in one channel; both 0 takes the overwrite away. Bots that lose sight of it hear
    nothing more than CHANNEL_UPDATE; those that get it are told its threads."""
    others = [one for one in channel.overwrites if one.id != target.id]
    own = [Overwrite(target.id, 1 if isinstance(target, User) else 0, allow, deny)] if allow or deny else []
    with sight_given(world, world.guilds[channel.guild_id or 0]):
        channel.overwrites = [*others, *own]
        data = payloads.channel(world, channel)
        world.emit(Event("CHANNEL_UPDATE", data, channel.guild_id, None, intents.GUILDS))


def delete_channel(world: World, channel: Channel) -> None:
    """With its threads, of whose end Discord says nothing in particular."""
    _told(world, "CHANNEL_DELETE", channel)
    gone = [one.id for one in world.channels.values() if one.is_thread and one.parent_id == channel.id]
    for number in [*gone, channel.id]:
        world.channels.pop(number, None)
    world.changed()


def direct(world: World, one: User, other: User) -> Channel:
    """The two's DM channel, the same each time. A bot hears CHANNEL_CREATE for a new one."""
    pair = {one.id, other.id}
    for known in world.channels.values():
        if known.kind is Kind.DM and {person.id for person in known.recipients} == pair:
            return known
    made = Channel(world.ids.next(), Kind.DM, "", recipients=(one, other))
    world.channels[made.id] = made
    for app in world.apps.values():
        if app.user in made.recipients:
            data = payloads.channel(world, made, app.user)
            world.emit(Event("CHANNEL_CREATE", data, None, made.id, 0, frozenset({app.user.id})))
    return made


def add_webhook(world: World, who: User, channel: Channel, name: str, app: App | None = None) -> Webhook:
    world.need(who, channel, permissions.MANAGE_WEBHOOKS)
    number = world.ids.next()
    user = User(number, name, webhook=True)
    token = secrets.token_urlsafe(51)
    hook = Webhook(number, channel.id, name, token, user, who, app.id if app else None)
    world.webhooks[number] = hook
    told = {"guild_id": str(channel.guild_id), "channel_id": str(channel.id)}
    world.emit(Event("WEBHOOKS_UPDATE", told, channel.guild_id, channel.id, intents.WEBHOOKS))
    return hook


def typing(world: World, who: User, channel: Channel) -> None:
    bit = permissions.SEND_MESSAGES_IN_THREADS if channel.is_thread else permissions.SEND_MESSAGES
    world.need(who, channel, bit)
    now = world.clock.now()
    world.typing.append((now, who.id, channel.id))
    data: Json = {"channel_id": str(channel.id), "user_id": str(who.id), "timestamp": int(now)}
    guild = world.guilds.get(channel.guild_id or 0)
    if guild is not None:
        data |= {"guild_id": str(guild.id), "member": payloads.member(guild.members[who.id])}
    needed = intents.typing(channel.guild_id)
    world.emit(Event("TYPING_START", data, channel.guild_id, channel.id, needed))

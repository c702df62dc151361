"""Reactions: put on, taken off, cleared; and pins."""

from __future__ import annotations

from fakes.discord import intents, message_payloads, payloads, permissions, posting
from fakes.discord.errors import ApiError
from fakes.discord.model import Channel, Json, Message, MessageKind, User
from fakes.discord.world import Event, World

MOST_KINDS = 20
MOST_PINS = 250


def _event(world: World, name: str, channel: Channel, message: Message, more: Json) -> None:
    data: Json = {"channel_id": str(channel.id), "message_id": str(message.id), **more}
    if channel.guild_id is not None:
        data["guild_id"] = str(channel.guild_id)
    world.emit(Event(name, data, channel.guild_id, channel.id, intents.reactions(channel.guild_id)))


def _check(world: World, who: User, channel: Channel, emoji: str, bits: int = 0) -> None:
    world.need(who, channel, bits | permissions.READ_MESSAGE_HISTORY)
    if channel.thread and channel.thread.archived:
        raise ApiError(50083)
    name, _, number = emoji.partition(":")
    if (number and not number.isdigit()) or (not number and name.isascii()):
        raise ApiError(10014)


def add(world: World, who: User, channel: Channel, message: Message, emoji: str) -> None:
    """Twice is once. Raises 30010 at the 21st kind of emoji."""
    new = emoji not in message.reactions
    _check(world, who, channel, emoji, permissions.ADD_REACTIONS if new else 0)
    if new and len(message.reactions) >= MOST_KINDS:
        raise ApiError(30010)
    people = message.reactions.setdefault(emoji, [])
    if who.id in people:
        return
    people.append(who.id)
    more: Json = {
        "user_id": str(who.id),
        "emoji": message_payloads.emoji(emoji),
        "burst": False,
        "type": 0,
        "message_author_id": str(message.author.id),
    }
    guild = world.guilds.get(channel.guild_id or 0)
    if guild is not None:
        more["member"] = payloads.member(guild.members[who.id])
    _event(world, "MESSAGE_REACTION_ADD", channel, message, more)


def take_off(world: World, who: User, channel: Channel, message: Message, emoji: str, whose: User) -> None:
    """One's own; another's with the permission to manage messages."""
    _check(world, who, channel, emoji, 0 if who.id == whose.id else permissions.MANAGE_MESSAGES)
    people = message.reactions.get(emoji, [])
    if whose.id not in people:
        return
    people.remove(whose.id)
    if not people:
        del message.reactions[emoji]
    more = {"user_id": str(whose.id), "emoji": message_payloads.emoji(emoji), "burst": False, "type": 0}
    _event(world, "MESSAGE_REACTION_REMOVE", channel, message, more)


def clear(world: World, who: User, channel: Channel, message: Message, emoji: str | None = None) -> None:
    """All reactions, or all of one kind."""
    world.need(who, channel, permissions.MANAGE_MESSAGES)
    if emoji is None:
        message.reactions.clear()
        _event(world, "MESSAGE_REACTION_REMOVE_ALL", channel, message, {})
    else:
        message.reactions.pop(emoji, None)
        more = {"emoji": message_payloads.emoji(emoji)}
        _event(world, "MESSAGE_REACTION_REMOVE_EMOJI", channel, message, more)


def pin(world: World, who: User, channel: Channel, message: Message, pinned: bool) -> None:
    """Pinning leaves a message of Discord's own in the channel."""
    if channel.guild_id is not None and not world.bits(who, channel) & permissions.PIN_MESSAGES:
        world.need(who, channel, permissions.MANAGE_MESSAGES)
    if channel.thread and channel.thread.archived:
        raise ApiError(50083)
    if message.pinned == pinned:
        return
    if pinned and sum(one.pinned for one in channel.messages.values()) >= MOST_PINS:
        raise ApiError(30003)
    message.pinned = pinned
    posting.told_changed(world, channel, message)
    data: Json = {"channel_id": str(channel.id), "last_pin_timestamp": None}
    if channel.guild_id is not None:
        data["guild_id"] = str(channel.guild_id)
    world.emit(Event("CHANNEL_PINS_UPDATE", data, channel.guild_id, channel.id, intents.GUILDS))
    if pinned:
        note = Message(world.ids.next(), channel.id, who, "", MessageKind.PINNED)
        note.reference = {"type": 0, "channel_id": str(channel.id), "message_id": str(message.id)}
        posting.publish(world, channel, note)

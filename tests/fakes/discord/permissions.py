"""Who may do what: the bits, and how roles and a channel's overwrites add up. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakes.discord.model import Channel, Guild

ADD_REACTIONS = 1 << 6
ADMINISTRATOR = 1 << 3
ATTACH_FILES = 1 << 15
CREATE_PRIVATE_THREADS = 1 << 36
CREATE_PUBLIC_THREADS = 1 << 35
EMBED_LINKS = 1 << 14
MANAGE_CHANNELS = 1 << 4
MANAGE_MESSAGES = 1 << 13
MANAGE_ROLES = 1 << 28
MANAGE_THREADS = 1 << 34
MANAGE_WEBHOOKS = 1 << 29
MENTION_EVERYONE = 1 << 17
PIN_MESSAGES = 1 << 51
READ_MESSAGE_HISTORY = 1 << 16
SEND_MESSAGES = 1 << 11
SEND_MESSAGES_IN_THREADS = 1 << 38
USE_APPLICATION_COMMANDS = 1 << 31
VIEW_CHANNEL = 1 << 10

ALL = (1 << 53) - 1
EVERYBODY = (
    ADD_REACTIONS
    | ATTACH_FILES
    | CREATE_PRIVATE_THREADS
    | CREATE_PUBLIC_THREADS
    | EMBED_LINKS
    | READ_MESSAGE_HISTORY
    | SEND_MESSAGES
    | SEND_MESSAGES_IN_THREADS
    | USE_APPLICATION_COMMANDS
    | VIEW_CHANNEL
)
"""What a new guild gives everybody."""


def in_guild(guild: Guild, user_id: int) -> int:
    """The bits that a member's roles give, before any channel's overwrites; 0 for who isn't a member."""
    member = guild.members.get(user_id)
    if member is None:
        return 0
    if guild.owner_id == user_id:
        return ALL
    bits = guild.roles[guild.id].permissions
    for role in member.roles:
        bits |= guild.roles[role].permissions
    return ALL if bits & ADMINISTRATOR else bits


def in_channel(guild: Guild, channel: Channel, user_id: int, parent: Channel | None = None) -> int:
    """The bits in a channel; a thread has its parent's overwrites."""
    bits = in_guild(guild, user_id)
    if bits == ALL or not bits:
        return bits
    overwrites = {one.id: one for one in (parent or channel).overwrites}
    if everybody := overwrites.get(guild.id):
        bits = (bits & ~everybody.deny) | everybody.allow
    roles = [overwrites[role] for role in guild.members[user_id].roles if role in overwrites]
    for one in roles:
        bits &= ~one.deny
    for one in roles:
        bits |= one.allow
    if own := overwrites.get(user_id):
        bits = (bits & ~own.deny) | own.allow
    return bits if bits & VIEW_CHANNEL else 0

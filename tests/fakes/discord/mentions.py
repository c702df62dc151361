"""Whom a message names, and whom it pings: text and `allowed_mentions` together. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fakes.discord import permissions
from fakes.discord.model import SILENT, Channel, Guild, Json, Message, User
from fakes.discord.world import World

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_ALL = re.compile(r"@(everyone|here)\b")


@dataclass
class Named:
    users: list[User] = field(default_factory=list[User])
    roles: list[int] = field(default_factory=list[int])
    everyone: bool = False


def named(
    world: World, author: User, channel: Channel, text: str, allowed: Json | None, replied: User | None
) -> Named:
    """Those whom the text names, as far as the author lets it (`allowed` None: everybody it names)."""
    every = allowed is None
    kinds = set[str]() if allowed is None else set(allowed.get("parse") or ())
    listed_users = set[str]() if allowed is None else {str(one) for one in allowed.get("users") or ()}
    listed_roles = set[str]() if allowed is None else {str(one) for one in allowed.get("roles") or ()}
    found = Named()
    for number in dict.fromkeys(_USER.findall(text)):
        person = world.users.get(int(number))
        if person is not None and (every or "users" in kinds or number in listed_users):
            found.users.append(person)
    pings_reply = True if allowed is None else bool(allowed.get("replied_user", False))
    if replied is not None and pings_reply and replied not in found.users and replied.id in world.users:
        found.users.append(replied)
    guild = world.guilds.get(channel.guild_id or 0)
    if guild is None:
        return found
    may = bool(world.bits(author, channel) & permissions.MENTION_EVERYONE)
    for number in dict.fromkeys(_ROLE.findall(text)):
        role = guild.roles.get(int(number))
        if role is None or not (every or "roles" in kinds or number in listed_roles):
            continue
        if role.mentionable or may:
            found.roles.append(role.id)
    found.everyone = bool(_ALL.search(text)) and may and (every or "everyone" in kinds)
    return found


def pinged(world: World, guild: Guild | None, channel: Channel, message: Message) -> list[User]:
    """Those whose screen lights up: named by the new message, able to see it, and not its author."""
    if message.flags & SILENT:
        return []
    people = list(message.mentions)
    if guild is not None:
        everybody = [member.user for member in guild.members.values()]
        if message.mention_everyone:
            people += everybody
        for member in guild.members.values():
            if member.roles & set(message.mention_roles):
                people.append(member.user)
    unique = {person.id: person for person in people if person.id != message.author.id}
    return [person for person in unique.values() if world.sees(person, channel)]

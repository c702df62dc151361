"""What the bot may do in a channel, by its roles and the channel's own rules, and what it needs there. Pure.

https://discord.com/developers/docs/topics/permissions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from relay.surfaces.discord import raw

Json = dict[str, Any]

ADMINISTRATOR = 1 << 3
EVERYTHING = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Permission:
    """`name` as Discord's settings show it, and what the relay does with it."""

    name: str
    bit: int
    purpose: str


NEEDED = (
    Permission("View Channel", 1 << 10, "hearing what is written"),
    Permission("Read Message History", 1 << 16, "reading what was said while it was away"),
    Permission("Send Messages", 1 << 11, "answering"),
    Permission("Send Messages in Threads", 1 << 38, "answering in threads"),
    Permission("Add Reactions", 1 << 6, "marking what was taken in"),
    Permission("Attach Files", 1 << 15, "files, and texts too long for a message"),
)
USEFUL = (
    Permission("Create Public Threads", 1 << 35, "opening a thread for a task"),
    Permission("Embed Links", 1 << 14, "previews of the links in an answer"),
    Permission("Manage Threads", 1 << 34, "answering in a thread that was locked"),
    Permission("Pin Messages", 1 << 51, "pinning what goes on"),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A member's permissions: by its roles alone, and with the channel's own rules."""

    by_roles: int
    in_channel: int

    def lacks(self, wanted: Sequence[Permission]) -> list[tuple[Permission, bool]]:
        """What is missing; true beside what the roles give and the channel takes away."""
        return [(one, bool(self.by_roles & one.bit)) for one in wanted if not self.in_channel & one.bit]


def bits(value: object) -> int:
    """A permission field, which comes as text."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 40 else 0


def standing(guild: Json, member: Json, channel: Json) -> Standing:
    """Of a member in a channel. A permission that View Channel carries along is counted on its own."""
    roles = {raw.word(role.get("id")): bits(role.get("permissions")) for role in raw.objs(guild.get("roles"))}
    everybody, us = raw.word(guild.get("id")), raw.word(raw.obj(member.get("user")).get("id"))
    listed: object = member.get("roles")
    mine = [raw.word(role) for role in cast("list[object]", listed)] if isinstance(listed, list) else []
    found = roles.get(everybody, 0)
    for role in mine:
        found |= roles.get(role, 0)
    if found & ADMINISTRATOR or raw.word(guild.get("owner_id")) == us:
        return Standing(EVERYTHING, EVERYTHING)
    rules = {raw.word(rule.get("id")): rule for rule in raw.objs(channel.get("permission_overwrites"))}
    inside = _ruled(found, [rules[everybody]] if everybody in rules else [])
    inside = _ruled(inside, [rules[role] for role in mine if role in rules])
    inside = _ruled(inside, [rules[us]] if us in rules else [])
    return Standing(found, inside)


def _ruled(found: int, rules: Sequence[Json]) -> int:
    for rule in rules:
        found &= ~bits(rule.get("deny"))
    for rule in rules:
        found |= bits(rule.get("allow"))
    return found

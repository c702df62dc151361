"""REST: guilds, members, channels, threads, typing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fakes.discord import guilds, message_payloads, payloads, permissions, rest_bodies, threads
from fakes.discord.asking import Ask, Route, snowflake
from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import Kind, User


def guild(ask: Ask) -> tuple[int, Any]:
    return 200, payloads.guild(ask.world.guild(ask.number("guild_id"), ask.bot))


def guild_channels(ask: Ask) -> tuple[int, Any]:
    home = ask.world.guild(ask.number("guild_id"), ask.bot)
    known = [one for one in ask.world.channels.values() if one.guild_id == home.id and not one.is_thread]
    return 200, [payloads.channel(ask.world, one) for one in known]


def guild_roles(ask: Ask) -> tuple[int, Any]:
    home = ask.world.guild(ask.number("guild_id"), ask.bot)
    return 200, [payloads.role(one) for one in home.roles.values()]


def guild_member(ask: Ask) -> tuple[int, Any]:
    home = ask.world.guild(ask.number("guild_id"), ask.bot)
    found = home.members.get(ask.number("user_id"))
    if found is None:
        raise ApiError(10007)
    return 200, payloads.member(found)


def active_threads(ask: Ask) -> tuple[int, Any]:
    home = ask.world.guild(ask.number("guild_id"), ask.bot)
    return 200, threads.active(ask.world, home.id, ask.bot)


def add_channel(ask: Ask) -> tuple[int, Any]:
    home = ask.world.guild(ask.number("guild_id"), ask.bot)
    if not permissions.in_guild(home, ask.bot.id) & permissions.MANAGE_CHANNELS:
        raise ApiError(50013)
    body = ask.fields
    parent = ask.world.channels.get(int(body.get("parent_id") or 0))
    kind = Kind(body.get("type", 0))
    made = guilds.add_channel(ask.world, home, kind, body["name"], parent=parent, topic=body.get("topic"))
    return 201, payloads.channel(ask.world, made)


def channel(ask: Ask) -> tuple[int, Any]:
    return 200, payloads.channel(ask.world, ask.channel, ask.bot)


def edit_channel(ask: Ask) -> tuple[int, Any]:
    one = ask.channel
    change = threads.edit if one.is_thread else guilds.edit_channel
    return 200, payloads.channel(ask.world, change(ask.world, ask.bot, one, ask.fields), ask.bot)


def delete_channel(ask: Ask) -> tuple[int, Any]:
    one = ask.channel
    shown = payloads.channel(ask.world, one, ask.bot)
    if one.is_thread:
        ask.world.need(ask.bot, one, permissions.MANAGE_THREADS)
        threads.delete(ask.world, one)
    elif one.kind is not Kind.DM:
        ask.world.need(ask.bot, one, permissions.MANAGE_CHANNELS)
        guilds.delete_channel(ask.world, one)
    return 200, shown


def typing(ask: Ask) -> tuple[int, Any]:
    guilds.typing(ask.world, ask.bot, ask.channel)
    return 204, None


def thread_on_message(ask: Ask) -> tuple[int, Any]:
    on, body = ask.message, ask.fields
    made = threads.open_thread(
        ask.world,
        ask.bot,
        ask.channel,
        _name(body),
        on=on,
        archive_after=body.get("auto_archive_duration") or 4320,
    )
    return 201, payloads.thread(ask.world, made, ask.bot)


def add_thread(ask: Ask) -> tuple[int, Any]:
    """A thread of its own, or a post in a forum with its first message."""
    parent, body = ask.channel, ask.fields
    after = body.get("auto_archive_duration") or 4320
    if parent.kind is not Kind.FORUM:
        private = body.get("type", int(Kind.PRIVATE_THREAD)) == Kind.PRIVATE_THREAD
        made = threads.open_thread(
            ask.world, ask.bot, parent, _name(body), private=private, archive_after=after
        )
        return 201, payloads.thread(ask.world, made, ask.bot)
    draft = rest_bodies.draft(body.get("message") or {}, ask.files)
    tags = [int(tag) for tag in body.get("applied_tags") or []]
    made = threads.forum_post(ask.world, ask.bot, parent, _name(body), draft, tags=tags, archive_after=after)
    first = made.messages[made.id]
    shown = payloads.thread(ask.world, made, ask.bot)
    return 201, {**shown, "message": message_payloads.message(ask.world, first, ask.bot)}


def _name(body: dict[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str):
        raise wrong_form("name", "BASE_TYPE_REQUIRED", "A thread needs a name")
    return name


def archived_threads(ask: Ask) -> tuple[int, Any]:
    before = ask.query.get("before")
    try:
        moment = datetime.fromisoformat(before).timestamp() if before else None
    except ValueError:
        raise wrong_form("before", "DATE_TIME_TYPE_PARSE", "Not a time") from None
    limit = ask.asked("limit") or 50
    return 200, threads.archived(ask.world, ask.channel, ask.bot, before=moment, limit=limit)


def _whom(ask: Ask) -> User:
    if "user_id" not in ask.path:
        return ask.bot
    found = ask.world.users.get(snowflake(ask.path["user_id"], "user_id"))
    if found is None:
        raise ApiError(10013)
    return found


def join_thread(ask: Ask) -> tuple[int, Any]:
    threads.join(ask.world, _whom(ask), ask.channel, by=ask.bot)
    return 204, None


def leave_thread(ask: Ask) -> tuple[int, Any]:
    who = _whom(ask)
    if who.id != ask.bot.id:
        ask.world.need(ask.bot, ask.channel, permissions.MANAGE_THREADS)
    threads.leave(ask.world, who, ask.channel)
    return 204, None


def thread_members(ask: Ask) -> tuple[int, Any]:
    one = ask.channel
    return 200, [payloads.thread_member(one, number) for number in threads.state(one).members]


def thread_member(ask: Ask) -> tuple[int, Any]:
    one, who = ask.channel, _whom(ask)
    if who.id not in threads.state(one).members:
        raise ApiError(10007)
    return 200, payloads.thread_member(one, who.id)


_CHANNEL = "/channels/{channel_id}"

ROUTES = (
    Route("GET", "/guilds/{guild_id}", guild),
    Route("GET", "/guilds/{guild_id}/channels", guild_channels),
    Route("POST", "/guilds/{guild_id}/channels", add_channel),
    Route("GET", "/guilds/{guild_id}/roles", guild_roles),
    Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_member),
    Route("GET", "/guilds/{guild_id}/threads/active", active_threads),
    Route("GET", _CHANNEL, channel),
    Route("PATCH", _CHANNEL, edit_channel),
    Route("DELETE", _CHANNEL, delete_channel),
    Route("POST", _CHANNEL + "/typing", typing),
    Route("POST", _CHANNEL + "/messages/{message_id}/threads", thread_on_message),
    Route("POST", _CHANNEL + "/threads", add_thread),
    Route("GET", _CHANNEL + "/threads/archived/public", archived_threads),
    Route("PUT", _CHANNEL + "/thread-members/@me", join_thread),
    Route("DELETE", _CHANNEL + "/thread-members/@me", leave_thread),
    Route("GET", _CHANNEL + "/thread-members", thread_members),
    Route("PUT", _CHANNEL + "/thread-members/{user_id}", join_thread),
    Route("DELETE", _CHANNEL + "/thread-members/{user_id}", leave_thread),
    Route("GET", _CHANNEL + "/thread-members/{user_id}", thread_member),
)

"""REST: messages, their history, reactions and pins."""

from __future__ import annotations

from typing import Any

from fakes.discord import (
    intents,
    message_payloads,
    payloads,
    permissions,
    posting,
    reacting,
    reading,
    rest_bodies,
)
from fakes.discord.asking import Ask, Route, snowflake
from fakes.discord.errors import ApiError
from fakes.discord.model import Json, Message, User


def shown(ask: Ask, one: Message) -> Json:
    """The message as this bot may read it: REST hides the content too from who lacks the intent."""
    data = message_payloads.message(ask.world, one, ask.bot)
    if ask.signed_in.privileged & intents.CONTENT:
        return data
    direct = ask.world.channels[one.channel_id].guild_id is None
    return message_payloads.hidden(data, one, ask.bot, direct=direct)


def post(ask: Ask) -> tuple[int, Any]:
    draft = rest_bodies.draft(ask.fields, ask.files)
    made = posting.post(ask.world, ask.bot, ask.channel, draft)
    data = shown(ask, made)
    if made.nonce is not None:
        data["nonce"] = made.nonce
    return 200, data


def history(ask: Ask) -> tuple[int, Any]:
    found = reading.history(
        ask.world,
        ask.bot,
        ask.channel,
        before=ask.asked("before"),
        after=ask.asked("after"),
        around=ask.asked("around"),
        limit=50 if "limit" not in ask.query else ask.asked("limit") or 0,
    )
    return 200, [shown(ask, one) for one in found]


def one(ask: Ask) -> tuple[int, Any]:
    found = ask.message
    ask.world.need(ask.bot, ask.channel, permissions.READ_MESSAGE_HISTORY)
    return 200, shown(ask, found)


def edit(ask: Ask) -> tuple[int, Any]:
    changed = posting.edit(ask.world, ask.bot, ask.channel, ask.message, ask.fields, ask.files)
    return 200, shown(ask, changed)


def delete(ask: Ask) -> tuple[int, Any]:
    posting.delete(ask.world, ask.bot, ask.channel, ask.message)
    return 204, None


def bulk_delete(ask: Ask) -> tuple[int, Any]:
    ids = [snowflake(str(number), "messages") for number in ask.fields.get("messages") or []]
    posting.bulk_delete(ask.world, ask.bot, ask.channel, ids)
    return 204, None


def react(ask: Ask) -> tuple[int, Any]:
    reacting.add(ask.world, ask.bot, ask.channel, ask.message, ask.path["emoji_name"])
    return 204, None


def unreact(ask: Ask) -> tuple[int, Any]:
    whose = _person(ask) if "user_id" in ask.path else ask.bot
    reacting.take_off(ask.world, ask.bot, ask.channel, ask.message, ask.path["emoji_name"], whose)
    return 204, None


def _person(ask: Ask) -> User:
    found = ask.world.users.get(ask.number("user_id"))
    if found is None:
        raise ApiError(10013)
    return found


def reacted(ask: Ask) -> tuple[int, Any]:
    """Who put this emoji on."""
    people = sorted(ask.message.reactions.get(ask.path["emoji_name"], []))
    after = ask.asked("after") or 0
    limit = ask.asked("limit") or 25
    chosen = [number for number in people if number > after][:limit]
    return 200, [payloads.user(ask.world.users[number]) for number in chosen]


def clear(ask: Ask) -> tuple[int, Any]:
    reacting.clear(ask.world, ask.bot, ask.channel, ask.message, ask.path.get("emoji_name"))
    return 204, None


def pin(ask: Ask) -> tuple[int, Any]:
    reacting.pin(ask.world, ask.bot, ask.channel, ask.message, True)
    return 204, None


def unpin(ask: Ask) -> tuple[int, Any]:
    reacting.pin(ask.world, ask.bot, ask.channel, ask.message, False)
    return 204, None


def _pinned(ask: Ask) -> list[Message]:
    return [one for one in reversed(ask.channel.messages.values()) if one.pinned]


def pins(ask: Ask) -> tuple[int, Any]:
    items = [{"pinned_at": shown(ask, one)["timestamp"], "message": shown(ask, one)} for one in _pinned(ask)]
    return 200, {"items": items, "has_more": False}


_MESSAGES = "/channels/{channel_id}/messages"
_ONE = _MESSAGES + "/{message_id}"
_EMOJI = _ONE + "/reactions/{emoji_name}"

ROUTES = (
    Route("POST", _MESSAGES, post),
    Route("GET", _MESSAGES, history),
    Route("POST", _MESSAGES + "/bulk-delete", bulk_delete),
    Route("GET", _MESSAGES + "/pins", pins),
    Route("PUT", _MESSAGES + "/pins/{message_id}", pin),
    Route("DELETE", _MESSAGES + "/pins/{message_id}", unpin),
    Route("GET", _ONE, one),
    Route("PATCH", _ONE, edit),
    Route("DELETE", _ONE, delete),
    Route("PUT", _EMOJI + "/@me", react),
    Route("DELETE", _EMOJI + "/@me", unreact),
    Route("DELETE", _EMOJI + "/{user_id}", unreact),
    Route("GET", _EMOJI, reacted),
    Route("DELETE", _EMOJI, clear),
    Route("DELETE", _ONE + "/reactions", clear),
)

"""REST: answers to interactions, and webhooks. An interaction's token is used as a webhook's."""

from __future__ import annotations

from typing import Any

from fakes.discord import guilds, interactions, message_payloads, payloads, permissions, posting, rest_bodies
from fakes.discord.asking import Ask, Route
from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.interaction import Interaction
from fakes.discord.model import Channel, Message, Webhook


def callback(ask: Ask) -> tuple[int, Any]:
    body = ask.fields
    kind = body.get("type")
    if not isinstance(kind, int):
        raise wrong_form("type", "BASE_TYPE_REQUIRED", "What kind of answer?")
    number, token = ask.number("interaction_id"), ask.path["interaction_token"]
    one = interactions.respond(ask.world, number, token, kind, body.get("data") or {}, ask.files)
    if not ask.yes("with_response"):
        return 204, None
    caption: dict[str, Any] = {"id": str(one.id), "type": one.kind, "response_message_loading": False}
    found: dict[str, Any] = {"interaction": caption}
    if one.original is not None:
        private = one.original.ephemeral_for is not None
        caption |= {
            "response_message_id": str(one.original.id),
            "response_message_ephemeral": private,
            "response_message_loading": kind == interactions.LATER,
            "channel_id": str(one.channel.id),
        }
        if kind in (interactions.MESSAGE, interactions.UPDATE):
            shown = message_payloads.message(ask.world, one.original, one.app.user)
            found["resource"] = {"type": kind, "message": shown}
    return 200, found


def _interaction(ask: Ask) -> Interaction | None:
    return interactions.by_token(ask.world, ask.path["webhook_token"])


def _hook(ask: Ask) -> tuple[Webhook, Channel]:
    hook = ask.world.webhook(ask.number("webhook_id"), ask.path["webhook_token"])
    thread = ask.asked("thread_id")
    return hook, ask.world.channel(thread if thread else hook.channel_id)


def _shown(ask: Ask, one: Message) -> dict[str, Any]:
    return message_payloads.message(ask.world, one)


def execute(ask: Ask) -> tuple[int, Any]:
    """A follow-up, or a webhook's message (no nonce is enforced on either)."""
    if (one := _interaction(ask)) is not None:
        return 200, _shown(ask, interactions.follow_up(ask.world, one, ask.fields, ask.files))
    hook, channel = _hook(ask)
    draft = rest_bodies.draft(ask.fields, ask.files)
    draft.nonce = None
    name = ask.fields.get("username") or hook.name
    made = posting.post(ask.world, hook.user, channel, draft, hook=hook, spoken_by=name, checked=False)
    return (200, _shown(ask, made)) if ask.yes("wait") else (204, None)


def _message(ask: Ask) -> tuple[Channel, Message]:
    hook, channel = _hook(ask)
    found = ask.world.message(channel, ask.number("message_id"))
    if found.webhook_id != hook.id:
        raise ApiError(50005)
    return channel, found


def _which(ask: Ask) -> str:
    return ask.path.get("message_id", "@original")


def get(ask: Ask) -> tuple[int, Any]:
    if (one := _interaction(ask)) is not None:
        return 200, _shown(ask, interactions.find(ask.world, one, _which(ask)))
    return 200, _shown(ask, _message(ask)[1])


def edit(ask: Ask) -> tuple[int, Any]:
    if (one := _interaction(ask)) is not None:
        return 200, _shown(ask, interactions.edit(ask.world, one, _which(ask), ask.fields, ask.files))
    channel, found = _message(ask)
    return 200, _shown(ask, posting.edit(ask.world, found.author, channel, found, ask.fields, ask.files))


def delete(ask: Ask) -> tuple[int, Any]:
    if (one := _interaction(ask)) is not None:
        interactions.delete(ask.world, one, _which(ask))
        return 204, None
    channel, found = _message(ask)
    posting.delete(ask.world, found.author, channel, found)
    return 204, None


def add(ask: Ask) -> tuple[int, Any]:
    channel = ask.channel
    hook = guilds.add_webhook(ask.world, ask.bot, channel, ask.fields["name"], ask.signed_in)
    return 200, payloads.webhook(hook, channel.guild_id)


def of_channel(ask: Ask) -> tuple[int, Any]:
    channel = ask.channel
    ask.world.need(ask.bot, channel, permissions.MANAGE_WEBHOOKS)
    known = [one for one in ask.world.webhooks.values() if one.channel_id == channel.id]
    return 200, [payloads.webhook(one, channel.guild_id) for one in known]


_TOKEN = "/webhooks/{webhook_id}/{webhook_token}"

ROUTES = (
    Route("POST", "/interactions/{interaction_id}/{interaction_token}/callback", callback, open=True),
    Route("POST", _TOKEN, execute, open=True),
    Route("GET", _TOKEN + "/messages/@original", get, open=True),
    Route("PATCH", _TOKEN + "/messages/@original", edit, open=True),
    Route("DELETE", _TOKEN + "/messages/@original", delete, open=True),
    Route("GET", _TOKEN + "/messages/{message_id}", get, open=True),
    Route("PATCH", _TOKEN + "/messages/{message_id}", edit, open=True),
    Route("DELETE", _TOKEN + "/messages/{message_id}", delete, open=True),
    Route("POST", "/channels/{channel_id}/webhooks", add),
    Route("GET", "/channels/{channel_id}/webhooks", of_channel),
)

"""Interactions: a person uses a command, a button or a form; the app has 3 seconds to answer and 15 minutes after."""

from __future__ import annotations

import secrets

from fakes.discord import components, message_payloads, payloads, posting
from fakes.discord.errors import ApiError
from fakes.discord.interaction import Interaction, Stage
from fakes.discord.model import (
    EPHEMERAL,
    LOADING,
    App,
    Attachment,
    Channel,
    Json,
    Message,
    MessageKind,
    User,
)
from fakes.discord.world import Event, World

COMMAND, COMPONENT, AUTOCOMPLETE, FORM = 2, 3, 4, 5
PONG, MESSAGE, LATER, LATER_UPDATE, UPDATE, CHOICES, MODAL = 1, 4, 5, 6, 7, 8, 9


def begin(
    world: World,
    app: App,
    who: User,
    channel: Channel,
    kind: int,
    data: Json,
    message: Message | None = None,
    trigger: Interaction | None = None,
) -> Interaction:
    """The person has acted: INTERACTION_CREATE goes out, and the 3 seconds run."""
    number = world.ids.next()
    one = Interaction(
        number,
        kind,
        app,
        who,
        channel,
        secrets.token_urlsafe(120),
        world.clock.now(),
        data,
        message,
        trigger,
    )
    world.interactions[number] = one
    world.emit(Event("INTERACTION_CREATE", _told(world, one), None, None, 0, frozenset({app.user.id})))
    return one


def _told(world: World, one: Interaction) -> Json:
    channel = one.channel
    guild = world.guilds.get(channel.guild_id or 0)
    found: Json = {
        "id": str(one.id),
        "application_id": str(one.app.id),
        "type": one.kind,
        "token": one.token,
        "version": 1,
        "data": one.data,
        "channel_id": str(channel.id),
        "channel": {**payloads.channel(world, channel), "permissions": str(world.bits(one.user, channel))},
        "app_permissions": str(world.bits(one.app.user, channel)),
        "locale": "en-US",
        "entitlements": [],
        "attachment_size_limit": world.rules.file_limits[guild.premium_tier if guild else 0],
        "context": 0 if guild else 1,
        "authorizing_integration_owners": {"0": str(guild.id) if guild else "0"},
    }
    if guild is not None:
        bits = str(world.bits(one.user, channel))
        found |= {
            "guild_id": str(guild.id),
            "guild_locale": "en-US",
            "guild": {"id": str(guild.id), "locale": "en-US", "features": []},
            "member": {**payloads.member(guild.members[one.user.id]), "permissions": bits},
        }
    else:
        found["user"] = payloads.user(one.user)
    if one.message is not None:
        found["message"] = message_payloads.message(world, one.message, one.app.user)
    return found


def respond(
    world: World, interaction_id: int, token: str, kind: int, data: Json, files: list[Attachment]
) -> Interaction:
    """The first answer. Raises 10062 after 3 seconds, 40060 for a second one, 50035's kin for a wrong body."""
    one = world.interactions.get(interaction_id)
    if one is None or one.token != token:
        raise ApiError(10062)
    if one.stage is not Stage.WAITING:
        raise ApiError(40060)
    if world.clock.now() - one.made_at > world.rules.ack_within:
        raise ApiError(10062)
    if kind == MESSAGE:
        one.original = _say(world, one, data, files)
        one.stage = Stage.ANSWERED
    elif kind == LATER:
        one.stage = Stage.THINKING
        one.original = _waiting(world, one, data)
    elif kind == LATER_UPDATE:
        one.stage, one.original = Stage.ANSWERED, one.message
    elif kind == UPDATE and one.message is not None:
        posting.edit(world, one.app.user, one.channel, one.message, data, files)
        one.stage, one.original = Stage.ANSWERED, one.message
    elif kind == CHOICES:
        one.choices, one.stage = data.get("choices") or [], Stage.ANSWERED
    elif kind == MODAL:
        components.check(data.get("components") or [])
        one.modal, one.stage = data, Stage.ANSWERED
    elif kind == PONG:
        one.stage = Stage.ANSWERED
    else:
        raise ApiError(50035)
    world.changed()
    return one


def _caption(one: Interaction) -> Json:
    """What a message says about the interaction that it answers."""
    found: Json = {
        "id": str(one.id),
        "type": one.kind,
        "user": payloads.user(one.user),
        "authorizing_integration_owners": {"0": str(one.channel.guild_id or 0)},
    }
    if one.kind == COMMAND:
        found |= {"name": one.data["name"], "command_type": 1}
    if one.kind == COMPONENT and one.message is not None:
        found["interacted_message_id"] = str(one.message.id)
    if one.kind == FORM and one.trigger is not None:
        found["triggering_interaction_metadata"] = _caption(one.trigger)
    return found


def _draft(data: Json, files: list[Attachment]) -> posting.Draft:
    return posting.Draft(
        data.get("content") or "",
        files,
        data.get("embeds") or [],
        data.get("components") or [],
        allowed=data.get("allowed_mentions"),
        flags=data.get("flags") or 0,
    )


def _say(world: World, one: Interaction, data: Json, files: list[Attachment]) -> Message:
    private = bool((data.get("flags") or 0) & EPHEMERAL)
    return posting.post(
        world,
        one.app.user,
        one.channel,
        _draft(data, files),
        kind=MessageKind.COMMAND if one.kind == COMMAND else MessageKind.DEFAULT,
        ephemeral_for=one.user.id if private else None,
        checked=False,
        application_id=one.app.id,
        interaction=_caption(one),
    )


def _waiting(world: World, one: Interaction, data: Json) -> Message:
    """The message that shows "thinking" until it is edited."""
    private = bool((data.get("flags") or 0) & EPHEMERAL)
    made = Message(world.ids.next(), one.channel.id, one.app.user, "", MessageKind.COMMAND)
    made.flags = LOADING | (EPHEMERAL if private else 0)
    made.ephemeral_for = one.user.id if private else None
    made.application_id, made.interaction = one.app.id, _caption(one)
    posting.publish(world, one.channel, made)
    return made


def by_token(world: World, token: str) -> Interaction | None:
    return next((one for one in world.interactions.values() if one.token == token), None)


def _alive(world: World, one: Interaction) -> None:
    if world.clock.now() - one.made_at > world.rules.token_for:
        raise ApiError(50027)
    if one.stage is Stage.WAITING:
        raise ApiError(10015)


def find(world: World, one: Interaction, message_id: str) -> Message:
    """`@original` or a follow-up's number. Raises 50027 after 15 minutes."""
    _alive(world, one)
    if message_id == "@original":
        if one.original is None or one.original.id not in one.channel.messages:
            raise ApiError(10008)
        return one.original
    return world.message(one.channel, int(message_id))


def follow_up(world: World, one: Interaction, data: Json, files: list[Attachment]) -> Message:
    """One message more; the first after "thinking" takes its place."""
    _alive(world, one)
    if one.stage is Stage.THINKING and one.original is not None:
        return edit(world, one, "@original", data, files)
    made = _say(world, one, data, files)
    one.followups.append(made)
    return made


def edit(world: World, one: Interaction, message_id: str, data: Json, files: list[Attachment]) -> Message:
    message = find(world, one, message_id)
    if message.flags & LOADING:
        message.flags &= ~LOADING
        one.stage = Stage.ANSWERED
        posting.edit(world, one.app.user, one.channel, message, data, files)
        message.edited_at = None
        return message
    return posting.edit(world, one.app.user, one.channel, message, data, files)


def delete(world: World, one: Interaction, message_id: str) -> None:
    message = find(world, one, message_id)
    posting.remove(world, one.channel, [message], "MESSAGE_DELETE")


def failed(world: World, one: Interaction) -> bool:
    """The person reads that the app didn't answer."""
    late = world.clock.now() - one.made_at
    if one.stage is Stage.WAITING:
        return late > world.rules.ack_within
    return one.stage is Stage.THINKING and late > world.rules.token_for

"""Writing, changing and deleting messages: what is refused, what is remembered, what is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fakes.discord import components, intents, mentions, message_payloads, permissions, threads
from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import (
    SPOKEN,
    WRITTEN_IN,
    Attachment,
    Channel,
    Json,
    Kind,
    Message,
    MessageKind,
    User,
    Webhook,
)
from fakes.discord.world import Event, World

GIVEN_BACK = 1 << 2 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 15
"""The flags that a sender may set."""


@dataclass
class Draft:
    """What somebody wants to send. `reference` as in the API: message_id, channel_id, fail_if_not_exists, type."""

    content: str = ""
    files: list[Attachment] = field(default_factory=list[Attachment])
    embeds: list[Json] = field(default_factory=list[Json])
    components: list[Json] = field(default_factory=list[Json])
    reference: Json | None = None
    allowed: Json | None = None
    nonce: str | int | None = None
    enforce_nonce: bool = False
    flags: int = 0
    stickers: list[Any] = field(default_factory=list[Any])


def length(world: World, text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 if world.rules.count_utf16 else len(text)


def check_body(world: World, channel: Channel, draft: Draft) -> None:
    """Raises what the API says to a body that is too long, empty, or too heavy."""
    draft.content = draft.content.strip()
    if length(world, draft.content) > world.rules.longest_message:
        said = f"At most {world.rules.longest_message} characters"
        raise wrong_form("content", "BASE_TYPE_MAX_LENGTH", said)
    if len(draft.embeds) > 10:
        raise wrong_form("embeds", "BASE_TYPE_MAX_LENGTH", "At most 10 embeds")
    for index, embed in enumerate(draft.embeds):
        if length(world, embed.get("description") or "") > 4096:
            raise wrong_form(f"embeds.{index}.description", "BASE_TYPE_MAX_LENGTH", "At most 4096 characters")
    components.check(draft.components)
    if len(draft.files) > 10:
        raise wrong_form("attachments", "BASE_TYPE_MAX_LENGTH", "At most 10 files")
    guild = world.guilds.get(channel.guild_id or 0)
    most = world.rules.file_limits[guild.premium_tier if guild else 0]
    if any(len(file.data) > most for file in draft.files):
        raise ApiError(40005)
    given = (draft.content, draft.files, draft.embeds, draft.components, draft.stickers)
    forward = (draft.reference or {}).get("type") == 1
    if not any(given) and not forward:
        raise ApiError(50006)
    words = guild.blocked_words if guild else set[str]()
    if any(word in draft.content for word in words):
        raise ApiError(200000)


def check_place(world: World, author: User, channel: Channel, draft: Draft) -> None:
    """Raises what the API says to who may not write here, now."""
    if channel.kind not in WRITTEN_IN:
        raise ApiError(50008)
    if channel.kind is Kind.DM and not all(
        one.takes_dms for one in channel.recipients if one.id != author.id
    ):
        raise ApiError(50007)
    bit = permissions.SEND_MESSAGES_IN_THREADS if channel.is_thread else permissions.SEND_MESSAGES
    world.need(author, channel, bit | (permissions.ATTACH_FILES if draft.files else 0))
    if (
        draft.reference
        and draft.reference.get("type", 0) == 0
        and not world.bits(author, channel) & permissions.READ_MESSAGE_HISTORY
    ):
        raise ApiError(160002)
    threads.check_writable(world, author, channel)


def post(
    world: World,
    author: User,
    channel: Channel,
    draft: Draft,
    *,
    hook: Webhook | None = None,
    spoken_by: str | None = None,
    kind: MessageKind | None = None,
    ephemeral_for: int | None = None,
    checked: bool = True,
    message_id: int | None = None,
    application_id: int | None = None,
    interaction: Json | None = None,
) -> Message:
    """A new message, or the earlier one if an enforced nonce is remembered (10008 if that one was deleted since).

    `checked` False leaves out who may write here, for webhooks and answers to interactions.
    """
    if draft.nonce is not None and len(str(draft.nonce)) > 25:
        raise wrong_form("nonce", "NONCE_TYPE_INVALID", "At most 25 characters")
    key = (author.id, str(draft.nonce))
    if draft.nonce is not None and draft.enforce_nonce and (known := world.nonces.get(key)):
        when, where, earlier = known
        if world.clock.now() - when < world.rules.nonce_memory:
            return world.message(world.channel(where), earlier)
    if checked:
        check_place(world, author, channel, draft)
    check_body(world, channel, draft)
    target, snapshots = _reference(world, author, channel, draft)
    allowed = draft.allowed
    found = mentions.named(world, author, channel, draft.content, allowed, target.author if target else None)
    reply = target is not None and not snapshots
    message = Message(
        message_id or world.ids.next(),
        channel.id,
        author,
        draft.content,
        kind or (MessageKind.REPLY if reply else MessageKind.DEFAULT),
        attachments=draft.files,
        embeds=[{"type": "rich", **one} for one in draft.embeds],
        components=components.numbered(draft.components),
        reference=draft.reference,
        snapshots=snapshots,
        nonce=draft.nonce,
        mentions=found.users,
        mention_roles=found.roles,
        mention_everyone=found.everyone,
        flags=(draft.flags & GIVEN_BACK) | (1 << 14 if snapshots else 0),
        webhook_id=hook.id if hook else None,
        application_id=hook.application_id if hook else application_id,
        interaction=interaction,
        ephemeral_for=ephemeral_for,
        spoken_by=spoken_by,
    )
    if draft.nonce is not None:
        world.nonces[key] = (world.clock.now(), channel.id, message.id)
    publish(world, channel, message)
    return message


def publish(world: World, channel: Channel, message: Message) -> None:
    """The message is there: in the channel, on people's screens, and on its way to the bots."""
    guild = world.guilds.get(channel.guild_id or 0)
    if channel.thread and channel.thread.archived:
        threads.change(world, channel, archived=False)
    channel.messages[message.id] = message
    if message.ephemeral_for is not None:
        world.changed()
        return
    channel.last_message_id = message.id
    if channel.thread is not None:
        channel.thread.sent += 1
    for person in mentions.pinged(world, guild, channel, message):
        world.pings.append((person.id, channel.id, message.id))
    data = message_payloads.created(world, message)
    if message.nonce is not None:
        data["nonce"] = message.nonce
    needed = intents.messages(channel.guild_id)
    world.emit(
        Event("MESSAGE_CREATE", data, channel.guild_id, channel.id, needed, message=message),
    )


def _reference(
    world: World, author: User, channel: Channel, draft: Draft
) -> tuple[Message | None, list[Json]]:
    """The message replied to, or the snapshots of a forwarded one; completes the draft's reference."""
    wanted = draft.reference
    if wanted is None:
        return None, []
    where = world.channels.get(int(wanted.get("channel_id") or channel.id))
    target = where.messages.get(int(wanted["message_id"])) if where else None
    forward = wanted.get("type", 0) == 1
    if target is None or where is None or not world.sees(author, where):
        if forward or wanted.get("fail_if_not_exists", True):
            raise wrong_form("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "No such message")
        draft.reference = None
        return None, []
    draft.reference = {
        "type": 1 if forward else 0,
        "channel_id": str(where.id),
        "message_id": str(target.id),
        **({"guild_id": str(where.guild_id)} if where.guild_id else {}),
    }
    if not forward:
        return target, []
    full = message_payloads.message(world, target, deep=False)
    kept = ("type", "content", "mentions", "mention_roles", "attachments", "embeds", "timestamp")
    more = ("edited_timestamp", "flags", "components")
    return None, [{"message": {name: full[name] for name in (*kept, *more)}}]


def edit(
    world: World, editor: User, channel: Channel, message: Message, body: Json, files: list[Attachment]
) -> Message:
    """Changes the fields that `body` has (as in the API). Raises 50005 for another's message, 50083 in an archive."""
    if message.author.id != editor.id:
        raise ApiError(50005)
    if message.kind not in SPOKEN:
        raise ApiError(50021)
    if channel.thread and channel.thread.archived:
        raise ApiError(50083)
    content = message.content if body.get("content", ...) is ... else (body["content"] or "")
    embeds = message.embeds if "embeds" not in body else (body["embeds"] or [])
    rows = message.components if "components" not in body else (body["components"] or [])
    kept = message.attachments
    if body.get("attachments") is not None:
        ids = {str(one.get("id")) for one in body["attachments"]}
        kept = [one for one in message.attachments if str(one.id) in ids]
    draft = Draft(content, [*kept, *files], embeds, rows)
    check_body(world, channel, draft)
    found = mentions.named(world, editor, channel, draft.content, body.get("allowed_mentions"), None)
    message.content = draft.content
    message.embeds = [{"type": "rich", **one} for one in embeds]
    message.components = components.numbered(rows)
    message.attachments = draft.files
    message.mentions, message.mention_roles = found.users, found.roles
    if body.get("flags") is not None:
        message.flags = (message.flags & ~GIVEN_BACK) | (body["flags"] & GIVEN_BACK)
    message.edited_at = world.clock.now()
    told_changed(world, channel, message)
    return message


def told_changed(world: World, channel: Channel, message: Message) -> None:
    """MESSAGE_UPDATE, whatever has changed: text, embeds that a preview added, a pin, a thread."""
    if message.ephemeral_for is not None:
        world.changed()
        return
    data = message_payloads.created(world, message)
    needed = intents.messages(channel.guild_id)
    world.emit(Event("MESSAGE_UPDATE", data, channel.guild_id, channel.id, needed, message=message))


def delete(world: World, who: User, channel: Channel, message: Message) -> None:
    if message.author.id != who.id:
        world.need(who, channel, permissions.MANAGE_MESSAGES)
    if channel.thread and channel.thread.archived:
        raise ApiError(50083)
    remove(world, channel, [message], "MESSAGE_DELETE")


def bulk_delete(world: World, who: User, channel: Channel, ids: list[int]) -> None:
    """2 to 100 messages, not older than two weeks."""
    world.need(who, channel, permissions.MANAGE_MESSAGES)
    if not 2 <= len(ids) <= 100:
        raise wrong_form("messages", "BASE_TYPE_BAD_LENGTH", "2 to 100 messages")
    remove(
        world,
        channel,
        [channel.messages[one] for one in ids if one in channel.messages],
        "MESSAGE_DELETE_BULK",
    )


def remove(world: World, channel: Channel, gone: list[Message], name: str) -> None:
    for message in gone:
        del channel.messages[message.id]
    data: Json = {"channel_id": str(channel.id)}
    if channel.guild_id is not None:
        data["guild_id"] = str(channel.guild_id)
    needed = intents.messages(channel.guild_id)
    ids = [str(message.id) for message in gone]
    several = name == "MESSAGE_DELETE_BULK"
    for part in [{"ids": ids}] if several else [{"id": one} for one in ids]:
        world.emit(Event(name, {**data, **part}, channel.guild_id, channel.id, needed))

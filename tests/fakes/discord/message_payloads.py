"""How messages are written in JSON, for those who may read their content and for those who may not."""

from __future__ import annotations

import io
import struct
from urllib.parse import quote

from fakes.discord import payloads
from fakes.discord.clock import iso, made_at
from fakes.discord.model import Attachment, Json, Message, User
from fakes.discord.world import World

CDN = "https://cdn.discordapp.com/attachments"


def emoji(key: str) -> Json:
    """`key` is the character, or name:id for a guild's own."""
    name, _, number = key.partition(":")
    return {"id": number or None, "name": name} if number else {"id": None, "name": key}


def attachment(one: Attachment, channel_id: int) -> Json:
    url = f"{CDN}/{channel_id}/{one.id}/{quote(one.filename, safe='')}"
    found: Json = {
        "id": str(one.id),
        "filename": one.filename,
        "size": len(one.data),
        "url": f"{url}?ex=7fffffff&is=0&hm={one.id:x}&",
        "proxy_url": url.replace("cdn.discordapp.com", "media.discordapp.net"),
    }
    if one.content_type is not None:
        found["content_type"] = one.content_type
    if one.description is not None:
        found["description"] = one.description
    if one.data[:8] == b"\x89PNG\r\n\x1a\n" and len(one.data) >= 24:
        found["width"], found["height"] = struct.unpack(">II", io.BytesIO(one.data).getbuffer()[16:24])
    return found


def reactions(one: Message, viewer: User | None) -> list[Json]:
    return [
        {
            "emoji": emoji(key),
            "count": len(people),
            "count_details": {"burst": 0, "normal": len(people)},
            "burst_colors": [],
            "burst_me": False,
            "me_burst": False,
            "burst_count": 0,
            "me": viewer is not None and viewer.id in people,
        }
        for key, people in one.reactions.items()
    ]


def author(one: Message) -> Json:
    found = payloads.user(one.author)
    if one.webhook_id is not None and one.spoken_by is not None:
        found |= {"username": one.spoken_by, "bot": True, "discriminator": "0000", "global_name": None}
    return found


def message(world: World, one: Message, viewer: User | None = None, *, deep: bool = True) -> Json:
    """As REST gives it. `deep` adds the message it replies to, once."""
    channel = world.channels.get(one.channel_id)
    found: Json = {
        "id": str(one.id),
        "channel_id": str(one.channel_id),
        "type": int(one.kind),
        "author": author(one),
        "content": one.content,
        "timestamp": iso(made_at(one.id)),
        "edited_timestamp": iso(one.edited_at) if one.edited_at else None,
        "tts": False,
        "mention_everyone": one.mention_everyone,
        "mentions": [payloads.user(person) for person in one.mentions],
        "mention_roles": [str(role) for role in one.mention_roles],
        "attachments": [attachment(file, one.channel_id) for file in one.attachments],
        "embeds": one.embeds,
        "components": one.components,
        "flags": one.flags,
        "pinned": one.pinned,
    }
    if one.reactions:
        found["reactions"] = reactions(one, viewer)
    if one.webhook_id is not None:
        found["webhook_id"] = str(one.webhook_id)
    if one.interaction is not None and one.application_id is not None:
        found["webhook_id"] = str(one.application_id)
    if one.application_id is not None:
        found["application_id"] = str(one.application_id)
    if one.interaction is not None:
        found["interaction_metadata"] = one.interaction
    if one.snapshots:
        found["message_snapshots"] = one.snapshots
    if one.reference is not None:
        found["message_reference"] = one.reference
        if deep and one.reference.get("type", 0) == 0 and one.reference.get("message_id"):
            where = world.channels.get(int(one.reference["channel_id"]))
            target = where.messages.get(int(one.reference["message_id"])) if where else None
            found["referenced_message"] = message(world, target, viewer, deep=False) if target else None
    own_thread = world.channels.get(one.id)
    if own_thread is not None and own_thread.is_thread and channel is not own_thread:
        found["thread"] = payloads.thread(world, own_thread, viewer)
    return found


def created(world: World, one: Message) -> Json:
    """As MESSAGE_CREATE and MESSAGE_UPDATE give it: with the guild, and the author as member."""
    found = message(world, one)
    channel = world.channels[one.channel_id]
    if channel.guild_id is not None:
        guild = world.guilds[channel.guild_id]
        found["guild_id"] = str(guild.id)
        if (member := guild.members.get(one.author.id)) and one.webhook_id is None:
            found["member"] = payloads.member(member, with_user=False)
        for entry in found["mentions"]:
            if mentioned := guild.members.get(int(entry["id"])):
                entry["member"] = payloads.member(mentioned, with_user=False)
    found["channel_type"] = int(channel.kind)
    return found


def hidden(data: Json, one: Message, viewer: User, *, direct: bool) -> Json:
    """What a bot without the message-content intent gets: nothing of the content, unless it wrote the message, is
    mentioned in it, or it is a direct message."""
    if direct or one.author.id == viewer.id or viewer in one.mentions:
        return data
    bare: Json = {"content": "", "attachments": [], "embeds": [], "components": []}
    known = {key: value for key, value in bare.items() if key in data}
    inner = data.get("referenced_message")
    if isinstance(inner, dict) and inner["author"]["id"] != str(viewer.id):
        known["referenced_message"] = {**inner, **bare}
    if "message_snapshots" in data:
        known["message_snapshots"] = [
            {"message": {**entry["message"], **bare}} for entry in data["message_snapshots"]
        ]
    return {**data, **known}

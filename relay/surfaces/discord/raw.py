"""What Discord's JSON says, read without trust: a field may be missing, odd, or of another type. Pure.

Whatever can't be made sense of is None; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from relay.surfaces.surface import EditEvent, HungFile, MessageEvent, Person, Place, Quote, SeenPost

SPOKEN = frozenset({0, 19})
"""Kinds of message that somebody wrote: plain ones and replies. All others are Discord's own words."""
USED = 20
"""The message that stands for a slash command; its author is the bot whose command it is."""
DIRECT = 1
THREADS = frozenset({10, 11, 12})
ROOMS = frozenset({0, 2, 5, 13, 15, 16})
FORUMS = frozenset({15, 16})
DIRECT_ROOM = "dm:"
FIRST_MS = 1_420_070_400_000
"""The first millisecond of 2015, from which ids count."""

Json = dict[str, Any]


def obj(value: object) -> Json:
    """The object, or an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def objs(value: object) -> list[Json]:
    """The objects of a list."""
    if not isinstance(value, list):
        return []
    return [cast("Json", one) for one in cast("list[object]", value) if isinstance(one, dict)]


def word(value: object) -> str:
    """An id, as text whether it came as text or number; empty when it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value)
    return text if text.isascii() and text.isdigit() and len(text) <= 20 else ""


def number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def made_at(snowflake: int) -> int:
    """UTC milliseconds at which that id was made."""
    return (snowflake >> 22) + FIRST_MS


def first_at(ms: int) -> int:
    """The smallest id of that millisecond."""
    return max(0, ms - FIRST_MS) << 22


def person(user: Json, member: Json | None = None) -> Person:
    member = member or {}
    name = text(member.get("nick")) or text(user.get("global_name")) or text(user.get("username"))
    return Person(word(user.get("id")), name or "somebody", bot=user.get("bot") is True)


def reply_to(data: Json) -> str | None:
    """The message that this one answers; a forwarded one answers none."""
    reference = obj(data.get("message_reference"))
    return word(reference.get("message_id")) or None if number(reference.get("type")) == 0 else None


def sent_at(data: Json, message: str) -> int:
    stamp = text(data.get("timestamp"))
    try:
        found = datetime.fromisoformat(stamp)
        return int(found.timestamp() * 1000)
    except (ValueError, OverflowError):
        return made_at(int(message))


def said_to(content: str, us: str) -> str:
    """The text without the mention of us at its beginning, so that a command after it is one."""
    rest = re.sub(rf"^\s*(?:<@!?{re.escape(us)}>[\s,:]*)+", "", content) if us else content
    return rest if rest.strip() else content


def message(data: Json, us: str, place: str = "") -> MessageEvent | None:
    """A message that somebody else wrote, or None for our own, for Discord's words, and for what has no id."""
    id, where = word(data.get("id")), word(data.get("channel_id")) or place
    author = obj(data.get("author"))
    hook = word(data.get("webhook_id"))
    if not id or not where or number(data.get("type")) not in SPOKEN:
        return None
    who = person(author, obj(data.get("member")))
    if hook:  # known by the webhook, whatever name and author it gives itself
        who = Person(hook, who.name, bot=True)
    if not who.id or who.id == us:
        return None
    content = text(data.get("content"))
    mentioned = any(word(user.get("id")) == us for user in objs(data.get("mentions")))
    return MessageEvent(
        place=where,
        message=id,
        position=int(id),
        person=who,
        text=said_to(content, us),
        sent_at=sent_at(data, id),
        reply_to=reply_to(data),
        mentions_us=bool(us) and (mentioned or f"<@{us}>" in content or f"<@!{us}>" in content),
        quotes=tuple(forwarded(data)),
        files=tuple(hung(data)),
    )


def hung(data: Json) -> Iterator[HungFile]:
    """The files of a message. Discord may name no content type; what a file is, its bytes say."""
    for file in objs(data.get("attachments")):
        if id := word(file.get("id")):
            yield HungFile(id, text(file.get("filename")), max(0, number(file.get("size"))))


def forwarded(data: Json) -> Iterator[Quote]:
    """What a message forwards; Discord doesn't say whose it was."""
    for snapshot in objs(data.get("message_snapshots")):
        one = obj(snapshot.get("message"))
        if content := text(one.get("content")):
            yield Quote("forwarded", content)


def any_message(data: Json, us: str, place: str) -> MessageEvent | None:
    """A message of anybody, ours too."""
    post = own(data, us)
    if post is None:
        return message(data, us, place)
    us_there = replace(person(obj(data.get("author"))), bot=True)
    return MessageEvent(
        place, post.message, int(post.message), us_there, post.text, post.sent_at, post.reply_to, ours=True
    )


def edit(data: Json, us: str) -> EditEvent | None:
    """A change of somebody else's message, as far as it tells a text. A link's preview comes as one too."""
    id, where = word(data.get("id")), word(data.get("channel_id"))
    author = word(obj(data.get("author")).get("id"))
    content = data.get("content")
    if not id or not where or author == us or not isinstance(content, str):
        return None
    stamp = text(data.get("edited_timestamp"))
    return EditEvent(where, id, said_to(content, us), sent_at({"timestamp": stamp}, id) if stamp else None)


def own(data: Json, us: str) -> SeenPost | None:
    """One of our own messages, or None."""
    id = word(data.get("id"))
    kind = number(data.get("type"))
    # What stands for a slash command comes by a webhook of the bot's own.
    ours = word(obj(data.get("author")).get("id")) == us and (
        kind == USED or not word(data.get("webhook_id"))
    )
    if not id or not ours or kind not in SPOKEN | {USED}:
        return None
    files = tuple(text(file.get("filename")) for file in objs(data.get("attachments")))
    return SeenPost(id, text(data.get("content")), reply_to(data), sent_at(data, id), files)


def place(channel: Json) -> Place | None:
    """Where a channel stands; None for what nobody writes in, such as a category. A channel in a category is no
    thread, though it has a parent."""
    id, kind = word(channel.get("id")), number(channel.get("type"), -1)
    if not id:
        return None
    if kind == DIRECT:
        return Place(id, DIRECT_ROOM, thread=False, title="direct messages")
    if kind in THREADS:
        parent = word(channel.get("parent_id"))
        title = text(channel.get("name"))
        return Place(id, parent, thread=True, title=title, born=int(id)) if parent else None
    return Place(id, id, thread=False, title=text(channel.get("name"))) if kind in ROOMS else None


def emoji(data: Json) -> str:
    """A reaction's emoji: the character, or a server's own one as `name:id`."""
    found = obj(data.get("emoji"))
    name, id = text(found.get("name")), word(found.get("id"))
    return f"{name}:{id}" if id else name

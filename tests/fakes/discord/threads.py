"""Threads and forum posts: opened, joined, renamed, archived, locked, deleted."""

from __future__ import annotations

from fakes.discord import intents, payloads, permissions, posting
from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import (
    HAS_THREAD,
    Channel,
    Json,
    Kind,
    Message,
    MessageKind,
    ThreadState,
    User,
)
from fakes.discord.world import Event, World

QUIET_MINUTES = frozenset({60, 1440, 4320, 10080})


def state(channel: Channel) -> ThreadState:
    """Raises 50024 for a channel that is no thread."""
    if channel.thread is None:
        raise ApiError(50024)
    return channel.thread


def starter_pending(world: World, channel: Channel) -> bool:
    """A forum post whose author hasn't written its first message yet."""
    parent = world.channels.get(channel.parent_id or 0)
    return channel.is_thread and parent is not None and parent.kind is Kind.FORUM and not state(channel).sent


def check_writable(world: World, author: User, channel: Channel) -> None:
    """Raises 160005 in a locked thread, 40058 in a post before its author's first message."""
    if channel.thread is None:
        return
    if channel.thread.locked and not world.bits(author, channel) & permissions.MANAGE_THREADS:
        raise ApiError(160005)
    if author.id != channel.owner_id and starter_pending(world, channel):
        raise ApiError(40058)


def open_thread(
    world: World,
    who: User,
    parent: Channel,
    name: str,
    *,
    on: Message | None = None,
    private: bool = False,
    archive_after: int = 4320,
) -> Channel:
    """A thread on a message has the message's id; a second one on it raises 160004."""
    if parent.kind not in (Kind.TEXT, Kind.NEWS):
        raise ApiError(50024)
    bit = permissions.CREATE_PRIVATE_THREADS if private else permissions.CREATE_PUBLIC_THREADS
    world.need(who, parent, bit)
    if on is not None and on.id in world.channels:
        raise ApiError(160004)
    kind = Kind.PRIVATE_THREAD if private else Kind.PUBLIC_THREAD
    made = _make(world, who, parent, name, kind, on.id if on else world.ids.next(), archive_after)
    if on is not None:
        on.flags |= HAS_THREAD
        posting.told_changed(world, parent, on)
        starter = Message(world.ids.next(), made.id, who, "", MessageKind.THREAD_STARTER)
        starter.reference = {
            "type": 0,
            "channel_id": str(parent.id),
            "message_id": str(on.id),
            "guild_id": str(parent.guild_id),
        }
        posting.publish(world, made, starter)
    elif not private:
        note = Message(world.ids.next(), parent.id, who, made.name, MessageKind.THREAD_MADE)
        note.reference = {"type": 0, "channel_id": str(made.id), "guild_id": str(parent.guild_id)}
        posting.publish(world, parent, note)
    return made


def forum_post(
    world: World,
    who: User,
    forum: Channel,
    name: str,
    draft: posting.Draft | None,
    *,
    tags: list[int] | None = None,
    archive_after: int = 4320,
) -> Channel:
    """A post; its first message has its id. `draft` None: the message comes later, by `first_message`."""
    if forum.kind is not Kind.FORUM:
        raise ApiError(50024)
    world.need(who, forum, permissions.SEND_MESSAGES)
    if unknown := [tag for tag in tags or [] if tag not in forum.tags]:
        raise wrong_form("applied_tags", "BASE_TYPE_CHOICES", f"No such tag: {unknown[0]}")
    if draft is not None:
        posting.check_body(world, forum, draft)
    made = _make(world, who, forum, name, Kind.PUBLIC_THREAD, world.ids.next(), archive_after, tags)
    if draft is not None:
        first_message(world, who, made, draft)
    return made


def first_message(world: World, who: User, post: Channel, draft: posting.Draft) -> Message:
    return posting.post(world, who, post, draft, message_id=post.id)


def _make(
    world: World,
    who: User,
    parent: Channel,
    name: str,
    kind: Kind,
    thread_id: int,
    archive_after: int,
    tags: list[int] | None = None,
) -> Channel:
    _check_name(name)
    if archive_after not in QUIET_MINUTES:
        raise wrong_form("auto_archive_duration", "BASE_TYPE_CHOICES", "60, 1440, 4320 or 10080 minutes")
    now = world.clock.now()
    made = Channel(thread_id, kind, name, parent.guild_id, parent.id, owner_id=who.id)
    made.thread = ThreadState(now, archive_after=archive_after, members={who.id: now}, tags=tags or [])
    world.channels[made.id] = made
    parent.last_message_id = made.id if parent.kind is Kind.FORUM else parent.last_message_id
    _tell(world, "THREAD_CREATE", made, newly_created=True)
    return made


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= 100:
        raise wrong_form("name", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters")


def _tell(world: World, name: str, thread: Channel, only: User | None = None, **more: object) -> None:
    """One event for each bot, since each is told its own membership."""
    for app in world.apps.values():
        if only is not None and app.user.id != only.id:
            continue
        data = {**payloads.thread(world, thread, app.user), **more}
        bots = frozenset({app.user.id})
        world.emit(Event(name, data, thread.guild_id, thread.id, intents.GUILDS, bots))


def change(world: World, thread: Channel, **changes: object) -> Channel:
    """Sets name, archived, locked, archive_after, slowmode or tags, and tells everybody.

    A bot that is no member of a thread in its list any more is told again by `join`.
    """
    own = state(thread)
    was_archived = own.archived
    for name, value in changes.items():
        if name in ("name", "slowmode"):
            setattr(thread, name, value)
        else:
            setattr(own, name, value)
    if own.archived != was_archived or "locked" in changes:
        own.changed_at = world.clock.now()
    _tell(world, "THREAD_UPDATE", thread)
    return thread


def edit(world: World, who: User, thread: Channel, body: Json) -> Channel:
    """As PATCH does it: what is archived must be opened in the same request or before (50083)."""
    own = state(thread)
    bits = world.bits(who, thread)
    manages = bool(bits & permissions.MANAGE_THREADS)
    opens = body.get("archived") is False
    if own.archived and not opens:
        raise ApiError(50083)
    if (own.locked or "locked" in body) and not manages:
        raise ApiError(160005 if own.locked and opens else 50013)
    reopening = set(body) <= {"archived", "auto_archive_duration"} and opens
    if not manages and who.id != thread.owner_id and not reopening:
        raise ApiError(50013)
    changes: dict[str, object] = {}
    if body.get("name") is not None:
        _check_name(body["name"])
        changes["name"] = body["name"]
    for key, field in (
        ("archived", "archived"),
        ("locked", "locked"),
        ("auto_archive_duration", "archive_after"),
    ):
        if body.get(key) is not None:
            changes[field] = body[key]
    if body.get("rate_limit_per_user") is not None:
        changes["slowmode"] = body["rate_limit_per_user"]
    if body.get("applied_tags") is not None:
        changes["tags"] = [int(tag) for tag in body["applied_tags"]]
    renamed = "name" in changes and changes["name"] != thread.name
    change(world, thread, **changes)
    if renamed and not own.archived:
        note = Message(world.ids.next(), thread.id, who, thread.name, MessageKind.RENAMED)
        posting.publish(world, thread, note)
    return thread


def join(world: World, who: User, thread: Channel, by: User | None = None) -> None:
    """`by` another: Discord says so in the thread. A bot that is added hears THREAD_CREATE for it."""
    own = state(thread)
    if own.archived:
        raise ApiError(50083)
    if not world.bits(who, thread) & permissions.VIEW_CHANNEL:
        raise ApiError(50001)
    if who.id in own.members:
        return
    own.members[who.id] = world.clock.now()
    if who.bot:
        _tell(world, "THREAD_CREATE", thread, who)
    _members_told(world, thread, added=[who], removed=[])
    if by is not None and by.id != who.id:
        note = Message(world.ids.next(), thread.id, by, "", MessageKind.RECIPIENT_ADD, mentions=[who])
        posting.publish(world, thread, note)


def leave(world: World, who: User, thread: Channel) -> None:
    own = state(thread)
    if own.archived:
        raise ApiError(50083)
    if own.members.pop(who.id, None) is not None:
        _members_told(world, thread, added=[], removed=[who])


def _members_told(world: World, thread: Channel, added: list[User], removed: list[User]) -> None:
    guild = world.guilds[thread.guild_id or 0]
    entries = [
        {
            **payloads.thread_member(thread, one.id),
            "member": payloads.member(guild.members[one.id]),
            "presence": None,
        }
        for one in added
    ]
    data: Json = {
        "id": str(thread.id),
        "guild_id": str(thread.guild_id),
        "member_count": len(state(thread).members),
        "added_members": entries,
        "removed_member_ids": [str(one.id) for one in removed],
    }
    hears = frozenset(one.id for one in [*added, *removed] if one.bot)
    world.emit(Event("THREAD_MEMBERS_UPDATE", data, thread.guild_id, None, intents.GUILDS, hears))


def delete(world: World, thread: Channel) -> None:
    gone = {
        "id": str(thread.id),
        "guild_id": str(thread.guild_id),
        "parent_id": str(thread.parent_id),
        "type": int(thread.kind),
    }
    world.emit(Event("THREAD_DELETE", gone, thread.guild_id, thread.id, intents.GUILDS))
    world.channels.pop(thread.id, None)
    world.changed()


def list_sync(world: World, guild_id: int, viewer: User, parents: list[Channel] | None = None) -> None:
    """THREAD_LIST_SYNC: the active threads again, as after access to a channel was given back."""
    shown = [
        one
        for one in world.threads_of(guild_id)
        if not state(one).archived
        and world.sees(viewer, one)
        and (parents is None or one.parent_id in {parent.id for parent in parents})
    ]
    data: Json = {
        "guild_id": str(guild_id),
        "threads": [payloads.thread(world, one, viewer) for one in shown],
        "members": [
            payloads.thread_member(one, viewer.id) for one in shown if viewer.id in state(one).members
        ],
    }
    if parents is not None:
        data["channel_ids"] = [str(one.id) for one in parents]
    world.emit(Event("THREAD_LIST_SYNC", data, guild_id, None, intents.GUILDS, frozenset({viewer.id})))


def active(world: World, guild_id: int, viewer: User) -> Json:
    """What GET /guilds/{id}/threads/active gives."""
    shown = [one for one in world.threads_of(guild_id) if not state(one).archived and world.sees(viewer, one)]
    return {**_listing(world, shown, viewer), "has_more": False}


def archived(world: World, parent: Channel, viewer: User, *, before: float | None, limit: int) -> Json:
    """Public archived threads of a channel, the one archived last first."""
    world.need(viewer, parent, permissions.READ_MESSAGE_HISTORY)
    known = [
        one
        for one in world.threads_of(parent.guild_id or 0)
        if one.parent_id == parent.id
        and one.kind is Kind.PUBLIC_THREAD
        and state(one).archived
        and (before is None or state(one).changed_at < before)
    ]
    known.sort(key=lambda one: state(one).changed_at, reverse=True)
    return {**_listing(world, known[:limit], viewer), "has_more": len(known) > limit}


def _listing(world: World, shown: list[Channel], viewer: User) -> Json:
    own = [payloads.thread_member(one, viewer.id) for one in shown if viewer.id in state(one).members]
    return {"threads": [payloads.thread(world, one, viewer) for one in shown], "members": own}

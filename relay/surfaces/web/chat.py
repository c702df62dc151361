"""The chat behind the page: rooms, threads, messages, reactions, clicks. What Discord is to its clients.

It keeps what people and the relay said in a file of its own and tells the open pages. It never decides who may do what,
never answers, and takes nothing back: what it answered with an id is durable.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import aiosqlite
import anyio
import orjson

from relay.clock import Clock
from relay.errors import ConfigError, SurfaceError
from relay.surfaces.surface import (
    ChoiceEvent,
    EditEvent,
    MessageEvent,
    OutgoingPost,
    Person,
    Place,
    ReactionEvent,
    SeenFile,
)
from relay.surfaces.web import taking_out
from relay.surfaces.web.announcements import Announcements
from relay.surfaces.web.chat_file import ChatFile
from relay.surfaces.web.conversations import ChatRoom, Conversations
from relay.surfaces.web.lineage import STEP, belongs
from relay.surfaces.web.seen import (
    MOST_NAME,
    MOST_TITLE,
    DeleteEvent,
    NotThere,
    SeenMessage,
    checked_emoji,
    checked_person,
    checked_post,
    checked_text,
    mentions,
    message_id,
    message_number,
    one_line,
)
from relay.surfaces.web.uploads import Uploads

OUR_ID = "relay"
MOST_REACTIONS = 100
"""Different reactions (person and emoji) that one message ever takes."""

PersonEvent = MessageEvent | EditEvent | DeleteEvent | ReactionEvent | ChoiceEvent
_ROOM_ID = re.compile(r"[^\s/:]{1,64}\Z")


class LocalChat(Conversations):
    """See the module. Made by `open`; every call raises `StoreUnavailable` when the file can't be written or read."""

    def __init__(self, file: ChatFile, rooms: Sequence[ChatRoom], clock: Clock, uploads: Uploads) -> None:
        super().__init__(file, rooms)
        self._clock = clock
        self.uploads = uploads
        self._came = anyio.Event()
        self.announcements = Announcements()

    @classmethod
    async def open(
        cls,
        path: Path,
        rooms: Sequence[ChatRoom],
        clock: Clock,
        entropy: Callable[[int], bytes] = secrets.token_bytes,
    ) -> Self:
        """Open or create the chat. A room that is gone from `rooms` keeps its messages, unseen, until it is back.

        Raises `ConfigError` for a name that can't be a room's, `NewerDatabase`, `DamagedDatabase`, `StoreUnavailable`.
        """
        _check_rooms(rooms)
        file = await ChatFile.open(path)
        uploads = Uploads(file, path.with_name("uploads"), clock, entropy)
        await uploads.sweep()
        return cls(file, rooms, clock, uploads)

    def take_up(self, rooms: Sequence[ChatRoom]) -> None:
        """Other rooms from here on: access.json changed. Open pages load anew. Raises `ConfigError`."""
        _check_rooms(rooms)
        self._rooms = {room.id: room for room in rooms}
        self.announcements.announce("reload")

    async def belongs_to(self, epoch: int, known: Callable[[str], Awaitable[bool]]) -> bool:
        """Before the ledger's epoch is raised to `epoch`: whether the ledger was last used with this chat.

        If not, every id that is given from here on is one that no ledger can have seen. `known` looks a message's id
        up in the ledger.
        """
        return await belongs(self._file, epoch, known)

    async def close(self) -> None:
        self.announcements.close()
        await self._file.close()

    # -- threads ------------------------------------------------------------------------------------------------------

    async def open_thread_as(self, person: Person, room: str, title: str) -> Place:
        """A new thread, opened by a person. An empty title becomes the thread's number."""
        return await self._open_thread(checked_person(person).id, room, title, None)

    async def open_thread(self, room: str, title: str, nonce: str) -> Place:
        """A new thread, opened by the relay; the same nonce gives the first one."""
        return await self._open_thread(OUR_ID, room, title, nonce)

    async def _open_thread(self, opener: str, room: str, title: str, nonce: str | None) -> Place:
        if room not in self._rooms:
            raise NotThere(
                f"the page has no room {room[:80]!r}.", f"Its rooms: {', '.join(self._rooms) or 'none'}."
            )
        title = one_line(title, MOST_TITLE)
        async with self._file.writing() as write:
            rows = await write.execute_fetchall(
                "INSERT INTO thread(room, title, opened_by, opened_at, nonce) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT(nonce) DO NOTHING RETURNING number",
                (room, title, opener, self._clock.now_ms(), nonce),
            )
            fresh = [row[0] for row in rows]
            if fresh and not title:
                title = f"thread {fresh[0] % STEP}"
                await write.execute("UPDATE thread SET title = ? WHERE number = ?", (title, fresh[0]))
        if not fresh:
            ((room, number, title),) = await self._file.fetch(
                "SELECT room, number, title FROM thread WHERE nonce = ?", nonce
            )
            return Place(f"{room}/t{number}", room, thread=True, title=title)
        place = Place(f"{room}/t{fresh[0]}", room, thread=True, title=title)
        self.announcements.announce("thread", place=asdict(place))
        return place

    # -- what people do -----------------------------------------------------------------------------------------------

    async def post_as(
        self,
        person: Person,
        place: str,
        text: str,
        reply_to: str | None = None,
        nonce: str | None = None,
        files: Sequence[str] = (),
    ) -> MessageEvent:
        """What a person says. The same nonce gives the first message; `files` are ids of uploads, and with some of them
        the text may be empty. Raises `NotThere`, `TooBig`, `SurfaceError`."""
        _, room = await self._standing(place)
        text, person = checked_text(text, bare=not files), checked_person(person)
        replied = await self._message(place, reply_to) if reply_to else None
        called = mentions(text, {room.agent, OUR_ID}) or bool(replied and replied.ours)
        values = (
            place,
            0,
            person.id,
            person.name,
            person.bot,
            person.owner,
            text,
            replied and replied.number,
            called,
        )
        hung = tuple(SeenFile(file.name, file.id, file.size) for file in await self.uploads.named(files))
        number = await self._say(values, OutgoingPost(text, files=hung), nonce and f"page {nonce}")
        return (await self._message(place, message_id(number))).event()

    async def edit_as(self, person: Person, place: str, message: str, text: str) -> EditEvent:
        """A person writes a message of theirs anew. Raises `NotThere`, `TooBig`, `SurfaceError` for another's."""
        seen = await self._own(person, place, message, "edit")
        text = checked_text(text, bare=not seen.files)
        if text == seen.text:
            return seen.edit()
        _, room = await self._standing(place)
        called = mentions(text, {room.agent, OUR_ID}) or await self._answers_us(place, seen.reply_to)
        async with self._file.writing() as write:
            await write.execute(
                "UPDATE message SET text = ?, mentions_us = ?, edited_at = ? WHERE number = ?",
                (text, called, self._clock.now_ms(), seen.number),
            )
            await _keep_event(write, "edit", {"message": seen.number})
        self._came.set()
        await self._announce("edited", place, seen.number)
        return (await self._message(place, message)).edit()

    async def delete_as(self, person: Person, place: str, message: str) -> DeleteEvent:
        """A person takes a message of theirs away. Its text and files are kept nowhere in the chat. Raises as
        `edit_as` does."""
        seen = await self._own(person, place, message, "delete")
        async with self._file.writing() as write:
            await write.execute(
                "UPDATE message SET text = '', files = '[]', deleted_at = ? WHERE number = ?",
                (self._clock.now_ms(), seen.number),
            )
            await self.uploads.let_go(write, seen.number)
            # What the relay has not heard yet it can't hear any more, but that the message is gone.
            await write.execute(
                "DELETE FROM undelivered WHERE kind IN ('message', 'edit') AND json_extract(body, '$.message') = ?",
                (seen.number,),
            )
            await _keep_event(write, "delete", {"place": place, "message": message})
        self._came.set()
        await self.uploads.sweep()
        self.announcements.announce("deleted", place=place, message=message)
        return DeleteEvent(place, message)

    async def _answers_us(self, place: str, reply_to: str | None) -> bool:
        replied = await self.look(place, reply_to) if reply_to else None
        return replied is not None and replied.ours

    async def _own(self, person: Person, place: str, message: str, act: str) -> SeenMessage:
        seen = await self._message(place, message)
        if seen.ours or seen.person.id != checked_person(person).id:
            raise SurfaceError(f"message {message} is {seen.person.name}'s: only who wrote it may {act} it.")
        return seen

    async def react_as(
        self, person: Person, place: str, message: str, emoji: str, *, add: bool
    ) -> ReactionEvent:
        """A person sets a reaction or takes it back. Doing again what stands already changes and tells nothing."""
        person = checked_person(person)
        count = await self._react(person, place, message, emoji, add=add, ours=False)
        return ReactionEvent(place, message, person, checked_emoji(emoji), add, count)

    async def choose_as(
        self, person: Person, place: str, message: str, card: str, value: str, reason: str = ""
    ) -> ChoiceEvent:
        """A person clicks on a card. Whether it counts isn't decided here. Raises `NotThere`, `SurfaceError`."""
        seen, person = await self._message(place, message), checked_person(person)
        choice = next((choice for choice in seen.choices if choice.value == value), None)
        if not seen.card or seen.card != card:
            raise NotThere(f"message {message} has no such card.", "Reload the page.")
        if not seen.card_open:
            raise SurfaceError("this card is closed: it was decided, or its time is over.")
        if choice is None:
            labels = ", ".join(choice.label for choice in seen.choices)
            raise NotThere(f"the card has no choice {value[:80]!r}.", f"It has: {labels}.")
        reason = checked_text(reason) if reason.strip() else ""
        body = {"place": place, "message": message, "card": card, "value": value, "reason": reason}
        chosen = {"value": value, "label": choice.label, "name": person.name}
        async with self._file.writing() as write:
            number = await _keep_event(write, "choice", {**body, "person": asdict(person)})
            await write.execute(
                "UPDATE message SET chosen = ? WHERE number = ?", (orjson.dumps(chosen).decode(), seen.number)
            )
        self._came.set()
        await self._announce("edited", place, seen.number)
        return ChoiceEvent(place, message, card, person, value, f"c{number}", reason)

    # -- what the relay does ------------------------------------------------------------------------------------------

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        """Post once; the same nonce gives the first message's id, whatever the post says by then."""
        if rows := await self._file.fetch("SELECT number FROM message WHERE nonce = ?", f"relay {nonce}"):
            return message_id(rows[0][0])
        _, room = await self._standing(place)
        text = checked_post(post.text, bare=not (post.files or post.card))
        replied = await self._replied(place, post.reply_to)
        name = one_line(room.agent, MOST_NAME) or OUR_ID
        values = (place, 1, OUR_ID, name, 1, 0, text, replied, 0)
        return message_id(await self._say(values, post, f"relay {nonce}"))

    async def _replied(self, place: str, message: str | None) -> int | None:
        """The number of what is replied to, deleted or not. A reply to what this chat doesn't have (any more) is said
        all the same, as no reply."""
        number = message_number(message or "")
        rows = await self._file.fetch("SELECT 1 FROM message WHERE number = ? AND place = ?", number, place)
        return number if rows else None

    async def _say(self, values: tuple[Any, ...], post: OutgoingPost, nonce: str | None) -> int:
        files = [{**asdict(file), "name": one_line(file.name, 200) or "file"} for file in post.files]
        choices = [{"value": c.value, "label": one_line(c.label, MOST_NAME) or c.value} for c in post.choices]
        hung = (list(post.ping), files, choices)
        ping, attached, buttons = (orjson.dumps(value).decode() for value in hung)
        async with self._file.writing() as write:
            rows = await write.execute_fetchall(
                "INSERT INTO message(place, ours, person, name, bot, owner, text, reply_to, mentions_us, ping, files,"
                " card, choices, card_open, chosen, sent_at, nonce) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,'{}',?,?)"
                " ON CONFLICT(nonce) DO NOTHING RETURNING number",
                (*values, ping, attached, post.card, buttons, bool(post.card), self._clock.now_ms(), nonce),
            )
            fresh = [int(row[0]) for row in rows]
            if fresh and not values[1]:
                await self.uploads.hang(write, [file.digest for file in post.files], fresh[0])
                await _keep_event(write, "message", {"message": fresh[0]})
        if not fresh:
            ((first,),) = await self._file.fetch("SELECT number FROM message WHERE nonce = ?", nonce)
            return int(first)
        self._came.set()
        await self._announce("message", str(values[0]), fresh[0])
        return fresh[0]

    async def edit(self, place: str, message: str, text: str, *, close_card: bool = False) -> None:
        """Another text for a message of the relay. Raises `NotThere`, and `SurfaceError` for a person's message."""
        seen = await self._message(place, message)
        if not seen.ours:
            raise SurfaceError(f"message {message} is {seen.person.name}'s: the relay edits only its own.")
        text = checked_post(text, bare=not seen.files)
        async with self._file.writing() as write:
            await write.execute(
                "UPDATE message SET text = ?, edited_at = ?, card_open = card_open AND ? WHERE number = ?",
                (text, self._clock.now_ms(), not close_card, seen.number),
            )
        await self._announce("edited", place, seen.number)

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None:
        """The relay's own reaction. Setting what is set, or taking back what isn't, is fine."""
        _, room = await self._standing(place)
        await self._react(Person(OUR_ID, room.agent, bot=True), place, message, emoji, add=add, ours=True)

    async def _react(
        self, person: Person, place: str, message: str, emoji: str, *, add: bool, ours: bool
    ) -> int:
        """The count after it, which grows with every change."""
        seen, emoji = await self._message(place, message), checked_emoji(emoji)
        async with self._file.writing() as write:
            rows = await write.execute_fetchall(
                "SELECT person, emoji, is_set, count FROM reaction WHERE message = ?", (seen.number,)
            )
            had = {(row[0], row[1]): (bool(row[2]), int(row[3])) for row in rows}
            is_set, count = had.get((person.id, emoji), (False, 0))
            if is_set == add:
                return count
            ((least,),) = await write.execute_fetchall("SELECT least_count FROM ledger")
            count = max(count, int(least)) + 1
            if (person.id, emoji) not in had and len(had) >= MOST_REACTIONS:
                raise SurfaceError(f"this message has had {MOST_REACTIONS} reactions; it takes no other.")
            await write.execute(
                "INSERT INTO reaction(message, person, name, emoji, is_set, count) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT(message, person, emoji) DO UPDATE SET"
                " is_set = excluded.is_set, name = excluded.name, count = excluded.count",
                (seen.number, person.id, person.name, emoji, add, count),
            )
            if not ours:
                body = {"place": place, "message": message, "emoji": emoji, "set": add, "count": count}
                await _keep_event(write, "reaction", {**body, "person": asdict(person)})
        self._came.set()
        reactions = (await self._reactions([seen.number])).get(seen.number, [])
        told = [asdict(reaction) for reaction in reactions]
        self.announcements.announce("reaction", place=place, message=message, reactions=told)
        return count

    async def _announce(self, kind: str, place: str, number: int) -> None:
        if len(self.announcements):
            seen = await self._select("number = ? AND place = ?", number, place)
            reactions = await self._reactions([number])
            for message in seen:
                self.announcements.announce(kind, message=message.told(reactions.get(number, ())))

    async def take_out(self, messages: Sequence[str]) -> None:
        """The texts of those messages go for good. Open pages show it."""
        for number, place in await taking_out.take_out(self._file, messages):
            await self._announce("edited", place, number)

    async def text_of(self, message: str) -> str | None:
        return await taking_out.text_of(self._file, message)

    async def older(self, after: int, before_ms: int, most: int) -> list[int]:
        return await taking_out.older(self._file, after, before_ms, most)

    async def scrub(self) -> bool:
        return await self._file.scrub()

    # -- what the relay has not taken yet -----------------------------------------------------------------------------

    async def undelivered(self, after: int, limit: int) -> list[tuple[int, PersonEvent]]:
        """What people did and the relay has not confirmed, in order, with the numbers to confirm by."""
        rows = await self._file.fetch(
            "SELECT number, kind, body FROM undelivered WHERE number > ? ORDER BY number LIMIT ?",
            after,
            limit,
        )
        events: list[tuple[int, PersonEvent]] = []
        for number, kind, raw in rows:
            body: dict[str, Any] = orjson.loads(raw)
            if kind == "message":
                seen = await self._select("number = ?", body["message"])
                events.extend((number, message.event()) for message in seen)
                continue
            if kind == "edit":
                seen = await self._select("number = ?", body["message"])
                events.extend((number, message.edit()) for message in seen)
                continue
            if kind == "delete":
                events.append((number, DeleteEvent(**body)))
                continue
            body["person"] = Person(**body["person"])
            if kind == "reaction":
                events.append((number, ReactionEvent(**body)))
            else:
                events.append((number, ChoiceEvent(**body, event=f"c{number}")))
        return events

    async def came(self) -> None:
        """Wait until a person did something."""
        await self._came.wait()

    def listen(self) -> None:
        """Forget what came so far; call it before `undelivered`, so that nothing falls between it and `came`."""
        self._came = anyio.Event()

    async def delivered(self, through: int) -> None:
        """The relay has everything up to that number."""
        async with self._file.writing() as write:
            await write.execute("DELETE FROM undelivered WHERE number <= ?", (through,))


def _check_rooms(rooms: Sequence[ChatRoom]) -> None:
    for room in rooms:
        if not _ROOM_ID.match(room.id):
            raise ConfigError(
                f"the page's room {room.id[:80]!r} has a name that can't be one.",
                "Use up to 64 characters without spaces, slashes or colons, such as web:main.",
            )


async def _keep_event(write: aiosqlite.Connection, kind: str, body: dict[str, Any]) -> int:
    """Note, in the same transaction, what is to be delivered; its number."""
    ((number,),) = await write.execute_fetchall(
        "INSERT INTO undelivered(kind, body) VALUES (?, ?) RETURNING number",
        (kind, orjson.dumps(body).decode()),
    )
    return int(number)

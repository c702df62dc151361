"""What stands in the page's chat: its places, its messages, what was said since a position and above one.

It reads alone: whatever people or the relay do is `chat.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from relay.surfaces.surface import MessageEvent, Place, SeenPost
from relay.surfaces.web.chat_file import ChatFile
from relay.surfaces.web.seen import COLUMNS, NotThere, Reaction, SeenMessage, message_id, message_number

_THREAD = re.compile(r"(.+)/t([1-9][0-9]{0,17})\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChatRoom:
    """A room of the page, from the configuration. `agent` is the name that the relay's posts bear there."""

    id: str
    label: str
    agent: str = "relay"


class Conversations:
    """See the module. Every call raises `StoreUnavailable` when the file can't be read."""

    def __init__(self, file: ChatFile, rooms: Sequence[ChatRoom]) -> None:
        self._file = file
        self._rooms = {room.id: room for room in rooms}

    # -- places -------------------------------------------------------------------------------------------------------

    async def places(self) -> list[Place]:
        """Every room, in the order of the configuration, and every thread of one, oldest first."""
        threads = await self._file.fetch("SELECT room, number, title FROM thread ORDER BY number")
        return [
            *(Place(room.id, room.id, thread=False, title=room.label) for room in self._rooms.values()),
            *(
                Place(f"{room}/t{number}", room, thread=True, title=title)
                for room, number, title in threads
                if room in self._rooms
            ),
        ]

    async def place(self, place: str) -> Place | None:
        """A room or thread; None when there is none of that name (any more)."""
        if room := self._rooms.get(place):
            return Place(place, place, thread=False, title=room.label)
        found = _THREAD.match(place)
        if not found or found[1] not in self._rooms:
            return None
        rows = await self._file.fetch(
            "SELECT title FROM thread WHERE number = ? AND room = ?", int(found[2]), found[1]
        )
        return Place(place, found[1], thread=True, title=rows[0][0]) if rows else None

    async def _standing(self, place: str) -> tuple[Place, ChatRoom]:
        found = await self.place(place)
        if found is None:
            rooms = ", ".join(self._rooms) or "none"
            raise NotThere(f"the page has no room or thread {place[:80]!r}.", f"Its rooms: {rooms}.")
        return found, self._rooms[found.room]

    # -- reading ------------------------------------------------------------------------------------------------------

    async def _select(self, where: str, *values: Any) -> list[SeenMessage]:
        """Of what was not deleted, what `where` says."""
        rows = await self._file.fetch(
            f"SELECT {COLUMNS} FROM message WHERE deleted_at IS NULL AND {where}", *values
        )
        return [SeenMessage.of(row) for row in rows]

    async def _message(self, place: str, id: str) -> SeenMessage:
        await self._standing(place)
        found = await self._select("number = ? AND place = ?", message_number(id), place)
        if not found:
            newest = await self.newest(place)
            there = (
                f"The newest one there is {message_id(newest)}." if newest else "Nothing was said there yet."
            )
            raise NotThere(f"there is no message {id[:80]!r} in {place}.", there)
        return found[0]

    async def _reactions(self, numbers: Sequence[int]) -> dict[int, list[Reaction]]:
        rows = await self._file.fetch(
            "SELECT message, emoji, person, name FROM reaction WHERE is_set AND message IN"
            " (SELECT value FROM json_each(?)) ORDER BY number",
            orjson.dumps(list(numbers)).decode(),
        )
        people: dict[tuple[int, str], list[dict[str, str]]] = {}
        for number, emoji, person, name in rows:
            people.setdefault((number, emoji), []).append({"id": person, "name": name})
        found: dict[int, list[Reaction]] = {}
        for (number, emoji), who in people.items():
            found.setdefault(number, []).append(Reaction(emoji, tuple(who)))
        return found

    async def messages(self, place: str, before: int | None = None, limit: int = 50) -> list[dict[str, Any]]:
        """Some of what was said, oldest first, as the page is given it: the newest, or the newest before a position."""
        await self._standing(place)
        before = 2**62 if before is None else before
        seen = await self._select(
            "place = ? AND number < ? ORDER BY number DESC LIMIT ?",
            place,
            before,
            min(max(limit, 1), 200),
        )
        reactions = await self._reactions([message.number for message in seen])
        return [message.told(reactions.get(message.number, ())) for message in reversed(seen)]

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """What people wrote after that position, oldest first."""
        await self._standing(place)
        seen = await self._select(
            "place = ? AND number > ? AND NOT ours ORDER BY number LIMIT ?",
            place,
            position,
            max(limit, 1),
        )
        return [message.event() for message in seen]

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """What was said before that position, the relay's messages too: the newest of it, oldest first."""
        await self._standing(place)
        seen = await self._select(
            "place = ? AND number < ? ORDER BY number DESC LIMIT ?", place, position, max(limit, 1)
        )
        return [message.event() for message in reversed(seen)]

    async def look(self, place: str, message: str) -> MessageEvent | None:
        """A message as it reads now; None when it was deleted."""
        await self._standing(place)
        seen = await self._select("number = ? AND place = ?", message_number(message), place)
        return seen[0].event() if seen else None

    async def newest(self, place: str) -> int:
        """The position of the newest message of a place; 0 when it is empty."""
        await self._standing(place)
        rows = await self._file.fetch("SELECT coalesce(max(number), 0) FROM message WHERE place = ?", place)
        return int(rows[0][0])

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        """The relay's messages sent at or after that time, oldest first."""
        await self._standing(place)
        seen = await self._select("place = ? AND ours AND sent_at >= ? ORDER BY number", place, since_ms)
        return [message.post() for message in seen]

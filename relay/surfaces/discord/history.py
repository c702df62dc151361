"""What stands in a place, read from Discord: page by page, in order, whatever order the server gives it in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

from discord.http import Route

from relay.surfaces.discord import raw
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.errors import UNKNOWN_MESSAGE, DiscordRefused
from relay.surfaces.surface import MessageEvent, ReactionEvent, SeenPost

PAGE = 100
MOST_PAGES = 50
"""Pages that one reading asks for; what lies beyond is read by the next one."""
MOST_REMEMBERED = 5_000


class History:
    """See the module. `missed` is called with a person's message that a reading found."""

    def __init__(self, api: DiscordApi, missed: Callable[[MessageEvent], None]) -> None:
        self._api = api
        self._missed = missed
        self._without_people: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """place → (from, to): between these positions nobody but us has written."""

    async def after(self, place: str, position: int, pages: int = MOST_PAGES) -> AsyncIterator[Json]:
        """All messages after that position, oldest first. Raises `DiscordRefused`."""
        for _ in range(pages):
            query: dict[str, str | int] = {"after": str(position), "limit": PAGE}
            found = await self._api.objects(
                Route("GET", "/channels/{channel_id}/messages", channel_id=known(place)), query=query
            )
            page = {int(id): one for one in found if (id := raw.word(one.get("id"))) and int(id) > position}
            for id in sorted(page):
                yield page[id]
            if len(found) < PAGE or not page:
                return
            position = max(page)

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """See `Surface.read_since`."""
        await self._api.log_in()
        passed, until = self._without_people.get(place, (-1, -1))
        start = until if passed <= position < until else position
        events: list[MessageEvent] = []
        reached = start
        async for one in self.after(place, start):
            reached = int(raw.word(one.get("id")))
            event = raw.message(one, self._api.us, place)
            if event is not None:
                self._missed(event)
                events.append(event)
                if len(events) >= max(limit, 1):
                    break
        if not events and reached > start:
            # Where we alone write, each reading would otherwise begin at the last word of a person.
            self._without_people[place] = (min(position, start), reached)
            self._without_people.move_to_end(place)
            if len(self._without_people) > MOST_REMEMBERED:
                self._without_people.popitem(last=False)
        return events

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """See `Surface.above`."""
        await self._api.log_in()
        found = await self._api.objects(
            Route("GET", "/channels/{channel_id}/messages", channel_id=known(place)),
            query={"before": str(position), "limit": min(max(limit, 1), PAGE)},
        )
        events = [event for one in found if (event := raw.any_message(one, self._api.us, place)) is not None]
        return sorted(events, key=lambda event: event.position)

    async def look(self, place: str, message: str) -> MessageEvent | None:
        """See `Surface.look`."""
        await self._api.log_in()
        path = "/channels/{channel_id}/messages/{message_id}"
        route = Route("GET", path, channel_id=known(place), message_id=known(message))
        try:
            return raw.any_message(await self._api.object(route), self._api.us, place)
        except DiscordRefused as error:
            if error.number != UNKNOWN_MESSAGE:
                raise
            return None

    async def newest(self, place: str) -> int:
        """See `Surface.newest`."""
        found = await self._api.objects(
            Route("GET", "/channels/{channel_id}/messages", channel_id=known(place)), query={"limit": 1}
        )
        return max((int(id) for one in found if (id := raw.word(one.get("id")))), default=0)

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        """See `Surface.own_since`."""
        await self._api.log_in()
        seen = [
            raw.own(one, self._api.us) async for one in self.after(place, max(0, raw.first_at(since_ms) - 1))
        ]
        return [post for post in seen if post is not None and post.sent_at >= since_ms]

    async def reactions(self, place: str, message: str, emojis: tuple[str, ...]) -> list[ReactionEvent]:
        """Who has set one of those emojis on a message; nothing when it is gone. Counts are 0."""
        parts = {"channel_id": known(place), "message_id": known(message)}
        events: list[ReactionEvent] = []
        for emoji in emojis:
            path = "/channels/{channel_id}/messages/{message_id}/reactions/{emoji}"
            try:
                users = await self._api.objects(
                    Route("GET", path, emoji=emoji, **parts), query={"limit": 100}
                )
            except DiscordRefused as error:
                if error.kind != "permanent":
                    raise
                continue
            for user in users:
                who = raw.person(user)
                if who.id and who.id != self._api.us and not who.bot:
                    events.append(ReactionEvent(place, message, who, emoji, True, 0))
        return events


def known(id: str) -> str:
    """The id, if it can be one. Raises `DiscordRefused`."""
    if not raw.word(id):
        raise DiscordRefused(f"{id[:40]!r} is no id of Discord.")
    return id

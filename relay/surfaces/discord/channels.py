"""Where places stand: rooms, their threads, the owner's direct messages. What was looked up is kept until Discord says
that it changed."""

from __future__ import annotations

import logging
from collections.abc import Callable

from discord.http import Route

from relay.clock import Clock
from relay.config import Access
from relay.surfaces.discord import raw
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.errors import NO_ACCESS, UNKNOWN_CHANNEL, DiscordRefused
from relay.surfaces.surface import Place

ARCHIVED_DAYS = 7
MOST_ARCHIVED = 50
MOST_KEPT = 20_000
_BASE_LIMIT = 10 << 20
_LIMITS = {2: 50 << 20, 3: 100 << 20}
_LIMIT_KEPT_S = 600.0

log = logging.getLogger(__name__)


class Channels:
    """See the module. `missing` names the rooms that Discord does not show to the bot."""

    def __init__(self, api: DiscordApi, clock: Clock, access: Callable[[], Access]) -> None:
        self._api = api
        self._clock = clock
        self.access = access
        self._known: dict[str, Place] = {}
        self._guilds: dict[str, str] = {}
        self._limits: dict[str, tuple[float, int]] = {}
        self.missing: list[str] = []

    # -- looking up ---------------------------------------------------------------------------------------------------

    async def place(self, id: str) -> Place | None:
        """Where it stands, or None when it is gone or hidden. Raises `DiscordRefused` when that can't be known now."""
        if id in self._known:
            return self._known[id]
        if not raw.word(id):
            return None
        try:
            return self.keep(await self._api.object(Route("GET", "/channels/{channel_id}", channel_id=id)))
        except DiscordRefused as error:
            if error.number in (UNKNOWN_CHANNEL, NO_ACCESS) or error.status in (403, 404):
                return None
            raise

    def keep(self, channel: Json) -> Place | None:
        """Take up what Discord says of a channel or thread."""
        place = raw.place(channel)
        if place is None:
            return None
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[place.place] = place
        if guild := raw.word(channel.get("guild_id")):
            self._guilds[place.place] = guild
        return place

    def forget(self, id: str) -> None:
        self._known.pop(id, None)

    def rooms(self) -> list[str]:
        """The channels that access.json names."""
        return [room.partition(":")[2] for room in self.access().rooms if room.startswith("discord:")]

    def owner(self) -> str:
        return self.access().owner.get("discord", "")

    # -- all that is listened to --------------------------------------------------------------------------------------

    async def all(self) -> list[Place]:
        """The rooms, their open threads and those archived of late, and the owner's direct messages."""
        found: dict[str, Place] = {}
        missing: list[str] = []
        for id in self.rooms():
            self.forget(id)
            place = await self.place(id)
            if place is None:
                missing.append(id)
            else:
                found[id] = place
        self.missing = missing
        for room in missing:
            log.warning(
                "Discord doesn't show channel %s to the bot: is the id right, and may it see it?", room
            )
        rooms = dict(found)
        for guild in dict.fromkeys(self._guilds[room] for room in rooms if room in self._guilds):
            for place in await self._active(guild):
                if place.room in rooms:
                    found[place.place] = place
        for room in rooms:
            found |= {place.place: place for place in await self._archived(room)}
        direct = await self._direct()
        return [*found.values(), *([direct] if direct else [])]

    async def _active(self, guild: str) -> list[Place]:
        path = "/guilds/{guild_id}/threads/active"
        return self._threads(await self._api.object(Route("GET", path, guild_id=guild)), guild)

    async def _archived(self, room: str) -> list[Place]:
        path = "/channels/{channel_id}/threads/archived/public"
        since = raw.first_at(self._clock.now_ms() - ARCHIVED_DAYS * 86_400_000)
        try:
            listed = await self._api.object(
                Route("GET", path, channel_id=room), query={"limit": MOST_ARCHIVED}
            )
        except DiscordRefused as error:
            if error.kind != "permanent":
                raise
            return []  # a channel of a kind without threads, or without leave to list them
        recent = [
            one
            for one in raw.objs(listed.get("threads"))
            if int(raw.word(one.get("last_message_id")) or 0) >= since
        ]
        return self._threads({"threads": recent}, self._guilds.get(room, ""))

    def _threads(self, listed: Json, guild: str) -> list[Place]:
        kept = [self.keep({"guild_id": guild, **one}) for one in raw.objs(listed.get("threads"))]
        return [place for place in kept if place is not None and place.thread]

    async def _direct(self) -> Place | None:
        if raw.DIRECT_ROOM not in self.access().rooms or not self.owner():
            return None
        body: Json = {"recipient_id": self.owner()}
        try:
            return self.keep(await self._api.object(Route("POST", "/users/@me/channels"), body=body))
        except DiscordRefused as error:
            if error.kind != "permanent":
                raise
            log.warning("the owner's direct messages can't be opened: %s", error)
            return None

    # -- what a place takes -------------------------------------------------------------------------------------------

    async def file_limit(self, place: str) -> int:
        """Bytes that one file may have there."""
        guild = self._guilds.get(place, "")
        if not guild:
            return _BASE_LIMIT
        when, limit = self._limits.get(guild, (float("-inf"), _BASE_LIMIT))
        if self._clock.monotonic() - when > _LIMIT_KEPT_S:
            told = await self._api.object(Route("GET", "/guilds/{guild_id}", guild_id=guild))
            limit = _LIMITS.get(raw.number(told.get("premium_tier")), _BASE_LIMIT)
            self._limits[guild] = (self._clock.monotonic(), limit)
        return limit

    async def active_of(self, room: str) -> list[Json]:
        """The open threads of a room, as Discord tells them."""
        guild = self._guilds.get(room, "")
        if not guild:
            return []
        path = "/guilds/{guild_id}/threads/active"
        listed = await self._api.object(Route("GET", path, guild_id=guild))
        return [one for one in raw.objs(listed.get("threads")) if raw.word(one.get("parent_id")) == room]

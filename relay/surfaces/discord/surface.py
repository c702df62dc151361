"""Discord as a surface of the relay: see `Surface`. It joins what the other modules of this folder do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from discord.http import Route

from relay.clock import Clock
from relay.config import Access
from relay.ledger.blobs import Blobs
from relay.surfaces.discord import cards, writing
from relay.surfaces.discord.api import Connector, DiscordApi, Json
from relay.surfaces.discord.budget import IdentifyBudget
from relay.surfaces.discord.channels import Channels
from relay.surfaces.discord.command_sync import CommandSync
from relay.surfaces.discord.connection import Connection
from relay.surfaces.discord.errors import THREAD_ARCHIVED, DiscordRefused
from relay.surfaces.discord.files import Files
from relay.surfaces.discord.hearing import Hearing
from relay.surfaces.discord.history import History, known
from relay.surfaces.discord.pins import Pins
from relay.surfaces.discord.posts import Posts
from relay.surfaces.discord.status import LiveStatus
from relay.surfaces.surface import (
    Capabilities,
    Choice,
    LiveView,
    MessageEvent,
    OutgoingPost,
    Place,
    ReactionEvent,
    SeenPost,
    SurfaceEvents,
)

DECIDING = ("✅", "❌")
_MESSAGE = "/channels/{channel_id}/messages/{message_id}"


class DiscordSurface:
    """See the module."""

    def __init__(
        self,
        token: str,
        token_env: str,
        *,
        access: Callable[[], Access],
        state: Path,
        clock: Clock,
        say: Callable[[str], None],
        jitter: Callable[[], float],
        connector: Connector | None = None,
    ) -> None:
        self._api = DiscordApi(token, connector)
        self._channels = Channels(self._api, clock, access)
        self._hearing = Hearing(self._api, self._channels, clock)
        self._history = History(self._api, self._hearing.found)
        self._posts = Posts(self._api, self._channels, self._history, Blobs(state / "blobs"), clock)
        self._files = Files(self._api, connector)
        self._pins = Pins(self._api, clock)
        self._status = LiveStatus(self._api, clock, state / "discord-status.json")
        budget = IdentifyBudget(state / "discord-sessions.json", clock)
        self._commands = CommandSync(
            self._api, state / "discord-commands.json", clock, lambda: self._hearing.events.offered()
        )
        self._connection = Connection(
            token,
            token_env,
            self._hearing.hear,
            budget,
            clock,
            connector=connector,
            say=say,
            jitter=jitter,
            begins=self._commands.look,
        )
        self._hearing.connection = self._connection

    @property
    def name(self) -> str:
        return "discord"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(limit=writing.CHUNK, pins=True)

    @property
    def trouble(self) -> str:
        """What a person should know of: no connection, a room that can't be seen, what waits."""
        missing = self._channels.missing
        unseen = (
            f"the bot can't see {', '.join(missing)}; are the ids right, and may it see them?"
            if missing
            else ""
        )
        return self._connection.trouble or self._hearing.inbox.trouble or unseen or self._commands.trouble

    def follow(self, access: Callable[[], Access]) -> None:
        """Where the configuration in force is found."""
        self._channels.access = access

    # -- in -----------------------------------------------------------------------------------------------------------

    async def run(self, events: SurfaceEvents) -> None:
        self._hearing.events = self._hearing.interactions.events = events
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hearing.run)
            tasks.start_soon(self._status.run)
            tasks.start_soon(self._commands.run)
            await self._connection.run(self._api.log_in)
            # Over: only a person can help. What is owed waits, and everything else of the relay goes on.
            await anyio.sleep_forever()

    async def close(self) -> None:
        """After everything else: a stop still reads how far each place was taken in."""
        await self._api.close()

    # -- out ----------------------------------------------------------------------------------------------------------

    async def place(self, place: str) -> Place | None:
        return await self._channels.place(place)

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        return await self._posts.post(place, post, nonce)

    async def edit(
        self,
        place: str,
        message: str,
        text: str,
        *,
        close_card: bool = False,
        card: str = "",
        choices: Sequence[Choice] = (),
    ) -> None:
        if not text.strip():
            raise DiscordRefused("there is nothing in this text.")
        body: Json = {"content": writing.shortened(text), "allowed_mentions": writing.nobody()}
        if close_card or card:
            body["components"] = cards.rows(card, choices)
        parts = {"channel_id": known(place), "message_id": known(message)}
        try:
            await self._api.call(Route("PATCH", _MESSAGE, **parts), body=body)
        except DiscordRefused as error:
            if error.number != THREAD_ARCHIVED:
                raise
            await self._posts.unarchive(place)
            await self._api.call(Route("PATCH", _MESSAGE, **parts), body=body)

    async def pin(self, place: str, message: str) -> None:
        try:
            await self._pins.pin(place, message)
        except DiscordRefused as error:
            if error.number != THREAD_ARCHIVED:
                raise
            await self._posts.unarchive(place)
            await self._pins.pin(place, message)

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        return await self._posts.open_thread(room, title, nonce)

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None:
        path = f"{_MESSAGE}/reactions/{{emoji}}/@me"
        parts = {"channel_id": known(place), "message_id": known(message)}
        await self._api.call(Route("PUT" if add else "DELETE", path, emoji=emoji, **parts))

    async def show(self, place: str, view: LiveView | None) -> None:
        self._status.show(place, view)

    # -- what stands there --------------------------------------------------------------------------------------------

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        return await self._history.read_since(place, position, limit)

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        return await self._history.above(place, position, limit)

    async def look(self, place: str, message: str) -> MessageEvent | None:
        return await self._history.look(place, message)

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        return await self._files.fetch(place, message, file, most)

    async def newest(self, place: str) -> int:
        return await self._history.newest(place)

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        return await self._history.own_since(place, since_ms)

    def shows(self, seen: SeenPost, text: str) -> bool:
        return writing.same(seen, text)

    async def reactions(self, place: str, message: str) -> Sequence[ReactionEvent]:
        found = await self._history.reactions(place, message, DECIDING)
        return [self._hearing.standing(event) for event in found]

"""What the gateway tells, made into events of the relay: messages, reactions, and that it is (again) connected.

Also notices when the gateway has gone deaf: connected, and yet the history holds what it never told.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import cast

import anyio
from discord.http import Route

from relay.clock import Clock
from relay.surfaces.discord import raw
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.channels import Channels
from relay.surfaces.discord.connection import Connection
from relay.surfaces.discord.errors import DiscordRefused
from relay.surfaces.discord.inbox import Inbox
from relay.surfaces.discord.interactions import Interactions
from relay.surfaces.discord.toggles import Toggles
from relay.surfaces.surface import EditEvent, MessageEvent, ReactionEvent, SurfaceEvents

MOST_HEARD = 10_000
DEAF_AFTER_S = 30.0
"""A session that told nothing for so long is asked about; a busy one that missed one event is not."""
SECOND_LOOK_S = 5.0

log = logging.getLogger(__name__)


class Hearing:
    """See the module. `events` and `connection` are given before it runs."""

    events: SurfaceEvents
    connection: Connection

    def __init__(self, api: DiscordApi, channels: Channels, clock: Clock) -> None:
        self._api = api
        self._channels = channels
        self._clock = clock
        self.inbox = Inbox(clock, self._ready)
        self._toggles = Toggles(clock.now_ms())
        self._heard: OrderedDict[str, None] = OrderedDict()
        self._told_at = clock.monotonic()
        self._closing_gaps = False
        self._suspected = ""
        self._suspicion = anyio.Event()
        self.interactions = Interactions(api, channels, self.inbox, clock)

    async def run(self) -> None:
        """Until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.inbox.run)
            tasks.start_soon(self._doubt)
            tasks.start_soon(self.interactions.run)

    async def _ready(self) -> None:
        self._closing_gaps = True
        try:
            await self.events.ready(await self._channels.all())
        finally:
            self._closing_gaps = False

    # -- from the gateway ---------------------------------------------------------------------------------------------

    def hear(self, name: str, data: Json) -> None:
        """One event, as it came. Never waits."""
        self._told_at = self._clock.monotonic()
        match name:
            case "READY" | "RESUMED":
                self._suspected = ""
                self.inbox.look_for_gaps()
            case "MESSAGE_CREATE":
                self._message(data)
            case "MESSAGE_UPDATE":
                self._edited(data)
            case "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE":
                self._reaction(data, is_set=name.endswith("ADD"))
            case "INTERACTION_CREATE":
                self.interactions.hear(data)
            case "THREAD_CREATE" | "THREAD_UPDATE" | "CHANNEL_CREATE" | "CHANNEL_UPDATE":
                self._channels.keep(data)
                self._joined(data)
            case "CHANNEL_DELETE" | "THREAD_DELETE":
                self._gone(raw.word(data.get("id")))
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                self._deleted(data)
            case _:
                return

    def _message(self, data: Json) -> None:
        event = raw.message(data, self._api.us)
        if event is None:
            return
        self._heard[event.message] = None
        if len(self._heard) > MOST_HEARD:
            self._heard.popitem(last=False)
        self.inbox.put(f"message {event.message}", partial(self._bring_message, event), place=event.place)

    async def _bring_message(self, event: MessageEvent) -> None:
        await self.events.message(event)

    def _edited(self, data: Json) -> None:
        event = raw.edit(data, self._api.us)
        if event is not None:
            bring = partial(self._bring_edit, event)
            self.inbox.put(f"an edit of {event.message}", bring, place=event.place, kept=True)

    async def _bring_edit(self, event: EditEvent) -> None:
        await self.events.edited(event)

    def _gone(self, place: str) -> None:
        self._channels.forget(place)
        if place:
            self.inbox.put(f"the end of {place}", partial(self._bring_end, place), place=place, kept=True)

    async def _bring_end(self, place: str) -> None:
        await self.events.gone(place)

    def _deleted(self, data: Json) -> None:
        place, listed = raw.word(data.get("channel_id")), data.get("ids")
        ids = cast("list[object]", listed) if isinstance(listed, list) else [data.get("id")]
        for message in filter(None, map(raw.word, ids)):
            if place:
                what = f"the deletion of {message}"
                bring = partial(self._bring_deletion, place, message)
                self.inbox.put(what, bring, place=place, kept=True)

    async def _bring_deletion(self, place: str, message: str) -> None:
        await self.events.deleted(place, message)

    def _reaction(self, data: Json, *, is_set: bool) -> None:
        who, message = raw.word(data.get("user_id")), raw.word(data.get("message_id"))
        place, emoji = raw.word(data.get("channel_id")), raw.emoji(data)
        if not (who and message and place and emoji) or who == self._api.us:
            return
        member = raw.obj(data.get("member"))
        person = replace(raw.person(raw.obj(member.get("user")), member), id=who)
        count = self._toggles.told(message, who, emoji, is_set=is_set)
        event = ReactionEvent(place, message, person, emoji, is_set, count)
        bring = partial(self._bring_reaction, event)
        self.inbox.put(f"a reaction on {message}", bring, place=place, kept=True)

    async def _bring_reaction(self, event: ReactionEvent) -> None:
        await self.events.reaction(event)

    def standing(self, event: ReactionEvent) -> ReactionEvent:
        """A reaction that was found standing, numbered so that it is the one that was heard, if it was."""
        count = self._toggles.found(event.message, event.person.id, event.emoji)
        return replace(event, count=count)

    def _joined(self, data: Json) -> None:
        """A thread of a room that we are no member of: some servers tell only members what is said."""
        room, thread = raw.word(data.get("parent_id")), raw.word(data.get("id"))
        archived = raw.obj(data.get("thread_metadata")).get("archived") is True
        is_thread = raw.number(data.get("type"), -1) in raw.THREADS
        if is_thread and thread and room in self._channels.rooms() and not archived and "member" not in data:
            self.inbox.put(f"thread {thread}", partial(self._join, thread), place=thread)

    async def _join(self, thread: str) -> None:
        path = "/channels/{channel_id}/thread-members/@me"
        try:
            await self._api.call(Route("PUT", path, channel_id=thread))
        except DiscordRefused as error:
            log.debug("thread %s can't be joined: %s", thread, error)

    # -- deafness -----------------------------------------------------------------------------------------------------

    def found(self, event: MessageEvent) -> None:
        """The history holds that message. Was it told?"""
        up = self.connection.up_since
        now = self._clock.monotonic()
        if up is None or event.message in self._heard or now - max(up, self._told_at) < DEAF_AFTER_S:
            return
        if not self._closing_gaps:  # what that finds is from before this session
            self._suspected = event.message
            self._suspicion.set()

    async def _doubt(self) -> None:
        while True:
            await self._suspicion.wait()
            self._suspicion = anyio.Event()
            suspected = self._suspected
            await self._clock.sleep(SECOND_LOOK_S)
            if suspected and suspected == self._suspected and suspected not in self._heard:
                self._suspected = ""
                await self.connection.anew("the gateway tells nothing, though people have written")

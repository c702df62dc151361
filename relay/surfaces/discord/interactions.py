"""Clicks, slash commands and what is typed in their options: first of all, each is answered within Discord's 3 seconds.

What a click or a command means comes after that, in the order in which it was heard. A command's own message stands for
it in the channel, as a typed one would: it says what was used, answers reply to it, and people may react to it.

https://discord.com/developers/docs/interactions/receiving-and-responding
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

import anyio
import anyio.abc
from discord.http import Route

from relay import texts, texts_for_commands
from relay.behaviours.commands import Suggestion, Value
from relay.clock import Clock
from relay.surfaces.discord import cards, raw, slash, writing
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.channels import Channels
from relay.surfaces.discord.errors import DiscordRefused
from relay.surfaces.discord.inbox import Inbox
from relay.surfaces.surface import ChoiceEvent, CommandEvent, Person, Place, SurfaceEvents

MESSAGE, THINKING, NOTHING_YET, CHOICES = 4, 5, 6, 8
_PRIVATE = 1 << 6
MOST_AT_ONCE = 50
ANSWERED_WITHIN_S = 10.0
"""Discord gives three seconds from when it sent the event; a machine that stalls may still be in time by its own."""
LOOKED_UP_WITHIN_S = 1.5
GOOD_FOR_S = 900.0
"""So long Discord takes an answer; after that it has told the person that the command failed."""
_CALLBACK = "/interactions/{webhook_id}/{webhook_token}/callback"
_FOLLOW_UP = "/webhooks/{webhook_id}/{webhook_token}"
_ORIGINAL = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"

log = logging.getLogger(__name__)


class Kind(IntEnum):
    """What people do with a bot."""

    COMMAND = 2
    CLICK = 3
    TYPING = 4


@dataclass(frozen=True, slots=True)
class Used:
    """Something that a person did with the bot. `token` is what it is answered with."""

    id: str
    token: str
    person: Person
    data: Json
    heard_at: float


class Interactions:
    """See the module. `events` is given before it runs."""

    events: SurfaceEvents

    def __init__(self, api: DiscordApi, channels: Channels, inbox: Inbox, clock: Clock) -> None:
        self._api = api
        self._channels = channels
        self._inbox = inbox
        self._clock = clock
        self._tasks: anyio.abc.TaskGroup | None = None
        self._room = anyio.Semaphore(MOST_AT_ONCE)
        self._send, self._heard = anyio.create_memory_object_stream[Json](MOST_AT_ONCE)

    def hear(self, data: Json) -> None:
        """One of them, as it came. Never waits."""
        try:
            self._send.send_nowait(data)
        except anyio.WouldBlock:
            log.warning("more clicks and commands at once than can be answered; one is left to fail visibly")

    async def run(self) -> None:
        """Until cancelled."""
        async with anyio.create_task_group() as self._tasks:
            async for data in self._heard:
                await self._room.acquire()
                self._tasks.start_soon(self._take, data)

    async def _take(self, data: Json) -> None:
        try:
            member = raw.obj(data.get("member"))
            person = raw.person(raw.obj(member.get("user")) or raw.obj(data.get("user")), member)
            id, token = raw.word(data.get("id")), raw.text(data.get("token"))
            if not id or not token or not person.id:
                return
            used = Used(id, token, person, data, self._clock.monotonic())
            match raw.number(data.get("type")):
                case Kind.COMMAND:
                    await self._command(used)
                case Kind.CLICK:
                    await self._click(used)
                case Kind.TYPING:
                    await self._offer(used)
                case kind:
                    log.debug("an interaction of kind %d is left to fail visibly", kind)
        finally:
            self._room.release()

    async def _answer(self, used: Used, kind: int, data: Json | None = None) -> Json:
        """The first answer; what Discord says of it, or nothing when it took none."""
        body: Json = {"type": kind} if data is None else {"type": kind, "data": data}
        route = Route("POST", _CALLBACK, webhook_id=used.id, webhook_token=used.token)
        try:
            with anyio.fail_after(ANSWERED_WITHIN_S):
                return raw.obj(await self._api.call(route, body=body, query={"with_response": "true"}))
        except (DiscordRefused, TimeoutError) as error:
            log.warning("a click or command could not be answered in time: %s", error)
            return {}

    async def _place(self, used: Used) -> Place | None:
        """Where it was used. Discord says so; another server may say only the channel's id."""
        channel = raw.obj(used.data.get("channel"))
        id = raw.word(used.data.get("channel_id")) or raw.word(channel.get("id"))
        place = self._channels.keep({"guild_id": used.data.get("guild_id"), **channel, "id": id})
        if place is None and id:
            with anyio.move_on_after(LOOKED_UP_WITHIN_S):
                try:
                    return await self._channels.place(id)
                except DiscordRefused as error:
                    log.warning("where a command was used is not known: %s", error)
        return place

    # -- commands -----------------------------------------------------------------------------------------------------

    async def _command(self, used: Used) -> None:
        place = await self._place(used)
        name, values = slash.filled_in(raw.obj(used.data.get("data")))
        refused = texts_for_commands.COMMAND_NOT_HERE
        if place is not None:
            refused = self.events.refuses(place, used.person, name, values)
        if refused is not None or place is None:
            await self._answer(used, MESSAGE, _private(refused or texts_for_commands.COMMAND_NOT_HERE))
            return
        said = await self._answer(used, THINKING)
        message = raw.word(raw.obj(said.get("interaction")).get("response_message_id"))
        bring = partial(self._bring_command, used, place, name, values, message)
        what = f"the command /{texts.inline(name, 32)} ({used.id})"
        self._inbox.put(what, bring, place=place.place, kept=True)

    async def _bring_command(
        self, used: Used, place: Place, name: str, values: Mapping[str, Value], message: str
    ) -> None:
        message = message or await self._original(used) or await self._stand_in(used, place, name)
        late = self._clock.monotonic() - used.heard_at > GOOD_FOR_S
        words = await self.events.command(
            CommandEvent(
                place=place,
                message=message,
                position=int(message),
                event=used.id,
                person=used.person,
                name=name,
                values=values,
                sent_at=raw.made_at(int(used.id)),
                late=late,
            )
        )
        if self._tasks is not None:
            self._tasks.start_soon(self._say, used, place, message, words)

    async def _original(self, used: Used) -> str:
        """The message that stands for it, when it was answered before: its event came twice, or the answer to the
        answer was lost. Empty when there is none."""
        try:
            return raw.word((await self._api.object(self._by_token("GET", used))).get("id"))
        except DiscordRefused as error:
            log.debug("no message stands for the command: %s", error)
            return ""

    async def _stand_in(self, used: Used, place: Place, name: str) -> str:
        """A message of our own for a command that could not be answered in time. Raises `DiscordRefused` when it may be
        posted later."""
        body: Json = {
            "content": texts_for_commands.command_used(used.person.name, f"/{name}"),
            "allowed_mentions": writing.nobody(),
            "nonce": used.id[:25],
            "enforce_nonce": True,
        }
        route = Route("POST", "/channels/{channel_id}/messages", channel_id=place.place)
        try:
            return raw.word((await self._api.object(route, body=body)).get("id")) or used.id
        except DiscordRefused as error:
            if error.kind == "transient":
                raise
            log.warning("no message can stand for the command: %s", error)
            return used.id

    async def _say(self, used: Used, place: Place, message: str, words: str) -> None:
        """Its message says what was used; by the bot's own right, when the answer's time is over."""
        body: Json = {"content": writing.shortened(words), "allowed_mentions": writing.nobody()}
        path = "/channels/{channel_id}/messages/{message_id}"
        direct = Route("PATCH", path, channel_id=place.place, message_id=message)
        try:
            await self._api.call(self._by_token("PATCH", used), body=body)
        except DiscordRefused as first:
            try:
                await self._api.call(direct, body=body)
            except DiscordRefused as error:
                log.warning("the message of a command can't say what was used: %s; %s", first, error)

    def _by_token(self, method: str, used: Used) -> Route:
        return Route(method, _ORIGINAL, webhook_id=self._api.application, webhook_token=used.token)

    async def _offer(self, used: Used) -> None:
        """What fits what is typed in an option."""
        data = raw.obj(used.data.get("data"))
        place = await self._place(used)
        option, typed = slash.being_typed(data)
        name = raw.text(data.get("name"))
        found: Sequence[Suggestion] = ()
        if place is not None:
            found = self.events.suggestions(place, used.person, name, option, typed)
        await self._answer(used, CHOICES, {"choices": slash.choices(found, data)})

    # -- clicks -------------------------------------------------------------------------------------------------------

    async def _click(self, used: Used) -> None:
        await self._answer(used, NOTHING_YET)
        data = used.data
        meant = cards.meant(raw.text(raw.obj(data.get("data")).get("custom_id")))
        place = raw.word(data.get("channel_id")) or raw.word(raw.obj(data.get("channel")).get("id"))
        message = raw.word(raw.obj(data.get("message")).get("id"))
        if meant is None or not place:
            return
        event = ChoiceEvent(place, message, meant[0], used.person, meant[1], used.id)
        bring = partial(self._bring_choice, event, used.token)
        self._inbox.put(f"a click on {message}", bring, place=place, kept=True)

    async def _bring_choice(self, event: ChoiceEvent, token: str) -> None:
        told = await self.events.choice(event)
        if told:
            route = Route("POST", _FOLLOW_UP, webhook_id=self._api.application, webhook_token=token)
            try:
                await self._api.call(route, body=_private(told))
            except DiscordRefused as error:
                log.warning("the answer to a click could not be shown: %s", error)


def _private(words: str) -> Json:
    """A message that only the one sees who did it."""
    return {"content": words, "flags": _PRIVATE, "allowed_mentions": {"parse": []}}

"""The page's chat as a surface of the relay. It brings what people did, in order, and never drops any of it.

An event is durable in the chat before it is brought here, and leaves the chat's list of undelivered ones only after the
relay took it: after a crash some may come twice, which the ledger's keys make harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from relay.clock import Clock
from relay.errors import RelayError, StoreUnavailable, SurfaceError
from relay.ledger.canonical import clean_text
from relay.surfaces.surface import (
    Capabilities,
    Choice,
    EditEvent,
    LiveView,
    MessageEvent,
    OutgoingPost,
    Place,
    ReactionEvent,
    SeenPost,
    SurfaceEvents,
)
from relay.surfaces.web.chat import LocalChat, PersonEvent
from relay.surfaces.web.seen import MOST_OWN_UNITS, DeleteEvent, message_id

FIRST_WAIT = 0.25
LONGEST_WAIT = 15.0
MOST_LIVE_TEXT = 20_000
_BATCH = 50
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class WebSurface:
    """See `Surface`."""

    def __init__(self, chat: LocalChat, clock: Clock) -> None:
        self._chat = chat
        self._clock = clock

    @property
    def name(self) -> str:
        return "web"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(limit=MOST_OWN_UNITS)

    # -- in -----------------------------------------------------------------------------------------------------------

    async def run(self, events: SurfaceEvents) -> None:
        async def ready() -> None:
            await events.ready(await self._chat.places())

        await self._until_taken(ready)
        after = 0
        while True:
            self._chat.listen()
            batch = await self._until_taken(partial(self._chat.undelivered, after, _BATCH))
            for number, event in batch:
                await self._until_taken(partial(self._deliver, events, event))
                after = number
            if batch:
                await self._until_taken(partial(self._chat.delivered, after))
            else:
                await self._chat.came()

    async def _until_taken(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Do the step, again and again while a store can't write; the page says so meanwhile."""
        wait = FIRST_WAIT
        while True:
            try:
                done = await step()
            except StoreUnavailable as error:
                _log.warning("the page's messages wait: %s", error)
                told = f"Your messages are kept, but the relay can't take them in just now: {error} {error.advice}"
                self._chat.announcements.say_trouble(told.strip())
                await self._clock.sleep(wait)
                wait = min(wait * 2, LONGEST_WAIT)
            else:
                self._chat.announcements.say_trouble("")
                return done

    async def _deliver(self, events: SurfaceEvents, event: PersonEvent) -> None:
        try:
            if isinstance(event, MessageEvent):
                await events.message(event)
            elif isinstance(event, EditEvent):
                await events.edited(event)
            elif isinstance(event, DeleteEvent):
                await events.deleted(event.place, event.message)
            elif isinstance(event, ReactionEvent):
                await events.reaction(event)
            else:
                told = await events.choice(event)
                if told:  # for who clicked, and for nobody else
                    self._chat.announcements.announce(
                        "answered",
                        place=event.place,
                        message=event.message,
                        person=event.person.id,
                        text=told,
                    )
        except RelayError as error:
            if error.kind != "permanent":
                raise
            # It would be refused each time, and everything behind it would wait for ever.
            _log.error("the relay refused message %s of the page: %s", event.message, error)
            self._chat.announcements.announce(
                "refused", place=event.place, message=event.message, error=str(error), advice=error.advice
            )

    # -- out ----------------------------------------------------------------------------------------------------------

    async def place(self, place: str) -> Place | None:
        return await self._chat.place(place)

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        return await self._chat.post(place, post, nonce)

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
        await self._chat.edit(place, message, text, close_card=close_card)

    async def pin(self, place: str, message: str) -> None:
        raise SurfaceError("the page pins nothing: its panels show what goes on.")

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        return (await self._chat.open_thread(room, title, nonce)).place

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None:
        await self._chat.react(place, message, emoji, add=add)

    async def show(self, place: str, view: LiveView | None) -> None:
        if view is not None:
            text = view.text if len(view.text) <= MOST_LIVE_TEXT else "…" + view.text[-MOST_LIVE_TEXT:]
            view = replace(view, text=clean_text(text), doing=clean_text(view.doing))
        self._chat.announcements.show(place, view)

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        return await self._chat.read_since(place, position, limit)

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        return await self._chat.above(place, position, limit)

    async def look(self, place: str, message: str) -> MessageEvent | None:
        return await self._chat.look(place, message)

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        event = await self._chat.look(place, message)
        if event is None or all(hung.id != file for hung in event.files):
            return None
        data = await self._chat.uploads.get(file)
        if data is not None and len(data) > most:
            raise SurfaceError(f"the file has more than {most // 1_000_000} MB.")
        return data

    async def newest(self, place: str) -> int:
        return await self._chat.newest(place)

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        return await self._chat.own_since(place, since_ms)

    def shows(self, seen: SeenPost, text: str) -> bool:
        return seen.text == text

    async def reactions(self, place: str, message: str) -> list[ReactionEvent]:
        return []  # the chat keeps each until the relay has it

    # -- what is taken out --------------------------------------------------------------------------------------------

    async def text_of(self, message: str) -> str | None:
        return await self._chat.text_of(message)

    async def redact(self, messages: Sequence[str]) -> None:
        await self._chat.take_out(messages)

    async def redact_older(self, after: int, before_ms: int, most: int) -> int:
        numbers = await self._chat.older(after, before_ms, most)
        await self._chat.take_out([message_id(number) for number in numbers])
        return max(numbers, default=after)

    async def scrub(self) -> bool:
        return await self._chat.scrub()

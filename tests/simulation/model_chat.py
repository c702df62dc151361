"""A chat as a model: places, people, history, and a network that loses what networks lose.

A request takes time to get there and time to be answered; it may be lost on the way, or its answer may be, so that the
one who asked can't know whether it stands. The nonce of a post is remembered for two minutes only. Events reach those
who are connected; in a gap they are dropped, and afterwards some come twice. It runs by its own clock. What people see
here is what the invariants are held against.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from simulation.virtual_loop import Life, VirtualLoop

from relay.behaviours.posting.chunks import utf16_len
from relay.errors import StoreUnavailable, SurfaceError
from relay.surfaces.surface import (
    Capabilities,
    Choice,
    ChoiceEvent,
    LiveView,
    MessageEvent,
    OutgoingPost,
    Person,
    Place,
    ReactionEvent,
    SeenPost,
    SurfaceEvents,
)

NONCE_WINDOW_S = 120.0
LIMIT = 600
SURFACE = "web"

Event = MessageEvent | ReactionEvent | ChoiceEvent


class Now(Protocol):
    """The chat's own clock."""

    def __call__(self) -> int: ...


@dataclass(slots=True)
class Message:
    """One message as everybody sees it. `author` is None for the relay's own."""

    id: str
    place: str
    position: int
    author: Person | None
    text: str
    reply_to: str | None
    sent_at: int
    card: str = ""
    closed: bool = False
    reactions: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """(who, emoji) → how often it was set."""


@dataclass(slots=True)
class ModelChat:
    """See the module. `rng` decides what is lost and how long things take."""

    rng: random.Random
    now: Now
    loop: VirtualLoop
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    messages: dict[str, Message] = field(default_factory=dict[str, Message])
    links: list[Link] = field(default_factory=list["Link"])
    transcript: list[str] = field(default_factory=list[str])
    name: str = SURFACE
    cards: list[Message] = field(default_factory=list["Message"])
    down: bool = False
    slow: bool = False
    faulty: bool = True
    on_post: Callable[[Life, str], None] = lambda life, when: None
    _nonces: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    _clicks: int = 0

    # -- as lives and weather need it -------------------------------------------------------------------------------

    def link(self, life: Life, *_: Any) -> Link:
        """The chat for a new life."""
        made = Link(self, life)
        self.links.append(made)
        return made

    def strikes(self) -> list[tuple[int, Callable[[], None]]]:
        """What only this chat does to those who are connected."""
        return []

    def room(self, name: str) -> str:
        """How access.json names a room."""
        return f"{SURFACE}:{name}"

    def access(self, others: dict[str, Person]) -> dict[str, Any]:
        """Who is who, as access.json says it."""
        return {"people": {name: {} for name in others}}

    @staticmethod
    def reads(shown: str, wanted: str) -> bool:
        """Whether a message shows that text."""
        return shown.startswith(wanted)

    # -- people -----------------------------------------------------------------------------------------------------

    def open_place(self, place: str, room: str, *, thread: bool) -> None:
        self.places[place] = Place(place, room, thread, place)

    def say(self, place: str, person: Person, text: str, reply_to: str | None = None) -> Message:
        said = self._add(place, person, text, reply_to)
        self._tell(self.event_of(said))
        return said

    def react(self, person: Person, message: Message, emoji: str) -> None:
        """Set it; one that is set already is taken back first, as people do when nothing came of it."""
        count = message.reactions.get((person.id, emoji), 0)
        if count:
            self._tell(ReactionEvent(message.place, message.id, person, emoji, False, count))
        message.reactions[person.id, emoji] = count + 1
        self._tell(ReactionEvent(message.place, message.id, person, emoji, True, count + 1))

    def choose(self, person: Person, message: Message, value: str) -> None:
        self._clicks += 1
        self._tell(
            ChoiceEvent(message.place, message.id, message.card, person, value, f"click-{self._clicks}")
        )

    def ours(self, place: str | None = None) -> list[Message]:
        return [m for m in self.messages.values() if m.author is None and place in (None, m.place)]

    @staticmethod
    def event_of(m: Message) -> MessageEvent:
        assert m.author is not None
        return MessageEvent(m.place, m.id, m.position, m.author, m.text, m.sent_at, m.reply_to, False)

    def _add(
        self, place: str, author: Person | None, text: str, reply_to: str | None, card: str = ""
    ) -> Message:
        position = len(self.messages) + 1
        made = Message(f"m{position}", place, position, author, text, reply_to, self.now(), card)
        self.messages[made.id] = made
        self.transcript.append(f"{made.sent_at} {made.id} {place} {author.id if author else '-'}: {text}")
        return made

    def _tell(self, event: Event) -> None:
        for link in self.links:
            # Now and then the gateway loses a message and says nothing of it; only a scan finds that.
            lost = self.faulty and isinstance(event, MessageEvent) and self.rng.random() < 0.02
            if not lost:
                link.hear(event)

    # -- what the relay asks for ------------------------------------------------------------------------------------

    def stand(self, place: str, post: OutgoingPost, nonce: str) -> str:
        known = self._nonces.get(nonce)
        if known is not None and self.loop.time() - known[1] <= NONCE_WINDOW_S:
            return known[0]
        if utf16_len(post.text) > LIMIT or not post.text.strip():
            raise SurfaceError("that message is too long, or empty.", kind="permanent")
        made = self._add(place, None, post.text, post.reply_to, post.card)
        self._nonces[nonce] = (made.id, self.loop.time())
        if made.card:
            self.cards.append(made)
        return made.id

    def edit(self, message: str, text: str, close_card: bool) -> None:
        found = self.messages[message]
        found.text = text
        found.closed = found.closed or close_card
        self.transcript.append(f"{self.now()} edit {message} closed={found.closed}")

    def set_reaction(self, message: str, emoji: str, add: bool) -> None:
        self.messages[message].reactions["-", emoji] = 1 if add else 0


class Link:
    """The chat as one life of the relay sees it: a `Surface`, with a gateway of its own."""

    name = SURFACE

    def __init__(self, chat: ModelChat, life: Life) -> None:
        self.chat = chat
        self.life = life
        self.ended = False
        self.ready_at: float | None = None
        self._heard: deque[Event] = deque()
        self._missed: deque[Event] = deque()
        self._connected = False
        self._again = anyio.Event()
        self._pause = 0.0

    @property
    def surface(self) -> Link:
        return self

    def built(self, relay: Any) -> None:
        """The relay on it is there."""

    def died(self) -> None:
        """The life was killed."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(limit=LIMIT)

    # -- the gateway ------------------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        if self.life.dead or self.ended:
            return
        if not self._connected:
            self._missed.append(event)
            return
        self._heard.append(event)
        self._again.set()

    def drop(self, seconds: float) -> None:
        """The connection is gone for that long, and what was not taken yet with it."""
        if self._connected:
            self._connected = False
            self._pause = seconds
            self._missed.extend(self._heard)
            self._heard.clear()
            self._again.set()

    async def run(self, events: SurfaceEvents) -> None:
        rng = self.chat.rng
        while True:
            await anyio.sleep(self._pause + rng.uniform(0.02, 0.5))
            if self.chat.down:
                self._pause = 1.0
                continue
            self._connected, self._pause = True, 0.0
            try:
                await events.ready(list(self.chat.places.values()))
            except (StoreUnavailable, SurfaceError):
                self._connected, self._pause = False, rng.uniform(1, 4)
                self._heard.clear()
                continue
            self.ready_at = self.chat.loop.time()
            if rng.random() < 0.5:  # a resumed session brings what was missed, though it was read already
                self._heard.extendleft(reversed([e for e in self._missed if isinstance(e, MessageEvent)]))
            self._missed.clear()
            await self._listen(events)

    async def _listen(self, events: SurfaceEvents) -> None:
        rng = self.chat.rng
        while self._connected:
            while self._heard and self._connected:
                event = self._heard.popleft()
                try:
                    await self._bring(events, event)
                except (StoreUnavailable, SurfaceError):
                    self._heard.appendleft(event)
                    await anyio.sleep(rng.uniform(0.2, 2))
                    continue
                if self.chat.faulty and rng.random() < 0.03:
                    self._heard.append(event)
            self._again = anyio.Event()
            if not self._heard and self._connected:
                await self._again.wait()

    async def _bring(self, events: SurfaceEvents, event: Event) -> None:
        if isinstance(event, MessageEvent):
            await events.message(event)
        elif isinstance(event, ReactionEvent):
            await events.reaction(event)
        else:
            await events.choice(event)

    # -- requests ---------------------------------------------------------------------------------------------------

    async def _ask(self, what: str, does: Callable[[], Any]) -> Any:
        """One request: there and back by the world's clock, so that neither a freeze nor a kill holds up what is on
        its way; only this life's hearing of it."""
        chat, rng = self.chat, self.chat.rng
        there, back = rng.uniform(0.005, 0.08), rng.uniform(0.005, 0.08)
        if chat.slow or (chat.faulty and rng.random() < 0.02):
            there, back = there + rng.uniform(0, 8), back + rng.uniform(0, 8)
        draw, survives = (rng.random() if chat.faulty else 1.0), rng.random() < 0.5
        answer: asyncio.Future[Any] = chat.loop.create_future()

        def reply(result: Any, error: SurfaceError | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        def arrive() -> None:
            if self.life.dead and not survives:
                return
            lost = draw < (0.7 if chat.down else 0.02)
            garbled = not lost and (chat.down or draw < 0.06)
            if not lost and not garbled and 0.06 <= draw < 0.08:
                error = SurfaceError("too many requests.", kind="transient", retry_after_ms=3_000)
                chat.loop.outside(back, lambda: reply(None, error))
                return
            result: Any = None
            error = None
            if not lost:
                try:
                    result = does()
                except SurfaceError as refused:
                    error = refused
            if lost or garbled:
                error = SurfaceError("the chat did not answer.", kind="transient")
            final, late = error, back + (rng.uniform(1, 20) if lost or garbled else 0)
            chat.loop.outside(late, lambda: reply(result, final))

        if what == "post":
            chat.on_post(self.life, "before")
        if self.life.dead:  # killed by the hook
            await anyio.sleep_forever()
        chat.loop.outside(there, arrive)
        found = await answer
        if what == "post":
            chat.on_post(self.life, "after")
        if self.life.dead:
            await anyio.sleep_forever()
        return found

    async def place(self, place: str) -> Place | None:
        return await self._ask("place", lambda: self.chat.places.get(place))

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        return await self._ask("post", lambda: self.chat.stand(place, post, nonce))

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
        await self._ask("edit", lambda: self.chat.edit(message, text, close_card))

    async def pin(self, place: str, message: str) -> None:
        await self._ask("pin", lambda: None)

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        raise SurfaceError("people open the threads here.", kind="permanent")

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None:
        await self._ask("react", lambda: self.chat.set_reaction(message, emoji, add))

    async def show(self, place: str, view: LiveView | None) -> None:
        return

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        def look() -> list[MessageEvent]:
            found = [m for m in self.chat.messages.values() if m.place == place and m.author is not None]
            return [self.chat.event_of(m) for m in found if m.position > position][:limit]

        return await self._ask("read", look)

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        return []  # whatever is said here is said to the agent

    async def look(self, place: str, message: str) -> MessageEvent | None:
        found = self.chat.messages[message]
        return self.chat.event_of(found) if found.author is not None else None

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        return None  # nobody hangs files on messages here

    async def newest(self, place: str) -> int:
        return await self._ask(
            "newest",
            lambda: max((m.position for m in self.chat.messages.values() if m.place == place), default=0),
        )

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        def look() -> Sequence[SeenPost]:
            return [
                SeenPost(m.id, m.text, m.reply_to, m.sent_at)
                for m in self.chat.ours(place)
                if m.sent_at >= since_ms
            ]

        return list(await self._ask("own", look))

    def shows(self, seen: SeenPost, text: str) -> bool:
        return seen.text == text

    async def reactions(self, place: str, message: str) -> list[ReactionEvent]:
        return []

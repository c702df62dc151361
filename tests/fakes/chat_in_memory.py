"""A surface that keeps everything in memory and never leaves the event loop, so what happens when is the test's to say.

It makes the promises of `Surface` (the contract suite holds it to them) and brings nothing by itself: a test hands what
people say to the relay's way in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from relay.clock import Clock
from relay.errors import SurfaceError
from relay.surfaces.surface import (
    Capabilities,
    Choice,
    LiveView,
    MessageEvent,
    OutgoingPost,
    Person,
    Place,
    ReactionEvent,
    SeenPost,
    SurfaceEvents,
)


@dataclass(frozen=True, slots=True)
class _Said:
    number: int
    place: str
    post: OutgoingPost
    person: Person | None
    sent_at: int
    deleted: bool = False

    @property
    def id(self) -> str:
        return f"m{self.number}"


@dataclass
class ChatInMemory:
    """See the module."""

    clock: Clock
    rooms: Sequence[str] = ("main",)
    name: str = "web"
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(limit=2_000))
    said: list[_Said] = field(default_factory=list[_Said])
    nonces: dict[str, str] = field(default_factory=dict[str, str])
    threads: dict[str, Place] = field(default_factory=dict[str, Place])
    pinned: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    our_reactions: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def write(self, text: str, place: str = "main", person: Person | None = None) -> MessageEvent:
        """A person says something. It is not brought to the relay."""
        person = person or Person("owner", "Olga", owner=True)
        said = _Said(len(self.said) + 1, place, OutgoingPost(text), person, self.clock.now_ms())
        self.said.append(said)
        return self._event(said)

    def rewrite(self, message: str, text: str) -> None:
        """A person edits theirs. It is not brought to the relay."""
        self._change(message, lambda said: replace(said, post=replace(said.post, text=text)))

    def erase(self, message: str) -> None:
        """A person deletes theirs. It is not brought to the relay."""
        self._change(message, lambda said: replace(said, deleted=True))

    def _change(self, message: str, change: Callable[[_Said], _Said]) -> None:
        self.said = [change(said) if said.id == message else said for said in self.said]

    def ours(self, place: str = "main") -> list[str]:
        return [said.post.text for said in self.said if said.place == place and said.person is None]

    def _event(self, said: _Said) -> MessageEvent:
        return MessageEvent(
            said.place,
            said.id,
            said.number,
            said.person or Person("relay", "relay", bot=True),
            said.post.text,
            said.sent_at,
            said.post.reply_to,
            ours=said.person is None,
        )

    async def run(self, events: SurfaceEvents) -> None:
        await events.ready([place for room in self.rooms if (place := await self.place(room)) is not None])
        await anyio.sleep_forever()

    async def place(self, place: str) -> Place | None:
        return Place(place, place, thread=False) if place in self.rooms else self.threads.get(place)

    async def _standing(self, place: str) -> None:
        if await self.place(place) is None:
            raise SurfaceError(f"there is no place {place}.")

    async def _ours(self, place: str, message: str) -> int:
        await self._standing(place)
        for index, said in enumerate(self.said):
            if said.id == message and said.place == place:
                return index
        raise SurfaceError(f"there is no message {message}.")

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        if nonce not in self.nonces:
            await self._standing(place)
            if not post.text.strip() and not post.files and not post.card:
                raise SurfaceError("there is nothing in this post.")
            said = _Said(len(self.said) + 1, place, post, None, self.clock.now_ms())
            self.said.append(said)
            self.nonces[nonce] = said.id
        return self.nonces[nonce]

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
        index = await self._ours(place, message)
        if self.said[index].person is not None:
            raise SurfaceError("that message is not ours.")
        post = replace(self.said[index].post, text=text)
        if card:
            post = replace(post, card=card, choices=tuple(choices))
        self.said[index] = replace(self.said[index], post=replace(post, choices=()) if close_card else post)

    async def pin(self, place: str, message: str) -> None:
        await self._ours(place, message)
        self.pinned.setdefault(place, {})[message] = None

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        if nonce not in self.nonces:
            await self._standing(room)
            place = Place(f"{room}/t{len(self.threads) + 1}", room, thread=True, title=title)
            self.threads[place.place] = place
            self.nonces[nonce] = place.place
        return self.nonces[nonce]

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None:
        await self._ours(place, message)
        (self.our_reactions.add if add else self.our_reactions.discard)((message, emoji))

    async def show(self, place: str, view: LiveView | None) -> None:
        return

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        await self._standing(place)
        after = [
            s
            for s in self.said
            if s.place == place and s.number > position and s.person is not None and not s.deleted
        ]
        return [self._event(said) for said in after[:limit]]

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        await self._standing(place)
        before = [s for s in self.said if s.place == place and s.number < position and not s.deleted]
        return [self._event(said) for said in before[-limit:]]

    async def look(self, place: str, message: str) -> MessageEvent | None:
        await self._standing(place)
        found = [s for s in self.said if s.place == place and s.id == message and not s.deleted]
        return self._event(found[0]) if found else None

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        return None  # nobody hangs files on messages here

    async def newest(self, place: str) -> int:
        await self._standing(place)
        return max((said.number for said in self.said if said.place == place), default=0)

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        await self._standing(place)
        return [
            SeenPost(said.id, said.post.text, said.post.reply_to, said.sent_at)
            for said in self.said
            if said.place == place and said.person is None and said.sent_at >= since_ms
        ]

    def shows(self, seen: SeenPost, text: str) -> bool:
        return seen.text == text

    async def reactions(self, place: str, message: str) -> list[ReactionEvent]:
        return []

"""The port to a place where people talk.

A surface posts, edits, reacts and shows; it tells what people did through `SurfaceEvents`; and it can be asked for what
was said since a position, so that nothing is lost while no relay listens. Ids of places and messages are opaque words
of the surface. A surface never decides who may do what, and never drops a message because it is busy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from relay.behaviours.commands import Command, Suggestion, Value


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a surface can do. `limit` is the longest message in UTF-16 code units."""

    limit: int
    threads: bool = True
    edits: bool = True
    reactions: bool = True
    cards: bool = True
    files: bool = True
    nonces: bool = True
    history: bool = True
    pins: bool = False


@dataclass(frozen=True, slots=True)
class Person:
    """Who did something, as the surface knows them. `owner` is the surface's own word for the owner."""

    id: str
    name: str
    bot: bool = False
    owner: bool = False


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file beside a message, kept as a blob."""

    name: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class HungFile:
    """A file that hangs on a person's message, as the surface tells of it. `id` is the surface's own word for it; name
    and size (bytes) are as untrusted as the message's text."""

    id: str
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A button of a card: what is recorded, and what stands on it."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What a message brings along of another one: a forwarded message, or one that the surface quotes."""

    kind: Literal["forwarded", "quoted"]
    text: str
    who: str = ""
    at: int = 0
    """When it was written; 0 where the surface doesn't say."""


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message a person wrote. `position` orders the messages of one place; it is the surface's own word. `ours` is
    true only in what `above` and `look` tell of the relay's own messages."""

    place: str
    message: str
    position: int
    person: Person
    text: str
    sent_at: int
    reply_to: str | None = None
    mentions_us: bool = False
    quotes: tuple[Quote, ...] = ()
    files: tuple[HungFile, ...] = ()
    ours: bool = False


@dataclass(frozen=True, slots=True)
class EditEvent:
    """A person's message reads differently now. `edited_at` is the surface's time of the change, None where it doesn't
    say: an event may come twice, late, or for a change that isn't one of the text, and is then no edit."""

    place: str
    message: str
    text: str
    edited_at: int | None = None


@dataclass(frozen=True, slots=True)
class ReactionEvent:
    """A reaction set or taken back. `count` tells apart the times that one person did the same."""

    place: str
    message: str
    person: Person
    emoji: str
    set: bool
    count: int


@dataclass(frozen=True, slots=True)
class ChoiceEvent:
    """A click on a card's button. `event` is the surface's id of the click."""

    place: str
    message: str
    card: str
    person: Person
    value: str
    event: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CommandEvent:
    """A command that somebody filled in. `event` is the surface's id of that; `message` is the one that stands for it
    in its place. `late`: whoever used it was told meanwhile that it failed."""

    place: Place
    message: str
    position: int
    event: str
    person: Person
    name: str
    values: Mapping[str, Value]
    sent_at: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingPost:
    """What is to be seen in a place. `card` and `choices` make it a card; `ping` says who is called; nobody else."""

    text: str
    reply_to: str | None = None
    ping: tuple[str, ...] = ()
    files: tuple[SeenFile, ...] = ()
    card: str = ""
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenPost:
    """One of our own messages as the surface shows it."""

    message: str
    text: str
    reply_to: str | None
    sent_at: int
    files: tuple[str, ...] = ()
    """Names of the files that hang on it."""


@dataclass(frozen=True, slots=True)
class LiveView:
    """The state of a running turn. The newest wins; showing it is best effort and never recorded."""

    turn: str
    text: str
    """The reply so far."""
    doing: str
    """One line: the tool that runs, or what is waited for."""
    started_at: int
    waiting: int
    """Messages that wait behind the turn."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a place stands: its room, and whether it is a thread of it."""

    place: str
    room: str
    thread: bool
    title: str = ""
    born: int = 0
    """The position in its room at which a thread began; 0 where the surface doesn't say."""


DIRECT = "dm:"
"""The room of direct messages, on every surface."""


def room_id(surface: str, place: Place) -> str:
    """The id of a place's room, as access.json names it."""
    return DIRECT if place.room == DIRECT else f"{surface}:{place.room}"


class SurfaceEvents(Protocol):
    """Who listens to a surface. Each call returns when the event is durable, or was filtered out.

    Raises `StoreUnavailable` when it could not be recorded: the surface keeps the event and brings it again.
    """

    async def message(self, event: MessageEvent) -> None: ...

    async def edited(self, event: EditEvent) -> None: ...

    async def reaction(self, event: ReactionEvent) -> None: ...

    async def choice(self, event: ChoiceEvent) -> str | None:
        """What to tell the one who clicked, and nobody else; None when the click counts."""
        ...

    def offered(self) -> Sequence[Command]:
        """The commands that a surface may offer to be filled in."""
        ...

    def suggestions(
        self, place: Place, person: Person, name: str, option: str, typed: str
    ) -> Sequence[Suggestion]:
        """What an option may be filled in with; nothing for who may not use the command there."""
        ...

    def refuses(self, place: Place, person: Person, name: str, values: Mapping[str, Value]) -> str | None:
        """What to tell the one who used a command, and nobody else; None when it is to be brought. Never waits."""
        ...

    async def command(self, event: CommandEvent) -> str:
        """What its message is to say, once it is durable."""
        ...

    async def deleted(self, place: str, message: str) -> None:
        """A message, ours or a person's, is gone."""
        ...

    async def gone(self, place: str) -> None:
        """A place is gone for good, with all that stood in it."""
        ...

    async def ready(self, places: Sequence[Place]) -> None:
        """The surface is (again) connected; live events are held until this returns."""
        ...


class Surface(Protocol):
    """See the module. Every call raises `SurfaceError` when the surface refuses."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def run(self, events: SurfaceEvents) -> None:
        """Listen until cancelled: calls `events.ready` first, then live events."""
        ...

    async def place(self, place: str) -> Place | None:
        """Where that place stands, or None when it is gone."""
        ...

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        """Post once: the same nonce again gives the id of the first message. Returns the message's id."""
        ...

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
        """Another text for one of our messages; `close_card` takes its buttons away. With `card` its buttons become
        those of `choices`: only where `pins` says so, since nothing else changes them."""
        ...

    async def pin(self, place: str, message: str) -> None:
        """Keep one of our messages at hand in its place. Pinning what is pinned is fine. Only where `pins` says so."""
        ...

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        """A new thread of a room; the same nonce gives the first one. Returns the place."""
        ...

    async def react(self, place: str, message: str, emoji: str, *, add: bool) -> None: ...

    async def show(self, place: str, view: LiveView | None) -> None:
        """Show what the running turn does; None takes it away."""
        ...

    async def read_since(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """What people wrote after that position, oldest first."""
        ...

    async def above(self, place: str, position: int, limit: int) -> list[MessageEvent]:
        """What was said before that position, by people and by us: the newest `limit` messages of it, oldest first."""
        ...

    async def look(self, place: str, message: str) -> MessageEvent | None:
        """A message as it reads now, a person's or ours; None when it was deleted. Raises for a place that is gone."""
        ...

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        """The bytes of a file that hangs on a person's message; None when it or its message is gone. Bounded in time.
        Raises a permanent error when the file has more than `most` bytes."""
        ...

    async def newest(self, place: str) -> int:
        """The position of the newest message of a place; 0 when it is empty."""
        ...

    async def own_since(self, place: str, since_ms: int) -> list[SeenPost]:
        """Our own messages since a time, oldest first: the history check before a post is tried again."""
        ...

    def shows(self, seen: SeenPost, text: str) -> bool:
        """Whether that message of ours is how the surface shows a post of that text."""
        ...

    async def reactions(self, place: str, message: str) -> Sequence[ReactionEvent]:
        """The reactions of people that decide a card, as they stand on a message: a surface that may have missed
        some tells them again. Empty where none can be missed, and for a message that is gone."""
        ...


@runtime_checkable
class KeepsTexts(Protocol):
    """A surface whose messages stand in the state folder: what is redacted has to go there too. Each call raises
    `StoreUnavailable`, and is durable when it returns."""

    async def text_of(self, message: str) -> str | None:
        """What a message says: nothing when its text was taken out; None when it isn't there."""
        ...

    async def redact(self, messages: Sequence[str]) -> None:
        """Take the texts of those messages out, as far as they are there."""
        ...

    async def redact_older(self, after: int, before_ms: int, most: int) -> int:
        """The same with the next `most` messages past the position `after`, as far as they were written before that
        time; the position of the last of them, `after` when there was none."""
        ...

    async def scrub(self) -> bool:
        """As `Store.scrub`."""
        ...


@dataclass(slots=True)
class Surfaces:
    """The surfaces that are running, by name."""

    by_name: dict[str, Surface] = field(default_factory=dict[str, Surface])

    def of(self, scope_or_place: str) -> tuple[Surface, str] | None:
        """The surface and its own word for `surface:place`."""
        name, _, place = scope_or_place.partition(":")
        surface = self.by_name.get(name)
        return (surface, place) if surface and place else None

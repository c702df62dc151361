"""The tests' Discord as the simulator's chat: the same people, the same questions to it, by Discord's own rules.

What a life of the relay has of it is the real `DiscordSurface` on the real discord.py (`discord_network` says what is
not): its inbox, its history, its posts and statuses, its supervisor and its budget of sessions. Gaps lose what RESUME
doesn't bring, reactions and clicks are not told again after a refused one, nonces are remembered for two minutes and
stand in no history, ids carry Discord's time, and limits are Discord's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.discord import guilds, people, places, posting, reacting, threads
from fakes.discord.clock import Clock
from fakes.discord.errors import ApiError
from fakes.discord.gateway import Gateway
from fakes.discord.gateway_faults import Delivery, GatewayFaults
from fakes.discord.model import SPOKEN, Channel, Json, Kind
from fakes.discord.model import Message as Written
from fakes.discord.ratelimits import RateLimits
from fakes.discord.rest import Rest
from fakes.discord.rest_faults import RestFaults
from fakes.discord.world import Event, Rules, World
from simulation.discord_network import Network
from simulation.model_chat import Message
from simulation.people import OWNER
from simulation.virtual_loop import Life, VirtualLoop

from relay import app
from relay.clock import Clock as RelayClock
from relay.config import Access
from relay.surfaces.discord import cards, writing
from relay.surfaces.discord.surface import DiscordSurface
from relay.surfaces.surface import Person, Place, SeenPost

NONCE_WINDOW_S = 120.0


class _Time(Clock):
    """Discord's time on the virtual loop."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__()
        self._now_ms = now_ms

    def now(self) -> float:
        return self._now_ms() / 1000


class _Faults(GatewayFaults):
    """Now and then the gateway loses a message, tells it twice or late, and says nothing of it."""

    def __init__(self, clock: Clock, chat: DiscordChat) -> None:
        super().__init__(clock)
        self._chat = chat

    def deliver(self, name: str, data: Json, *, greeting: bool = False) -> Delivery:
        found = super().deliver(name, data, greeting=greeting)
        if name == "MESSAGE_CREATE" and self._chat.network.faulty and found.data:
            draw = self._chat.rng.random()
            if draw < 0.02:
                return Delivery([])
            if draw < 0.05:
                return Delivery([data], again=draw < 0.035) if draw < 0.035 else Delivery([data, data])
            if draw < 0.06:
                return Delivery([data], late=self._chat.rng.uniform(0.1, 5))
        return found


@dataclass(slots=True)
class Link:
    """Discord as one life of the relay has it."""

    chat: DiscordChat
    life: Life
    surface: DiscordSurface
    ended: bool = False
    ready_at: float | None = None

    def drop(self, seconds: float) -> None:
        """No gateway for so long; every other time its session is forgotten, too."""
        if self.chat.rng.random() < 0.5:
            self.chat.gateway.faults.refuse_resumes(seconds + 30)
        self.chat.network.cut(self.life, seconds)

    def built(self, relay: app.Relay) -> None:
        """The relay on it is there: it hears of a new access.json, and it is seen when the gaps are closed."""
        self.surface.follow(lambda: relay.parts.access)
        intake = relay.intakes[0]
        ready = intake.ready

        async def told(found: Sequence[Place]) -> None:
            await ready(found)
            self.ready_at = self.chat.loop.time()

        intake.ready = told  # type: ignore[method-assign]

    def died(self) -> None:
        self.chat.network.leave(self.life)


@dataclass
class DiscordChat:
    """See the module. It has what `ModelChat` has."""

    rng: random.Random
    now: Callable[[], int]
    loop: VirtualLoop
    folder: Path
    places: dict[str, Place] = field(default_factory=dict[str, Place])
    transcript: list[str] = field(default_factory=list[str])
    links: list[Link] = field(default_factory=list[Link])
    name = "discord"

    def __post_init__(self) -> None:
        self.world = World(clock=_Time(self.now), rules=Rules(nonce_memory=NONCE_WINDOW_S))
        limits = RateLimits(self.world.clock)
        limits.realistic()
        self.gateway = Gateway(self.world, _Faults(self.world.clock, self))
        self.network = Network(Rest(self.world, RestFaults(), limits), self.gateway, self.loop, self.rng)
        self.bot = self.world.new_app("relay", 1 << 15)
        owner = self.world.new_user("workshop-owner")
        guild = guilds.make(self.world, "Workshop", owner)
        guilds.add_member(self.world, guild, self.bot.user)
        self._guild = places.Community(self.world, guild)
        self._channels: dict[str, Channel] = {}
        self._people: dict[str, people.Person] = {}
        self._cards: dict[int, str] = {}
        self._known: dict[str, Message] | None = None
        self.world.listeners.append(self._noted)
        self.world.watchers.append(self._forget)

    # -- as weather and lives need it ---------------------------------------------------------------------------------

    @property
    def down(self) -> bool:
        return self.network.down

    @down.setter
    def down(self, down: bool) -> None:
        self.network.down = down

    @property
    def slow(self) -> bool:
        return self.network.slow

    @slow.setter
    def slow(self, slow: bool) -> None:
        self.network.slow = slow

    @property
    def faulty(self) -> bool:
        return self.network.faulty

    @faulty.setter
    def faulty(self, faulty: bool) -> None:
        self.network.faulty = faulty
        if not faulty:
            self.gateway.faults.speak()
            self.gateway.faults.refuse_resumes(0.0)
            self.network.deaf_until = 0.0

    @property
    def on_post(self) -> Callable[[Life, str], None]:
        return self.network.on_post

    @on_post.setter
    def on_post(self, hook: Callable[[Life, str], None]) -> None:
        self.network.on_post = hook

    def link(self, life: Life, access: Callable[[], Access], state: Path, clock: RelayClock) -> Link:
        """Discord for a new life."""
        state.mkdir(parents=True, exist_ok=True)
        jitter = random.Random(f"jitter/{life.number}/{self.bot.id}").random
        surface = DiscordSurface(
            self.bot.token,
            "RELAY_DISCORD_TOKEN",
            access=access,
            state=state,
            clock=clock,
            say=_unsaid,
            jitter=jitter,
        )
        made = Link(self, life, surface)
        self.links.append(made)
        return made

    def strikes(self) -> list[tuple[int, Callable[[], None]]]:
        """What only Discord does to those who are connected."""
        faults, rng = self.gateway.faults, self.rng

        def deaf() -> None:
            faults.silence()
            self.loop.outside(rng.choice((20, 120, 400)), faults.speak)

        def cut_and_forgotten() -> None:
            faults.refuse_resumes(20)
            self.gateway.cut()

        return [
            (6, cut_and_forgotten),
            (4, lambda: self.gateway.invalidate(resumable=False)),
            (3, lambda: self.gateway.invalidate(resumable=True)),
            (3, self.gateway.reconnect),
            (3, deaf),
        ]

    def room(self, name: str) -> str:
        """How access.json names a room."""
        return f"discord:{self._channels[name].id}"

    def access(self, others: dict[str, Person]) -> dict[str, Any]:
        """Who is who, as access.json says it."""
        return {
            "owner": {"discord": str(self._who(OWNER).id)},
            "people": {name: {"discord": str(self._who(person).id)} for name, person in others.items()},
        }

    # -- people -------------------------------------------------------------------------------------------------------

    def open_place(self, place: str, room: str, *, thread: bool) -> None:
        if thread:
            opener = next(iter(self._people.values()))
            found = threads.open_thread(self.world, opener.user, self._channels[room], place)
        else:
            found = guilds.add_channel(self.world, self._guild.guild, Kind.TEXT, place)
        self._channels[place] = found
        self.places[place] = Place(str(found.id), room, thread, place)

    def say(self, place: str, person: Person, text: str, reply_to: str | None = None) -> Message:
        channel = self._channels.get(place) or self.world.channels[int(place)]
        made = posting.post(self.world, self._who(person).user, channel, posting.Draft(text))
        self.transcript.append(f"{self.now()} {made.id} {channel.name} {person.id}: {text}")
        return self.messages[str(made.id)]

    def react(self, person: Person, message: Message, emoji: str) -> None:
        channel, user = self.world.channels[int(message.place)], self._who(person).user
        found = channel.messages[int(message.id)]
        if user.id in found.reactions.get(emoji, []):
            reacting.take_off(self.world, user, channel, found, emoji, user)
        with suppress(ApiError):
            reacting.add(self.world, user, channel, found, emoji)

    def choose(self, person: Person, message: Message, value: str) -> None:
        found = self.world.channels[int(message.place)].messages[int(message.id)]
        with suppress(LookupError, ApiError):  # its buttons were taken away in this moment
            self._who(person).click(found, cards.button_id(message.card, value))

    def _who(self, person: Person) -> people.Person:
        if person.id not in self._people:
            self._people[person.id] = self._guild.person(person.id)
        return self._people[person.id]

    # -- what stands there --------------------------------------------------------------------------------------------

    @property
    def messages(self) -> dict[str, Message]:
        """Every message as it stands now, in the order in which they were written."""
        if self._known is None:
            written = [
                m
                for channel in self.world.channels.values()
                for m in channel.messages.values()
                if m.kind in SPOKEN and m.ephemeral_for is None
            ]
            self._known = {str(m.id): self._read(m) for m in sorted(written, key=lambda m: m.id)}
        return self._known

    @property
    def cards(self) -> list[Message]:
        return [message for message in self.messages.values() if message.card]

    def ours(self, place: str | None = None) -> list[Message]:
        return [m for m in self.messages.values() if m.author is None and place in (None, m.place)]

    @staticmethod
    def reads(shown: str, wanted: str) -> bool:
        """Whether a message shows that text; an outcome may stand below it."""
        return writing.same(SeenPost("", shown, None, 0), wanted) or shown.startswith(wanted.strip())

    def _read(self, m: Written) -> Message:
        names = {person.id: name for name, person in self._people.items()} | {self.bot.user.id: "-"}
        author = None if m.author.id == self.bot.user.id else Person(names[m.author.id], m.author.name)
        made = Message(
            str(m.id), str(m.channel_id), m.id, author, m.content, None, 0, self._cards.get(m.id, "")
        )
        made.closed = bool(made.card) and not m.components
        made.reactions = {(names[who], emoji): 1 for emoji, those in m.reactions.items() for who in those}
        return made

    def _noted(self, event: Event) -> None:
        message = event.message
        if event.name != "MESSAGE_CREATE" or message is None or message.author.id != self.bot.user.id:
            return
        self.transcript.append(f"{self.now()} {message.id} {message.channel_id} -: {message.content}")
        for row in message.components:
            for button in row.get("components") or []:
                meant = cards.meant(str(button.get("custom_id")))
                if meant is not None:
                    self._cards[message.id] = meant[0]

    def _forget(self) -> None:
        self._known = None


def _unsaid(line: str) -> None:
    return

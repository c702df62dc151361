"""A whole relay on the tests' Discord: the real discord.py, real HTTP and TLS, and people who write in a channel.

`town` starts one and gives a `Town`. What people see is asked of the channels; time passes faster for the relay alone.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from fakes.discord import Community, DiscordServer, Person, Place, Seen
from fakes.discord.model import App, Message
from fakes.living import FastClock, scripted

from relay import texts
from relay.app import Relay, build
from relay.behaviours.turns.concept import Turns
from relay.config import Access, Limits, Room, default
from relay.config import Person as Known
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore
from relay.surfaces.discord.surface import DiscordSurface
from relay.surfaces.surface import Surfaces

PATIENCE_S = 30.0


@dataclass
class Town:
    """See the module. Olga owns the relay, Ada is of the room, Zoe is a stranger."""

    folder: Path
    server: DiscordServer
    bot: App
    guild: Community
    room: Place
    olga: Person
    ada: Person
    zoe: Person
    access: Access
    clock: FastClock
    tasks: anyio.abc.TaskGroup
    store: MemoryStore = field(default_factory=MemoryStore)
    said: list[str] = field(default_factory=list[str])
    """What was printed at the terminal."""
    mask: Callable[[str], str] = str
    relay: Relay = field(init=False)
    surface: DiscordSurface = field(init=False)
    _stop: anyio.Event = field(init=False)
    _scope: anyio.CancelScope = field(init=False)
    _over: anyio.Event = field(init=False)

    async def start(self, *, wait: bool = True) -> None:
        self.surface = DiscordSurface(
            self.bot.token,
            "RELAY_DISCORD_TOKEN",
            access=lambda: self.access,
            state=self.folder / "state",
            clock=self.clock,
            say=self.said.append,
            jitter=lambda: 0.0,
            connector=self.server.connector,
        )
        (self.folder / "state").mkdir(exist_ok=True)
        self.relay = await build(
            access=self.access,
            digest="",
            zone="UTC",
            store=self.store,
            clock=self.clock,
            surfaces=Surfaces({"discord": self.surface}),
            state=self.folder / "state",
            entropy=os.urandom,
            runtimes=scripted(self.clock),
            mask=self.mask,
        )
        intake = self.relay.intakes[0]
        listening, ready = anyio.Event(), intake.ready

        async def told(places: Any) -> None:
            await ready(places)
            listening.set()

        intake.ready = told  # so that a test knows when the gaps are closed
        self._stop, self._over, self._scope = anyio.Event(), anyio.Event(), anyio.CancelScope()
        await self.tasks.start(self._run)
        if wait:
            with anyio.fail_after(PATIENCE_S):
                await listening.wait()

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            with self._scope:
                await self.relay.run(stop=self._stop, task_status=task_status)
        finally:
            with anyio.CancelScope(shield=True):
                await self.surface.close()
            self._over.set()

    async def stop(self) -> None:
        self._stop.set()
        with anyio.fail_after(PATIENCE_S):
            await self._over.wait()

    async def kill(self) -> None:
        self._scope.cancel()
        with anyio.fail_after(PATIENCE_S):
            await self._over.wait()

    @asynccontextmanager
    async def away(self, *, kill: bool = True) -> AsyncIterator[None]:
        """No relay runs inside."""
        await (self.kill() if kill else self.stop())
        yield
        await self.start()

    # -- what people do and see ---------------------------------------------------------------------------------------

    def ask(self, text: str, place: Place | None = None, by: Person | None = None) -> Message:
        """Olga (or another one) writes to the bot."""
        return (by or self.olga).say(place or self.room, f"<@{self.bot.id}> {text}")

    def ours(self, place: Place | None = None) -> list[str]:
        """The bot's messages, without the passing status of a turn and the workbench."""
        passing = ("⏳", texts.WORKBENCH)
        return [t for t in (place or self.room).texts("relay") if not t.startswith(passing)]

    def benches(self, place: Place | None = None) -> list[Seen]:
        """The workbenches that stand there: one, if all is well."""
        seen = (place or self.room).seen()
        return [one for one in seen if one.author == "relay" and one.text.startswith(texts.WORKBENCH)]

    async def bench(self, *words: str, place: Place | None = None) -> Seen:
        """Wait until the one workbench says those words."""

        def says() -> list[Seen]:
            return [one for one in self.benches(place) if all(word in one.text for word in words)]

        await self.server.until(
            lambda: len(says()) == 1, within=PATIENCE_S, saying=f"a workbench with {words}"
        )
        return says()[0]

    async def answered(self, text: str, place: Place | None = None, times: int = 1) -> Seen:
        """Wait until the bot has said it; the last of those messages. The workbench doesn't count."""
        where = place or self.room

        def found() -> list[Seen]:
            said = [one for one in where.seen() if one.author == "relay" and text in one.text]
            return [one for one in said if not one.text.startswith(texts.WORKBENCH)]

        await self.server.until(
            lambda: len(found()) >= times, within=PATIENCE_S, saying=f"{text!r} of the bot"
        )
        return found()[-1]

    async def card(self, place: Place | None = None) -> Seen:
        """Wait for an open card."""
        await self.server.until(lambda: bool(self.cards(place)), within=PATIENCE_S, saying="an open card")
        return self.cards(place)[0]

    def cards(self, place: Place | None = None) -> list[Seen]:
        """The open cards. A workbench has buttons of its own."""
        seen = (place or self.room).seen()
        return [one for one in seen if one.buttons and not one.text.startswith(texts.WORKBENCH)]

    async def quiet(self) -> None:
        """Wait until nothing is owed, and then a little longer for what might come too often."""
        engine = self.relay.parts.engine

        def calm() -> bool:
            running = bool(engine.view.of(Turns).state.running)
            return not running and not any(True for r in self.relay.reconcilers for _ in r.owes(engine.view))

        await self.server.until(calm, within=PATIENCE_S, saying="quiet")
        await anyio.sleep(0.15)
        await self.server.until(calm, within=PATIENCE_S, saying="quiet")

    async def until_logged(self, verb: str) -> None:
        """Wait until such a record stands."""
        with anyio.fail_after(PATIENCE_S):
            while not await self.log(verb):
                await self.relay.parts.engine.moved(self.relay.parts.engine.head)

    async def log(self, verb: str = "") -> list[Interaction]:
        return [i for i in await self.store.read(0, 1_000_000) if i.verb.startswith(verb)]


def access_of(
    folder: Path, room: Place, olga: Person, ada: Person, limits: dict[str, int], **more: Any
) -> Access:
    rules = {"humans": ("ada",), "require_mention": True, **more}
    rooms = {
        f"discord:{room.id}": Room(agent="scout", workspace=folder / "work", **rules),
        "dm:": Room(agent="scout", workspace=folder / "dm", require_mention=False),
    }
    return default(workspace=folder / "work").model_copy(
        update={
            "rooms": rooms,
            "people": {"ada": Known(discord=str(ada.id))},
            "owner": {"discord": str(olga.id)},
            "limits": Limits().model_copy(update=limits),
        }
    )


@asynccontextmanager
async def town(
    folder: Path,
    *,
    speed: float = 10.0,
    start: bool = True,
    limits: dict[str, int] | None = None,
    **room: Any,
) -> AsyncIterator[Town]:
    """A running relay; `room` are fields of its room."""
    async with DiscordServer() as server, anyio.create_task_group() as tasks:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        build_room = guild.text_channel("build")
        olga, ada, zoe = (guild.person(name) for name in ("olga", "ada", "zoe"))
        access = access_of(folder, build_room, olga, ada, limits or {}, **room)
        made = Town(folder, server, bot, guild, build_room, olga, ada, zoe, access, FastClock(speed), tasks)
        if start:
            await made.start()
        try:
            yield made
        finally:
            if hasattr(made, "_scope"):
                await made.kill()
            tasks.cancel_scope.cancel()

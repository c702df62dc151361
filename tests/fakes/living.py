"""A whole relay in a temporary folder: everything real but the hours, which pass faster.

`living` starts one and gives a `Living`: people speak in its chat, and what they then see there is read back. It can be
stopped cleanly, killed and started again over the same folder and store.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from relay.agents.runtime import Runtime
from relay.agents.scripted.runtime import ScriptedRuntime
from relay.app import Relay, build, chat_rooms
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.turns.concept import Turns
from relay.config import Access, Limits, Person, Room, default
from relay.config_model import Budgets
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Store
from relay.surfaces.surface import MessageEvent, Place, SurfaceEvents, Surfaces
from relay.surfaces.surface import Person as Speaker
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.surface import WebSurface

OWNER = Speaker("owner", "Olga", owner=True)
ADA = Speaker("ada", "Ada")
BEN = Speaker("ben", "Ben")
STRANGER = Speaker("zoe", "Zoe")
PATIENCE_S = 10.0
"""How long (in real time) a test waits for what must come. Nothing takes so long but a failure."""


class FastClock:
    """The machine's clock, `speed` times as fast."""

    def __init__(self, speed: float = 20.0) -> None:
        self.speed = speed
        self._wall = time.time()
        self._steady = time.monotonic()
        self.jumped_ms = 0

    def now_ms(self) -> int:
        passed = (time.monotonic() - self._steady) * self.speed
        return int((self._wall + passed) * 1000) + self.jumped_ms

    def monotonic(self) -> float:
        return time.monotonic() * self.speed

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds) / self.speed)


class ToldWhenReady(WebSurface):
    """The page's surface, which says when the relay has closed its gaps and listens."""

    def __init__(self, chat: LocalChat, clock: FastClock) -> None:
        super().__init__(chat, clock)
        self.listening = anyio.Event()

    async def run(self, events: SurfaceEvents) -> None:
        await super().run(_Ready(events, self.listening))


class _Ready:
    def __init__(self, events: SurfaceEvents, listening: anyio.Event) -> None:
        self._events = events
        self._listening = listening
        self.message = events.message
        self.edited = events.edited
        self.deleted = events.deleted
        self.reaction = events.reaction
        self.choice = events.choice

    async def ready(self, places: Sequence[Place]) -> None:
        await self._events.ready(places)
        self._listening.set()


def access(
    folder: Path, *, limits: Mapping[str, int] | None = None, budgets: Budgets | None = None, **room: Any
) -> Access:
    """Rooms `web:main` and `web:side` of an owner; Ada and Ben are people of `web:main`."""
    main: dict[str, Any] = {"humans": ("ada", "ben"), "require_mention": False, **room}
    rooms = {
        "web:main": Room(agent="scout", workspace=folder / "work", label="main", **main),
        "web:side": Room(agent="scout", workspace=folder / "side", label="side", require_mention=False),
    }
    people = {"ada": Person(), "ben": Person()}
    # Of limits a test wants shorter ones than a person may write, so they are not checked here.
    base = default(workspace=folder / "work")
    return base.model_copy(
        update={
            "rooms": rooms,
            "people": people,
            "limits": Limits().model_copy(update=dict(limits or {})),
            "budgets": budgets or Budgets(),
        }
    )


async def poll(look: Callable[[], Awaitable[bool]], told: Callable[[], Awaitable[str]]) -> None:
    """Look again and again until it is so; fail with what `told` says when it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not await look():
        if time.monotonic() > deadline:
            raise AssertionError(await told())
        await anyio.sleep(0.005)


@dataclass
class Living:
    """See the module. `relay` is the one that runs now."""

    folder: Path
    access: Access
    store: Store
    clock: FastClock
    tasks: anyio.abc.TaskGroup
    mask: Callable[[str], str]
    runtimes: Callable[[FastClock], Mapping[str, Runtime]]
    surface: Callable[[LocalChat, FastClock], ToldWhenReady] = ToldWhenReady
    chat: LocalChat = field(init=False)
    relay: Relay = field(init=False)
    _stop: anyio.Event = field(init=False)
    _scope: anyio.CancelScope = field(init=False)
    _over: anyio.Event = field(init=False)

    @property
    def work(self) -> Path:
        """The workspace of `web:main`."""
        return self.folder / "work"

    # -- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start a relay over what is there, and wait until it listens."""
        self.chat = await LocalChat.open(self.folder / "page.db", chat_rooms(self.access), self.clock)
        surface = self.surface(self.chat, self.clock)
        self.relay = await build(
            access=self.access,
            digest="",
            zone="UTC",
            store=self.store,
            clock=self.clock,
            surfaces=Surfaces({"web": surface}),
            state=self.folder / "state",
            entropy=os.urandom,
            runtimes=self.runtimes(self.clock),
            mask=self.mask,
        )
        self._stop, self._over, self._scope = anyio.Event(), anyio.Event(), anyio.CancelScope()
        await self.tasks.start(self._run)
        with anyio.fail_after(PATIENCE_S):
            await surface.listening.wait()

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            with self._scope:
                await self.relay.run(stop=self._stop, task_status=task_status)
        finally:
            with anyio.CancelScope(shield=True):
                await self.chat.close()
            self._over.set()

    async def stop(self) -> None:
        """A clean stop."""
        self._stop.set()
        with anyio.fail_after(PATIENCE_S):
            await self._over.wait()

    async def kill(self) -> None:
        """As good as `kill -9`: nothing is tidied, and whatever was not yet durable is gone."""
        self._scope.cancel()
        with anyio.fail_after(PATIENCE_S):
            await self._over.wait()

    async def restart(self, *, kill: bool = False) -> None:
        await (self.kill() if kill else self.stop())
        await self.start()

    @asynccontextmanager
    async def away(self, *, kill: bool = False) -> AsyncIterator[LocalChat]:
        """No relay runs inside; the chat is there and people may write in it."""
        await (self.kill() if kill else self.stop())
        chat = await LocalChat.open(self.folder / "page.db", chat_rooms(self.access), self.clock)
        try:
            yield chat
        finally:
            await chat.close()
        await self.start()

    # -- what people do ---------------------------------------------------------------------------------------------

    async def say(
        self, text: str, place: str = "main", by: Speaker = OWNER, reply_to: str | None = None
    ) -> MessageEvent:
        return await self.chat.post_as(by, place, text, reply_to)

    async def edit(self, message: str, text: str, place: str = "main", by: Speaker = OWNER) -> None:
        await self.chat.edit_as(by, place, message, text)

    async def delete(self, message: str, place: str = "main", by: Speaker = OWNER) -> None:
        await self.chat.delete_as(by, place, message)

    async def react(
        self, message: str, emoji: str, place: str = "main", by: Speaker = OWNER, *, add: bool = True
    ) -> None:
        await self.chat.react_as(by, place, message, emoji, add=add)

    async def click(self, card: Mapping[str, Any], value: str, by: Speaker = OWNER, reason: str = "") -> None:
        await self.chat.choose_as(by, card["place"], card["id"], card["card"], value, reason)

    async def thread(self, title: str = "task", room: str = "main") -> str:
        return (await self.chat.open_thread_as(OWNER, room, title)).place

    # -- what people see --------------------------------------------------------------------------------------------

    async def messages(self, place: str = "main") -> list[dict[str, Any]]:
        return await self.chat.messages(place, limit=200)

    async def ours(self, place: str = "main") -> list[str]:
        """The texts of the relay's messages, oldest first."""
        return [m["text"] for m in await self.messages(place) if m["ours"]]

    async def seen(self, text: str, place: str = "main", *, times: int = 1) -> dict[str, Any]:
        """Wait until the relay has said `text` that often; the last of those messages."""
        return (await self.wait(lambda m: m["ours"] and text in m["text"], repr(text), place, times))[-1]

    async def card(self, place: str = "main") -> dict[str, Any]:
        """Wait for an open card."""
        return (await self.wait(lambda m: bool(m["card"]) and m["card_open"], "an open card", place))[-1]

    async def reacted(self, message: str, emoji: str, place: str = "main") -> None:
        """Wait until the relay has set that emoji on the message."""

        def has(m: dict[str, Any]) -> bool:
            return m["id"] == message and any(
                r["emoji"] == emoji and any(p["id"] == "relay" for p in r["people"]) for r in m["reactions"]
            )

        await self.wait(has, f"{emoji} on {message}", place)

    async def wait(
        self, wanted: Callable[[dict[str, Any]], bool], what: str, place: str = "main", times: int = 1
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        async def look() -> bool:
            found[:] = [m for m in await self.messages(place) if wanted(m)]
            return len(found) >= times

        await poll(look, lambda: self._missing(f"{what} did not come in {place}", place))
        return found

    async def _missing(self, what: str, place: str = "main") -> str:
        return f"{what}:\n{await self.transcript(place)}"

    async def transcript(self, place: str = "main") -> str:
        lines = [
            f"{m['id']} {m['person']['name']}: {m['text'][:300]!r}"
            + "".join(f" {r['emoji']}×{len(r['people'])}" for r in m["reactions"])
            for m in await self.messages(place)
        ]
        return "\n".join([*lines, f"trouble: {dict(self.relay.parts.trouble())}"])

    async def until(self, true: Callable[[], bool], what: str = "it") -> None:
        """Wait until something inside is so."""

        async def look() -> bool:
            return true()

        await poll(look, lambda: self._missing(f"{what} did not come about"))

    async def quiet(self, *, but_for_turns: bool = False) -> None:
        """Wait until nothing is owed any more: what people see now is all there will be by itself."""
        engine = self.relay.parts.engine
        calm, head = 0, -1

        async def look() -> bool:
            nonlocal calm, head
            owed = engine.head != head or bool(await self.chat.undelivered(0, 1))
            owed = owed or bool(engine.view.of(Outbox).state.where)
            if not but_for_turns:
                owed = owed or bool(engine.view.of(Turns).state.running)
                owed = owed or any(True for r in self.relay.reconcilers for _ in r.owes(engine.view))
            calm, head = (0 if owed else calm + 1), engine.head
            return calm >= 3

        await poll(look, lambda: self._missing("it did not come to rest"))

    async def until_logged(self, verb: str, times: int = 1) -> None:
        """Wait until the ledger has that many records of the verb."""

        async def look() -> bool:
            return len(await self.log(verb)) >= times

        await poll(look, lambda: self._missing(f"{times} × {verb} did not come"))

    async def turn_runs(self, scope: str = "web:main") -> str:
        """Wait until a turn runs there; its id."""
        await self.until(lambda: self.running(scope) is not None, "a running turn")
        return self.running(scope) or ""

    def running(self, scope: str = "web:main") -> str | None:
        """The turn that runs there now."""
        running = self.relay.parts.engine.view.of(Turns).lane(scope).running
        return running.turn if running else None

    async def watching(self, name: str, scope: str = "web:main") -> None:
        """Wait until the watch's source is looked at in this boot."""
        from relay.behaviours.watches.concept import Watches

        def is_so() -> bool:
            armed = self.relay.parts.engine.view.of(Watches).named(scope, name)
            return armed is not None and bool(armed.run)

        await self.until(is_so, f"watch {name}")

    # -- the record -------------------------------------------------------------------------------------------------

    async def log(self, verb: str = "") -> list[Interaction]:
        """The ledger's records whose verb begins so."""
        return [i for i in await self.store.read(0, 1_000_000) if i.verb.startswith(verb)]

    async def ends(self) -> list[str]:
        """How each turn ended."""
        return [i.body["status"] for i in await self.log("turn.ended")]


def scripted(clock: FastClock) -> Mapping[str, Runtime]:
    return {"scripted": ScriptedRuntime(clock, os.urandom)}


@asynccontextmanager
async def living(
    folder: Path,
    *,
    access_: Access | None = None,
    store: Store | None = None,
    speed: float = 20.0,
    mask: Callable[[str], str] = lambda text: text,
    runtimes: Callable[[FastClock], Mapping[str, Runtime]] = scripted,
    surface: Callable[[LocalChat, FastClock], ToldWhenReady] = ToldWhenReady,
    **room: Any,
) -> AsyncIterator[Living]:
    """A running relay; `room` are fields of `web:main`, and `limits` those of the limits that differ."""
    async with anyio.create_task_group() as tasks:
        made = access_ or access(folder, **room)
        house = Living(folder, made, store or MemoryStore(), FastClock(speed), tasks, mask, runtimes, surface)
        await house.start()
        try:
            yield house
        finally:
            await house.kill()
            tasks.cancel_scope.cancel()

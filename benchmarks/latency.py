"""From a message that reaches the relay to its durable prompt, and on to the reply in the chat: through the whole
relay, with its real file, chat and scripted agent. Beside it what the disk alone takes for two commits."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from _measured import line, on_disk, percentile

from relay.app import build, chat_rooms
from relay.clock import SystemClock
from relay.config import default
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group, Outcome
from relay.surfaces.surface import MessageEvent, OutgoingPost, Person, SurfaceEvents, Surfaces
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.surface import WebSurface

MESSAGES = 300
OLGA = Person("owner", "Olga", owner=True)


class Stamped:
    """When a message came, when its prompt was durable, and when its reply stood."""

    def __init__(self) -> None:
        self.prompted = anyio.Event()
        self.posted = anyio.Event()
        self.came_at = 0.0
        self.prompt_at = 0.0
        self.post_at = 0.0


class StampingStore(SqliteStore):
    """The store, which notes when a prompt is durable."""

    stamps: Stamped

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        outcomes = await super().append(groups)
        if any(record.verb == "turn.prompted" for outcome in outcomes for record in outcome.stands):
            self.stamps.prompt_at = time.perf_counter()
            self.stamps.prompted.set()
        return outcomes


class StampingSurface(WebSurface):
    """The page, which notes when the answer stands in the chat."""

    stamps: Stamped

    async def run(self, events: SurfaceEvents) -> None:
        await super().run(_Stamping(self, events))

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        message = await super().post(place, post, nonce)
        self.stamps.post_at = time.perf_counter()
        self.stamps.posted.set()
        return message


class _Stamping:
    """The relay's side of the surface, which notes when a message comes."""

    def __init__(self, surface: StampingSurface, events: SurfaceEvents) -> None:
        self._surface = surface
        self._events = events
        self.ready = events.ready
        self.edited = events.edited
        self.deleted = events.deleted
        self.reaction = events.reaction
        self.choice = events.choice

    async def message(self, event: MessageEvent) -> None:
        self._surface.stamps.came_at = time.perf_counter()
        await self._events.message(event)


async def through_the_relay(folder: Path) -> tuple[list[float], list[float]]:
    """Seconds from each message's coming to its durable prompt, and to its reply."""
    clock = SystemClock()
    access = default(workspace=folder / "workspace")
    store = await StampingStore.open(folder / "ledger.db")
    chat = await LocalChat.open(folder / "page.db", chat_rooms(access), clock)
    surface = StampingSurface(chat, clock)
    surface.stamps = store.stamps = Stamped()
    relay = await build(
        access=access,
        digest="",
        zone="UTC",
        store=store,
        clock=clock,
        surfaces=Surfaces({"web": surface}),
        state=folder,
    )
    place = (await chat.places())[0].place
    prompts: list[float] = []
    replies: list[float] = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(relay.run)
        await anyio.sleep(0.5)
        for number in range(MESSAGES):
            stamps = surface.stamps = store.stamps = Stamped()
            await chat.post_as(OLGA, place, f"say hello {number}")
            await stamps.prompted.wait()
            await stamps.posted.wait()
            prompts.append(stamps.prompt_at - stamps.came_at)
            replies.append(stamps.post_at - stamps.came_at)
            await anyio.sleep(0.03)  # until the turn is over, and the next message is another turn
        tasks.cancel_scope.cancel()
    await chat.close()
    await store.close()
    return prompts, replies


def two_commits(folder: Path) -> list[float]:
    """Seconds for two durable rows, one after the other, with nothing around them."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE row(number INTEGER PRIMARY KEY, body BLOB)")
    times: list[float] = []
    for _ in range(MESSAGES):
        begun = time.perf_counter()
        for _ in range(2):
            connection.execute("INSERT INTO row(body) VALUES (?)", (b"x" * 600,))
        times.append(time.perf_counter() - begun)
        time.sleep(0.005)
    connection.close()
    return times


async def main() -> None:
    with on_disk() as folder:
        bare = two_commits(folder)
        prompts, replies = await through_the_relay(folder)
        for part, name in ((0.5, "p50"), (0.99, "p99")):
            base = percentile(bare, part)
            for what, times in (("durable prompt", prompts), ("reply in the chat", replies)):
                ours = percentile(times, part)
                line(f"message to {what}, {name}", f"{ours:.2f} ms", f"{base:.2f} ms", ours / base)


if __name__ == "__main__":
    anyio.run(main)

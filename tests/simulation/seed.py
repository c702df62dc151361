"""One seed: some busy time of a relay on a virtual clock, with hours of outages in it, and what is wrong afterwards.

Run by itself it plays one seed and tells all of it: `python tests/simulation/seed.py 17`.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import anyio

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from simulation.discord_chat import DiscordChat
from simulation.discord_network import in_memory
from simulation.fleet import EPOCH_OF_TIME_MS, Disk, Fleet, MemoryBlobs, Settings, SimClock
from simulation.invariants import Evidence, broken, still_owed
from simulation.model_chat import ModelChat
from simulation.people import ANN, ROOMS, People
from simulation.virtual_loop import VirtualLoop, run
from simulation.weather import Weather

import watch_supervisor.folders
from relay import app
from relay.config import Access
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore

ChatKind = Literal["model", "discord"]
"""Which chat the people are in: `model_chat`, or the tests' Discord with the real discord.py."""
DEEDS = 30
QUIET_STEPS = 60
STEP_S = 30.0
SCAN_S = 330.0


@dataclass(slots=True)
class Played:
    """What became of a seed."""

    seed: int
    broken: list[str] = field(default_factory=list[str])
    hours: float = 0.0
    interactions: int = 0
    lives: int = 0
    kills: int = 0
    freezes: int = 0
    refused: int = 0
    digest: str = ""
    log: list[Interaction] = field(default_factory=list[Interaction])
    transcript: list[str] = field(default_factory=list[str])


def play(seed: int, folder: Path, chat: ChatKind = "model") -> Played:
    """Play a seed in an empty folder of that name (made, and emptied before)."""
    shutil.rmtree(folder, ignore_errors=True)
    for room in ROOMS:
        (folder / room).mkdir(parents=True)
    played = Played(seed)
    gc.collect()
    gc.disable()  # what is collected in the middle of a run would be torn down at another point each time
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with _machine():
            run(lambda: _Seed(played, folder, chat).play())
    finally:
        logging.disable(level)
        gc.enable()
    return played


@contextmanager
def _machine() -> Iterator[None]:
    """No inotify (its order is the kernel's; file watches look by themselves then), and blobs in memory."""
    kept: dict[str, bytes] = {}

    def blobs(folder: Path, clock: object) -> MemoryBlobs:
        return MemoryBlobs(kept, lambda data: hashlib.sha256(data).hexdigest())

    with (
        patch.object(watch_supervisor.folders, "open_inotify", lambda: None),
        patch.object(app, "Blobs", blobs),
    ):
        yield


def access_of(rng: random.Random, folder: Path, chat: ModelChat | DiscordChat) -> Access:
    """One of the ways access.json may read."""
    rooms = {
        chat.room(room): {
            "agent": "scout",
            "workspace": str(folder / room),
            "humans": ["ann"],
            "require_mention": False,
            "busy": rng.choice(("steer", "steer", "queue", "interrupt")),
            "watches": [{"name": "declared", "file": "notes.md"}] if rng.random() < 0.4 else [],
        }
        for room in ROOMS
    }
    return Access.model_validate(
        {
            "version": 1,
            **chat.access({"ann": ANN}),
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": rooms,
            "limits": {"approval": "60s", "queue": rng.choice((4, 20)), "agents": rng.choice((2, 4))},
        }
    )


class _Seed:
    def __init__(self, played: Played, folder: Path, kind: ChatKind) -> None:
        self.kind = kind
        self.played = played
        self.folder = folder
        self.rng = random.Random(played.seed)

    def _build(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        rng, seed = self.rng, self.played.seed
        skew = rng.choice((0, 0, 700, -700, 20_000, -20_000))
        clock = SimClock(loop)
        chat = self._chat(lambda: EPOCH_OF_TIME_MS + skew + round(loop.time() * 1000), loop)
        self.loop, self.chat = loop, chat
        self.people = People(random.Random(f"people/{seed}"), chat, self.folder)
        self.people.open_rooms()
        self.fleet = Fleet(
            seed=seed,
            loop=loop,
            log=MemoryStore(),
            chat=chat,
            clock=clock,
            settings=Settings(access_of(rng, self.folder, chat)),
            state=self.folder / "state",
            disk=Disk(random.Random(f"disk/{seed}")),
        )
        access: Callable[[random.Random], Access] = lambda rng: access_of(rng, self.folder, chat)  # noqa: E731
        self.weather = Weather(random.Random(f"weather/{seed}"), self.fleet, access)

    def _chat(self, now: Callable[[], int], loop: VirtualLoop) -> ModelChat | DiscordChat:
        rng = random.Random(f"chat/{self.played.seed}")
        if self.kind == "model":
            return ModelChat(rng, now, loop)
        chat = DiscordChat(rng, now, loop, self.folder)
        self.network = chat.network
        return chat

    async def play(self) -> None:
        with in_memory(lambda: self.network) if self.kind == "discord" else nullcontext():
            self._build()
            try:
                await self._play()
            finally:
                await self._drain()

    async def _play(self) -> None:
        first = self.fleet.start()
        while first.link.ready_at is None:
            await anyio.sleep(0.5)
            if first.ended is not None or self.loop.time() > 600:
                self.played.broken.append(f"the first life never listened: {first.ended}")
                return
        await self._busy()
        self.weather.calm()
        await self._quiet()
        log = await self.fleet.log.read(0, 10**9)
        self.played.broken += await broken(Evidence(log, self.chat, self.fleet, self.folder))
        self._sum_up(log)

    async def _busy(self) -> None:
        rng = self.rng
        rough = rng.choice((0.15, 0.3, 0.45))
        for _ in range(DEEDS):
            self.people.do_something()
            if rng.random() < rough:
                self.weather.strike()
            for _ in range(rng.choice((1, 2, 6, 14))):
                await anyio.sleep(rng.uniform(0.1, 3))
                self.people.look_at_cards(self.loop.time())
            if rng.random() < 0.2:  # nobody is there: people write, then wait for it to come back
                away = self.weather.away_until - self.loop.time()
                await anyio.sleep(max(0.0, away) + rng.uniform(0, 30))

    async def _quiet(self) -> None:
        """All trouble is over. Give it time: a scan, the longest delay of a post, the last timers."""
        await anyio.sleep(5)
        for place in list(self.chat.places):
            self.people.write("say the end", place)
        for step in range(QUIET_STEPS):
            await anyio.sleep(STEP_S)
            holder = self.fleet.holder
            if holder is None or not holder.up or step * STEP_S < SCAN_S:
                continue
            if not still_owed(holder):
                return

    def _sum_up(self, log: list[Interaction]) -> None:
        told = "\n".join([*(f"{i.at} {i.verb} {i.key} {i.id}" for i in log), *self.chat.transcript])
        played = self.played
        played.log, played.transcript = log, self.chat.transcript
        played.digest = hashlib.sha256(told.encode()).hexdigest()
        played.hours = self.loop.time() / 3600
        played.interactions = len(log)
        played.lives = len(self.fleet.beings)
        played.kills, played.freezes = self.weather.kills, self.weather.freezes
        played.refused = self.fleet.disk.refused

    async def _drain(self) -> None:
        """End every task in good order: nothing of this is judged any more."""
        for being in self.fleet.beings:
            being.life.dead = False
            self.loop.thaw(being.life)
        tasks = [task for being in self.fleet.beings for task in being.life.tasks]
        for _ in range(50):
            for task in tasks:
                task.cancel()
            await anyio.sleep(0.5)
            tasks = [task for task in tasks if not task.done()]
            if not tasks:
                return


def main(argv: list[str]) -> int:
    seed = int(argv[0])
    with tempfile.TemporaryDirectory() as folder:
        played = play(seed, Path(folder) / "seed", "discord" if "discord" in argv[1:] else "model")
    for i in played.log:
        print(
            f"{i.seq:5} {i.at - EPOCH_OF_TIME_MS:9} {i.verb:20} {i.scope:10} {i.id[:8]} {dict(i.body)}"[:400]
        )
    print(*played.transcript, sep="\n")
    print(*played.broken, sep="\n")
    print(
        f"{played.hours:.1f} h, {played.interactions} interactions, {played.lives} lives, {played.refused} refused"
    )
    return 1 if played.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Lives of the relay over one log and one chat: started, killed, frozen, thawed, stopped.

Each life is the product itself (`relay.app.build` and `Relay.run`), with its own boot and epoch. One holds the epoch at
a time; an earlier one that was frozen wakes up late and goes on as if nothing had happened, which the fence must end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from simulation.discord_chat import DiscordChat
from simulation.discord_chat import Link as DiscordLink
from simulation.model_chat import Link, ModelChat
from simulation.virtual_loop import Life, VirtualLoop

from relay import app
from relay.behaviours.config.reconciler import ConfigTaker
from relay.config import Access, Loaded
from relay.errors import ConfigError, Fenced, StoreUnavailable
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Checkpoint, Group, Outcome
from relay.surfaces.surface import Surfaces

EPOCH_OF_TIME_MS = 1_790_000_000_000
ZONE = "Europe/Berlin"


@dataclass(slots=True)
class SimClock:
    """The relay's clock: wall time may be set, and differs from the chat's."""

    loop: VirtualLoop
    offset_ms: int = 0

    def now_ms(self) -> int:
        return EPOCH_OF_TIME_MS + self.offset_ms + round(self.loop.time() * 1000)

    def monotonic(self) -> float:
        return self.loop.time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))


class MemoryBlobs:
    """Blobs that every life shares, as they share a folder."""

    def __init__(self, kept: dict[str, bytes], digest: Callable[[bytes], str]) -> None:
        self._kept = kept
        self._digest = digest

    async def put(self, data: bytes) -> str:
        name = self._digest(data)
        self._kept.setdefault(name, data)
        return name

    async def get(self, digest: str) -> bytes | None:
        return self._kept.get(digest)


@dataclass(slots=True)
class Disk:
    """How the disk does just now, for all lives."""

    rng: random.Random
    full: bool = False
    slow: bool = False
    stale: list[str] = field(default_factory=list[str])
    """Writes of a holder that another one had replaced, and that were taken all the same."""
    refused: int = 0
    """Writes of such a holder that were refused."""
    on_append: Callable[[Life, str], None] = lambda life, when: None


class StoreOfLife:
    """The shared log as one life reaches it: a commit takes time, and a kill falls before or after it."""

    def __init__(self, log: MemoryStore, disk: Disk, life: Life) -> None:
        self._log = log
        self._disk = disk
        self._life = life
        self.mine = 0

    @property
    def head(self) -> int:
        return self._log.head

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        await self._step("before")
        if self._disk.full:
            raise StoreUnavailable("the disk is full.")
        outcomes = await self._log.append(groups)
        if self.mine != await self._log.epoch():
            self._disk.refused += sum(outcome.fenced for outcome in outcomes)
            self._disk.stale += [
                f"epoch {self.mine} wrote {i.verb} {i.key[:60]}"
                for outcome in outcomes
                for i, fresh in zip(outcome.stands, outcome.fresh, strict=True)
                if fresh
            ]
        await self._step("after")
        return outcomes

    async def _step(self, when: str) -> None:
        rng = self._disk.rng
        await anyio.sleep(rng.uniform(0.0, 0.9) if self._disk.slow else rng.uniform(0.0002, 0.003))
        self._disk.on_append(self._life, when)
        if self._life.dead:
            await anyio.sleep_forever()
        if self._life.frozen:
            await anyio.lowlevel.checkpoint()  # put aside here until it thaws

    async def begin_epoch(self) -> int:
        self.mine = await self._log.begin_epoch()
        return self.mine

    async def epoch(self) -> int:
        return await self._log.epoch()

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return await self._log.read(after, limit)

    async def read_back(self, before: int, limit: int) -> list[Interaction]:
        return await self._log.read_back(before, limit)

    async def by_ids(self, ids: Iterable[str]) -> dict[str, Interaction]:
        return await self._log.by_ids(ids)

    async def by_prefix(self, prefix: str, limit: int) -> list[Interaction]:
        return await self._log.by_prefix(prefix, limit)

    async def by_outside(self, outside: str) -> list[Interaction]:
        return await self._log.by_outside(outside)

    async def cursors(self) -> dict[str, int]:
        return await self._log.cursors()

    async def save_cursors(self, cursors: Mapping[str, int]) -> None:
        await self._log.save_cursors(cursors)

    async def checkpoints(self) -> dict[str, Checkpoint]:
        return await self._log.checkpoints()

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._log.save_checkpoint(checkpoint)

    async def idle(self) -> None:
        return

    async def close(self) -> None:
        return


@dataclass(slots=True)
class Settings:
    """access.json as it stands now; every life looks at it."""

    access: Access
    version: int = 0


@dataclass(slots=True)
class _Look:
    """The config watch of one life."""

    settings: Settings
    seen: int

    def poll(self) -> Loaded | ConfigError | None:
        if self.seen == self.settings.version:
            return None
        self.seen = self.settings.version
        return Loaded(self.settings.access, Path("access.json"), f"v{self.seen}")


@dataclass(slots=True)
class Being:
    """A life and what it holds on to."""

    life: Life
    link: Link | DiscordLink
    store: StoreOfLife
    stop: anyio.Event
    relay: app.Relay | None = None
    ended: str | None = None
    """How it ended: `fenced`, `stopped`, or what went wrong. A killed one never ends."""

    @property
    def up(self) -> bool:
        return self.ended is None and not self.life.dead


@dataclass(slots=True)
class Fleet:
    """See the module."""

    seed: int
    loop: VirtualLoop
    log: MemoryStore
    chat: ModelChat | DiscordChat
    clock: SimClock
    settings: Settings
    state: Path
    disk: Disk
    beings: list[Being] = field(default_factory=list[Being])
    holder: Being | None = None

    def start(self) -> Being:
        """A new life, which takes the epoch over from whoever had it."""
        number = len(self.beings) + 1
        life = Life(number)
        link = self.chat.link(life, lambda: self.settings.access, self.state, self.clock)
        being = Being(life, link, StoreOfLife(self.log, self.disk, life), anyio.Event())
        self.beings.append(being)
        self.holder = being
        self.loop.begin(life, self._live(being))
        return being

    async def _live(self, being: Being) -> None:
        entropy = random.Random(f"{self.seed}/{being.life.number}").randbytes
        version = self.settings.version
        try:
            being.relay = await app.build(
                access=self.settings.access,
                digest=f"v{version}",
                zone=ZONE,
                store=being.store,
                clock=self.clock,
                surfaces=Surfaces({self.chat.name: being.link.surface}),
                state=self.state,
                entropy=entropy,
            )
            being.link.built(being.relay)
            watch: Any = _Look(self.settings, version)
            taker = ConfigTaker(being.relay.parts, watch, ZONE, on_taken=lambda access: ())
            await being.relay.run(taker.run, stop=being.stop)
            being.ended = "stopped"
        except BaseException as error:
            being.ended = "fenced" if _only_fenced(error) else f"died: {_told(error)}"
            if being.link.ready_at is None and self.disk.full:
                being.ended = "stopped"  # a start on a full disk ends with that sentence
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        finally:
            being.link.ended = True

    def kill(self, being: Being) -> None:
        """SIGKILL: no callback of it runs any more. A request that is on its way may still arrive."""
        being.life.dead = True
        being.life.frozen = False
        being.link.died()

    def freeze(self, being: Being) -> None:
        being.life.frozen = True

    def thaw(self, being: Being) -> None:
        if not being.life.dead:
            self.loop.thaw(being.life)

    def zombies(self) -> list[Being]:
        """Earlier holders that are still there."""
        return [b for b in self.beings if b.up and b is not self.holder]


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _only_fenced(error: BaseException) -> bool:
    return all(isinstance(leaf, Fenced) for leaf in _leaves(error))


def _told(error: BaseException) -> str:
    return "; ".join(f"{type(leaf).__name__}: {leaf}" for leaf in _leaves(error))

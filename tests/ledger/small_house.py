"""A behaviour small enough to see through, and an engine that runs it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import anyio
from ledger.records import HandClock, Said

from relay.clock import Clock
from relay.errors import StoreUnavailable
from relay.ledger.engine import Engine
from relay.ledger.fold import Concept, Furniture, Rule, View, on, rule
from relay.ledger.interaction import Draft, Interaction, Payload
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Group, Outcome, Store


class Answered(Payload):
    """What follows from `test.said`."""

    VERB: ClassVar[str] = "test.answered"
    to: str
    seen: int


@dataclass(slots=True)
class TallyState:
    said: list[str] = field(default_factory=list[str])
    answered: list[str] = field(default_factory=list[str])


class Tally(Concept[TallyState]):
    """Every key that was said and every key that was answered, in order."""

    NAME = "tally"
    State = TallyState

    @on(Said)
    def say(self, i: Interaction, p: Said) -> None:
        self.state.said.append(i.key)

    @on(Answered)
    def answer(self, i: Interaction, p: Answered) -> None:
        self.state.answered.append(p.to)


@dataclass(slots=True)
class SumState:
    total: int = 0


class Sum(Concept[SumState]):
    """The sum of the numbers."""

    NAME = "sum"
    State = SumState

    @on(Said)
    def add(self, i: Interaction, p: Said) -> None:
        self.state.total += p.number


class Fussy(Concept[SumState]):
    """A fold with a defect: it can't take 13."""

    NAME, State = "fussy", SumState

    @on(Said)
    def add(self, i: Interaction, p: Said) -> None:
        if p.number == 13:
            raise ValueError("can't take 13")
        self.state.total += 1


@rule(Said)
def answer_each(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
    """One answer to each; it tells how many were said when it followed."""
    seen = len(view.of(Tally).state.said)
    yield Draft.of(Answered(to=i.key, seen=seen), i.id, actor="rule:answer-each", caused_by=[i.id])


def house(*rules: Rule, concepts: tuple[type[Concept], ...] = (Tally, Sum)) -> tuple[Furniture, ...]:
    return (Furniture("small", (Said, Answered), concepts, rules),)


HOUSE = house(answer_each)


def counted_salt() -> Callable[[], bytes]:
    """Salts that are never the same and always the same from run to run."""
    count = itertools.count()
    return lambda: next(count).to_bytes(16, "big")


async def booted(
    store: Store, furniture: tuple[Furniture, ...] = HOUSE, clock: Clock | None = None
) -> Engine:
    engine = Engine(store, furniture, clock or HandClock(), counted_salt())
    await engine.boot()
    return engine


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Engine]:
    """With its committer; at the end it is dropped as a kill drops it: nothing is saved, nothing is closed."""
    async with anyio.create_task_group() as tasks:
        await tasks.start(engine.run)
        yield engine
        tasks.cancel_scope.cancel()


async def quiet(engine: Engine) -> None:
    """Until nothing has been written for a while: what follows from what was admitted is there."""
    head = -1
    while head != engine.head:
        head = engine.head
        await anyio.sleep(0.02)


class WatchedStore(MemoryStore):
    """A store that counts, that can be held in the middle of a write, and whose disk can refuse."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.reads: list[int] = []
        self.refuses = False
        self.open = anyio.Event()
        self.open.set()

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        self.batches.append(len(groups))
        await self.open.wait()
        if self.refuses:
            raise StoreUnavailable("the disk is full.", "Free some space.")
        return await super().append(groups)

    async def read(self, after: int, limit: int) -> list[Interaction]:
        self.reads.append(after)
        return await super().read(after, limit)


async def keys(store: Store, verb: str = "test.said") -> list[str]:
    return [i.key.removeprefix("test.said/") for i in await store.read(0, 100_000) if i.verb == verb]

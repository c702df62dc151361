"""The runner of a reconciler: order, bounds, pauses, instants, and no work for nothing."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import pytest
from ledger.records import HandClock, draft, settle
from ledger.small_house import Fussy, Tally, booted, house, running

from relay.errors import Fenced, StoreUnavailable
from relay.ledger.engine import Engine
from relay.ledger.fold import View
from relay.ledger.lease import EpochLeases
from relay.ledger.memory import MemoryStore
from relay.ledger.reconciler import (
    BOOT_PACE_S,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    LOOK_AGAIN_S,
    Held,
    Item,
    Runner,
)

pytestmark = pytest.mark.anyio


class Worker:
    """Owes an item for everything that was said and not done; `lane/name` says in which lane."""

    name = "worker"

    def __init__(self, clock: HandClock, cap: int = 100, kind: Literal["short", "holding"] = "short") -> None:
        self.clock = clock
        self.cap = cap
        self.kind: Literal["short", "holding"] = kind
        self.done: set[str] = set()
        self.started: list[str] = []
        self.at: list[float] = []
        self.ended: list[str] = []
        self.now: set[str] = set()
        self.most = 0
        self.looks = 0
        self.not_before: dict[str, int] = {}
        self.how: Callable[[Item, Held], Awaitable[None]] | None = None

    def owes(self, view: View) -> Iterable[Item]:
        self.looks += 1
        for key in view.of(Tally).state.said:
            name = key.removeprefix("test.said/").replace("%2F", "/")
            if name not in self.done and self.not_before.get(name, 0) <= self.clock.now_ms():
                yield Item(name, name.split("/")[0])

    def due(self, view: View) -> int | None:
        later = [at for name, at in self.not_before.items() if name not in self.done]
        return min(later, default=None)

    async def act(self, item: Item, held: Held) -> None:
        assert item.lane not in {name.split("/")[0] for name in self.now}, "two at once in one lane"
        self.started.append(item.key)
        self.at.append(self.clock.monotonic())
        self.now.add(item.key)
        self.most = max(self.most, len(self.now))
        try:
            if self.how is not None:
                await self.how(item, held)
            self.done.add(item.key)
        finally:
            self.now.discard(item.key)
            self.ended.append(item.key)


@asynccontextmanager
async def working(worker: Worker, *names: str) -> AsyncIterator[tuple[Engine, Runner]]:
    """The worker over a ledger in which these were said before the boot."""
    store = MemoryStore()
    epoch = await store.begin_epoch()
    async with running(await booted(store, house(), worker.clock)) as engine:
        if names:
            await engine.admit(*map(draft, names))
        runner = Runner(worker, engine, EpochLeases(epoch))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            await settle()
            yield engine, runner
            tasks.cancel_scope.cancel()


async def test_items_of_a_lane_run_one_at_a_time_in_order():
    worker = Worker(HandClock())
    turn = anyio.Event()

    async def wait(item: Item, held: Held) -> None:
        await turn.wait()

    worker.how = wait
    async with working(worker, "a/1", "a/2", "b/1", "a/3", "b/2"):
        await worker.clock.advance(1)
        assert worker.started == ["a/1", "b/1"]
        turn.set()
        await worker.clock.advance(1)
        await settle()
    assert [name for name in worker.started if name[0] == "a"] == ["a/1", "a/2", "a/3"]
    assert [name for name in worker.started if name[0] == "b"] == ["b/1", "b/2"]


async def test_no_more_run_at_once_than_the_cap():
    worker = Worker(HandClock(), cap=3)

    async def wait(item: Item, held: Held) -> None:
        await held.clock.sleep(1)

    worker.how = wait
    async with working(worker, *(f"lane {n}" for n in range(10))):
        for _ in range(12):
            await worker.clock.advance(1)
    assert worker.most == 3
    assert len(worker.done) == 10


async def test_what_was_owed_at_boot_starts_paced():
    worker = Worker(HandClock())
    async with working(worker, *(f"lane {n}" for n in range(5))):
        assert len(worker.started) == 1
        for _ in range(5):
            await worker.clock.advance(BOOT_PACE_S)
        assert len(worker.started) == 5
    assert worker.at == pytest.approx([BOOT_PACE_S * n for n in range(5)])


async def test_what_comes_later_starts_at_once():
    worker = Worker(HandClock())
    async with working(worker) as (engine, _):
        await engine.admit(*(draft(f"lane {n}") for n in range(5)))
        await settle()
        assert len(worker.done) == 5


async def test_what_fails_is_tried_again_after_a_growing_pause_and_holds_its_lane():
    worker = Worker(HandClock())

    async def fail(item: Item, held: Held) -> None:
        if item.key == "a/1":
            raise StoreUnavailable("the disk is full.")

    worker.how = fail
    async with working(worker, "a/1", "a/2", "b/1") as (_, runner):
        for _ in range(400):
            await worker.clock.advance(1)
        assert runner.trouble == "the disk is full."
        assert "b/1" in worker.done
        assert "a/2" not in worker.started
        times = [at for name, at in zip(worker.started, worker.at, strict=True) if name == "a/1"]
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert pauses[:7] == pytest.approx([1, 2, 4, 8, 16, 32, 60], abs=1.1)
        assert pauses[0] >= FIRST_PAUSE_S
        assert max(pauses) <= LONGEST_PAUSE_S + 1
        worker.how = None
        for _ in range(70):
            await worker.clock.advance(1)
        assert worker.done == {"a/1", "a/2", "b/1"}
        assert runner.trouble == ""


async def test_a_defect_in_one_item_does_not_stop_the_others():
    worker = Worker(HandClock())

    async def fail(item: Item, held: Held) -> None:
        if item.key == "a":
            raise KeyError("a defect")

    worker.how = fail
    async with working(worker, "a", "b") as (engine, _):
        await worker.clock.advance(1)
        await engine.admit(draft("c"))
        await worker.clock.advance(1)
        assert worker.done == {"b", "c"}


async def test_an_act_that_came_to_nothing_is_not_repeated_at_once():
    acted: list[str] = []

    class Idle(Worker):
        async def act(self, item: Item, held: Held) -> None:
            acted.append(item.key)

    worker = Idle(HandClock())
    async with working(worker, "a"):
        for _ in range(10):
            await worker.clock.advance(0.05)
        assert len(acted) == 1
        await worker.clock.advance(FIRST_PAUSE_S)
        assert len(acted) == 2


async def test_another_relay_ends_the_runner():
    worker = Worker(HandClock())
    store = MemoryStore()
    old = await store.begin_epoch()

    async def write(item: Item, held: Held) -> None:
        await held.admit(draft("written"))

    worker.how = write
    async with running(await booted(store, house(), worker.clock)) as engine:
        await engine.admit(draft("a"))
        await store.begin_epoch()
        with anyio.fail_after(5), pytest.RaisesGroup(Fenced):
            await Runner(worker, engine, EpochLeases(old)).run()
        assert [i.key for i in await store.read(0, 9)] == ["test.said/a"]


async def test_what_falls_due_is_started_at_its_instant_and_not_before():
    worker = Worker(HandClock())
    worker.not_before["a"] = worker.clock.now_ms() + 10_000
    async with working(worker, "a") as (_, _runner):
        await worker.clock.advance(9.9)
        assert worker.started == []
        looks = worker.looks
        await worker.clock.advance(0.1)
        assert worker.started == ["a"]
        assert looks <= 3


async def test_what_falls_due_while_the_boot_is_paced_is_not_missed():
    worker = Worker(HandClock())
    worker.not_before["late"] = worker.clock.now_ms() + 15
    async with working(worker, "late", *(f"lane {n}" for n in range(4))):
        for _ in range(6):
            await worker.clock.advance(BOOT_PACE_S)
        assert "late" in worker.started


async def test_a_runner_with_nothing_to_do_looks_now_and_then():
    worker = Worker(HandClock())
    async with working(worker):
        before = worker.looks
        for _ in range(600):
            await worker.clock.advance(1)
        assert worker.looks - before <= 600 / LOOK_AGAIN_S + 1


async def test_a_long_act_is_not_looked_at_again_and_again():
    worker = Worker(HandClock(), kind="holding")

    async def hold(item: Item, held: Held) -> None:
        await held.clock.sleep(3600)

    worker.how = hold
    async with working(worker, "a/1", "a/2", "b/1") as (engine, _):
        for _ in range(600):
            await worker.clock.advance(1)
        assert worker.started == ["a/1", "b/1"]
        assert worker.looks <= 600 / LOOK_AGAIN_S + 5
        await engine.admit(draft("c/1"))
        await settle()
        assert worker.started == ["a/1", "b/1", "c/1"]


async def test_a_long_act_that_had_failed_before_is_not_looked_at_again_and_again():
    """Its pause lies in the past for as long as it runs."""
    worker = Worker(HandClock(), kind="holding")

    async def hold(item: Item, held: Held) -> None:
        if worker.started.count(item.key) == 1:
            raise StoreUnavailable("not yet.")
        await held.clock.sleep(3600)

    worker.how = hold
    async with working(worker, "a/1"):
        await worker.clock.advance(2)
        assert worker.now == {"a/1"}
        before = worker.looks
        for _ in range(600):
            await worker.clock.advance(1)
            await worker.clock.advance(0.002)
        assert worker.looks - before <= 600 / LOOK_AGAIN_S + 2


async def test_what_is_due_and_waits_for_its_lane_is_not_looked_at_again_and_again():
    worker = Worker(HandClock(), kind="holding")
    worker.not_before["a/2"] = worker.clock.now_ms() + 1000

    async def hold(item: Item, held: Held) -> None:
        await held.clock.sleep(100)

    worker.how = hold
    async with working(worker, "a/1", "a/2"):
        before = worker.looks
        for _ in range(90):
            await worker.clock.advance(1)
        assert worker.started == ["a/1"]
        assert worker.looks - before <= 90 / LOOK_AGAIN_S + 3
        for _ in range(15):
            await worker.clock.advance(1)
        assert worker.started == ["a/1", "a/2"]


async def test_a_fold_that_stands_still_makes_its_reconciler_wait_and_says_so():
    class Owing(Worker):
        def owes(self, view: View) -> Iterable[Item]:
            view.of(Fussy)
            return super().owes(view)

    worker = Owing(HandClock())
    store = MemoryStore()
    async with running(await booted(store, house(concepts=(Tally, Fussy)), worker.clock)) as engine:
        await engine.admit(draft("13", number=13))
        runner = Runner(worker, engine, EpochLeases(0))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runner.run)
            for _ in range(50):
                await worker.clock.advance(1)
            assert worker.started == []
            assert "stands still" in runner.trouble
            tasks.cancel_scope.cancel()


async def test_acts_end_with_their_runner():
    worker = Worker(HandClock(), kind="holding")

    async def hold(item: Item, held: Held) -> None:
        await held.clock.sleep(3600)

    worker.how = hold
    async with working(worker, "a", "b"):
        await worker.clock.advance(1)
        assert worker.now == {"a", "b"}
    assert worker.now == set()
    assert worker.done == set()


async def test_an_item_that_is_settled_elsewhere_is_forgotten_with_its_pause():
    worker = Worker(HandClock())

    async def fail(item: Item, held: Held) -> None:
        raise StoreUnavailable("not yet.")

    worker.how = fail
    async with working(worker, "a") as (engine, runner):
        for _ in range(40):
            await worker.clock.advance(1)
        worker.done.add("a")
        await engine.admit(draft("b"))
        await settle()
        worker.done.add("b")
        await engine.admit(draft("c"))
        await settle()
        assert set(runner._paused) == {"c"}


async def test_a_reconciler_that_can_not_tell_what_it_owes_says_so_and_the_relay_goes_on():
    class Broken(Worker):
        broken = True

        def owes(self, view: View) -> Iterable[Item]:
            if self.broken:
                raise KeyError("a defect")
            return super().owes(view)

    worker = Broken(HandClock())
    async with working(worker, "a") as (engine, runner):
        await worker.clock.advance(1)
        assert "a defect" in runner.trouble
        worker.broken = False
        await engine.admit(draft("b"))
        await settle()
        assert worker.done == {"a", "b"}
        assert runner.trouble == ""

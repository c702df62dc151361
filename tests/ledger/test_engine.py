"""The engine: one committer, and views that show only what is durable."""

from __future__ import annotations

import anyio
import pytest
from ledger.records import HandClock, Said, draft, settle
from ledger.small_house import (
    HOUSE,
    Sum,
    SumState,
    Tally,
    WatchedStore,
    answer_each,
    booted,
    counted_salt,
    house,
    keys,
    quiet,
    running,
)

from relay.errors import BadInteraction, Fenced, StoreUnavailable
from relay.ledger.engine import QUEUE, Engine
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Draft, Interaction, Payload
from relay.ledger.memory import MemoryStore

pytestmark = pytest.mark.anyio


# -- admitting ---------------------------------------------------------------------------------------------------------


async def test_an_admission_is_durable_and_folded_when_it_returns():
    store = MemoryStore()
    async with running(await booted(store)) as engine:
        (one,) = await engine.admit(draft("one", number=5))
        assert (await store.read(0, 9))[0].id == one.id
        assert engine.head >= one.seq
        assert engine.view.of(Sum).state.total == 5


async def test_the_same_key_gives_the_first_record_and_folds_nothing_again():
    store = MemoryStore()
    async with running(await booted(store)) as engine:
        (first,) = await engine.admit(draft("one", "the first", 5))
        (again,) = await engine.admit(draft("one", "the second", 7))
        assert again.id == first.id
        assert engine.view.of(Sum).state.total == 5
        await quiet(engine)
        assert await keys(store) == ["one"]
        assert len(await keys(store, "test.answered")) == 1


async def test_what_is_wanted_only_if_something_still_holds_sees_all_that_came_before_it():
    """Asked when what was admitted before it, and what the rules drafted from that, is durable and folded."""
    store = MemoryStore()
    async with running(await booted(store)) as engine:
        seen: list[tuple[int, int]] = []
        told: list[list[Interaction]] = []

        def asked() -> bool:
            seen.append((engine.view.of(Sum).state.total, engine.head))
            return engine.view.of(Sum).state.total < 10

        async def say(key: str, number: int, only_if: bool) -> None:
            told.append(await engine.admit(draft(key, number=number), only_if=asked if only_if else None))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, "one", 5, False)
            tasks.start_soon(say, "two", 3, True)
            tasks.start_soon(say, "three", 4, False)
            tasks.start_soon(say, "four", 100, True)
        await quiet(engine)
        assert seen == [(5, 2), (12, 6)], "each with the answer that a rule drafted"
        assert sorted(len(records) for records in told) == [0, 1, 1, 1]
        assert await keys(store) == ["one", "two", "three"]
        assert engine.view.of(Sum).state.total == 12


async def test_of_many_who_say_the_same_at_once_one_is_recorded_and_all_are_told():
    async with running(await booted(MemoryStore())) as engine:
        told: list[str] = []

        async def say(text: str) -> None:
            (stands,) = await engine.admit(draft("one", text, 1))
            told.append(stands.id)

        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(say, str(number))
        assert len(told) == 40
        assert len(set(told)) == 1
        assert engine.view.of(Sum).state.total == 1


async def test_those_who_wait_are_written_in_one_transaction():
    store = WatchedStore()
    async with running(await booted(store, house())) as engine:
        async with anyio.create_task_group() as tasks:
            for number in range(300):
                tasks.start_soon(engine.admit, draft(str(number)))
        assert sum(store.batches) == 300
        assert len(store.batches) <= 3
        assert await keys(store) == [str(n) for n in range(300)]


async def test_several_drafts_stand_side_by_side():
    store = MemoryStore()
    async with running(await booted(store, house())) as engine:
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(engine.admit, draft(f"{number}a"), draft(f"{number}b"))
        assert await engine.admit() == []
        assert await keys(store) == [f"{n}{half}" for n in range(20) for half in "ab"]


async def test_a_caller_who_is_cancelled_harms_nobody_and_what_he_asked_for_stands():
    store = WatchedStore()
    async with running(await booted(store, house())) as engine:
        store.open = anyio.Event()
        others: list[str] = []

        async def say(name: str) -> None:
            others.extend(i.key for i in await engine.admit(draft(name)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, "held in the write")
            await settle()
            with anyio.CancelScope() as one:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(engine.admit, draft("cancelled"))
                    tasks.start_soon(say, "beside it")
                    await settle()
                    one.cancel()
            store.open.set()
        await engine.admit(draft("after"))
        assert await keys(store) == ["held in the write", "cancelled", "beside it", "after"]
        assert len(others) == 2


async def test_a_view_never_shows_what_is_not_durable():
    store = WatchedStore()
    async with running(await booted(store)) as engine:
        store.open = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.admit, draft("one", number=5))
            await settle()
            assert store.batches
            assert engine.head == 0
            assert engine.view.of(Sum).state.total == 0
            store.open.set()
        assert engine.view.of(Sum).state.total == 5


async def test_who_waits_for_the_head_is_told_when_it_moves():
    async with running(await booted(MemoryStore(), house())) as engine:
        heads: list[int] = []

        async def follow() -> None:
            heads.append(await engine.moved(0))
            heads.append(await engine.moved(heads[-1]))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await settle()
            await engine.admit(draft("one"))
            await settle()
            await engine.admit(draft("two"))
        assert heads == [1, 2]
        assert await engine.moved(0) == 2


async def test_only_so_many_may_wait():
    store = WatchedStore()
    async with running(await booted(store, house())) as engine:
        store.open = anyio.Event()
        async with anyio.create_task_group() as tasks:
            for number in range(QUEUE + 50):
                tasks.start_soon(engine.admit, draft(str(number)))
            await settle()
            assert len(engine._queue) + store.batches[0] == QUEUE
            store.open.set()
        assert len(await keys(store)) == QUEUE + 50


class Unlisted(Payload):
    VERB = "test.unlisted"


class Imposter(Payload):
    VERB = "test.said"


@pytest.mark.parametrize("payload", [Unlisted(), Imposter()])
async def test_a_verb_that_no_behaviour_brought_is_refused(payload: Payload):
    store = MemoryStore()
    async with running(await booted(store)) as engine:
        with pytest.raises(BadInteraction, match="not in the catalogue"):
            await engine.admit(draft("fine"), Draft.of(payload, "a", actor="ada"))
        assert store.head == 0


async def test_a_late_holder_is_told_so_and_nobody_else_is_hurt():
    store = MemoryStore()
    epoch = await store.begin_epoch()
    async with running(await booted(store, house())) as engine:
        await engine.admit(draft("in time"), fence=epoch)
        await store.begin_epoch()
        free: list[Interaction] = []

        async def unfenced() -> None:
            free.extend(await engine.admit(draft("free")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(unfenced)
            with pytest.raises(Fenced, match="another relay has taken over"):
                await engine.admit(draft("late"), fence=epoch)
        assert len(free) == 1
        assert await keys(store) == ["in time", "free"]
        assert engine.view.of(Tally).state.said == ["test.said/in time", "test.said/free"]


# -- a disk that refuses -----------------------------------------------------------------------------------------------


async def test_what_the_disk_refuses_is_told_to_its_callers_and_was_never_there():
    store, clock = WatchedStore(), HandClock()
    async with running(await booted(store, clock=clock)) as engine:
        await engine.admit(draft("before", number=1))
        await settle()
        store.refuses = True
        refused: list[str] = []

        async def say(name: str) -> None:
            try:
                await engine.admit(draft(name, number=10))
            except StoreUnavailable as error:
                refused.append(str(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, "one")
            await settle()
            tasks.start_soon(say, "two")
            await clock.advance(2)
        assert refused == ["the disk is full."] * 2
        assert "disk is full" in engine.trouble()["ledger"]
        assert "Free some space" in engine.trouble()["ledger"]
        assert engine.view.of(Sum).state.total == 1
        store.refuses = False
        await clock.advance(2)
        await engine.admit(draft("one", number=10))
        assert engine.view.of(Sum).state.total == 11
        assert engine.trouble() == {}
        assert await keys(store) == ["before", "one"]


async def test_what_a_rule_drafted_stays_owed_while_the_disk_refuses():
    store, clock = WatchedStore(), HandClock()

    class FillsUp(Concept[SumState]):
        NAME, State = "fills-up", SumState

        @on(Said)
        def fill(self, i: Interaction, p: Said) -> None:
            store.refuses = p.text == "the last that fits"

    furniture = house(answer_each, concepts=(Tally, FillsUp))
    async with running(await booted(store, furniture, clock)) as engine:
        await engine.admit(draft("one"), draft("two", "the last that fits"))
        for _ in range(5):
            await clock.advance(2)
        assert await keys(store, "test.answered") == []
        assert "ledger" in engine.trouble()
        store.refuses = False
        await clock.advance(2)
        assert len(await keys(store, "test.answered")) == 2
        assert engine.trouble() == {}
    assert (await booted(store)).view.of(Tally).state.answered == ["test.said/one", "test.said/two"]


# -- a relay that was replaced -----------------------------------------------------------------------------------------


async def test_a_relay_that_was_replaced_records_nothing_and_its_committer_ends():
    store = MemoryStore()
    epoch = await store.begin_epoch()
    engine = Engine(store, HOUSE, HandClock(), counted_salt(), fence=epoch)
    await engine.boot()
    refused: list[str] = []

    async def say(name: str) -> None:
        try:
            await engine.admit(draft(name))
        except Fenced:
            refused.append(name)

    with anyio.fail_after(5), pytest.RaisesGroup(Fenced):
        async with anyio.create_task_group() as tasks:
            await tasks.start(engine.run)
            await engine.admit(draft("in time"))
            await quiet(engine)
            await store.begin_epoch()
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as late:
                    for name in ("one", "two", "three"):
                        late.start_soon(say, name)
    await say("after the end")
    assert sorted(refused) == ["after the end", "one", "three", "two"]
    assert await keys(store) == ["in time"]

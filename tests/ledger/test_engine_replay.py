"""Folds and rules that raise, crashes, replays and checkpoints: nothing is skipped and nothing is done twice."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from ledger.records import HandClock, Said, alone, draft, record
from ledger.small_house import (
    HOUSE,
    Answered,
    Fussy,
    Sum,
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

from relay.errors import ConceptStopped
from relay.ledger.engine import CHECKPOINT_EVERY, Engine
from relay.ledger.fold import Rule, View, on, rule
from relay.ledger.interaction import Draft, Interaction
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Checkpoint, Group

pytestmark = pytest.mark.anyio


# -- folds and rules that raise ----------------------------------------------------------------------------------------


async def test_a_fold_that_raises_stands_still_and_says_so_and_the_others_go_on():
    store = MemoryStore()
    furniture = house(answer_each, concepts=(Tally, Fussy, Sum))
    async with running(await booted(store, furniture)) as engine:
        for number in (1, 13, 2):
            await engine.admit(draft(str(number), number=number))
        await quiet(engine)
        assert engine.view.of(Sum).state.total == 16
        assert len(engine.view.of(Tally).state.answered) == 3
        with pytest.raises(ConceptStopped, match="can't take 13"):
            engine.view.of(Fussy)
        assert list(engine.trouble()) == ["fussy"]
        assert "test.said" in engine.trouble()["fussy"]
    again = await booted(store, furniture)
    assert list(again.trouble()) == ["fussy"]
    assert again.view.of(Sum).state.total == 16


class Mended(Fussy):
    @on(Said)
    def add(self, i: Interaction, p: Said) -> None:
        self.state.total += 1


async def test_a_mended_fold_takes_up_what_it_stood_still_at():
    store = MemoryStore()
    engine = await booted(store, house(concepts=(Fussy, Sum)))
    async with running(engine):
        for number in (1, 13, 2):
            await engine.admit(draft(str(number), number=number))
    await engine.close()
    assert (await booted(store, house(concepts=(Mended, Sum)))).view.of(Mended).state.total == 3


def fragile(broken: bool) -> Rule:
    """`answer-each` with a defect, and without."""

    def answer_each(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
        if broken and p.number == 13:
            raise ValueError("can't answer 13")
        yield Draft.of(
            Answered(to=i.key, seen=len(view.of(Tally).state.said)), i.id, actor="rule", caused_by=[i.id]
        )

    return rule(Said)(answer_each)


@pytest.mark.parametrize("clean", [True, False], ids=["a clean stop", "a kill"])
async def test_a_mended_rule_goes_on_where_it_stood_and_skips_nothing(clean: bool):
    store = MemoryStore()
    engine = await booted(store, house(fragile(broken=True)))
    async with running(engine):
        for number in (1, 13, 2, 3):
            await engine.admit(draft(str(number), number=number))
        await quiet(engine)
        assert engine.view.of(Tally).state.answered == ["test.said/1"]
        assert "can't answer 13" in engine.trouble()["answer-each"]
    if clean:
        await engine.close()
    still = await booted(store, house(fragile(broken=True)))
    assert "can't answer 13" in still.trouble()["answer-each"]
    async with running(await booted(store, house(fragile(broken=False)))) as engine:
        await quiet(engine)
        assert engine.trouble() == {}
        assert engine.view.of(Tally).state.answered == [f"test.said/{n}" for n in (1, 13, 2, 3)]
        assert engine.view.of(Sum).state.total == 19
    answers = [i.read(Answered).seen for i in await store.read(0, 99) if i.verb == "test.answered"]
    assert answers == [1, 2, 3, 4], "each saw the view as it was right after what it answers"


def broken_draft() -> Rule:
    def answer_each(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
        yield Draft.of(Answered(to="x" * 70_000, seen=0), i.id, actor="rule")

    return rule(Said)(answer_each)


async def test_a_rule_whose_draft_can_not_be_recorded_stands_still():
    async with running(await booted(MemoryStore(), house(broken_draft()))) as engine:
        await engine.admit(draft("one"))
        assert "more than a payload may hold" in engine.trouble()["answer-each"]
        await engine.admit(draft("two"))


# -- crash and replay --------------------------------------------------------------------------------------------------


async def test_what_follows_is_made_good_after_a_crash_between_a_commit_and_its_drafts():
    store = MemoryStore()
    await booted(store)  # the rule's cursor stands at 0
    await store.append(alone("one", "two"))  # durable, and then the process dies
    async with running(await booted(store)) as engine:
        await quiet(engine)
        assert engine.view.of(Tally).state.answered == ["test.said/one", "test.said/two"]


async def test_a_replay_records_nothing_again():
    store = MemoryStore()
    async with running(await booted(store)) as engine:
        for number in range(10):
            await engine.admit(draft(str(number)))
        await quiet(engine)
    before = [i.id for i in await store.read(0, 99)]
    for _ in range(3):
        async with running(await booted(store)) as engine:
            await quiet(engine)
    assert [i.id for i in await store.read(0, 99)] == before
    assert len(before) == 20


async def test_after_a_clean_stop_no_rule_runs_again():
    store = MemoryStore()
    engine = await booted(store)
    async with running(engine):
        for number in range(10):
            await engine.admit(draft(str(number)))
    await engine.close()
    assert len(await keys(store, "test.answered")) == 10
    calls: list[str] = []

    def answer_each(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
        calls.append(i.key)
        return []

    await booted(store, house(rule(Said)(answer_each)))
    assert calls == []


async def test_a_clean_stop_writes_what_still_waits():
    store = MemoryStore()
    engine = await booted(store)
    await store.append(alone("one"))
    engine = await booted(store)
    await engine.close()
    assert len(await keys(store, "test.answered")) == 1


async def test_a_new_rule_starts_at_the_head():
    store = MemoryStore()
    async with running(await booted(store, house())) as engine:
        await engine.admit(draft("before"))
    await booted(store)  # the first boot with the rule; killed at once
    await store.append(alone("after"))
    async with running(await booted(store)) as engine:
        await quiet(engine)
        assert engine.view.of(Tally).state.answered == ["test.said/after"]


async def test_a_rule_follows_what_other_rules_drafted():
    def once_more(i: Interaction, p: Answered, view: View) -> Iterable[Draft]:
        if p.seen < 3:
            yield Draft.of(Answered(to=p.to, seen=p.seen + 1), i.id, actor="rule:once-more", caused_by=[i.id])

    store = MemoryStore()
    async with running(await booted(store, house(answer_each, rule(Answered)(once_more)))) as engine:
        await engine.admit(draft("one"))
        await quiet(engine)
    assert [i.read(Answered).seen for i in await store.read(1, 9)] == [1, 2, 3]


# -- checkpoints -------------------------------------------------------------------------------------------------------


async def filled(count: int = 50) -> WatchedStore:
    """A store whose relay was stopped cleanly after so many."""
    store = WatchedStore()
    engine = await booted(store)
    async with running(engine):
        for number in range(count):
            await engine.admit(draft(str(number), number=number))
        await quiet(engine)
    await engine.close()
    store.reads.clear()
    return store


async def test_a_boot_goes_on_from_the_checkpoint():
    store = await filled()
    await store.append([Group((record("tail"),))])
    engine = await booted(store)
    assert min(store.reads) == 100
    assert len(engine.view.of(Tally).state.said) == 51
    assert engine.view.of(Sum).state.total == sum(range(50))


class SumV2(Sum):
    """The same fold of a later version, which counts double."""

    VERSION = 2

    @on(Said)
    def add(self, i: Interaction, p: Said) -> None:
        self.state.total += 2 * p.number


async def test_a_fold_of_another_version_is_refolded_and_the_others_are_not_stepped_again():
    store = await filled()
    engine = await booted(store, house(answer_each, concepts=(Tally, SumV2)))
    assert min(store.reads) == 0
    assert engine.view.of(SumV2).state.total == 2 * sum(range(50))
    assert len(engine.view.of(Tally).state.said) == 50
    assert store.head == 100


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"total": "much"}', b"\xff\0"])
async def test_a_checkpoint_that_can_not_be_read_is_refolded(state: bytes):
    store = await filled()
    await store.save_checkpoint(Checkpoint("sum", 1, 100, state))
    assert (await booted(store)).view.of(Sum).state.total == sum(range(50))


async def test_a_checkpoint_from_beyond_the_head_is_not_believed():
    store = await filled()
    await store.save_checkpoint(Checkpoint("sum", 1, 10_000, b'{"total": 1}'))
    assert (await booted(store)).view.of(Sum).state.total == sum(range(50))


async def test_a_checkpoint_past_a_rules_cursor_is_not_used():
    """A rule that is behind must see the view as it was, so the folds go back with it."""
    store = await filled(5)
    await store.save_cursors({"answer-each": 2})
    seen: list[int] = []

    def answer_each(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
        seen.append(len(view.of(Tally).state.said))
        return []

    await booted(store, house(rule(Said)(answer_each)))
    said = [i.seq for i in await store.read(0, 99) if i.verb == "test.said"]
    assert seen == [n for n, seq in enumerate(said, 1) if seq > 2]


async def test_no_checkpoint_is_written_past_a_rule_that_stands_still():
    store = MemoryStore()
    engine = await booted(store, house(fragile(broken=True)))
    async with running(engine):
        await engine.admit(draft("13", number=13))
        await engine.admit(draft("14", number=14))
    await engine.close()
    assert await store.cursors() == {"answer-each": 0}
    assert all(checkpoint.seq == 0 for checkpoint in (await store.checkpoints()).values())


async def test_checkpoints_are_written_as_the_ledger_grows():
    store = MemoryStore()
    engine = Engine(store, HOUSE, HandClock(), counted_salt())
    await engine.boot()
    async with running(engine):
        for start in range(0, CHECKPOINT_EVERY // 2 + 500, 250):
            await engine.admit(*(draft(str(start + n)) for n in range(250)))
        await quiet(engine)
        kept = await store.checkpoints()
    assert set(kept) == {"tally", "sum"}
    assert all(checkpoint.seq >= CHECKPOINT_EVERY for checkpoint in kept.values())
    assert min((await store.cursors()).values()) >= max(c.seq for c in kept.values())

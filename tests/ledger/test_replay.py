"""A refold gives what the live folds gave, byte for byte, with the behaviours that are really there."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger.any_history import AnyHistory
from ledger.records import EPOCH_MS, QuickClock, draft, record
from ledger.small_house import Answered, Sum, SumState, answer_each, booted, house, quiet, running

from relay.behaviours import discover
from relay.ledger.engine import Engine
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group, Store

pytestmark = pytest.mark.anyio

FURNITURE = tuple(behaviour.furniture for behaviour in discover())


class Ticking(QuickClock):
    """Some minutes pass with every look, so that what expires with time does."""

    def __init__(self) -> None:
        self._looks = 0

    def now_ms(self) -> int:
        self._looks += 1
        return EPOCH_MS + self._looks * 400_000


async def live(store: Store, history: AnyHistory, count: int, batch: int) -> Engine:
    """An engine that has taken the history in, so many at a time; killed after its last."""
    engine = await booted(store, FURNITURE, Ticking())
    async with running(engine):
        drafts = list(history.drafts(count))
        for start in range(0, count, batch):
            for stands in await engine.admit(*drafts[start : start + batch]):
                history.told(stands.id)
        await quiet(engine)
        assert not engine._drafts
    return engine


def test_every_rule_has_a_name_of_its_own():
    """Its cursor is kept by that name."""
    names = [rule.name for piece in FURNITURE for rule in piece.rules]
    assert sorted(set(names)) == sorted(names)
    concepts = [concept.NAME for piece in FURNITURE for concept in piece.concepts]
    assert sorted(set(concepts)) == sorted(concepts)


@given(st.integers(0, 2**32), st.integers(1, 120), st.integers(1, 40))
@settings(max_examples=30)
def test_a_refold_gives_what_the_live_folds_gave(seed: int, count: int, batch: int):
    async def check() -> None:
        store = MemoryStore()
        engine = await live(store, AnyHistory(seed), count, batch)
        assert engine.trouble() == {}, "no fold and no rule raises, whatever was recorded"
        digest = engine.view.digest()
        refolded = await booted(store, FURNITURE, Ticking())
        assert refolded.view.digest() == digest
        assert refolded.trouble() == {}
        before = store.head
        async with running(refolded):
            await quiet(refolded)
        assert store.head == before, "a replay records nothing"

    anyio.run(check)


@given(st.integers(0, 2**32))
@settings(max_examples=5)
def test_a_boot_from_checkpoints_gives_it_too(seed: int):
    async def check() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.db"
            history = AnyHistory(seed)
            store: Store = await SqliteStore.open(path)
            engine = await live(store, history, 60, 7)
            await engine.close()
            await store.close()
            store = await SqliteStore.open(path)
            assert len(await store.checkpoints()) == len(engine.view.all())
            tail = await live(store, history, 60, 7)
            assert tail.trouble() == {}
            digest = tail.view.digest()
            assert (await booted(store, FURNITURE)).view.digest() == digest
            await store.close()
            connection = sqlite3.connect(path)
            connection.execute("DELETE FROM checkpoint")
            connection.commit()
            connection.close()
            store = await SqliteStore.open(path)
            assert (await booted(store, FURNITURE)).view.digest() == digest
            await store.close()

    anyio.run(check)


async def test_dumped_states_come_back_as_they_were():
    """Also the order in them: a lane's order is part of the state."""
    store = MemoryStore()
    engine = await live(store, AnyHistory(7), 400, 10)
    for concept in engine.view.all():
        fresh = type(concept)()
        fresh.load(concept.dump())
        assert fresh.dump() == concept.dump()
        assert fresh.state == concept.state, concept.NAME


# -- the redaction wall ------------------------------------------------------------------------------------------------


async def test_a_redacted_payload_is_gone_and_its_record_still_verifies(tmp_path: Path):
    path = tmp_path / "ledger.db"
    store = await SqliteStore.open(path)
    engine = await booted(store)
    async with running(engine):
        for name in ("one", "two", "three"):
            await engine.admit(draft(name, f"{name} is a secret", number=1))
        await quiet(engine)
    await engine.close()
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute(
        "DELETE FROM payload WHERE seq = (SELECT seq FROM interaction WHERE key = 'test.said/two')"
    )
    connection.commit()
    connection.close()
    store = await SqliteStore.open(path)
    records = await store.read(0, 99)
    assert all(i.verifies() for i in records)
    assert [i.key for i in records if i.redacted] == ["test.said/two"]
    from_checkpoint = await booted(store)
    assert from_checkpoint.trouble() == {}
    assert from_checkpoint.view.of(Sum).state.total == 3
    # Folded anew, a fold that needs the text stands still there and says so; one that doesn't goes on.
    anew = await booted(store, house(answer_each, concepts=(SumV2, Answers)))
    assert list(anew.trouble()) == ["sum"]
    assert "redacted" in anew.trouble()["sum"]
    assert anew.view.of(Answers).state.total == 3
    (again,) = (await store.append([Group((record("two", "another text"),))]))[0].stands
    assert again.redacted
    await store.close()


class SumV2(Sum):
    VERSION = 2


class Answers(Concept[SumState]):
    """How many were answered: it reads no other verb."""

    NAME, State = "answers", SumState

    @on(Answered)
    def answered(self, i: Interaction, p: Answered) -> None:
        self.state.total += 1

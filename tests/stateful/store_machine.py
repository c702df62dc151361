"""A state machine that does to a store what relays do to it, in any order, and knows exactly what must come of it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from ledger.records import EPOCH_MS, Said, facts
from ledger.small_house import Sum, Tally, counted_salt, house

from relay.ledger.engine import Engine
from relay.ledger.fold import View
from relay.ledger.fold import rule as follows
from relay.ledger.interaction import Draft, Interaction, prepare
from relay.ledger.memory import MemoryStore
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Group, Outcome, Store

T = TypeVar("T")

names = st.sampled_from([*"abcdefgh", "a/b", "ä"])
groups = st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=5)


class Clockwork:
    """A clock that the machine turns."""

    def __init__(self) -> None:
        self.ms = EPOCH_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class StoreMachine(RuleBasedStateMachine):
    """Over a store in memory; `open` and `crash` are what another store does otherwise.

    The model is a list: what was acknowledged, in order. A follower reads pages from its cursor now and then; holders
    are the epochs that were ever begun.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clockwork()
        self.salt = counted_salt()
        self.model: list[tuple[object, ...]] = []
        self.by_key: dict[str, Interaction] = {}
        self.outside: dict[str, list[int]] = {}
        self.epoch = 0
        self.holders = [0]
        self.cursor = 0
        self.followed: list[tuple[object, ...]] = []
        self.saved = 0
        self.witnessed: set[str] = set()
        self.store: Store

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    # -- what differs from store to store ---------------------------------------------------------------------------

    async def open(self) -> Store:
        return MemoryStore()

    async def crash(self) -> Store:
        """The store after a kill. One in memory is shared by several relays, and a kill of one loses none of it."""
        return self.store

    @initialize()
    def begin(self) -> None:
        self.store = self.do(self.open())
        self._engine()

    # -- what relays do ---------------------------------------------------------------------------------------------

    def _record(self, name: str, text: str) -> Interaction:
        causes = [str(self.model[-1][1])] if self.model else []
        drafted = Draft.of(
            Said(text=text, number=len(text)), name, actor="ada", caused_by=causes, outside=[f"web:{name}"]
        )
        return prepare(drafted, at=self.clock.ms, salt=self.salt())

    def _append(self, asked: Sequence[Sequence[str]], fences: Sequence[int | None], text: str) -> None:
        batch = [
            Group(tuple(self._record(name, text) for name in group), fence)
            for group, fence in zip(asked, fences, strict=True)
        ]
        outcomes = self.do(self.store.append(batch))
        assert len(outcomes) == len(batch)
        for group, outcome in zip(batch, outcomes, strict=True):
            self._expect(group, outcome)

    def _expect(self, group: Group, outcome: Outcome) -> None:
        if group.fence is not None and group.fence != self.epoch:
            assert outcome == Outcome((), (), fenced=True)
            return
        assert not outcome.fenced
        for record, stands, fresh in zip(group.records, outcome.stands, outcome.fresh, strict=True):
            first = self.by_key.get(record.key)
            assert fresh == (first is None)
            if first is None:
                assert stands.seq > (int(str(self.model[-1][0])) if self.model else 0)
                self.model.append(facts(stands))
                assert facts(stands)[1:] == facts(record)[1:]
                self.by_key[record.key] = stands
                for name in record.outside:
                    self.outside.setdefault(name, []).append(stands.seq)
            else:
                assert facts(stands) == facts(first)

    @rule(asked=groups, text=st.text("xyz", max_size=3))
    def append(self, asked: list[list[str]], text: str) -> None:
        self._append(asked, [None] * len(asked), text)

    @rule(name=names)
    def append_alone(self, name: str) -> None:
        self._append([[name]], [None], "alone")

    @precondition(lambda self: bool(self.by_key))
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.by_key)))
        name = key.removeprefix("test.said/").replace("%2F", "/")
        self._append([[name]], [None], "said again")

    @rule()
    def claim(self) -> None:
        self.epoch = self.do(self.store.begin_epoch())
        assert self.epoch > max(self.holders)
        self.holders.append(self.epoch)

    @rule(asked=groups, data=st.data())
    def fenced_write(self, asked: list[list[str]], data: st.DataObject) -> None:
        fences = [data.draw(st.none() | st.sampled_from(self.holders)) for _ in asked]
        self._append(asked, fences, "fenced")

    @rule(limit=st.integers(1, 5))
    def follow(self, limit: int) -> None:
        page = self.do(self.store.read(self.cursor, limit))
        assert len(page) <= limit
        assert page or self.cursor >= self.store.head
        self.followed += [facts(i) for i in page]
        if page:
            self.cursor = page[-1].seq

    @rule(seconds=st.integers(1, 10_000))
    def time(self, seconds: int) -> None:
        self.clock.ms += seconds * 1000

    def _engine(self) -> Engine:
        def witness(i: Interaction, p: Said, view: View) -> Iterable[Draft]:
            self.witnessed.add(i.key)
            return ()

        engine = Engine(self.store, house(follows(Said)(witness)), self.clock, self.salt)
        self.do(engine.boot())
        assert self.witnessed == set(self.by_key), "a rule has seen everything"
        tally = engine.view.of(Tally).state.said
        assert tally == [row[3] for row in self.model], "a boot folds everything once, in order"
        assert engine.view.of(Sum).state.total == sum(len(i.body["text"]) for i in self.by_key.values())
        return engine

    @rule()
    def refold(self) -> None:
        self._engine()

    @rule()
    def checkpoint(self) -> None:
        self.do(self._engine().close())
        self.saved = self.store.head

    @rule()
    def kill(self) -> None:
        self.store = self.do(self.crash())

    @rule()
    def idle(self) -> None:
        self.do(self.store.idle())

    # -- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def everything_acknowledged_is_there_in_order(self) -> None:
        if not hasattr(self, "store"):
            return
        read = self.do(self.store.read(0, 10_000))
        assert [facts(i) for i in read] == self.model
        assert all(i.verifies() for i in read)
        assert self.store.head == (read[-1].seq if read else 0)
        assert [i.seq for i in self.do(self.store.read_back(self.store.head + 1, 10_000))] == [
            i.seq for i in read[::-1]
        ]

    @invariant()
    def what_was_followed_is_what_there_is(self) -> None:
        assert self.followed == [row for row in self.model if int(str(row[0])) <= self.cursor]

    @invariant()
    def everything_is_found(self) -> None:
        if not hasattr(self, "store"):
            return
        found = self.do(self.store.by_ids([str(row[1]) for row in self.model]))
        assert len(found) == len(self.model)
        for name, seqs in self.outside.items():
            assert [i.seq for i in self.do(self.store.by_outside(name))] == seqs

    @invariant()
    def nothing_is_saved_from_beyond_the_head(self) -> None:
        if not hasattr(self, "store"):
            return
        checkpoints = self.do(self.store.checkpoints())
        assert all(c.seq == self.saved for c in checkpoints.values())
        assert all(seq <= self.store.head for seq in self.do(self.store.cursors()).values())
        assert self.do(self.store.epoch()) == self.epoch

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.do(self.store.close())
        self.runner.close()


class SqliteMachine(StoreMachine):
    """Over a file. A crash leaves the files as they are at that moment; nobody closes them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.boots = 0

    async def open(self) -> Store:
        return await SqliteStore.open(self.folder / "ledger.db")

    async def crash(self) -> Store:
        self.boots += 1
        left = self.folder / str(self.boots)
        left.mkdir()
        live = self.folder / (str(self.boots - 1) if self.boots > 1 else "")
        for file in live.glob("ledger.db*"):
            shutil.copy(file, left / file.name)
        await self.store.close()
        return await SqliteStore.open(left / "ledger.db")

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)

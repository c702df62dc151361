"""What every store promises, whatever it is made of."""

import tempfile
from pathlib import Path

import anyio
import pytest
from contract.stores.conftest import STORES, open_store
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger.records import alone, facts, record, together

from relay.ledger.interaction import Interaction
from relay.ledger.store import Checkpoint, Group, Store

pytestmark = pytest.mark.anyio


async def keys(store: Store) -> list[str]:
    return [i.key.removeprefix("test.said/") for i in await store.read(0, 100_000)]


async def test_a_new_store_is_empty(store: Store):
    assert store.head == 0
    assert await store.read(0, 10) == []
    assert await store.read_back(10, 10) == []
    assert await store.by_ids(["0" * 64]) == {}
    assert await store.cursors() == {}
    assert await store.checkpoints() == {}
    assert await store.epoch() == 0


async def test_nothing_to_write_writes_nothing(store: Store):
    assert await store.append([]) == []
    (outcome,) = await store.append([Group(())])
    assert (outcome.stands, outcome.fresh, outcome.fenced) == ((), (), False)
    assert store.head == 0


async def test_records_stand_in_the_order_in_which_they_were_appended(store: Store):
    await store.append(alone("c", "a"))
    await store.append([together("b", "z"), *alone("y")])
    assert await keys(store) == ["c", "a", "b", "z", "y"]
    read = await store.read(0, 10)
    assert [i.seq for i in read] == sorted({i.seq for i in read})
    assert store.head == read[-1].seq


async def test_what_comes_back_is_what_went_in(store: Store):
    first = record("cause")
    (out,) = await store.append([Group((first,))])
    assert (out.stands, out.fresh, out.fenced) == ((first,), (True,), False)
    second = record(
        "effect", "Grüße, 世界 😀\n\u2028", causes=[first.id, "ab" * 32, first.id], outside=["web:m1"]
    )
    await store.append([Group((second,))])
    read = await store.read(0, 10)
    assert [facts(i) for i in read] == [facts(first), facts(second)]
    assert all(i.verifies() for i in read)


async def test_the_same_key_gives_the_first_record_and_writes_nothing(store: Store):
    await store.append([Group((record("a", "the first"),))])
    head = store.head
    again = record("a", "another text", outside=["web:m7"])
    (outcome,) = await store.append([Group((again,))])
    assert outcome.fresh == (False,)
    assert outcome.stands[0].body["text"] == "the first"
    assert outcome.stands[0].seq == 1
    assert store.head == head
    assert await keys(store) == ["a"]
    assert await store.by_outside("web:m7") == []


async def test_a_key_twice_in_one_transaction_is_one_record(store: Store):
    groups = [Group((record("a", "one"), record("a", "two"))), Group((record("a", "three"),)), *alone("b")]
    outcomes = await store.append(groups)
    assert [o.fresh for o in outcomes] == [(True, False), (False,), (True,)]
    assert {i.body["text"] for o in outcomes[:2] for i in o.stands} == {"one"}
    assert await keys(store) == ["a", "b"]


async def test_a_group_may_hold_what_is_new_and_what_stands(store: Store):
    await store.append(alone("a"))
    (outcome,) = await store.append([together("a", "b", "c")])
    assert outcome.fresh == (False, True, True)
    assert [i.key for i in outcome.stands] == ["test.said/a", "test.said/b", "test.said/c"]
    assert await keys(store) == ["a", "b", "c"]


async def test_keys_that_are_alike_are_different(store: Store):
    names = ["A", "a", "a ", "ä", "a\u0308", "a%", "a_", "", "a/b", "a%2Fb", "'", '"', "x" * 3000]
    outcomes = await store.append(alone(*names))
    assert all(o.fresh == (True,) for o in outcomes)
    again = await store.append(alone(*names))
    assert [o.fresh for o in again] == [(False,)] * len(names)
    assert [o.stands[0].id for o in again] == [o.stands[0].id for o in outcomes]


async def test_a_late_holder_writes_nothing(store: Store):
    old = await store.begin_epoch()
    (mine,) = await store.append(alone("mine", fence=old))
    new = await store.begin_epoch()
    assert new > old
    assert await store.epoch() == new
    late, whole, fresh, free = await store.append(
        [
            *alone("late", fence=old),
            together("late2", "late3", fence=old),
            *alone("fresh", fence=new),
            *alone("free"),
        ]
    )
    assert not mine.fenced
    assert (late.fenced, late.stands, whole.fenced, whole.stands) == (True, (), True, ())
    assert (fresh.fenced, free.fenced) == (False, False)
    assert await keys(store) == ["mine", "fresh", "free"]


async def test_a_late_holder_alone_is_refused_too(store: Store):
    await store.begin_epoch()
    (late,) = await store.append(alone("late", fence=0))
    (ahead,) = await store.append(alone("ahead", fence=99))
    assert late.fenced
    assert ahead.fenced
    assert await keys(store) == []
    await store.append(alone("next"))
    assert [i.key for i in await store.read(0, 9)] == ["test.said/next"]


async def test_a_fence_is_asked_before_the_key(store: Store):
    await store.append(alone("a"))
    await store.begin_epoch()
    (outcome,) = await store.append(alone("a", fence=0))
    assert outcome.fenced


async def test_pages_lead_through_everything_both_ways(store: Store):
    await store.append(alone(*map(str, range(25))))
    forward: list[str] = []
    at = 0
    while page := await store.read(at, 7):
        assert len(page) <= 7
        forward += [i.key for i in page]
        at = page[-1].seq
    back: list[str] = []
    at = store.head + 1
    while page := await store.read_back(at, 7):
        assert len(page) <= 7
        back += [i.key for i in page]
        at = page[-1].seq
    assert forward == back[::-1] == [f"test.said/{n}" for n in range(25)]


async def test_reading_past_either_end_gives_nothing(store: Store):
    await store.append(alone("a", "b"))
    assert await store.read(store.head, 5) == []
    assert await store.read(10**9, 5) == []
    assert await store.read_back(1, 5) == []
    assert await store.read_back(0, 5) == []
    assert len(await store.read_back(10**9, 5)) == 2


async def test_records_are_found_by_their_ids(store: Store):
    outcomes = await store.append(alone(*map(str, range(30))))
    ids = [o.stands[0].id for o in outcomes]
    unknown = ["f" * 64, "", "abc", "no hex at all", ids[0][:63], ids[0].upper(), ids[0] + "\n"]
    found = await store.by_ids([*ids, *unknown])
    assert set(found) == set(ids)
    assert all(found[id].id == id for id in ids)
    many = await store.by_ids(ids * 40)
    assert set(many) == set(ids)


async def test_records_are_found_by_the_first_letters_of_their_id(store: Store):
    outcomes = await store.append(alone(*map(str, range(60))))
    ids = [o.stands[0].id for o in outcomes]
    for length in (1, 2, 3, 10, 63, 64):
        prefix = ids[7][:length]
        found = await store.by_prefix(prefix, 100)
        assert [i.id for i in found] == [id for id in ids if id.startswith(prefix)]
    assert [i.id for i in await store.by_prefix(ids[7][:8].upper(), 5)] == [ids[7]]
    assert len(await store.by_prefix(ids[7][0], 1)) == 1
    for nonsense in ("", "xyz", "%", "'", "0" * 65, ids[7] + "0", "ä"):
        assert await store.by_prefix(nonsense, 5) == []


ODD = [
    "web:m1",
    "web:m 1",
    "",
    "ä",
    "😀",
    "'; --",
    "%",
    "_",
    "[1]",
    '{"a":1}',
    '"',
    "\\",
    "\n",
    "\u2028",
    "x" * 5000,
]


async def test_records_are_found_by_the_names_the_world_gives_them(store: Store):
    for number, name in enumerate(ODD):
        if name:
            await store.append([Group((record(str(number), outside=[name, f"all:{name}", "each"]),))])
    for number, name in enumerate(ODD):
        found = [i.key for i in await store.by_outside(name)]
        assert found == ([f"test.said/{number}"] if name else [])
    each = await store.by_outside("each")
    assert [i.seq for i in each] == sorted(i.seq for i in each)
    assert len(each) == len(ODD) - 1
    assert await store.by_outside("WEB:M1") == []


async def test_a_name_given_twice_is_one_name(store: Store):
    await store.append([Group((record("a", outside=["x", "x", "y"]),))])
    assert len(await store.by_outside("x")) == 1


@pytest.mark.parametrize("count", [499, 500, 501, 513, 1001, 2500])
async def test_a_large_transaction_is_one(store: Store, count: int):
    await store.append(alone("7"))
    outcomes = await store.append(alone(*map(str, range(count))))
    assert [o.fresh[0] for o in outcomes] == [n != 7 for n in range(count)]
    assert len(await store.read(0, 10_000)) == count
    (whole,) = await store.append([together(*(f"g{n}" for n in range(count)))])
    assert all(whole.fresh)
    assert [i.key for i in await store.read(outcomes[-1].stands[0].seq, 10_000)] == [
        f"test.said/g{n}" for n in range(count)
    ]


async def test_cursors_are_kept_by_name(store: Store):
    await store.save_cursors({"a": 3, "b-ü": 4})
    await store.save_cursors({"a": 5})
    assert await store.cursors() == {"a": 5, "b-ü": 4}
    await store.save_cursors({})
    assert await store.cursors() == {"a": 5, "b-ü": 4}


async def test_the_last_checkpoint_of_a_concept_is_kept(store: Store):
    await store.save_checkpoint(Checkpoint("turns", 1, 10, b'{"a":1}'))
    await store.save_checkpoint(Checkpoint("turns", 2, 20, b"\0\xff" * 100_000))
    await store.save_checkpoint(Checkpoint("outbox", 1, 5, b""))
    kept = await store.checkpoints()
    assert kept == {
        "turns": Checkpoint("turns", 2, 20, b"\0\xff" * 100_000),
        "outbox": Checkpoint("outbox", 1, 5, b""),
    }


async def test_an_idle_moment_changes_nothing_that_is_read(store: Store):
    await store.append(alone("a", "b"))
    before = [facts(i) for i in await store.read(0, 9)]
    await store.idle()
    await store.idle()
    assert [facts(i) for i in await store.read(0, 9)] == before


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = texts.filter(lambda text: "\0" not in text)


written = st.lists(st.tuples(names, texts, st.lists(names, max_size=3)), min_size=1, max_size=8)


@pytest.mark.parametrize("kind", STORES)
@given(written, st.integers(0, 2**53))
@settings(max_examples=25)
def test_any_text_comes_back_as_it_was(kind: str, rows: list[tuple[str, str, list[str]]], at: int):
    records = [record(name, text, outside=outside, at=at) for name, text, outside in rows]
    firsts: dict[str, Interaction] = {}
    for made in records:
        firsts.setdefault(made.key, made)

    async def write_and_read() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(kind, Path(folder))
            try:
                await store.append([Group((made,)) for made in records])
                assert [facts(i) for i in await store.read(0, 99)] == [facts(i) for i in firsts.values()]
                for made in firsts.values():
                    for name in made.outside:
                        assert made.id in {i.id for i in await store.by_outside(name)}
            finally:
                await store.close()

    anyio.run(write_and_read)

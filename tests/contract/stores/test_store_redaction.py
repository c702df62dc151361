"""What every store promises of a record whose texts are taken out; and that SQLite leaves none of them in its files."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from ledger.records import Said, facts, record

from relay.ledger.interaction import GONE_SALT, Interaction, blob_name, residue_of
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Checkpoint, Group, Residue, Store

pytestmark = pytest.mark.anyio


class SaidAndGone(Said):
    """The same verb, whose text can be taken out."""

    TEXTS = {"text": ""}


def left_of(i: Interaction, *blobs: str) -> Residue:
    raw = residue_of(i, SaidAndGone)
    assert raw is not None
    return Residue(i.id, raw, blobs)


async def test_a_redacted_record_keeps_all_but_its_text(store: Store):
    kept, gone = (
        record("kept"),
        record("gone", "a secret", outside=["web:m1", blob_name("d" * 64)], causes=["ab" * 32]),
    )
    await store.append([Group((kept, gone))])
    before = facts(gone)
    await store.redact([left_of(gone, "d" * 64)])
    for read in (
        (await store.read(1, 5))[0],
        (await store.by_ids([gone.id]))[gone.id],
        (await store.by_outside("web:m1"))[0],
        (await store.by_prefix(gone.id[:12], 5))[0],
        (await store.read_back(3, 1))[0],
    ):
        assert read.redacted
        assert read.verifies()
        assert read.read(Said).text == ""
        assert read.salt == GONE_SALT
        assert facts(read)[:-2] == before[:-2], "all but salt and payload is as it was"
    assert await store.by_outside(blob_name("d" * 64)) == []
    assert not (await store.read(0, 1))[0].redacted


async def test_a_second_redaction_and_an_unknown_id_change_nothing(store: Store):
    gone = record("gone", "a secret")
    await store.append([Group((gone,))])
    residue = left_of(gone)
    await store.redact([residue])
    await store.redact([Residue(gone.id, b'{"text":"another"}'.ljust(len(residue.raw)))])
    await store.redact([Residue("ab" * 32, b"{}")])
    await store.redact([])
    (read,) = await store.read(0, 5)
    assert read.raw == residue.raw


async def test_a_redacted_key_still_stands(store: Store):
    gone = record("gone", "a secret")
    await store.append([Group((gone,))])
    await store.redact([left_of(gone)])
    (outcome,) = await store.append([Group((record("gone", "said again"),))])
    assert outcome.fresh == (False,)
    assert outcome.stands[0].redacted


async def test_two_records_that_name_one_blob_are_told_apart(store: Store):
    name = blob_name("d" * 64)
    one, two = record("one", "a secret", outside=[name]), record("two", "a secret", outside=[name])
    await store.append([Group((one, two))])
    await store.redact([left_of(one, "d" * 64)])
    assert [i.id for i in await store.by_outside(name)] == [two.id]


async def test_renewed_checkpoints_are_the_only_ones(store: Store):
    await store.save_checkpoint(Checkpoint("old", 1, 5, b"old"))
    await store.save_checkpoint(Checkpoint("both", 1, 5, b"before"))
    await store.renew_checkpoints([Checkpoint("both", 2, 6, b"after")])
    assert await store.checkpoints() == {"both": Checkpoint("both", 2, 6, b"after")}
    await store.renew_checkpoints([])
    assert await store.checkpoints() == {}


async def test_a_record_without_a_text_has_no_residue():
    assert residue_of(record("empty", ""), SaidAndGone) is None
    assert residue_of(record("some", "text"), Said) is None


# -- SQLite's files ----------------------------------------------------------------------------------------------------


def token(number: int, kind: str) -> str:
    return f"<{kind}-{number:08d}-{random.Random(f'{kind}{number}').getrandbits(64):016x}>"


@pytest.mark.parametrize("seed", range(3))
async def test_no_byte_of_it_stays_in_the_file_or_beside_it(tmp_path: Path, seed: int):
    """Texts of all sizes (also over several pages), states that grow and shrink, redacted in any order."""
    rng = random.Random(seed)
    store = await SqliteStore.open(tmp_path / "ledger.db")
    records = [
        record(str(n), "x" * rng.choice((0, 9, 300, 2_000, 9_000)) + token(n, "text")) for n in range(400)
    ]
    for start in range(0, 400, 40):
        await store.append([Group((each,)) for each in records[start : start + 40]])
        for concept in range(6):
            state = "".join(token(start, f"state{concept}") for _ in range(rng.randrange(1, 200)))
            await store.save_checkpoint(Checkpoint(str(concept), 1, start, state.encode()))
    gone = rng.sample(range(400), 200)
    for start in range(0, 200, 20):
        await store.redact([left_of(records[n]) for n in gone[start : start + 20]])
    await store.renew_checkpoints([Checkpoint("0", 1, 400, b"nothing")])
    assert await store.scrub()
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for n in range(400):
        assert (token(n, "text").encode() in held) == (n not in gone)
    assert b"<state" not in held
    assert all(i.verifies() for i in await store.read(0, 500))
    await store.close()


async def test_a_reader_in_the_middle_is_told_of_and_the_next_scrub_is_whole(tmp_path: Path):
    store = await SqliteStore.open(tmp_path / "ledger.db")
    gone = record("gone", token(1, "text"))
    await store.append([Group((gone,))])
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM interaction").fetchall()
    await store.redact([left_of(gone)])
    assert not await store.scrub()
    assert any(token(1, "text").encode() in file.read_bytes() for file in tmp_path.iterdir())
    reader.execute("COMMIT")
    reader.close()
    assert await store.scrub()
    assert not any(token(1, "text").encode() in file.read_bytes() for file in tmp_path.iterdir())
    await store.append([Group((record("after"),))])
    await store.close()

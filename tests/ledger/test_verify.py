"""`relay verify` says in words what is wrong where."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from behaviours.redaction.searched_house import house, redact

from relay.ledger.blobs import Blobs
from relay.ledger.sqlite import SqliteStore
from relay.verify import Findings, look, told

pytestmark = pytest.mark.anyio


async def a_ledger(folder: Path) -> Path:
    """A ledger with a redacted message and a blob."""
    async with house(folder) as town:
        said = await town.say("say a secret")
        await town.seen("a secret")
        await town.say("x" * 20_000)
        await town.until_logged("turn.ended", 2)
        await town.quiet()
        await redact(town, said.message)
        await town.stop()
    return folder / "ledger.db"


async def looked_at(path: Path) -> Findings:
    store = await SqliteStore.open_readonly(path)
    try:
        return await look(store, Blobs(path.parent / "state" / "blobs"))
    finally:
        await store.close()


SEQ = "(SELECT {}(seq) FROM interaction WHERE verb = '{}')"
REWRITTEN = "UPDATE payload SET body = CAST(replace(CAST(body AS TEXT), '{}', '{}') AS BLOB) WHERE seq = {}"
LAST_SAID, FIRST_SAID = SEQ.format("max", "channel.message"), SEQ.format("min", "channel.message")
LOADED, PROMPTED = SEQ.format("min", "config.loaded"), SEQ.format("min", "turn.prompted")
GONE = "UPDATE payload SET salt = CAST('redacted payload' AS BLOB) WHERE seq = "
OTHER = "is not what was recorded"
DAMAGE = [
    (REWRITTEN.format("xxx", "xyx", LAST_SAID), "channel.message", "not the one that was recorded"),
    (REWRITTEN.format("main", "niam", FIRST_SAID), "channel.message", "not what its redaction left"),
    ("UPDATE interaction SET actor = 'mallory' WHERE verb = 'turn.ended'", "turn.ended", OTHER),
    ("UPDATE interaction SET key = key || '/2' WHERE verb = 'turn.started'", "turn.started", OTHER),
    ("DELETE FROM interaction WHERE verb = 'turn.prompted'", "turn.started", "is not in the ledger"),
    ("UPDATE interaction SET seq = 9000 WHERE seq = " + PROMPTED, "turn.started", "stands after it"),
    (GONE + LOADED, "config.loaded", "no redaction says"),
    ("DELETE FROM payload WHERE seq = " + LOADED, "config.loaded", "no redaction says"),
]


async def test_a_sound_ledger_is_told_to_be_sound(tmp_path: Path):
    path = await a_ledger(tmp_path)
    found = await looked_at(path)
    assert found.wrong == []
    assert found.redacted > 0
    assert found.blobs == 1
    assert found.unfinished == 0
    assert told(found, path)[-1] == "Everything is as it was written."


async def test_each_damage_is_told_with_its_place(tmp_path: Path):
    path = await a_ledger(tmp_path)
    whole = path.read_bytes()
    for statement, verb, words in DAMAGE:
        connection = sqlite3.connect(path)
        changed = connection.execute(statement).rowcount
        connection.commit()
        connection.close()
        assert changed > 0, statement
        found = await looked_at(path)
        assert any(verb in line and words in line for line in found.wrong), (statement, found.wrong)
        assert "wrong" in told(found, path)[-1]
        path.write_bytes(whole)


async def test_a_missing_blob_is_told(tmp_path: Path):
    path = await a_ledger(tmp_path)
    found = await looked_at(path)
    assert found.wrong == []
    for blob in (tmp_path / "state" / "blobs").rglob("*"):
        if blob.is_file() and blob.read_bytes() == b"x" * 20_000:
            blob.unlink()
    found = await looked_at(path)
    assert any("the blob" in line and "missing" in line for line in found.wrong)

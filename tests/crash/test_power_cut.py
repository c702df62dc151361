"""A power cut loses nothing that was acknowledged: the store's own code and SQL over a file layer that forgets."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest
from crash.power_cut_vfs import PowerCutVFS
from ledger.records import record

from relay.ledger.schema import PRAGMAS
from relay.ledger.sqlite import SqliteStore, ledger_at
from relay.ledger.store import Group

pytestmark = pytest.mark.anyio

CUTS = 20
LONG_CUTS = 120


class OverApsw:
    """As much of an aiosqlite connection as the store uses, over the file layer that loses its power."""

    def __init__(self, path: Path, vfs: str) -> None:
        self._connection = apsw.Connection(str(path), vfs=vfs)

    async def execute_fetchall(self, sql: str, values: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
        return list(self._connection.execute(sql, tuple(values)))

    async def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    @property
    def total_changes(self) -> int:
        return self._connection.total_changes()

    @property
    def in_transaction(self) -> bool:
        return not self._connection.get_autocommit()

    async def close(self) -> None:
        self._connection.close()


async def cut(folder: Path, seed: int, pragmas: Sequence[str] = PRAGMAS) -> tuple[int, int]:
    """Write until the power goes; then how many were acknowledged, and how many of them are lost. Everything that is
    there afterwards is whole, and it can be written on."""
    rng = Random(seed)
    live, after = folder / f"{seed}-live", folder / f"{seed}-after"
    live.mkdir(parents=True)
    after.mkdir()
    acknowledged: list[str] = []
    at_cut: list[str] = []
    await (await SqliteStore.open(live / "ledger.db")).close()
    name = f"power cut {folder.name} {seed}"
    vfs = PowerCutVFS(name, rng, rng.randint(5, 500), lambda: at_cut.extend(acknowledged))
    connection: Any = OverApsw(live / "ledger.db", name)
    for pragma in pragmas:
        await connection.execute_fetchall(pragma)
    store = SqliteStore(ledger_at(live / "ledger.db"), connection, connection)
    await store.look()
    number = 0
    while vfs.image is None:
        groups: list[Group] = []
        for _ in range(rng.choice((1, 1, 1, 3, 12, 700 if rng.random() < 0.05 else 5))):
            number += 1
            groups.append(Group((record(str(number), "x" * rng.choice((10, 300, 6000))),)))
        await store.append(groups)
        acknowledged.extend(r.id for group in groups for r in group.records)
        if rng.random() < 0.1:
            await store.idle()
        if rng.random() < 0.05:
            await store.save_cursors({"rule": store.head})
    await connection.close()
    vfs.restore(after)
    return len(at_cut), await lost(after / "ledger.db", at_cut)


async def lost(path: Path, acknowledged: Sequence[str]) -> int:
    store = await SqliteStore.open(path)
    records = await store.read(0, 1_000_000)
    assert all(i.verifies() for i in records)
    assert [i.seq for i in records] == list(range(1, len(records) + 1)), "what is there has no hole"
    (outcome,) = await store.append([Group((record("after the cut"),))])
    assert outcome.fresh == (True,)
    await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return len(set(acknowledged) - {i.id for i in records})


async def cuts(folder: Path, count: int, pragmas: Sequence[str] = PRAGMAS) -> tuple[int, int]:
    outcomes = [await cut(folder, seed, pragmas) for seed in range(count)]
    return sum(a for a, _ in outcomes), sum(missing for _, missing in outcomes)


async def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path):
    acknowledged, missing = await cuts(tmp_path, CUTS)
    assert acknowledged > 20 * CUTS
    assert missing == 0


async def test_the_power_cut_would_show_a_loss(tmp_path: Path):
    """With `synchronous=NORMAL` commits aren't synced: what this test is for must show there."""
    normal = [pragma.replace("synchronous=FULL", "synchronous=NORMAL") for pragma in PRAGMAS]
    acknowledged, missing = await cuts(tmp_path, CUTS // 2, normal)
    assert missing > acknowledged // 20


@pytest.mark.soak
async def test_many_power_cuts_lose_nothing(tmp_path: Path):
    acknowledged, missing = await cuts(tmp_path, LONG_CUTS)
    print(f"{LONG_CUTS} power cuts: {acknowledged} acknowledged, {missing} lost")
    assert missing == 0

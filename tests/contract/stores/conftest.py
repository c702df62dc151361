"""The stores that the contract is held against. Another joins by a name in `STORES` and a branch in `open_store`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from relay.ledger.memory import MemoryStore
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Store

STORES = ("memory", "sqlite")


async def open_store(kind: str, folder: Path) -> Store:
    if kind == "memory":
        return MemoryStore()
    return await SqliteStore.open(folder / "ledger.db")


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(request.param, tmp_path)
    yield opened
    await opened.close()

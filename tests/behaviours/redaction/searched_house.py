"""A relay whose files are searched for a text that was redacted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fakes.living import Living, living

from relay import verify
from relay.behaviours import discover
from relay.behaviours.redaction.reconciler_taking import Asked, ask, is_open
from relay.ledger.blobs import Blobs
from relay.ledger.engine import Engine
from relay.ledger.sqlite import SqliteStore

MARK = "Zebra-7741-Quartz"


def state_files(folder: Path) -> list[Path]:
    kept = [folder / "state", *folder.glob("page.db*"), *folder.glob("ledger.db*")]
    return [
        file for path in kept for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()
    ]


def holding(folder: Path, mark: str) -> list[str]:
    """The files of the state folder in which the mark stands, whatever else does."""
    return [file.name for file in state_files(folder) if mark.encode() in file.read_bytes()]


@asynccontextmanager
async def house(folder: Path, *, ledger: str = "ledger.db", **room: object) -> AsyncIterator[Living]:
    """A relay on SQLite, all of whose files lie in `folder`; its ledger is closed at the end."""
    (folder / "state").mkdir(exist_ok=True)
    store = await SqliteStore.open(folder / ledger)
    try:
        async with living(folder, store=store, **room) as town:
            yield town
    finally:
        await store.close()


async def redact(town: Living, id: str) -> Asked:
    parts = town.relay.parts
    asked = await ask(parts, id, by="root at the terminal", actor="terminal:root", why="a slip")
    await town.until(lambda: not is_open(parts, asked.records), "the redaction")
    return asked


async def sound(town: Living) -> None:
    """The ledger verifies, and a refold from nothing gives what the live folds hold."""
    await town.quiet()
    found = await verify.look(town.store, Blobs(town.folder / "state" / "blobs"))
    assert found.wrong == []
    assert town.relay.parts.trouble() == {}
    assert isinstance(town.store, SqliteStore)
    live = town.relay.parts.engine.view
    await town.store.renew_checkpoints([])
    anew = Engine(town.store, tuple(b.furniture for b in discover()), town.clock, lambda: b"s" * 16)
    await anew.boot()
    assert anew.trouble() == {}
    assert anew.view.digest() == live.digest()

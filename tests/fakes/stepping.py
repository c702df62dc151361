"""A relay that moves one round of the event loop at a time: no thread and no timer takes part.

So a test can do something after each number of rounds in turn, and meets every order in which two things may come.
"""

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from fakes.chat_in_memory import ChatInMemory
from fakes.living import FastClock, access

from relay.agents.runtime import Runtime
from relay.app import Relay, build
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.turns.concept import Turns
from relay.ledger.memory import MemoryStore
from relay.surfaces.surface import Surfaces


def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would go to a thread is done at once, one round of the loop later; the disk is not waited for."""

    async def run_sync(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return function(*arguments)

    monkeypatch.setattr("anyio.to_thread.run_sync", run_sync)
    monkeypatch.setattr("os.fsync", lambda _: None)


@asynccontextmanager
async def stepping(
    tmp_path: Path, busy: str, runtimes: Mapping[str, Runtime] | None = None
) -> AsyncIterator[tuple[Relay, ChatInMemory]]:
    """A running relay over a chat that is spoken in by hand."""
    clock = FastClock(1.0)
    chat = ChatInMemory(clock)
    relay = await build(
        access=access(tmp_path, busy=busy),
        digest="",
        zone="UTC",
        store=MemoryStore(),
        clock=clock,
        surfaces=Surfaces({"web": chat}),
        state=tmp_path / "state",
        entropy=os.urandom,
        runtimes=runtimes,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(relay.run)
        yield relay, chat
        tasks.cancel_scope.cancel()


async def rounds(number: int) -> None:
    for _ in range(number):
        await anyio.lowlevel.checkpoint()


async def at_rest(relay: Relay) -> None:
    """Until nothing runs, waits or is owed."""
    view, calm = relay.parts.engine.view, 0
    for _ in range(20_000):
        await anyio.lowlevel.checkpoint()
        lane = view.of(Turns).lane("web:main")
        outbox = view.of(Outbox).state
        calm = 0 if lane.running or lane.waiting or outbox.where or outbox.reactions else calm + 1
        if calm > 30:
            return
    raise AssertionError("it did not come to rest")

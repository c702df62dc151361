"""A message that comes as a turn ends belongs to exactly one turn, whatever the moment.

No thread and no timer takes part here: the relay moves one round of the event loop at a time, and the message comes
after each number of them in turn, from before the agent's turn began to well after it was over.
"""

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from fakes.chat_in_memory import ChatInMemory
from fakes.living import FastClock, access

from relay.app import Relay, build
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.turns.concept import Turns
from relay.ledger.memory import MemoryStore
from relay.surfaces.surface import Surfaces

pytestmark = pytest.mark.anyio
MOST_ROUNDS = 600
BEYOND = 25
"""Rounds behind the turn's end that are still tried."""
FIRST = "say first of {n}.\ntool write f.txt x\ntool read f.txt\ntool append f.txt x\ntool read f.txt"


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would go to a thread is done at once, one round of the loop later; the disk is not waited for."""

    async def run_sync(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return function(*arguments)

    monkeypatch.setattr("anyio.to_thread.run_sync", run_sync)
    monkeypatch.setattr("os.fsync", lambda _: None)


@asynccontextmanager
async def stepping(tmp_path: Path, busy: str) -> AsyncIterator[tuple[Relay, ChatInMemory]]:
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
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(relay.run)
        yield relay, chat
        tasks.cancel_scope.cancel()


async def at_rest(relay: Relay) -> None:
    view, calm = relay.parts.engine.view, 0
    for _ in range(20_000):
        await anyio.lowlevel.checkpoint()
        lane = view.of(Turns).lane("web:main")
        outbox = view.of(Outbox).state
        calm = 0 if lane.running or lane.waiting or outbox.where or outbox.reactions else calm + 1
        if calm > 30:
            return
    raise AssertionError("it did not come to rest")


async def taken(relay: Relay) -> Counter[str]:
    """How often each prompt was taken by a turn."""
    counted: Counter[str] = Counter()
    for i in await relay.parts.engine.store.read(0, 1_000_000):
        if i.verb == "turn.started":
            counted.update(i.body["takes"])
        elif i.verb == "turn.steered":
            counted[i.body["prompt"]] += 1
        elif i.verb == "turn.prompted":
            counted[i.id] += 0
    return counted


@pytest.mark.parametrize("busy", ["steer", "queue", "interrupt"])
async def test_l14_m8_a_message_at_the_edge_belongs_to_exactly_one_turn(
    tmp_path: Path, inline: None, busy: str
) -> None:
    came: Counter[str] = Counter()
    beyond = 0
    async with stepping(tmp_path, busy) as (relay, chat):
        (intake,) = relay.intakes
        for n in range(MOST_ROUNDS):
            before = relay.parts.engine.head
            await intake.message(chat.write(FIRST.format(n=n)))
            for _ in range(n):
                await anyio.lowlevel.checkpoint()
            await intake.message(chat.write(f"say second of {n}."))
            await at_rest(relay)
            log = await relay.parts.engine.store.read(before, 1_000_000)
            verbs = [
                i.verb
                for i in log
                if i.verb in ("turn.prompted", "turn.started", "turn.steered", "turn.ended")
            ]
            when = {0: "before", 1: "during", 2: "after"}[
                min(len(verbs[1 : verbs.index("turn.prompted", 1)]), 2)
            ]
            came[f"{when}, steered" if "turn.steered" in verbs else when] += 1
            assert verbs.count("turn.started") == verbs.count("turn.ended")
            said = "\n".join(chat.ours())
            assert said.count(f"second of {n}.") == 1, (n, verbs)
            assert said.count(f"first of {n}.") <= 1, (n, verbs)
            assert said.count(f"first of {n}.") == 1 or busy == "interrupt", (n, verbs)
            both = {
                f"m{number}"
                for number, s in enumerate(chat.said, 1)
                if f"of {n}." in s.post.text and s.person
            }
            marks = {(message, emoji) for message, emoji in chat.our_reactions if message in both}
            assert marks == {(message, "👀") for message in both}, (n, verbs)
            beyond = beyond + 1 if when == "after" else 0
            if beyond > BEYOND:
                break
        assert set((await taken(relay)).values()) == {1}
    assert came["after"] > BEYOND
    assert came["during"], "it came too late to go into the turn, and ran next"
    assert bool(came["during, steered"]) == (busy == "steer"), came

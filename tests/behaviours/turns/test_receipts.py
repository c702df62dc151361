"""A message says what became of it: 👀 the agent has it, 📥 it waits, 🚫 it was taken out."""

from pathlib import Path

import pytest
from fakes.living import ADA, OWNER, Living, living

pytestmark = pytest.mark.anyio


async def marks(relay: Living, message: str, place: str = "main") -> list[str]:
    """The relay's own reactions on a message."""
    (found,) = [m for m in await relay.messages(place) if m["id"] == message]
    return [r["emoji"] for r in found["reactions"] if any(p["id"] == "relay" for p in r["people"])]


@pytest.mark.trunk
async def test_a_message_that_runs_at_once_is_marked_so_and_by_nothing_else(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say hello")
        await relay.seen("hello")
        await relay.quiet()
        assert await marks(relay, said.message) == ["👀"]


@pytest.mark.trunk
async def test_a_message_that_waits_says_so_until_its_turn_begins(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("say first\nslow 20")
        await relay.turn_runs()
        waits = await relay.say("say second")
        await relay.reacted(waits.message, "📥")
        assert await marks(relay, waits.message) == ["📥"]
        await relay.seen("second")
        await relay.quiet()
        assert await marks(relay, waits.message) == ["👀"]


async def test_a_message_that_went_into_the_running_turn_is_marked_as_taken(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say first\nslow 3000")
        await relay.turn_runs()
        more = await relay.say("say more")
        await relay.until_logged("turn.steered")
        await relay.reacted(more.message, "👀")
        await relay.quiet(but_for_turns=True)
        assert await marks(relay, more.message) == ["👀"]


async def test_a_message_waits_visibly_where_all_agents_are_busy_elsewhere(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"agents": 1}) as relay:
        await relay.say("slow 20")
        await relay.turn_runs()
        said = await relay.say("say two", "side")
        await relay.reacted(said.message, "📥", "side")
        await relay.seen("two", "side")
        await relay.quiet()
        assert await marks(relay, said.message, "side") == ["👀"]


async def test_a_message_taken_back_is_marked_as_dropped(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        waits = await relay.say("say no", by=ADA)
        await relay.reacted(waits.message, "📥")
        await relay.react(waits.message, "🛑", by=ADA)
        await relay.reacted(waits.message, "🚫")
        await relay.quiet(but_for_turns=True)
        assert await marks(relay, waits.message) == ["🚫"]


async def test_what_comes_over_the_queue_is_marked_as_dropped(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue", limits={"queue": 1}) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("say a")
        over = await relay.say("say b")
        await relay.reacted(over.message, "🚫")
        await relay.quiet(but_for_turns=True)
        assert await marks(relay, over.message) == ["🚫"]


async def test_m3_a_burst_behind_a_turn_waits_together_and_is_one_next_turn(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("say first\nslow 20")
        await relay.turn_runs()
        burst = [await relay.say(f"say {n}") for n in range(5)]
        for said in burst:
            await relay.reacted(said.message, "📥")
        await relay.seen("0\n1\n2\n3\n4")
        await relay.quiet()
        assert [await marks(relay, said.message) for said in burst] == [["👀"]] * 5
        assert len(await relay.log("turn.started")) == 2


async def test_a_message_that_waited_over_a_kill_says_in_the_end_that_it_was_taken(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("say first\nslow 20")
        await relay.turn_runs()
        waits = await relay.say("say second", by=OWNER)
        await relay.until_logged("turn.prompted", 2)
        await relay.restart(kill=True)
        await relay.seen("second")
        await relay.quiet()
        assert await marks(relay, waits.message) == ["👀"]

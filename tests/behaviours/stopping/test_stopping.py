"""`!stop` and 🛑: by the owner, or by who asked for the turn, and by nobody else."""

from pathlib import Path

import pytest
from fakes.living import ADA, BEN, living

from relay.behaviours.turns.verbs import TurnWithdrawn
from relay.ledger.interaction import Draft

pytestmark = pytest.mark.anyio


async def test_the_owner_stops_any_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000", by=ADA)
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.seen("Stopped (Olga)")
        assert await relay.ends() == ["cancelled"]


async def test_who_asked_stops_their_own_and_nobody_else_s(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000", by=ADA)
        await relay.turn_runs()
        await relay.say("!stop", by=BEN)
        await relay.seen("Only the owner, or who asked for this turn, may stop it.")
        assert await relay.turn_runs()
        await relay.say("!stop", by=ADA)
        await relay.seen("Stopped (Ada)")


async def test_a_message_that_is_dropped_just_after_its_turn_began_stops_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("slow 3000", by=ADA)
        await relay.turn_runs()
        (prompt,) = await relay.log("turn.prompted")
        dropped = TurnWithdrawn(prompt=prompt.id, why="dropped", by="Ada", message=said.message)
        await relay.relay.parts.engine.admit(Draft.of(dropped, prompt.id, actor="test", scope="web:main"))
        await relay.seen("Stopped (Ada)")


async def test_a_stop_where_nothing_runs_says_so(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!stop")
        await relay.seen("Nothing is running here.")


async def test_a_stop_sign_on_the_message_stops_its_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("slow 3000", by=ADA)
        await relay.turn_runs()
        await relay.react(said.message, "🛑", by=BEN)
        await relay.quiet(but_for_turns=True)
        assert await relay.turn_runs(), "Ben did not ask for it"
        await relay.react(said.message, "🛑", by=ADA)
        await relay.seen("Stopped (Ada)")


async def test_a_stop_sign_on_a_message_that_steered_stops_the_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        second = await relay.say("say more")
        await relay.until_logged("turn.steered")
        await relay.react(second.message, "🛑")
        await relay.seen("Stopped (Olga)")


async def test_a_stop_sign_on_a_waiting_message_takes_that_one_back(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("say first\nslow 20")
        await relay.turn_runs()
        dropped = await relay.say("say dropped", by=ADA)
        await relay.say("say kept", by=ADA)
        await relay.until_logged("turn.prompted", 3)
        await relay.react(dropped.message, "🛑", by=BEN)
        await relay.react(dropped.message, "🛑", by=ADA)
        await relay.quiet()
        assert await relay.ours() == ["first", "kept"]
        (withdrawn,) = await relay.log("turn.withdrawn")
        assert (withdrawn.body["why"], withdrawn.body["by"]) == ("dropped", "Ada")


async def test_taking_a_stop_sign_back_does_nothing(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        first = await relay.say("say first")
        await relay.seen("first")
        await relay.react(first.message, "🛑")
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.react(first.message, "🛑", add=False)
        await relay.until_logged("channel.reacted", 2)
        await relay.quiet(but_for_turns=True)
        assert await relay.turn_runs()


async def test_m9_of_two_threads_only_the_stopped_one_stops(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        one, two = await relay.thread("one"), await relay.thread("two")
        for place in (one, two):
            await relay.say("slow 3000", place)
            await relay.turn_runs(f"web:{place}")
        await relay.say("!stop", one)
        await relay.seen("Stopped (Olga)", one)
        assert await relay.turn_runs(f"web:{two}")
        assert [i.scope for i in await relay.log("turn.ended")] == [f"web:{one}"]


async def test_many_stops_are_one_end(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.react(said.message, "🛑")
        await relay.react(said.message, "🛑", by=ADA)
        await relay.seen("Stopped (Olga)")
        await relay.quiet()
        assert await relay.ends() == ["cancelled"]
        assert sum("Stopped" in text for text in await relay.ours()) == 1

"""A message becomes a turn, and the reply is posted in the same place."""

from pathlib import Path

import anyio
import pytest
from fakes.living import ADA, OWNER, Living, living

from relay.ledger.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.mark.trunk
async def test_a_message_is_answered_in_the_same_place_and_the_asker_is_called_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("hello there")
        answer = await relay.seen("You said: hello there")
        assert answer["reply_to"] == said.message
        assert answer["ping"] == ["web:owner"]
        await relay.reacted(said.message, "👀")
        await relay.quiet()
        assert await relay.ours() == ["You said: hello there"]
        assert await relay.ours("side") == []


async def test_the_same_holds_on_a_ledger_in_a_file(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "ledger.db")
    try:
        async with living(tmp_path, store=store) as relay:
            await relay.say("say one\ntool write a.txt kept")
            await relay.seen("one\nwrote a.txt")
            await relay.restart(kill=True)
            await relay.say("tool read a.txt")
            await relay.seen("a.txt: kept")
            await relay.say("!status")
            await relay.seen("Nothing is running here.")
            assert await relay.ends() == ["completed", "completed"]
    finally:
        await store.close()


@pytest.mark.trunk
async def test_a_thread_has_its_own_session_and_its_room_s_workspace(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        thread = await relay.thread()
        await relay.say("tool write shared.txt from the thread", thread)
        await relay.seen("wrote shared.txt", thread)
        await relay.say("tool read shared.txt")
        await relay.seen("from the thread")
        await relay.say("tool read shared.txt", "side")
        await relay.seen("No such file", "side")
        opened = await relay.log("session.opened")
        assert len({i.body["token"] for i in opened}) == 3
        assert {i.scope for i in opened} == {"web:main", f"web:{thread}", "web:side"}


async def test_several_turns_of_a_scope_are_one_session(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for number in range(3):
            await relay.say(f"say {number}")
            await relay.seen(f"{number}")
        assert len(await relay.log("session.opened")) == 1


async def test_two_scopes_run_at_the_same_time(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("quick", "side")
        await relay.seen("You said: quick", "side")
        assert await relay.turn_runs()


async def test_m3_five_messages_at_once_never_run_two_turns_in_one_scope(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(relay.say, f"say number {number}")
        for number in range(5):
            await relay.seen(f"number {number}")
        await relay.quiet()
        running = 0
        for i in await relay.log("turn."):
            running += {"turn.started": 1, "turn.ended": -1}.get(i.verb, 0)
            assert running in (0, 1)
        answered = "\n".join(await relay.ours())
        assert [answered.count(f"number {n}") for n in range(5)] == [1] * 5


async def slow_then(relay: Living, *more: str) -> list[str]:
    """A turn that takes a while, and messages sent while it runs; what was seen of all when all is over."""
    await relay.say("say first\nslow 12")
    await relay.turn_runs()
    for text in more:
        await relay.say(text)
    await relay.quiet()
    return await relay.ours()


async def test_m2_a_message_sent_while_a_turn_runs_steers_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        assert await slow_then(relay, "say second") == ["first\nsecond"]
        assert len(await relay.log("turn.started")) == 1
        assert len(await relay.log("turn.steered")) == 1


async def test_m2_where_queue_was_chosen_it_waits_for_the_next_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!busy queue")
        told = await relay.seen("waits for the next one")
        assert "⚙️" in told["text"]
        assert (await slow_then(relay, "say second"))[1:] == ["first", "second"]


async def test_m2_where_interrupt_was_chosen_it_ends_the_turn_and_runs_next(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!busy interrupt")
        await relay.seen("stops it and runs next")
        await relay.say("say first\nslow 3000")
        await relay.turn_runs()
        await relay.say("say second")
        await relay.seen("second")
        await relay.seen("Stopped (Olga)")
        await relay.seen("first")
        assert await relay.ends() == ["cancelled", "completed"]


async def test_what_access_json_says_of_a_busy_turn_holds_until_somebody_chooses(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        assert await slow_then(relay, "say second") == ["first", "second"]
        await relay.say("!busy steer")
        await relay.seen("goes into that turn")
        assert (await slow_then(relay, "say third"))[-1] == "first\nthird"


async def test_a_choice_outlives_a_restart_and_holds_for_its_scope_alone(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!busy queue")
        await relay.seen("waits for the next one")
        await relay.restart()
        assert (await slow_then(relay, "say second"))[1:] == ["first", "second"]
        await relay.say("say one\nslow 12", "side")
        await relay.turn_runs("web:side")
        await relay.say("say two", "side")
        await relay.seen("one\ntwo", "side")


async def test_a_wrong_mode_is_told_and_chooses_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!busy loudly")
        await relay.seen("Type `!busy steer`, `!busy queue` or `!busy interrupt`.")
        assert not await relay.log("setting.")


@pytest.mark.trunk
async def test_what_waits_is_taken_by_one_turn_and_answered_at_once(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        assert await slow_then(relay, "say a", "say b", "say c") == ["first", "a\nb\nc"]
        first, second = await relay.log("turn.started")
        assert (len(first.body["takes"]), len(second.body["takes"])) == (1, 3)


async def test_what_another_role_says_is_another_turn(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 12")
        await relay.turn_runs()
        for text, who in (("say a", OWNER), ("say b", ADA), ("say c", OWNER)):
            await relay.say(text, by=who)
        await relay.quiet()
        assert await relay.ours() == ["a", "b", "c"]
        assert [i.role for i in await relay.log("turn.started")] == ["owner", "owner", "human", "owner"]


async def test_another_role_does_not_steer(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say mine\nslow 12")
        await relay.turn_runs()
        await relay.say("say hers", by=ADA)
        await relay.quiet()
        assert await relay.ours() == ["mine", "hers"]
        assert (await relay.messages())[-1]["ping"] == ["web:ada"]


async def test_a_full_queue_is_told_and_drops_what_came_last_only(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue", limits={"queue": 2}) as relay:
        await relay.say("slow 12")
        await relay.turn_runs()
        for text in ("say a", "say b"):
            await relay.say(text)
        dropped = await relay.say("say c")
        told = await relay.seen("2 messages wait here already, so I dropped this one")
        assert told["reply_to"] == dropped.message
        await relay.quiet()
        assert (await relay.ours())[1:] == ["a\nb"]


async def test_l14_a_message_behind_a_stop_runs_next(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.say("say still there")
        await relay.seen("still there")
        await relay.seen("Stopped (Olga)")


async def test_no_more_agents_run_at_once_than_access_json_says(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"agents": 1}) as relay:
        await relay.say("say one\nslow 12")
        await relay.turn_runs()
        await relay.say("say two", "side")
        await relay.seen("two", "side")
        assert await relay.ours() == ["one"], "the second began when the first had ended"


async def test_a_stop_is_heard_while_all_agents_are_busy(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"agents": 1}) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("say two", "side")
        await relay.say("!status", "side")
        await relay.seen("Nothing is running here.", "side")
        await relay.say("!stop")
        await relay.seen("Stopped (Olga)")
        await relay.seen("two", "side")

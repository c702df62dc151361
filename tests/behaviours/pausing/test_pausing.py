"""`!pause` holds the lanes of a room or of all, visibly, over restarts; `!resume` lets them go on."""

from pathlib import Path

import pytest
from fakes.living import ADA, BEN, living

from relay.surfaces.web.ledger_facts import LedgerFacts

pytestmark = pytest.mark.anyio


async def test_a_paused_room_keeps_what_comes_and_answers_it_when_it_goes_on(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        thread = await relay.thread()
        await relay.say("!pause")
        await relay.seen("This room is paused: messages and fires wait until `!resume`")
        first = await relay.say("say one", by=ADA)
        await relay.say("say two", thread)
        await relay.reacted(first.message, "📥")
        await relay.quiet()
        assert not await relay.log("turn.started"), "neither the room nor its threads begin a turn"
        await relay.say("elsewhere", "side")
        await relay.seen("You said: elsewhere", "side")
        await relay.say("!resume")
        await relay.seen("This room goes on. 2 messages waited and will run now.")
        await relay.seen("one")
        await relay.seen("two", thread)
        await relay.reacted(first.message, "👀")


async def test_who_writes_in_a_paused_lane_is_told_so_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!pause")
        await relay.seen("is paused")
        first = await relay.say("say one", by=ADA)
        told = await relay.seen("This room is paused (by Olga): your message is kept")
        assert told["reply_to"] == first.message
        await relay.say("say more", by=ADA)
        await relay.say("say three", by=BEN)
        await relay.seen("your message is kept", times=2)
        await relay.quiet()
        assert sum("your message is kept" in text for text in await relay.ours()) == 2
        await relay.say("!resume")
        await relay.seen("goes on")
        await relay.say("!pause")
        await relay.say("say four", by=ADA)
        await relay.seen("your message is kept", times=3)


async def test_a_pause_outlives_a_restart_and_an_interrupted_turn_waits_for_its_end(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say begun\nslow 10")
        await relay.turn_runs()
        await relay.say("!pause")
        await relay.seen("1 turn still running")
        await relay.restart(kill=True)
        await relay.seen("I go on with it when the pause is over.")
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1
        await relay.say("!resume")
        await relay.seen("begun")


async def test_a_running_turn_goes_on_and_takes_in_nothing_more(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say first\nslow 15")
        await relay.turn_runs()
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("say second")
        await relay.seen("first")
        await relay.quiet()
        assert not any(text == "first\nsecond" for text in await relay.ours())
        assert not await relay.log("turn.steered")


async def test_a_message_does_not_interrupt_where_it_could_not_run(tmp_path: Path) -> None:
    async with living(tmp_path, busy="interrupt") as relay:
        await relay.say("say first\nslow 15")
        await relay.turn_runs()
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("say second")
        await relay.seen("first")
        assert await relay.ends() == ["completed"]


async def test_watches_go_on_looking_and_their_prompts_wait(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.say("!pause")
        await relay.seen("is paused")
        (relay.work / "notes.md").write_text("x\n")
        await relay.until_logged("watch.fired")
        await relay.quiet()
        assert not await relay.log("turn.started")
        await relay.say("!resume")
        await relay.seen("↳ triggered by watch «notes»")


async def test_all_rooms_are_paused_and_resumed_with_one_command(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!pause all", "side")
        await relay.seen("Every room is paused", "side")
        await relay.say("say one")
        await relay.seen("Every room is paused (by Olga): your message is kept")
        await relay.say("!resume")
        await relay.seen("Every room is paused; `!resume all` ends that.")
        await relay.say("!resume all")
        await relay.seen("Every room goes on. 1 message waited and will run now.")
        await relay.seen("one")


async def test_resume_all_ends_the_pause_of_a_single_room_too(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("say one")
        await relay.say("!resume all", "side")
        await relay.seen("one")


async def test_status_and_queue_show_the_pause(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("!status")
        await relay.seen("⏸️ This room is paused, by Olga, for ")
        thread = await relay.thread()
        await relay.say("!status", thread)
        await relay.seen("⏸️ This room is paused, by Olga, for ", thread)
        await relay.say("say it")
        await relay.say("!queue")
        told = await relay.seen("1 message waiting here")
        assert "⏸️ This room is paused" in told["text"]


async def test_a_pause_is_the_owner_s_alone_and_is_said_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for number, word in enumerate(("!pause", "!resume", "!pause all", "!resume all"), 1):
            await relay.say(word, by=ADA)
            await relay.seen("Only the owner may do that here.", times=number)
        assert not await relay.log("setting.chosen")
        await relay.say("!resume")
        await relay.seen("Nothing is paused here.")
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("!pause")
        await relay.seen("It is paused already, by Olga.")


async def test_stop_all_ends_every_turn_for_the_owner_alone(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 3000", by=ADA)
        await relay.turn_runs()
        await relay.say("slow 3000", "side")
        await relay.turn_runs("web:side")
        await relay.say("!stop all", by=ADA)
        await relay.seen("Only the owner may do that here.")
        assert relay.running()
        assert relay.running("web:side")
        await relay.say("say next")
        await relay.until_logged("turn.prompted", 3)
        await relay.say("!stop all")
        await relay.seen("🛑 Stopping 2 turns. 1 message that waited will run now; `!pause all` holds them.")
        await relay.seen("Stopped (Olga)")
        await relay.seen("Stopped (Olga)", "side")
        await relay.seen("next")
        await relay.say("!stop all")
        await relay.seen("🛑 No turn runs anywhere.")


async def test_everything_is_paused_and_stopped_by_one_command_each(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("say waits")
        await relay.say("!pause all")
        await relay.seen("Every room is paused")
        await relay.say("!stop all")
        await relay.seen("🛑 Stopping 1 turn.")
        await relay.seen("Stopped (Olga)")
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1


async def test_the_page_shows_a_lane_that_is_held(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        facts = LedgerFacts(relay.relay.parts)
        await relay.say("!pause")
        await relay.seen("is paused")
        await relay.say("say one")
        await relay.say("say two")
        await relay.until_logged("turn.prompted", 2)
        (fact,) = facts.turns()
        assert (fact.scope, fact.state, fact.waiting) == ("web:main", "paused", 2)
        await relay.say("!resume")
        await relay.seen("one\ntwo")
        await relay.quiet()
        assert facts.turns() == []

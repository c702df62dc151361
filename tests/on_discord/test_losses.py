"""Nothing is lost and nothing is done twice: gaps, restarts, events that come twice, late or never."""

from pathlib import Path

import anyio
import pytest
from fakes.discord import oddities
from town import town

pytestmark = pytest.mark.anyio


async def test_what_was_said_while_no_relay_ran_is_answered_once_in_order(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        async with here.away():
            for number in range(3):
                here.ask(f"say missed {number}")
            thread = here.ada.open_thread(here.room, "Begun meanwhile")
            here.ask("say in the new thread", thread, here.ada)
        await here.answered("missed 2")
        await here.answered("in the new thread", thread)
        async with here.away(kill=False):
            pass
        await here.quiet()
        answers = "\n".join(here.ours())
        assert [answers.count(f"missed {number}") for number in range(3)] == [1, 1, 1]
        assert answers.index("missed 0") < answers.index("missed 1") < answers.index("missed 2")
        assert len(here.ours(thread)) == 1


async def test_the_first_start_replays_nothing_of_old_rooms_and_threads(tmp_path: Path) -> None:
    async with town(tmp_path, start=False) as here:
        thread = here.ada.open_thread(here.room, "Old")
        here.ask("say old")
        here.ask("say old too", thread)
        await here.start()
        here.ask("say new")
        await here.answered("new")
        async with here.away():
            here.ask("say new in the old thread", thread)
        await here.answered("new in the old thread", thread)
        await here.quiet()
        assert len(here.ours()) == len(here.ours(thread)) == 1


async def test_what_was_said_in_a_thread_before_it_was_joined_is_never_taken(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        thread = here.ada.open_thread(here.room, "Task")
        here.ada.say(thread, "say to Ben alone")
        here.ask("say joined", thread, here.ada)
        await here.answered("joined", thread)
        async with here.away():
            pass
        await here.quiet()
        assert len(here.ours(thread)) == 1


async def test_a_gap_whose_resume_is_refused_is_closed_from_the_history(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.gateway.faults.refuse_resumes(90)
        here.server.gateway.cut()
        here.ask("say in the gap")
        await here.answered("in the gap")
        here.ask("say after it")
        await here.answered("after it")
        await here.quiet()
        assert len(here.ours()) == 2


async def test_l15_a_minute_without_discord_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue", speed=50) as here:
        here.server.gateway.faults.refuse_resumes(600)
        async with here.server.outage():
            for number in range(3):
                here.ask(f"say away {number}")
            await anyio.sleep(1.2)
            assert "no connection to Discord" in here.surface.trouble
        for number in range(3):
            await here.answered(f"away {number}")
        await here.quiet()
        assert len("\n".join(here.ours()).split("away ")) == 4
        assert here.surface.trouble == ""


async def test_l9_three_refused_sessions_in_a_row_end_in_a_new_one(tmp_path: Path) -> None:
    async with town(tmp_path, speed=50) as here:
        for _ in range(3):
            here.server.gateway.invalidate(resumable=False)
            await anyio.sleep(0.05)
        here.ask("say still there")
        await here.answered("still there")


@pytest.mark.parametrize("same_number", [True, False])
async def test_d1_d2_a_message_that_is_told_twice_is_one_turn(tmp_path: Path, same_number: bool) -> None:
    async with town(tmp_path) as here:
        here.server.gateway.faults.double("MESSAGE_CREATE", same_number=same_number)
        here.ask("say once")
        await here.answered("once")
        here.server.gateway.cut()
        here.ask("say next")
        await here.answered("next")
        await here.quiet()
        assert [t.split("\n")[0] for t in here.ours()] == ["once", "next"]


async def test_l3_an_event_that_never_comes_is_found_by_the_scan(tmp_path: Path) -> None:
    async with town(tmp_path, speed=200) as here:
        here.server.gateway.faults.drop("MESSAGE_CREATE")
        here.ask("say lost and found")
        await here.answered("lost and found")
        await here.quiet()
        assert len(here.ours()) == 1


async def test_l6_a_gateway_that_went_deaf_is_left_for_a_new_session(tmp_path: Path) -> None:
    async with town(tmp_path, speed=200) as here:
        here.server.gateway.faults.silence()
        await anyio.sleep(0.4)
        here.ask("say anybody there")
        await here.answered("anybody there")
        await here.server.until(lambda: here.server.gateway.heard.count("identify") >= 2, within=10)
        here.server.gateway.faults.speak()
        here.ask("say heard again")
        await here.answered("heard again")


async def test_odd_and_missing_fields_of_other_servers_hurt_nobody(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        gateway = here.server.gateway.faults
        gateway.reshape("MESSAGE_CREATE", oddities.integer_ids, times=1)
        here.ask("say with numbers")
        await here.answered("with numbers")
        bare = oddities.without("member", "mentions", "type", "timestamp", "nonce", "global_name", "flags")
        gateway.reshape("MESSAGE_CREATE", bare, times=1)
        here.server.faults.reshape(
            "POST", "/channels/*/messages", oddities.without("content", "author"), times=1
        )
        here.ask("say with little")
        await here.answered("with little")
        gateway.reshape("MESSAGE_CREATE", oddities.without("author", "id"), times=1)
        here.ada.say(here.room, "unreadable")
        here.server.gateway.raw("NEVER_HEARD_OF", {"x": 1})
        here.server.faults.reshape("GET", "/channels/*/messages", oddities.oldest_first)
        async with here.away():
            for number in range(3):
                here.ask(f"say missed {number}")
        await here.answered("missed 2")
        await here.quiet()
        assert here.server.gateway.heard.count("identify") == 2


async def test_a_flood_of_more_than_fits_loses_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue", limits={"queue": 200}) as here:
        here.surface._hearing.inbox._room = 5
        for number in range(60):
            here.ask(f"say flood {number}.")
        await here.answered("flood 59.")
        await here.quiet()
        answers = "\n".join(here.ours())
        assert [answers.count(f"flood {number}.") for number in range(60)] == [1] * 60


async def test_a_reaction_that_is_told_twice_or_again_by_a_resume_retries_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("say again")
        await here.answered("again")
        here.server.gateway.faults.double("MESSAGE_REACTION_ADD")
        here.olga.react(said, "🔁")
        await here.answered("again", times=2)
        await here.quiet()
        assert len(here.ours()) == 2
        here.olga.unreact(said, "🔁")
        here.olga.react(said, "🔁")
        await here.answered("again", times=3)


async def test_a_stop_by_reaction(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("slow 600\nsay never")
        await here.server.until(lambda: "👀" in here.room.seen()[0].reactions)
        here.zoe.react(said, "🛑")
        here.ada.react(said, "🛑")
        await anyio.sleep(0.2)
        here.olga.react(said, "🛑")
        await here.answered("🛑 Stopped (Olga).")
        await here.quiet()
        assert len(here.ours()) == 1


async def test_a_file_watch_fires_in_the_thread_where_it_was_armed(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        notes = tmp_path / "work" / "notes.md"
        notes.parent.mkdir(exist_ok=True)
        notes.write_text("one\n")
        thread = here.olga.open_thread(here.room, "Notes")
        here.ask("!watch notes --file notes.md", thread)
        await here.answered("Watching «notes»", thread)
        await anyio.sleep(0.3)
        notes.write_text("one\ntwo\n")
        fired = await here.answered("↳ triggered by watch «notes»", thread)
        assert "+two" in fired.text
        async with here.away():
            notes.write_text("one\ntwo\nthree\n")
        assert "+three" in (await here.answered("+three", thread)).text
        assert here.ours() == []


async def test_a_channel_that_can_t_be_read_holds_up_no_other(tmp_path: Path) -> None:
    async with town(tmp_path, speed=100) as here:
        broken = here.guild.text_channel("broken")
        rooms = {**here.access.rooms, f"discord:{broken.id}": here.access.rooms[f"discord:{here.room.id}"]}
        here.access = here.access.model_copy(update={"rooms": rooms})
        await here.kill()
        here.server.faults.answer("GET", f"/channels/{broken.id}/messages", 503, times=None)
        here.ask("say read")
        here.ask("say read later", broken)
        await here.start(wait=False)
        await here.server.until(lambda: here.server.gateway.heard.count("identify") == 2)
        here.ask("say heard")
        await here.answered("heard")
        assert here.ours(broken) == []
        here.server.faults.clear()
        here.ask("say now", broken)
        await here.answered("now", broken)


async def test_l11_a_thread_that_must_be_joined_is_joined_when_it_opens_and_when_it_is_opened_again(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        here.server.world.rules.threads_need_membership = True
        thread = here.ada.open_thread(here.room, "Members only")
        await here.server.until(lambda: here.bot.user.id in thread.channel.thread.members)
        here.ask("say inside", thread)
        await here.answered("inside", thread)
        thread.archive()
        del thread.channel.thread.members[here.bot.user.id]
        thread.unarchive()
        await here.server.until(lambda: here.bot.user.id in thread.channel.thread.members)
        here.ada.say(thread, "say still inside")
        await here.answered("still inside", thread)


async def test_l5_of_many_threads_that_are_behind_the_one_that_can_t_be_read_keeps_its_place(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, speed=60) as here:
        await here.kill()
        threads = [here.ada.open_thread(here.room, f"Task {number}") for number in range(21)]
        for number, thread in enumerate(threads):
            here.ask(f"say answer {number}.", thread)
        hard = f"/channels/{threads[7].id}/messages"
        here.server.faults.answer("GET", hard, 503, times=3)
        await here.start(wait=False)
        for number, thread in enumerate(threads):
            await here.answered(f"answer {number}.", thread)
        async with here.away():
            pass
        await here.quiet()
        assert [len(here.ours(thread)) for thread in threads] == [1] * 21

"""What Discord refuses, loses or puts off: each answer stands once all the same, or is seen not to."""

from pathlib import Path

import pytest
from fakes.discord import permissions
from town import town

from relay.behaviours.turns.concept import Turns

pytestmark = pytest.mark.anyio

SEND = ("POST", "/channels/*/messages")


async def test_d5_an_answer_whose_confirmation_was_lost_is_one_message(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.faults.cut(*SEND, after=True)
        here.ask("say once")
        await here.answered("once")
        await here.quiet()
        assert len(here.ours()) == 1


async def test_d5_also_when_the_relay_was_killed_meanwhile_and_discord_has_forgotten_the_nonce(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        hold = here.server.faults.hold(*SEND, after=True)
        here.ask("say once")
        await here.answered("once")
        await here.kill()
        hold.open()
        here.server.clock.advance(3_600)
        await here.start()
        await here.quiet()
        assert len(here.ours()) == 1
        assert len(await here.log("post.sent")) == 1


@pytest.mark.parametrize("status", [503, 502, 403, 429])
async def test_an_answer_is_tried_again_after_each_failure_that_passes(tmp_path: Path, status: int) -> None:
    async with town(tmp_path, speed=60) as here:
        if status == 503:
            here.server.faults.answer(*SEND, 503, times=2)
        else:
            here.server.faults.cloudflare(*SEND, status)
        here.ask("say at last")
        await here.answered("at last")
        await here.quiet()
        assert len(here.ours()) == 1


async def test_a_429_without_via_is_waited_for(tmp_path: Path) -> None:
    async with town(tmp_path, speed=60) as here:
        here.server.faults.too_many(*SEND, 5, via=False)
        here.ask("say later")
        await here.answered("later")
        (delayed,) = await here.log("post.delayed")
        assert delayed.body["not_before"] - delayed.at >= 4_000


async def test_a_long_429_is_put_off_and_holds_up_no_other_channel(tmp_path: Path) -> None:
    async with town(tmp_path, speed=40) as here:
        thread = here.ada.open_thread(here.room, "Other")
        here.server.faults.too_many("POST", f"/channels/{here.room.id}/messages", 90.0)
        here.ask("say much later")
        await here.server.until(lambda: "👀" in here.room.seen()[-1].reactions)
        here.ask("say at once", thread)
        await here.answered("at once", thread)
        await here.until_logged("post.delayed")
        (delayed,) = await here.log("post.delayed")
        assert 45_000 <= delayed.body["not_before"] - delayed.at <= 95_000
        assert "pause" in delayed.body["why"]
        await here.answered("much later")
        assert here.server.limits.invalid == here.server.limits.invalid[:2]


async def test_c1_a_deleted_thread_ends_its_turn_its_queue_and_its_watches_once(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        thread = here.ada.open_thread(here.room, "Doomed")
        here.ask('!watch --in 2h "stretch"', thread)
        await here.answered("Watching", thread)
        here.ask("slow 600\nsay never", thread, here.ada)
        await here.server.until(lambda: here.relay.parts.engine.view.of(Turns).state.running)
        here.ask("say neither", thread, here.ada)
        await here.server.until(lambda: "📥" in thread.seen()[-1].reactions)
        thread.delete()
        await here.server.until(lambda: not here.relay.parts.engine.view.of(Turns).state.running)
        await here.quiet()
        assert [one.body["status"] for one in await here.log("turn.ended")] == ["cancelled"]
        assert len(await here.log("turn.stop_asked")) == len(await here.log("watch.disarmed")) == 1
        assert len(await here.log("turn.withdrawn")) == 1
        assert here.ours() == []


async def test_c2_an_answer_to_a_thread_that_is_gone_stands_in_its_room(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        thread = here.ada.open_thread(here.room, "Doomed")
        here.server.gateway.faults.drop("THREAD_DELETE")
        here.ask("slow 3\nsay precious", thread, here.ada)
        await here.server.until(lambda: "👀" in thread.seen()[-1].reactions)
        thread.delete()
        await here.answered("precious")
        await here.quiet()
        head, answer = here.ours()
        assert head.startswith("↪ I can't write in the thread «Doomed» any more (")
        assert answer == f"precious\n{here.ada.mention}"


async def test_c4_an_archived_thread_is_opened_again_and_a_locked_one_is_answered_in_the_room(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        here.guild.give(here.bot, here.guild.role("keeper", permissions.MANAGE_THREADS))
        thread = here.ada.open_thread(here.room, "Archived")
        here.ask("slow 3\nask rm -rf build\nsay done", thread, here.olga)
        card = await here.card(thread)
        thread.archive()
        here.olga.click(card, "❌ Deny")
        await here.answered("done", thread)
        await here.server.until(lambda: not any(one.buttons for one in thread.seen()))
        here.guild.give(here.bot)
        locked = here.ada.open_thread(here.room, "Locked")
        here.ask("slow 3\nsay shut out", locked, here.ada)
        await here.server.until(lambda: "👀" in locked.seen()[-1].reactions)
        locked.archive(locked=True)
        await here.answered("shut out")
        assert here.ours(locked) == []


async def test_c5_a_forum_post_is_answered_when_its_first_message_is_there(tmp_path: Path) -> None:
    async with town(tmp_path, speed=60) as here:
        forum = here.guild.forum("help")
        rules = here.access.rooms[f"discord:{here.room.id}"]
        here.access = here.access.model_copy(update={"rooms": {f"discord:{forum.id}": rules}})
        here.relay.parts.current.access = here.access
        post = here.ada.forum_post(forum, "It broke", f"<@{here.bot.id}> say in the forum")
        here.server.faults.refuse("POST", f"/channels/{post.id}/messages", 40058, times=2)
        await here.answered("in the forum", post)
        await here.quiet()
        assert len(here.ours(post)) == 1
        surface = here.surface
        made = await surface.open_thread(str(forum.id), "Report", "n1")
        assert await surface.open_thread(str(forum.id), "Report", "n1") == made
        assert await surface.open_thread(str(forum.id), "Report", "n2") != made


async def test_d14_a_forum_thread_whose_confirmation_was_lost_is_opened_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        forum = here.guild.forum("help")
        here.server.faults.cut("POST", f"/channels/{forum.id}/threads", after=True)
        with pytest.raises(Exception, match="can't be reached"):
            await here.surface.open_thread(str(forum.id), "Report", "n1")
        await here.surface.open_thread(str(forum.id), "Report", "n1")
        assert [one.name for one in forum.threads()] == ["Report"]


async def test_s7_s8_a_file_that_is_too_large_is_said_and_the_text_stands(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        (work / "small.txt").write_text("fine")
        (work / "large.bin").write_bytes(b"x" * 3_000)
        here.ask("share small.txt\nshare large.bin\nsay here they are")
        seen = await here.answered("here they are")
        assert seen.files == ("small.txt", "large.bin")
        here.server.world.rules.file_limits = (1_000, 1_000, 1_000, 1_000)
        here.ask("share small.txt\nshare large.bin\nsay once more")
        seen = await here.answered("once more")
        assert seen.files == ()
        assert "large.bin (2 kB) could not be shown here" in seen.text
        await here.quiet()
        assert len(here.ours()) == 2


async def test_an_answer_to_a_message_that_was_deleted_stands(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("slow 3\nsay anyway")
        await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))
        here.olga.delete(said)
        await here.answered("anyway")


async def test_d7_a_notice_and_an_answer_of_one_turn_are_two_messages(tmp_path: Path) -> None:
    async with town(tmp_path, limits={"turn_total": 2_000}) as here:
        here.ask("say the answer\nslow 600")
        await here.answered("I ended this turn")
        await here.answered("the answer")
        await here.quiet()
        assert len(here.ours()) == 2


async def test_a_long_notice_comes_in_parts_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        notes = tmp_path / "work" / "notes.md"
        notes.parent.mkdir(exist_ok=True)
        notes.write_text("one\n")
        here.ask("!watch notes --file notes.md --notify")
        await here.answered("Watching «notes»")
        await here.quiet()
        notes.write_text("".join(f"line {number} of many\n" for number in range(300)))
        await here.answered("+line 299 of many")
        async with here.away():
            pass
        await here.quiet()
        parts = here.ours()[1:]
        assert len(parts) > 2
        assert all(len(part) <= 2_000 and part.count("```") == 2 for part in parts)
        lines = [line for part in parts for line in part.split("\n") if line.startswith("+line")]
        assert lines == [f"+line {number} of many" for number in range(300)]


async def test_a_forbidden_room_is_said_and_harms_no_other(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        hidden = here.guild.text_channel("hidden")
        hidden.forbid(here.bot)
        rules = here.access.rooms[f"discord:{here.room.id}"]
        rooms = {**here.access.rooms, f"discord:{hidden.id}": rules}
        here.access = here.access.model_copy(update={"rooms": rooms})
        async with here.away():
            here.ask("say seen")
        await here.answered("seen")
        assert f"the bot can't see {hidden.id}" in here.surface.trouble


async def test_m5_a_message_that_waits_and_is_deleted_is_dropped(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        here.ask("slow 8\nsay first")
        await here.server.until(lambda: "👀" in here.room.seen()[0].reactions)
        waiting = here.ask("say second")
        here.ask("say third")
        await here.server.until(lambda: all("📥" in one.reactions for one in here.room.seen()[1:3]))
        here.olga.delete(waiting)
        await here.answered("third")
        await here.quiet()
        assert "second" not in "\n".join(here.ours())


async def test_s7_a_file_that_discord_itself_refuses_takes_no_text_with_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / "a.bin").write_bytes(b"x" * 2_000)
        here.server.faults.refuse(*SEND, 40005)
        here.ask("share a.bin\nsay the text")
        seen = await here.answered("the text")
        assert seen.files == ()
        assert "a.bin (1 kB) could not be shown here" in seen.text
        await here.quiet()
        assert len(here.ours()) == 1

"""`!queue` shows what waits, by numbers that stay, and takes one out for who may."""

import re
from pathlib import Path

import pytest
from fakes.living import ADA, BEN, Living, living

pytestmark = pytest.mark.anyio


async def waiting(relay: Living) -> None:
    """A turn that runs, and three messages behind it."""
    await relay.say("say first\nslow 3000")
    await relay.turn_runs()
    for text, who in (("say from ada", ADA), ("say from ben\nand more `of` it", BEN), ("say again", ADA)):
        await relay.say(text, by=who)
    await relay.until_logged("turn.prompted", 4)


async def test_the_queue_is_shown_numbered_with_who_what_and_since_when(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await waiting(relay)
        asked = await relay.say("!queue", by=BEN)
        told = await relay.seen("3 messages waiting here")
        assert told["reply_to"] == asked.message
        lines = told["text"].splitlines()[1:]
        assert re.fullmatch(r"1\. Ada: say from ada · since \d\d:\d\d:\d\d", lines[0])
        assert lines[1].startswith("2. Ben: say from ben and more 'of' it · since ")
        assert lines[2].startswith("3. Ada: say again · since ")


async def test_a_message_that_was_edited_is_shown_as_it_reads_now(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await waiting(relay)
        said = await relay.say("say certifcates", by=ADA)
        await relay.edit(said.message, "say certificates", by=ADA)
        await relay.until_logged("channel.edited")
        await relay.say("!queue")
        told = await relay.seen("4 messages waiting here")
        assert "4. Ada: say certificates · since" in told["text"]


async def test_a_fire_that_waits_is_named_by_its_watch(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.say("slow 3000")
        await relay.turn_runs()
        (relay.work / "notes.md").write_text("x\n")
        await relay.until_logged("watch.fired")
        await relay.say("!queue")
        assert "1. «notes»: " in (await relay.seen("1 message waiting here"))["text"]


async def test_where_nothing_waits_it_says_so(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!queue")
        await relay.seen("Nothing waits here.")
        await relay.say("!queue drop 1")
        await relay.seen("No number 1 waits here. Nothing waits here.")


async def test_the_owner_drops_any_and_a_person_their_own(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await waiting(relay)
        await relay.say("!queue drop 1", by=BEN)
        await relay.seen("Only the owner, or who wrote it, may take that out of the queue.")
        await relay.say("!queue drop 2", by=BEN)
        await relay.seen("Number 2 (Ben) is out of the queue.")
        await relay.say("!queue drop 3")
        await relay.seen("Number 3 (Ada) is out of the queue.")
        await relay.say("!stop")
        await relay.seen("from ada")
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert "from ben" not in said
        assert "again" not in said.replace("run it again", "")


async def test_a_number_means_the_same_message_while_it_waits(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await waiting(relay)
        await relay.say("!queue drop 1")
        await relay.seen("Number 1 (Ada) is out of the queue.")
        await relay.say("!queue drop 1")
        await relay.seen("No number 1 waits here. Waiting: 2, 3.")
        await relay.say("!queue drop #2")
        await relay.seen("Number 2 (Ben) is out of the queue.")


@pytest.mark.parametrize(
    "typed", ["!queue drop", "!queue drop x", "!queue drop -1", "!queue please", "!queue drop ²"]
)
async def test_a_wrong_command_is_told_and_drops_nothing(tmp_path: Path, typed: str) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await waiting(relay)
        await relay.say(typed)
        await relay.seen("Type `!queue` to see what waits")
        assert not await relay.log("turn.withdrawn")

"""A message that waits and is edited is taken as edited; one that is deleted is dropped."""

from pathlib import Path

import pytest
from fakes.living import ADA, OWNER, living

from relay.surfaces.surface import EditEvent

pytestmark = pytest.mark.anyio


@pytest.mark.trunk
async def test_m5_a_message_that_waits_is_taken_as_edited(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 4")
        await relay.turn_runs()
        waits = await relay.say("say wrong", by=ADA)
        await relay.until_logged("channel.message", 2)
        await relay.edit(waits.message, "say better", by=ADA)
        await relay.edit(waits.message, "say right", by=ADA)
        await relay.seen("right")
        await relay.quiet()
        assert await relay.ours() == ["right"]
        edits = await relay.log("channel.edited")
        assert [(i.body["revision"], i.role) for i in edits][-1] == (len(edits), "human")


@pytest.mark.trunk
async def test_m5_a_message_that_waits_and_is_deleted_gets_no_turn(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 40\nsay done")
        await relay.turn_runs()
        waits = await relay.say("say never", by=ADA)
        await relay.say("say after")
        await relay.reacted(waits.message, "📥")
        await relay.delete(waits.message, by=ADA)
        await relay.until_logged("turn.withdrawn")
        await relay.seen("after")
        await relay.quiet()
        assert await relay.ours() == ["done", "after"]
        (withdrawn,) = await relay.log("turn.withdrawn")
        assert (withdrawn.body["why"], withdrawn.body["by"]) == ("deleted", "Ada")
        assert waits.message not in {m["id"] for m in await relay.messages()}


async def test_m6_two_edits_are_two_revisions_and_what_changes_no_text_is_none(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 4")
        await relay.turn_runs()
        waits = await relay.say("say one")
        await relay.until_logged("channel.message", 2)
        (intake,) = relay.relay.intakes
        for text, at in (("say two", 2**50), ("say two", None), ("say old", 5), ("say three", None)):
            await intake.edited(EditEvent("main", waits.message, text, at))
        assert [i.body["text"] for i in await relay.log("channel.edited")] == ["say two", "say three"]
        assert [i.body["revision"] for i in await relay.log("channel.edited")] == [1, 2]
        await relay.seen("three")


async def test_what_was_never_said_to_the_agent_and_commands_can_be_edited_freely(tmp_path: Path) -> None:
    async with living(tmp_path, require_mention=True) as relay:
        said = await relay.say("nothing for you")
        typed = await relay.say("!status")
        await relay.seen("Nothing is running here.")
        await relay.edit(said.message, "still nothing")
        await relay.edit(typed.message, "!stop")
        await relay.delete(said.message)
        await relay.quiet()
        assert not await relay.log("channel.edited") + await relay.log("channel.deleted")
        assert len(await relay.ours()) == 1


@pytest.mark.parametrize("kill", [False, True])
async def test_what_was_edited_or_deleted_while_no_relay_ran_is_honoured(tmp_path: Path, kill: bool) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 600")
        await relay.turn_runs()
        first, second = await relay.say("say wrong"), await relay.say("say never")
        await relay.until_logged("turn.prompted", 3)
        async with relay.away(kill=kill) as chat:
            unheard = await chat.post_as(OWNER, "main", "say unheard")
            await chat.delete_as(OWNER, "main", unheard.message)
            await chat.edit_as(OWNER, "main", first.message, "say right")
            await chat.delete_as(OWNER, "main", second.message)
        await relay.until_logged("channel.deleted")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.seen("right")
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert said.count("right") == 1
        assert not any(word in said for word in ("wrong", "never", "unheard"))


async def test_a_waiting_message_that_changed_unheard_is_looked_at_before_it_is_taken(tmp_path: Path) -> None:
    """As where the surface tells of no edit that was made while nobody was connected."""
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 600")
        await relay.turn_runs()
        first, second = await relay.say("say wrong"), await relay.say("say never")
        await relay.until_logged("turn.prompted", 3)
        async with relay.away(kill=True) as chat:
            await chat.edit_as(OWNER, "main", first.message, "say right")
            await chat.delete_as(OWNER, "main", second.message)
            await chat.delivered(2**40)
        await relay.until_logged("channel.deleted")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.seen("right")
        await relay.quiet()
        assert not any("never" in text or "wrong" in text for text in await relay.ours())

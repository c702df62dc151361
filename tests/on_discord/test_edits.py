"""Edits on Discord, and what stands above a message there."""

from pathlib import Path

import pytest
from town import town

from relay.behaviours.turns.concept import Turns

pytestmark = pytest.mark.anyio


async def test_m5_an_edited_message_that_waits_is_taken_as_edited_over_a_restart_too(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        here.ask("slow 600")
        await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))
        first, second = here.ask("say wrong"), here.ask("say worse")
        await here.server.until(
            lambda: all({"👀", "📥"} & set(one.reactions) for one in here.room.seen()[:3])
        )
        here.olga.edit(first, f"<@{here.bot.id}> say right")
        async with here.away():
            here.olga.edit(second, f"<@{here.bot.id}> say better")
        await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))
        here.ask("!stop")
        await here.answered("better")
        await here.quiet()
        said = "\n".join(here.ours())
        assert "right" in said
        assert "wrong" not in said
        assert "worse" not in said


async def test_m5_an_edit_of_a_running_turn_s_message_is_asked_about(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("slow 60")
        await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))
        here.olga.edit(said, f"<@{here.bot.id}> say instead")
        card = await here.card()
        assert "edited this message that I'm working on" in card.text


async def test_summoned_in_the_middle_the_agent_gets_what_stands_above(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        here.zoe.say(here.room, "The build is red.")
        here.ask("above")
        await here.answered("Zoe (person): The build is red.")

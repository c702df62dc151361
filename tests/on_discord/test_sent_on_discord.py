"""What a program sends to a Discord room: seen there, answered there, the owner called once."""

from pathlib import Path

import anyio
import pytest
from town import Town, town

from relay.behaviours.intake.reconciler_sending import Sending
from relay.behaviours.intake.sending import NotNow, Outcome, Send

pytestmark = pytest.mark.anyio


async def settled(here: Town, key: str = "k1") -> Outcome:
    with anyio.fail_after(60):
        found = await Sending(here.relay.parts).outcome(key, 60)
    assert found is not None
    return found


async def test_a_program_s_prompt_is_seen_and_answered_and_the_owner_is_called_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        asked = Send("k1", f"discord:{here.room.id}", "say @everyone <@1> it is done", "ci", "prompt")
        await Sending(here.relay.parts).send(asked)
        assert list((await settled(here)).texts) == ["@everyone <@1> it is done"]
        await here.answered("it is done", times=2)
        await here.quiet()
        ours = here.ours()
        assert ours[0] == "📨 **ci** (a program) sends:\n> say @everyone <@1> it is done"
        assert len(ours) == 2
        assert len(here.olga.pings) == 1
        assert here.ada.pings == []
        assert (await Sending(here.relay.parts).send(asked)).repeated


async def test_the_agent_is_given_what_stands_above_and_hears_what_follows_in_a_thread(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        thread = here.olga.open_thread(here.room, "nightly")
        here.ada.say(thread, "It was green yesterday.")
        await Sending(here.relay.parts).send(Send("k1", f"discord:{thread.id}", "above", "ci", "prompt"))
        assert list((await settled(here)).texts) == ["Ada (person): It was green yesterday."]
        here.ada.say(thread, "say I hear you")
        await here.answered("I hear you", thread)


async def test_while_discord_is_away_it_is_taken_or_refused_never_half(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        known, unknown = f"discord:{here.room.id}", f"discord:{here.room.id + 1}"
        here.ask("say hello")
        await here.answered("hello")
        async with here.server.outage():
            with pytest.raises(NotNow):
                await Sending(here.relay.parts).send(Send("k2", unknown, "say lost", "ci", "prompt"))
            await Sending(here.relay.parts).send(Send("k1", known, "say kept", "ci", "prompt"))
        await here.answered("kept", times=2)
        assert (await settled(here)).status == "completed"
        assert await Sending(here.relay.parts).outcome("k2", 0) is None

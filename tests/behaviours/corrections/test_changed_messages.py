"""A message of a running turn that is edited or deleted: the new text goes in, the turn stops, or it is left."""

from pathlib import Path

import pytest
from fakes.living import ADA, BEN, OWNER, Living, living

from relay.config import Peer
from relay.surfaces.surface import Person

pytestmark = pytest.mark.anyio


async def worked_on(relay: Living, text: str = "slow 30\nsay as first said") -> str:
    """A message of Ada's that a turn works on."""
    said = await relay.say(text, by=ADA)
    await relay.turn_runs()
    return said.message


async def test_m5_the_new_text_goes_into_the_running_turn(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        message = await worked_on(relay, "slow 8\nsay as first said")
        await relay.edit(message, "say as corrected", by=ADA)
        card = await relay.card()
        assert "Ada edited this message that I'm working on" in card["text"]
        assert [c["label"] for c in card["choices"]] == ["✏️ Take the new text into it", "🛑 Stop", "Leave it"]
        assert card["reply_to"] == message
        await relay.click(card, "take", by=ADA)
        await relay.seen("as corrected")
        await relay.quiet()
        assert (await relay.ours())[1:] == ["as first said\nas corrected"]
        assert "The agent is told, says Ada" in (await relay.ours())[0]
        assert await relay.ends() == ["completed"]


@pytest.mark.parametrize("delete", [False, True])
async def test_m5_the_turn_is_stopped(tmp_path: Path, delete: bool) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay)
        await (relay.delete(message, by=ADA) if delete else relay.edit(message, "say other", by=ADA))
        card = await relay.card()
        assert card["text"].startswith("✏️ **Ada deleted" if delete else "✏️ **Ada edited")
        await relay.click(card, "stop", by=OWNER)
        await relay.until_logged("turn.ended")
        await relay.quiet()
        assert await relay.ends() == ["cancelled"]
        assert not (await relay.messages())[-1]["card_open"]
        assert "Stopped by Olga" in "\n".join(await relay.ours())


async def test_a_deleted_message_s_turn_is_told_to_go_on_without_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay, "slow 8\nsay the rest")
        await relay.delete(message, by=ADA)
        await relay.click(await relay.card(), "take", by=ADA)
        await relay.seen("Whoever wrote this message has deleted it")
        assert await relay.ends() == ["completed"]


async def test_it_is_left_as_it_was(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay, "slow 8\nsay as first said")
        await relay.edit(message, "say other", by=ADA)
        await relay.click(await relay.card(), "leave", by=ADA)
        await relay.seen("as first said")
        await relay.quiet()
        assert (await relay.ours())[-1] == "as first said"


async def test_only_who_wrote_it_and_the_owner_may_choose(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay)
        await relay.edit(message, "say other", by=ADA)
        card = await relay.card()
        await relay.click(card, "stop", by=BEN)
        await relay.until_logged("channel.chosen")
        assert (await relay.card())["id"] == card["id"]
        assert relay.running() is not None
        assert not await relay.log("turn.stop_asked")


async def test_a_card_closes_with_its_turn_and_with_the_next_edit(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay)
        await relay.edit(message, "say other", by=ADA)
        first = await relay.card()
        await relay.edit(message, "say yet another", by=ADA)
        await relay.wait(lambda m: m["card_open"] and m["id"] != first["id"], "a second card")
        await relay.seen("It was changed again")
        await relay.say("!stop")
        await relay.seen("Withdrawn: the turn has ended")
        await relay.quiet()
        assert not [m for m in await relay.messages() if m["card_open"]]


async def test_a_bot_that_edits_its_message_again_and_again_opens_no_card(tmp_path: Path) -> None:
    bot = Person("scout-b", "scout-b", bot=True)
    async with living(tmp_path, peers=("scout-b",)) as relay:
        now = relay.relay.parts.current.access
        relay.relay.parts.current.access = now.model_copy(update={"peers": {"scout-b": Peer()}})
        said = await relay.say("@scout\nslow 8\nsay done", by=bot)
        await relay.turn_runs()
        await relay.edit(said.message, "@scout working …", by=bot)
        await relay.until_logged("channel.edited")
        await relay.seen("done")
        await relay.quiet()
        assert await relay.ours() == ["done"]


async def test_a_change_made_while_no_relay_ran_is_asked_of_the_turn_that_goes_on(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay)
        async with relay.away(kill=True) as chat:
            await chat.delete_as(ADA, "main", message)
        card = await relay.card()
        await relay.click(card, "stop", by=ADA)
        await relay.seen("Stopped by Ada")
        await relay.quiet()
        assert (await relay.ends())[-1] == "cancelled"


async def test_a_card_that_a_restart_took_away_comes_again_with_the_turn_that_goes_on(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        message = await worked_on(relay)
        await relay.delete(message, by=ADA)
        first = await relay.card()
        await relay.restart(kill=True)
        await relay.wait(
            lambda m: m["card_open"] and m["id"] != first["id"], "a card of the turn that goes on"
        )
        await relay.click(await relay.card(), "stop", by=ADA)
        await relay.seen("Stopped by Ada")
        await relay.quiet()
        assert not [m for m in await relay.messages() if m["card_open"]]

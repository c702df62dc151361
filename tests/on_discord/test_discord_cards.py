"""Approvals on Discord: buttons and reactions, the right person and the wrong one, now and after a restart."""

from pathlib import Path

import pytest
from town import Town, town

from relay.config import Person as Known

pytestmark = pytest.mark.anyio

ASK = "ask rm -rf build\nsay after"


async def decided(here: Town, words: str) -> None:
    await here.server.until(
        lambda: any(words in one.text and not one.buttons for one in here.room.seen()), saying=words
    )


async def test_a_card_is_decided_by_a_button_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        assert card.buttons == ("✅ Allow once", "❌ Deny")
        assert "rm -rf build" in card.text
        clicks = [here.olga.click(card, "✅ Allow once") for _ in range(2)]
        await decided(here, "✅ Allowed by Olga")
        await here.answered("after")
        await here.quiet()
        assert not any(click.failed for click in clicks)
        assert len(await here.log("approval.closed")) == 1


async def test_a_wrong_person_s_click_changes_nothing_and_gets_a_private_no(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        for who in (here.ada, here.zoe):
            click = here.__dict__[who.name].click(card, "✅ Allow once")
            await here.server.until(lambda c=click: len(c.followups) == 1)
            assert click.followups[0].private
            assert "Nothing was changed" in click.followups[0].text
        (of_ada,) = await here.log("approval.refused")
        assert of_ada.body["by"] == "Ada"
        (of_zoe,) = await here.log("channel.click_refused")
        assert (of_zoe.body["person"], of_zoe.body["choice"]) == (str(here.zoe.id), "allow")
        assert (of_zoe.role, of_zoe.actor) == ("stranger", f"person:discord:{here.zoe.id}")
        here.ada.react(card, "✅")
        await here.server.until(lambda: True)
        assert (await here.card()).buttons
        assert len(await here.log("approval.closed")) == 0
        here.olga.react(card, "❌")
        await decided(here, "❌ Denied by Olga")


async def test_a_stranger_who_clicks_on_and_on_fills_no_ledger_and_decides_nothing(tmp_path: Path) -> None:
    async with town(tmp_path, approvers=("owner", "zoe")) as here:
        here.server.world.rules.ack_within = 600.0
        known = Known(discord=str(here.zoe.id))
        here.access = here.access.model_copy(update={"people": {**here.access.people, "zoe": known}})
        async with here.away():
            pass
        here.ask(ASK)
        card = await here.card()
        for label in ("✅ Allow once", "❌ Deny") * 3:
            click = here.zoe.click(card, label)
            await here.server.until(lambda c=click: len(c.followups) == 1, within=30.0)
            assert "Nothing was changed" in click.followups[0].text
        assert len(await here.log("channel.click_refused")) == 2
        assert await here.log("channel.chosen") == []
        assert await here.log("approval.closed") == []
        assert (await here.card()).buttons


async def test_a5_after_a_restart_no_button_is_left_that_does_nothing(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        first = await here.card()
        async with here.away():
            pass
        await here.server.until(lambda: len([text for text in here.ours() if "🔐" in text]) == 2)
        await here.server.until(lambda: len(here.cards()) == 1)
        card = await here.card()
        assert card.id != first.id
        click = here.olga.click(card, "✅ Allow once")
        await here.answered("after")
        assert not click.failed
        await here.server.until(lambda: not here.cards())


async def test_a_reaction_that_was_set_while_nobody_listened_decides_an_open_card(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        here.server.gateway.faults.refuse_resumes(60)
        here.server.gateway.faults.drop("MESSAGE_REACTION_ADD")
        here.olga.react(card, "✅")
        here.server.gateway.cut()
        await decided(here, "✅ Allowed by Olga")
        await here.answered("after")


async def test_a2_a_card_is_closed_after_the_click_s_token_has_ended(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        hold = here.server.faults.hold("PATCH", "/channels/*/messages/*")
        here.olga.click(card, "❌ Deny")
        await hold.reached.wait()
        here.server.clock.advance(16 * 60)
        hold.open()
        await decided(here, "❌ Denied by Olga")


async def test_a9_an_emoji_with_a_variation_counts_as_the_same(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        here.olga.react(card, "✅\ufe0f")
        await decided(here, "✅ Allowed by Olga")


async def test_a_card_calls_the_owner_and_closing_it_calls_nobody(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK, by=here.ada)
        card = await here.card()
        assert [one.id for one in here.olga.pings] == [card.id]
        here.olga.click(card, "❌ Deny")
        await decided(here, "❌ Denied by Olga")
        await here.answered("after")
        await here.quiet()
        assert len(here.olga.pings) == 1
        assert len(here.ada.pings) == 1


async def test_a12_a_card_whose_message_was_deleted_is_denied(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        here.guild.owner.delete(here.room.channel.messages[card.id])
        await here.answered("after")
        (closed,) = await here.log("approval.closed")
        assert (closed.body["outcome"], closed.body["reason"]) == ("denied", "its card was deleted")


async def test_a12_a_card_that_was_deleted_while_nobody_listened_is_denied_too(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(ASK)
        card = await here.card()
        here.server.gateway.faults.refuse_resumes(60)
        here.server.gateway.faults.drop("MESSAGE_DELETE")
        here.guild.owner.delete(here.room.channel.messages[card.id])
        here.server.gateway.cut()
        await here.answered("after")
        (closed,) = await here.log("approval.closed")
        assert (closed.body["outcome"], closed.body["reason"]) == ("denied", "its card was deleted")

"""A card shows exactly what an agent wants to run; the first valid decision of somebody who may is final."""

from pathlib import Path

import anyio
import pytest
from fakes.living import ADA, BEN, OWNER, Living, living
from fakes.puppet import Puppet

from relay.agents.runtime import ApprovalAsked, TextDelta, TurnEnded
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.intake.reconciler import plain_emoji
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.reconciler_course import ended
from relay.behaviours.turns.verbs import ToolAsked
from relay.errors import SurfaceError
from relay.ledger.interaction import Draft

pytestmark = pytest.mark.anyio
COMMAND = "rm -rf build && make 'all'  # spaces  stay"


async def outcomes(relay: Living) -> list[tuple[str, str]]:
    return [(i.body["outcome"], i.body["by"]) for i in await relay.log("approval.closed")]


async def test_a8_a_card_shows_the_exact_command_where_for_whom_and_until_when(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say(f"ask {COMMAND}")
        card = await relay.card()
        lines = card["text"].splitlines()
        assert lines[1:4] == ["```", COMMAND, "```"]
        assert str(relay.work) in lines[4]
        assert "asked by scout" in lines[4]
        assert "answer by " in lines[4]
        assert [c["value"] for c in card["choices"]] == ["allow", "deny"]
        assert card["ping"] == ["owner"]


@pytest.mark.trunk
async def test_a_click_allows_it_once_and_the_card_says_by_whom(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say(f"ask {COMMAND}\nask {COMMAND}")
        first = await relay.card()
        await relay.click(first, "allow")
        await relay.seen("✅ Allowed by Olga")
        second = await relay.card()
        assert second["id"] != first["id"], "the same command asks again"
        await relay.click(second, "deny", reason="not twice")
        await relay.seen("❌ Denied by Olga: not twice")
        await relay.seen(f"allowed: {COMMAND}\nnot allowed (not twice): {COMMAND}")


@pytest.mark.parametrize("emoji", ["✅", "✅\ufe0f"])
async def test_a9_a_reaction_decides_whatever_the_phone_adds_to_it(tmp_path: Path, emoji: str) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        await relay.react((await relay.card())["id"], emoji)
        await relay.seen("allowed: make")


def test_a9_emoji_are_compared_without_variation_and_skin_tone() -> None:
    assert plain_emoji("👍🏽") == plain_emoji("👍") == plain_emoji("👍\ufe0f")
    assert plain_emoji("❌\ufe0e") == "❌"


async def test_a_cross_denies_and_other_emoji_do_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        card = await relay.card()
        for emoji in ("👍", "🔁", "👀"):
            await relay.react(card["id"], emoji)
        await relay.until_logged("channel.reacted", 3)
        assert not await outcomes(relay)
        await relay.react(card["id"], "❌")
        await relay.seen("not allowed (denied): make")


async def test_a_wrong_person_changes_nothing_and_the_ledger_keeps_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make", by=ADA)
        card = await relay.card()
        await relay.click(card, "allow", by=ADA)
        await relay.react(card["id"], "✅", by=BEN)
        await relay.until_logged("approval.refused", 2)
        assert [i.body["by"] for i in await relay.log("approval.refused")] == ["Ada", "Ben"]
        assert not await outcomes(relay)
        assert (await relay.card())["id"] == card["id"], "it is still open"
        await relay.click(card, "allow")
        await relay.seen("allowed: make")


async def test_a_listed_approver_may_and_is_called(tmp_path: Path) -> None:
    async with living(tmp_path, approvers=("ben",)) as relay:
        await relay.say("ask make", by=ADA)
        card = await relay.card()
        assert card["ping"] == ["web:ben"]
        await relay.click(card, "allow")
        await relay.until_logged("approval.refused")
        assert not await outcomes(relay), "the owner isn't listed here"
        await relay.click(card, "allow", by=BEN)
        await relay.seen("✅ Allowed by Ben")


async def test_a11_two_clicks_at_once_are_one_decision(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        card = await relay.card()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay.click, card, "allow")
            tasks.start_soon(relay.click, card, "deny")
            tasks.start_soon(relay.react, card["id"], "✅")
        await relay.until_logged("approval.refused", 2)
        await relay.quiet()
        ((outcome, _),) = await outcomes(relay)
        assert {i.body["why"] for i in await relay.log("approval.refused")} == {"already decided"}
        assert any(
            text.startswith("allowed" if outcome == "allowed" else "not allowed")
            for text in await relay.ours()
        )


async def test_a_card_expires_where_people_see_it_and_the_agent_hears_it(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"approval": 5_000}) as relay:
        await relay.say("ask make")
        card = await relay.card()
        seen = await relay.seen("⌛ Expired: nobody answered in time")
        assert seen["id"] == card["id"]
        assert not seen["card_open"]
        await relay.seen("not allowed (nobody answered in time): make")
        with pytest.raises(SurfaceError, match="closed"):
            await relay.click(card, "allow")
        await relay.react(card["id"], "✅")
        await relay.quiet()
        assert await outcomes(relay) == [("expired", "relay")]


async def test_a_card_is_withdrawn_with_its_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        card = await relay.card()
        await relay.say("!stop")
        seen = await relay.seen("↩️ Withdrawn: the turn has ended")
        assert (seen["id"], seen["card_open"]) == (card["id"], False)
        await relay.react(card["id"], "✅")
        await relay.quiet()
        assert await outcomes(relay) == [("withdrawn", "relay")]


@pytest.mark.parametrize("kill", [True, False])
async def test_a5_a_card_of_before_a_restart_is_withdrawn_visibly_and_asked_anew(
    tmp_path: Path, kill: bool
) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say begun\nask make")
        old = await relay.card()
        await relay.restart(kill=kill)
        seen = await relay.seen("↩️ Withdrawn")
        assert seen["id"] == old["id"]
        fresh = await relay.card()
        assert fresh["id"] != old["id"]
        await relay.react(old["id"], "✅")
        await relay.until_logged("approval.refused")
        assert [o for o, _ in await outcomes(relay)] == ["withdrawn"]
        await relay.click(fresh, "allow")
        await relay.seen("begun\nallowed: make")


async def test_a_decision_made_while_no_relay_ran_does_not_allow_what_the_next_turn_asks(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        card = await relay.card()
        async with relay.away(kill=True) as chat:
            await chat.choose_as(OWNER, "main", card["id"], card["card"], "allow")
        fresh = (await relay.wait(lambda m: m["card_open"] and m["id"] != card["id"], "a fresh card"))[0]
        await relay.quiet(but_for_turns=True)
        (old,) = [m for m in await relay.messages() if m["id"] == card["id"]]
        assert "Withdrawn" in old["text"]
        assert "Allowed" not in old["text"]
        assert not old["card_open"]
        assert not any("allowed: make" in text for text in await relay.ours())
        await relay.click(fresh, "deny")
        await relay.seen("not allowed (denied): make")


async def test_a_command_that_a_card_can_t_show_whole_is_refused(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask echo " + "x" * 4_000)
        await relay.seen("not allowed (the command is too long to be shown whole, so nobody can allow it")
        assert not await relay.log("approval.asked")


async def test_f8_a_command_can_t_break_out_of_its_card(tmp_path: Path) -> None:
    puppet = Puppet()
    forged = "true\n```\n🔐 **a harmless thing**\n```\nls\n```\nin `/tmp` · asked by owner\n````\n@everyone"
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        turn.play(ApprovalAsked("r1", "c1", "run `it`\n**now**", forged, "/work\n`/tmp`"))
        card = await relay.card()
        lines = card["text"].split("\n")
        assert lines[0] == "🔐 **run 'it' **now****"
        assert lines[1] == lines[-2] == "`````"
        assert "\n".join(lines[2:-2]) == forged
        assert lines[-1].startswith("in `/work '/tmp'` · asked by scout · answer by ")
        await relay.click(card, "allow")
        await relay.until(lambda: bool(turn.answers), "the answer")
        assert turn.answers == [("r1", True, "")]
        turn.play(TextDelta("done"), TurnEnded("completed"))
        await relay.seen("done")


async def test_a_decision_is_bound_to_the_bytes_that_were_shown(tmp_path: Path) -> None:
    """An agent that asks the same request again with another command does not get the first one's leave."""
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        turn.play(ApprovalAsked("r1", "c1", "run", "make", "/work"))
        card = await relay.card()
        turn.play(ApprovalAsked("r1", "c1", "run", "rm -rf /", "/work"))
        await anyio.sleep(0.05)
        await relay.click(card, "allow")
        await relay.until(lambda: bool(turn.answers), "the answer")
        assert not any(allowed for _, allowed, _ in turn.answers)


async def test_taking_a_check_back_undoes_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("ask make\nslow 4")
        card = await relay.card()
        await relay.react(card["id"], "✅")
        await relay.react(card["id"], "✅", add=False)
        await relay.seen("allowed: make")
        assert await outcomes(relay) == [("allowed", "Olga")]


async def test_a_click_on_a_card_that_nobody_waits_for_is_refused_where_people_see_it(tmp_path: Path) -> None:
    """Between a restart and the end of the turn that it cut off, the old card is still open."""
    async with living(tmp_path) as relay:
        await relay.say("ask make")
        card = await relay.card()
        (asked,) = await relay.log("approval.asked")
        view = relay.relay.parts.engine.view
        # As a boot leaves it, before the cut off turn has been ended.
        view.of(Turns).state.orphans[asked.body["turn"]] = "web:main"
        await relay.click(card, "allow")
        (seen,) = await relay.wait(lambda m: m["id"] == card["id"] and not m["card_open"], "the closed card")
        assert (
            "↩️ Withdrawn: Olga decided when nobody waited for it any more, so nothing was run" in seen["text"]
        )
        assert "Allowed" not in seen["text"]
        assert [i.body["why"] for i in await relay.log("approval.refused")] == ["nobody waits"]
        assert [o for o, _ in await outcomes(relay)] == ["withdrawn"]


async def test_a_turn_that_ends_as_it_asks_leaves_no_card_open(tmp_path: Path) -> None:
    """The request and the turn's end are one transaction, so that the end is there before the card is."""
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("go")
        await relay.turn_runs()
        engine = relay.relay.parts.engine
        running = engine.view.of(Turns).lane("web:main").running
        assert running is not None
        asked = ToolAsked(
            turn=running.turn,
            call="c1",
            title="run",
            room="web:main",
            digest="d",
            request="r1",
            command="make",
        )
        who = {"actor": "agent:scout", "role": "owner", "scope": "web:main", "caused_by": [running.turn]}
        await engine.admit(
            Draft.of(asked, running.turn, "c1", "leave", **who), ended("web:main", running, "completed", "")
        )
        (await puppet.turn()).play(TurnEnded("completed"))
        await relay.until_logged("approval.closed")
        await relay.quiet()
        assert await outcomes(relay) == [("withdrawn", "relay")]
        assert not [m for m in await relay.messages() if m["card"]]
        approvals = engine.view.of(Approvals).state
        assert not approvals.open
        assert not approvals.decided

"""`!retry` and 🔁: the work of an earlier turn runs again, for the owner or for who asked."""

from pathlib import Path

import pytest
from fakes.living import ADA, BEN, Speaker, living

pytestmark = pytest.mark.anyio


async def test_retry_runs_the_last_turn_s_work_again(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("tool append log.txt x\nfail once")
        await relay.seen("The agent failed")
        await relay.say("!retry")
        await relay.seen("The agent failed", times=2)
        assert (relay.work / "log.txt").read_text() == "x\nx\n"


async def test_retry_where_nothing_has_run_says_so(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!retry")
        await relay.seen("There is no finished turn here to run again.")


async def test_an_old_message_and_an_old_reply_can_be_run_again(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        old = await relay.say("say the old one")
        reply = await relay.seen("the old one")
        for number in range(2):
            await relay.say(f"say later {number}")
            await relay.seen(f"later {number}")
        await relay.react(old.message, "🔁")
        again = await relay.seen("the old one", times=2)
        assert again["reply_to"] == old.message
        await relay.react(reply["id"], "🔁")
        await relay.seen("the old one", times=3)
        await relay.react(again["id"], "🔁")
        await relay.seen("the old one", times=4)


async def test_the_same_person_may_ask_twice(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say again")
        await relay.seen("again")
        await relay.react(said.message, "🔁")
        await relay.seen("again", times=2)
        await relay.react(said.message, "🔁", add=False)
        await relay.react(said.message, "🔁")
        await relay.seen("again", times=3)
        await relay.quiet()
        assert len(await relay.ours()) == 3


async def test_only_the_owner_or_who_asked_may(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say hers", by=ADA)
        reply = await relay.seen("hers")
        await relay.say("!retry", by=BEN)
        await relay.seen("Only the owner, or who asked for that turn, may run it again.")
        await relay.react(said.message, "🔁", by=BEN)
        await relay.react(reply["id"], "🔁", by=BEN)
        await relay.until_logged("channel.reacted", 2)
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1
        await relay.react(reply["id"], "🔁", by=ADA)
        await relay.seen("hers", times=2)
        await relay.react(said.message, "🔁")
        await relay.seen("hers", times=3)


async def test_a_turn_that_runs_is_not_run_again_beside_itself(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say once\nslow 10")
        await relay.turn_runs()
        await relay.react(said.message, "🔁")
        told = await relay.seen("it is not run twice")
        assert told["reply_to"] == said.message
        await relay.seen("once")
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1


async def test_what_goes_on_after_a_restart_is_not_run_again_beside_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say once\nslow 30")
        await relay.turn_runs()
        await relay.restart(kill=True)
        await relay.turn_runs()
        await relay.react(said.message, "🔁")
        await relay.seen("it is not run twice")
        await relay.say("!retry")
        await relay.seen("it is not run twice", times=2)
        await relay.seen("once")
        await relay.quiet()
        assert [text for text in await relay.ours() if text == "once"] == ["once"]


async def test_what_several_messages_had_asked_is_run_again_whole(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say one\nslow 12")
        await relay.turn_runs()
        second = await relay.say("say two")
        await relay.seen("one\ntwo")
        await relay.react(second.message, "🔁")
        await relay.seen("one\ntwo", times=2)


async def test_a_retry_after_a_restart_still_knows_what_was_asked(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say it")
        await relay.seen("it")
        await relay.restart(kill=True)
        await relay.react(said.message, "🔁")
        await relay.seen("it", times=2)
        await relay.say("!retry")
        await relay.seen("it", times=3)


async def test_what_another_asked_for_is_not_the_owner_s_when_the_owner_runs_it_again(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say hers", by=ADA)
        reply = await relay.seen("hers")
        await relay.react(said.message, "🔁")
        await relay.seen("hers", times=2)
        await relay.react(reply["id"], "🔁")
        await relay.seen("hers", times=3)
        await relay.say("!retry")
        again = await relay.seen("hers", times=4)
        assert again["ping"] == ["web:owner"], "who wants it again is called"
        assert [i.role for i in await relay.log("turn.started")] == ["human"] * 4
        assert [i.role for i in await relay.log("turn.retry_asked")] == ["owner"] * 3


async def test_the_owner_s_own_stays_the_owner_s(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say mine")
        await relay.seen("mine")
        await relay.react(said.message, "🔁")
        await relay.seen("mine", times=2)
        await relay.say("!retry")
        await relay.seen("mine", times=3)
        assert [i.role for i in await relay.log("turn.started")] == ["owner"] * 3


async def test_who_is_the_owner_no_more_does_not_get_the_owner_s_authority_back(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say it", by=Speaker("ada", "Ada", owner=True))
        await relay.seen("it")
        await relay.react(said.message, "🔁", by=ADA)
        await relay.seen("it", times=2)
        assert [i.role for i in await relay.log("turn.started")] == ["owner", "human"]

"""Nobody floods the agent: so many messages a minute are taken from one person, the rest is told once."""

from pathlib import Path

import pytest
from fakes.living import ADA, BEN, living

pytestmark = pytest.mark.anyio


async def test_over_the_cap_a_person_is_told_once_with_what_to_do_and_others_go_on(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"messages_per_minute": 3}, speed=1) as relay:
        said = [await relay.say(f"say ada {n}.", by=ADA) for n in range(6)]
        await relay.say("say ben", by=BEN)
        await relay.seen("ben")
        notice = await relay.seen("I take 3 messages a minute from one person here")
        assert notice["reply_to"] == said[3].message
        assert "Send it again after that." in notice["text"]
        await relay.quiet()
        told = "\n".join(await relay.ours())
        assert [f"ada {n}." in told for n in range(6)] == [True] * 3 + [False] * 3
        assert told.count("messages a minute") == 1
        assert len(await relay.log("intake.turned_away")) == 3


async def test_after_a_minute_messages_are_taken_again_and_what_was_not_stays_untaken(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"messages_per_minute": 1}) as relay:
        await relay.say("say one", by=ADA)
        await relay.say("say two", by=ADA)
        await relay.seen("I take 1 message a minute")
        relay.clock.jumped_ms += 61_000
        await relay.restart(kill=True)
        await relay.say("say three", by=ADA)
        await relay.seen("three")
        await relay.quiet()
        assert not any("two" in text for text in await relay.ours())


async def test_the_owner_is_never_capped_and_no_command_of_theirs_is_eaten(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue", limits={"messages_per_minute": 1}) as relay:
        for number in range(5):
            await relay.say(f"say owner {number}.")
        for _ in range(3):
            await relay.say("!status")
        await relay.seen("owner 4.")
        await relay.quiet()
        assert not await relay.log("intake.turned_away")
        assert len([i for i in await relay.log("channel.message") if i.body["command"]]) == 3


async def test_what_is_not_said_to_the_agent_does_not_count(tmp_path: Path) -> None:
    async with living(tmp_path, require_mention=True, limits={"messages_per_minute": 2}) as relay:
        for _ in range(5):
            await relay.say("among ourselves", by=ADA)
        await relay.say("@scout\nsay hello", by=ADA)
        await relay.seen("hello")
        assert not await relay.log("intake.turned_away")


async def test_what_was_written_over_hours_while_no_relay_ran_is_no_flood(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue", limits={"messages_per_minute": 2}) as relay:
        await relay.say("say early", by=ADA)
        await relay.seen("early")
        async with relay.away() as chat:
            for number in range(4):
                relay.clock.jumped_ms += 61_000
                await chat.post_as(ADA, "main", f"say late {number}.")
        await relay.seen("late 3.")
        await relay.quiet()
        assert not await relay.log("intake.turned_away")

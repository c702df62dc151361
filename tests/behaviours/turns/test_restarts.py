"""What a restart cuts off goes on in its session, once; what can't is told with what to do."""

from pathlib import Path

import pytest
from fakes.living import living
from fakes.puppet import Puppet

from relay.agents.runtime import AgentGone, SessionSpec, TextDelta, TurnEnded

pytestmark = pytest.mark.anyio
WORK = "tool append log.txt x\nslow 14\ntool append log.txt y\nsay all done"


@pytest.mark.trunk
@pytest.mark.parametrize("kill", [True, False])
async def test_a_turn_that_was_cut_off_goes_on_and_does_nothing_twice(tmp_path: Path, kill: bool) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say(WORK)
        await relay.until_logged("tool.ended")
        await relay.restart(kill=kill)
        told = await relay.seen("I'm picking it up again")
        assert told["reply_to"] == said.message
        answer = await relay.seen("all done")
        assert answer["reply_to"] == said.message
        assert (relay.work / "log.txt").read_text() == "x\ny\n"
        await relay.quiet()
        assert await relay.ends() == ["interrupted", "completed"]
        assert len(await relay.log("session.opened")) == 1
        assert len(await relay.ours()) == 2


async def test_what_had_steered_the_turn_goes_on_with_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say first\nslow 20")
        await relay.turn_runs()
        await relay.say("say steered")
        await relay.until_logged("turn.steered")
        await relay.restart(kill=True)
        await relay.seen("first\nsteered")
        await relay.quiet()
        assert "".join(await relay.ours()).count("steered") == 1


async def test_cut_off_work_goes_on_before_what_waited_and_a_full_queue_does_not_drop_it(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, busy="queue", limits={"queue": 2}) as relay:
        await relay.say("say first\nslow 14")
        await relay.turn_runs()
        await relay.say("say second")
        await relay.say("say third")
        await relay.until_logged("turn.prompted", 3)
        await relay.restart(kill=True)
        await relay.seen("third")
        assert (await relay.ours())[1:] == ["first", "second\nthird"]
        assert not await relay.log("turn.withdrawn")


async def test_work_is_picked_up_three_times_and_then_offered(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say begun\nslow 3000")
        seen: str | None = None
        for _ in range(4):
            await relay.until(lambda last=seen: relay.running() not in (None, last), "the next try")
            seen = relay.running()
            await relay.restart(kill=True)
        told = await relay.seen("I can't pick it up by myself. React 🔁 on your message, or type `!retry`")
        assert told["reply_to"] == said.message
        await relay.seen("I'm picking it up again", times=3)
        await relay.quiet()
        assert await relay.ends() == ["interrupted"] * 4
        await relay.react(said.message, "🔁")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.seen("begun")


async def test_a_session_is_resumed_after_a_restart(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        for number in range(2):
            await relay.say("go on")
            (await puppet.turn(number + 1)).play(TextDelta(f"answer {number}"), TurnEnded("completed"))
            await relay.seen(f"answer {number}")
            await relay.restart()
        assert [spec.resume for spec in puppet.opened] == [None, "puppet-1"]
        assert puppet.closed == 2


class Forgetful(Puppet):
    """Knows no session but those of its own process."""

    async def open(self, spec: SessionSpec) -> Puppet:
        if spec.resume is not None:
            raise AgentGone("it has forgotten")
        self.token += "x"
        return await super().open(spec)


async def test_a_session_that_the_agent_forgot_is_told_and_a_new_one_opened(tmp_path: Path) -> None:
    puppet = Forgetful()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("go on")
        (await puppet.turn()).play(TextDelta("first"), TurnEnded("completed"))
        await relay.seen("first")
        await relay.restart()
        await relay.say("go on")
        (await puppet.turn(2)).play(TextDelta("second"), TurnEnded("completed"))
        await relay.seen("second")
        told = await relay.seen("no longer knows what was said here before")
        assert told["ping"] == []
        (lost,) = await relay.log("session.lost")
        assert lost.body["why"] == "it has forgotten"
        assert len({i.body["token"] for i in await relay.log("session.opened")}) == 2


async def test_what_was_posted_just_before_a_kill_is_not_posted_again(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for number in range(6):
            await relay.say(f"say number {number}.")
            await relay.seen(f"number {number}.")
            await relay.restart(kill=True)
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert [said.count(f"number {n}.") for n in range(6)] == [1] * 6


async def test_a_message_said_right_before_a_kill_is_answered_after_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for number in range(6):
            await relay.say(f"say number {number}.")
            await relay.clock.sleep(number / 20)
            await relay.restart(kill=True)
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert [said.count(f"number {n}.") for n in range(6)] == [1] * 6


async def test_whoever_a_cut_off_turn_was_for_is_still_whom_the_answer_is_for(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        relay.work.mkdir(exist_ok=True)
        await relay.say("!watch notes --file notes.md --window 0s")
        await relay.watching("notes")
        await relay.say("slow 20")
        await relay.turn_runs()
        (relay.work / "notes.md").write_text("new\n")
        await relay.until_logged("watch.fired")
        said = await relay.say("say and this\nslow 30")
        await relay.until_logged("turn.started", 2)
        await relay.restart(kill=True)
        answer = await relay.seen("and this")
        assert answer["text"].startswith("↳ triggered by watch «notes»")
        assert "+new" in answer["text"]
        assert answer["reply_to"] == said.message
        await relay.quiet()
        for times, again in enumerate((said.message, answer["id"]), 2):
            await relay.react(again, "🔁")
            retried = await relay.seen("and this", times=times)
            assert retried["text"].startswith("↳ triggered by watch «notes»"), (
                "run again, it is still that watch"
            )
        await relay.say("!retry")
        retried = await relay.seen("and this", times=4)
        assert retried["text"].startswith("↳ triggered by watch «notes»")


async def test_what_joined_a_turn_goes_on_as_often_as_any_other(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say begun\nslow 3000")
        seen: str | None = None
        for number in range(4):
            await relay.until(lambda last=seen: relay.running() not in (None, last), "the next try")
            seen = relay.running()
            if number == 3:
                await relay.say("say joined late")
                await relay.until_logged("turn.steered")
            await relay.restart(kill=True)
        await relay.seen("I'm picking it up again", times=4)
        await relay.until(lambda last=seen: relay.running() not in (None, last), "the next try")
        await relay.say("!stop")
        await relay.seen("Stopped")


async def test_who_else_is_given_up_with_it_is_told(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 10")
        await relay.turn_runs()
        for number in range(3):
            await relay.say(f"say {number}\nslow 3000")
        seen: str | None = None
        await relay.until_logged("turn.ended", 1)
        for _ in range(4):
            await relay.until(lambda last=seen: relay.running() not in (None, last), "the next try")
            seen = relay.running()
            await relay.restart(kill=True)
        await relay.seen("working on this and 2 more messages, and I can't pick it up by myself")
        await relay.seen("to run all of it again")


async def test_what_a_room_is_owed_waits_while_access_json_does_not_name_it(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        full = relay.access
        await relay.say("say first\nslow 30")
        await relay.turn_runs()
        await relay.say("say second")
        await relay.until_logged("turn.prompted", 2)
        rooms = {"web:other": full.rooms["web:main"]}
        relay.access = full.model_copy(update={"rooms": rooms})
        await relay.restart(kill=True)
        await relay.say("say hello", "other")
        await relay.seen("hello", place="other")
        relay.access = full
        await relay.restart()
        await relay.seen("first")
        await relay.seen("second")
        await relay.quiet()
        assert not await relay.log("post.dead")
        assert "failed" not in await relay.ends()


async def test_cut_off_work_of_an_agent_that_is_gone_is_told_and_offered(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("say begun\nslow 3000")
        await relay.turn_runs()
        other = relay.access.agents["scout"]
        rooms = {
            name: room.model_copy(update={"agent": "other"}) for name, room in relay.access.rooms.items()
        }
        relay.access = relay.access.model_copy(update={"agents": {"other": other}, "rooms": rooms})
        await relay.restart(kill=True)
        told = await relay.seen("I can't pick it up by myself")
        assert told["reply_to"] == said.message
        await relay.say("say and now with another")
        await relay.seen("and now with another")
        assert [i.body["agent"] for i in await relay.log("session.opened")] == ["scout", "other"]

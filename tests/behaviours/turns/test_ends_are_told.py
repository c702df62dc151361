"""However a turn ends: people are told in its thread, with what they can do; and nobody is left waiting."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import pytest
from fakes.living import Living, living
from fakes.puppet import Puppet, PuppetTurn

from relay.agents.runtime import ApprovalAsked, Notice, TextDelta, ToolUpdate, TurnEnded, TurnEvent
from relay.agents.runtime import TurnStatus as Status
from relay.errors import StoreUnavailable
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Group, Outcome

pytestmark = pytest.mark.anyio


async def test_a_failure_is_told_with_what_to_do_and_the_asker_is_called(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("fail no such model")
        told = await relay.seen("The agent failed: no such model.")
        assert "🔁" in told["text"]
        assert "`!retry`" in told["text"]
        assert told["reply_to"] == said.message
        assert told["ping"] == ["web:owner"]


async def test_d7_a_failure_notice_never_takes_the_answer_s_place(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say half an answer\nfail the rest")
        await relay.seen("half an answer")
        await relay.seen("The agent failed: the rest.")
        await relay.quiet()
        assert len(await relay.ours()) == 2


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("refused", "The agent refused: not my job. Say it differently, or type `!retry`."),
        ("limited", "I ended this turn: not my job. Type `!retry` to run it again."),
        ("failed", "The agent failed: not my job."),
        ("cancelled", "Stopped (not my job)."),
    ],
)
async def test_every_end_but_a_completed_one_is_told(tmp_path: Path, status: Status, told: str) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        (await puppet.turn()).play(TurnEnded(status, "not my job"))
        await relay.seen(told)


async def test_a_dead_agent_is_told_and_the_thread_goes_on_in_its_session(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("die")
        await relay.seen("The agent failed: the agent's process died.")
        await relay.say("say I am back")
        await relay.seen("I am back")
        assert len({i.body["token"] for i in await relay.log("session.opened")}) == 1


async def test_an_agent_that_ends_without_a_word_has_failed(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        (await puppet.turn())._send.close()
        await relay.seen("it ended without a word")
        assert puppet.closed == 1


async def test_what_a_stopped_turn_had_said_is_kept(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say the first half\nslow 3000")
        await relay.turn_runs()
        await relay.say("!stop")
        await relay.seen("Stopped (Olga). React 🔁 on your message, or type `!retry`, to run it again.")
        await relay.seen("the first half")


async def test_p8_a_silent_turn_is_ended_at_its_limit_and_the_thread_is_usable(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"turn_silence": 3_000}) as relay:
        await relay.say("slow 3000")
        await relay.seen("I ended this turn: the agent said nothing for 3 s.")
        assert await relay.ends() == ["limited"]
        await relay.say("say fine")
        await relay.seen("fine")


async def test_p8_an_agent_that_does_not_end_when_asked_is_left(tmp_path: Path) -> None:
    puppet = Puppet(obeys=False)
    async with living(
        tmp_path, limits={"turn_silence": 2_000}, runtimes=lambda _: {"scripted": puppet}, speed=60
    ) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        turn.play(TextDelta("so far"))
        await relay.seen("the agent said nothing for 2 s")
        await relay.seen("so far")
        assert turn.cancelled == "the agent said nothing for 2 s"
        assert puppet.closed == 1, "its session is not used again"
        puppet.obeys = True
        await relay.say("and now")
        (await puppet.turn(2)).play(TextDelta("better"), TurnEnded("completed"))
        await relay.seen("better")


async def test_a_turn_is_ended_at_its_total_limit_however_much_it_says(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"turn_total": 3_000}) as relay:
        await relay.say("stream " + "word " * 2_000)
        await relay.seen("I ended this turn: it ran for 3 s, which is the limit.")
        await relay.seen("word word")


async def test_waiting_for_a_person_is_not_the_agent_s_silence(tmp_path: Path) -> None:
    puppet = Puppet()
    limits = {"turn_silence": 60_000, "approval": 200_000}
    async with living(tmp_path, limits=limits, runtimes=lambda _: {"scripted": puppet}, speed=60) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        turn.play(ApprovalAsked("r1", "c1", "make", "make", "/"))
        for _ in range(2_000):
            if turn.answers:
                break
            await anyio.sleep(0.005)
        assert turn.answers == [("r1", False, "nobody answered in time")]
        # Its silence counts from the answer on, not from its question: it may think as long as before.
        await relay.clock.sleep(40)
        assert turn.cancelled is None
        turn.play(TextDelta("then not"), TurnEnded("completed"))
        await relay.seen("then not")
        assert await relay.ends() == ["completed"]


async def test_l2_a_silent_turn_posts_nothing_but_a_sign_on_the_message(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say("silent")
        await relay.reacted(said.message, "👌")
        await relay.quiet()
        assert await relay.ours() == []
        assert await relay.ends() == ["completed"]
        await relay.restart()
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1


@pytest.mark.parametrize("text", ["", "   ", "\n\n \t\n", "\u2028"])
async def test_f15_an_empty_reply_makes_no_empty_post(tmp_path: Path, text: str) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        said = await relay.say("do it")
        (await puppet.turn()).play(TextDelta(text), TurnEnded("completed"))
        await relay.reacted(said.message, "👌")
        await relay.quiet()
        assert await relay.ours() == []
        assert not await relay.log("post.dead")


async def test_f11_an_answer_stands_last_and_whole_behind_many_tools(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        for number in range(60):
            turn.play(ToolUpdate(f"c{number}", f"tool {number}", "running"))
            turn.play(ToolUpdate(f"c{number}", f"tool {number}", "done"))
        turn.play(TextDelta("Which of the two do you mean?"), TurnEnded("completed"))
        await relay.seen("Which of the two do you mean?")
        await relay.quiet()
        assert await relay.ours() == ["Which of the two do you mean?"]


async def test_a_notice_of_the_agent_is_posted_at_once_and_calls_nobody(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        (await puppet.turn()).play(Notice("compacting the conversation"))
        assert (await relay.seen("compacting"))["ping"] == []
        assert await relay.turn_runs()


class Broken(PuppetTurn):
    """Has a defect in the middle of a turn."""

    async def events(self) -> AsyncIterator[TurnEvent]:
        yield TextDelta("so far")
        raise KeyError("a defect")


class Breaking(Puppet):
    """The first turn of it is broken."""

    async def start(self, turn_id: str, prompt: str) -> PuppetTurn:
        turn = await super().start(turn_id, prompt)
        return turn if len(self.turns) > 1 else Broken(prompt, self.obeys, self.steered_as)


async def test_a_defect_in_an_agent_s_adapter_ends_the_turn_and_the_thread_goes_on(tmp_path: Path) -> None:
    puppet = Breaking()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        await relay.seen("The agent failed: KeyError inside the relay; its log has more.")
        await relay.seen("so far")
        await relay.say("and now")
        (await puppet.turn(2)).play(TextDelta("better"), TurnEnded("completed"))
        await relay.seen("better")


class FullDisk(MemoryStore):
    """Refuses as many writes as it is told to."""

    refuses = 0

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        if self.refuses > 0:
            self.refuses -= 1
            raise StoreUnavailable("the disk is full.", "Free some space.")
        return await super().append(groups)


async def test_a_turn_that_ends_while_the_ledger_can_t_be_written_is_told_when_it_can(tmp_path: Path) -> None:
    puppet, store = Puppet(), FullDisk()
    async with living(tmp_path, store=store, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("do it")
        turn = await puppet.turn()
        await relay.quiet(but_for_turns=True)
        store.refuses = 4
        turn.play(ToolUpdate("c1", "make", "running"), TextDelta("the answer"), TurnEnded("completed"))
        await relay.say("say more")
        await relay.seen("the disk is full", times=1)
        assert (await relay.ends())[0] == "failed"
        (await puppet.turn(2)).play(TextDelta("on we go"), TurnEnded("completed"))
        await relay.seen("on we go")


async def test_more_messages_than_a_turn_s_record_holds_wait_for_the_next(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"queue": 1_000}) as relay:
        await relay.say("say 0.\nslow 40")
        await relay.turn_runs()
        for number in range(1, 150):
            await relay.say(f"say {number}.")
        await relay.seen("149.")
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert [said.count(f"\n{n}.") for n in range(1, 150)] == [1] * 149
        assert set(await relay.ends()) == {"completed"}


async def run_length(relay: Living) -> int:
    return len(await relay.log("turn.ended"))


async def test_an_agent_that_can_t_be_opened_is_told_and_the_message_is_not_tried_for_ever(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, runtimes=lambda _: {}) as relay:
        await relay.say("hello")
        await relay.seen("The agent failed: access.json names no agent 'scout' that this relay can run.")
        await relay.quiet()
        assert await run_length(relay) == 1

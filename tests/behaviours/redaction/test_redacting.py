"""After a redaction no byte of the text stands in any file of the state folder, and everything else goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from behaviours.redaction.searched_house import MARK, holding, house, redact, sound
from fakes.living import ADA, OWNER, Living

from relay.behaviours.intake.reconciler_sending import Sending
from relay.behaviours.intake.sending import Send

pytestmark = pytest.mark.anyio


async def said_and_answered(town: Living) -> str:
    said = await town.say(f"hello {MARK} and all")
    await town.seen(MARK)
    return f"web:{said.message}"


async def a_long_one(town: Living) -> str:
    said = await town.say("x" * 20_000 + MARK)
    await town.until_logged("turn.ended")
    return f"web:{said.message}"


async def edited(town: Living) -> str:
    said = await town.say("say something harmless")
    await town.seen("harmless")
    await town.edit(said.message, f"say {MARK}")
    await town.until_logged("channel.edited")
    return f"web:{said.message}"


async def a_reply(town: Living) -> str:
    await town.say("tool write notes.md x")
    await town.seen("wrote notes.md")
    (town.work / "notes.md").write_text(f"{MARK}\n")
    await town.say("tool read notes.md")
    return f"web:{(await town.seen(MARK))['id']}"


async def a_failed_turn(town: Living) -> str:
    said = await town.say(f"fail {MARK}")
    await town.seen(MARK)
    return f"web:{said.message}"


async def an_asked_command(town: Living) -> str:
    said = await town.say(f"ask echo {MARK}")
    card = await town.card()
    await town.click(card, "allow", reason=f"fine, {MARK}")
    await town.seen("allowed: echo")
    return f"web:{said.message}"


async def what_a_program_sent(town: Living) -> str:
    """By the notice that shows it: it has no message of its own."""
    await Sending(town.relay.parts).send(Send("k1", "web:main", f"say {MARK}", "ci", "prompt"))
    shown = await town.seen("(a program) sends")
    await town.until_logged("turn.ended")
    return f"web:{shown['id']}"


async def a_steered_one(town: Living) -> str:
    await town.say("slow 20")
    await town.turn_runs()
    said = await town.say(f"say also {MARK}")
    await town.until_logged("turn.steered")
    await town.seen(MARK)
    return f"web:{said.message}"


async def one_replied_to(town: Living) -> str:
    said = await town.say(f"say {MARK}")
    await town.seen(MARK)
    await town.say("what do you think of it?", reply_to=said.message, by=ADA)
    await town.until_logged("turn.ended", 2)
    return f"web:{said.message}"


async def one_that_stood_above(town: Living) -> str:
    """It was not said to the agent, so the ledger doesn't know it."""
    said = await town.say(f"between us: {MARK}", by=ADA)
    await town.say("@scout say something harmless")
    await town.seen("harmless")
    (started,) = await town.log("turn.started")
    assert started.body["above"] == 1
    return said.message


async def one_that_why_told_of(town: Living) -> str:
    said = await town.say(f"say {MARK}")
    await town.seen(MARK)
    await town.say(f"!why {said.message}")
    await town.seen("channel.message")
    return f"web:{said.message}"


async def a_reminder(town: Living) -> str:
    said = await town.say(f'!watch tea --in 10s "{MARK} is ready"')
    await town.seen("is ready")
    await town.say("!watches")
    await town.until_logged("turn.ended")
    await town.until_logged("watch.disarmed")
    return f"web:{said.message}"


async def a_reminder_over_a_restart(town: Living) -> str:
    """Its words stand in a checkpoint."""
    said = await town.say(f'!watch tea --in 60s "{MARK} is ready"')
    await town.watching("tea")
    await town.quiet()
    await town.restart()
    await town.seen("is ready")
    await town.until_logged("watch.disarmed")
    return f"web:{said.message}"


async def a_fire(town: Living) -> str:
    notes = town.work / "notes.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("one\n")
    await town.say("!watch notes --file notes.md --window 0")
    await town.watching("notes")
    notes.write_text(f"one\n{MARK}\n")
    await town.until_logged("watch.fired")
    await town.until_logged("turn.ended")
    notes.write_text("one\n")
    await town.until_logged("watch.fired", 2)
    await town.until_logged("turn.ended", 2)
    await town.say("!unwatch notes")
    await town.until_logged("watch.disarmed")
    await town.quiet()
    await redact(town, (await town.log("watch.fired"))[1].id)
    return (await town.log("watch.fired"))[0].id[:12]


STORIES: list[Callable[[Living], Awaitable[str]]] = [
    said_and_answered,
    a_long_one,
    edited,
    a_reply,
    a_failed_turn,
    an_asked_command,
    what_a_program_sent,
    a_steered_one,
    one_replied_to,
    one_that_stood_above,
    one_that_why_told_of,
    a_reminder,
    a_reminder_over_a_restart,
    a_fire,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_no_file_holds_a_text_that_was_redacted(
    tmp_path: Path, story: Callable[[Living], Awaitable[str]]
):
    async with house(tmp_path, require_mention=story is one_that_stood_above) as town:
        id = await story(town)
        await town.say("@scout say and something else", place="side")
        await town.seen("and something else", place="side")
        await town.quiet()
        assert holding(tmp_path, MARK), "it stood somewhere before"
        asked = await redact(town, id)
        assert asked.records
        assert holding(tmp_path, MARK) == []
        assert holding(tmp_path, "and something else"), "what others said stays"
        await sound(town)
        again = await redact(town, id)
        assert again.records == (), "a second time changes nothing"
        await town.restart()
        await town.say("@scout say it goes on", by=OWNER)
        await town.seen("it goes on")
        assert holding(tmp_path, MARK) == []
        await town.stop()
    assert holding(tmp_path, MARK) == []

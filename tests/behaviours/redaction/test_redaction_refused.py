"""What can't be redacted now is told, and nothing was changed then; what waits for a turn gets none."""

from __future__ import annotations

from pathlib import Path

import pytest
from behaviours.redaction.searched_house import MARK, holding, house, redact, sound

from relay.behaviours.intake.verbs import IntakeCaughtUp
from relay.behaviours.redaction.reconciler_plan import NotRedacted
from relay.ledger.interaction import Draft

pytestmark = pytest.mark.anyio


async def test_an_id_that_is_unknown_changes_nothing(tmp_path: Path):
    async with house(tmp_path) as town:
        await town.say("hello")
        await town.seen("hello")
        await town.quiet()
        head = town.relay.parts.engine.head
        for id in (
            "web:m999",
            "m999",
            "discord:17",
            "ab" * 32,
            "",
            "web:",
            "took:x",
            "zz",
            "%",
            "../ledger.db",
        ):
            with pytest.raises(NotRedacted, match="Nothing was changed"):
                await redact(town, id)
        assert town.relay.parts.engine.head == head


async def test_an_id_that_may_mean_several_changes_nothing(tmp_path: Path):
    async with house(tmp_path) as town:
        engine = town.relay.parts.engine
        heads: set[str] = set()
        for number in range(100_000):
            seen = IntakeCaughtUp(surface="web", place="x", position=number)
            (i,) = await engine.admit(Draft.of(seen, "x", number, actor="relay"))
            if i.id[:4] in heads:
                break
            heads.add(i.id[:4])
        head = engine.head
        with pytest.raises(NotRedacted, match="may mean"):
            await redact(town, i.id[:4])
        assert engine.head == head


async def test_a_turn_that_was_given_the_text_must_have_ended(tmp_path: Path):
    async with house(tmp_path) as town:
        said = await town.say(f"slow 3000\nsay {MARK}")
        await town.turn_runs()
        with pytest.raises(NotRedacted, match="still runs in web:main") as refused:
            await redact(town, said.message)
        assert "!stop" in refused.value.advice
        assert await town.log("interaction.") == []
        await town.say("!stop")
        await town.until_logged("turn.ended")
        await town.quiet()
        await redact(town, said.message)
        assert holding(tmp_path, MARK) == []
        await sound(town)


async def test_a_turn_that_was_steered_with_it_too(tmp_path: Path):
    async with house(tmp_path) as town:
        await town.say("slow 3000")
        await town.turn_runs()
        said = await town.say(f"say {MARK}")
        await town.until_logged("turn.steered")
        with pytest.raises(NotRedacted, match="still runs"):
            await redact(town, said.message)


async def test_a_reminder_keeps_its_words_until_it_is_off(tmp_path: Path):
    async with house(tmp_path) as town:
        said = await town.say(f'!watch tea --in 9h "{MARK} is ready"')
        await town.watching("tea")
        with pytest.raises(NotRedacted, match="still needs its words") as refused:
            await redact(town, said.message)
        assert "!unwatch tea" in refused.value.advice
        await town.say("!unwatch tea")
        await town.until_logged("watch.exited")
        await town.quiet()
        await redact(town, said.message)
        assert holding(tmp_path, MARK) == []
        await sound(town)


async def test_a_message_that_waits_gets_no_turn(tmp_path: Path):
    async with house(tmp_path, busy="queue") as town:
        await town.say("slow 20")
        await town.turn_runs()
        said = await town.say(f"say {MARK}")
        await town.until_logged("turn.prompted", 2)
        await redact(town, said.message)
        await town.reacted(said.message, "🚫")
        await town.until_logged("turn.ended")
        await town.quiet()
        assert len(await town.log("turn.started")) == 1
        assert holding(tmp_path, MARK) == []
        await sound(town)


async def test_the_redaction_says_who_did_it_and_why(tmp_path: Path):
    async with house(tmp_path) as town:
        said = await town.say(f"say {MARK}")
        await town.seen(MARK)
        await town.quiet()
        await redact(town, said.message)
        (redaction,) = await town.log("interaction.redacted")
        assert (redaction.actor, redaction.role) == ("terminal:root", "owner")
        assert (redaction.body["by"], redaction.body["why"]) == ("root at the terminal", "a slip")
        assert redaction.at > 0
        (message,) = await town.log("channel.message")
        assert message.redacted
        assert message.verifies()
        shown = [m for m in await town.messages() if m["id"] == said.message]
        assert shown[0]["text"] == "(redacted)"

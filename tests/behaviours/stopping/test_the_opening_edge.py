"""A message that is taken back as its turn is being opened is either dropped or stopped, and never told the one and
done the other.

The relay moves one round of the event loop at a time; the stop sign, or the deletion, comes after each number of them
in turn, from right behind the message to well into its turn.
"""

from collections import Counter
from pathlib import Path

import pytest
from fakes.chat_in_memory import ChatInMemory
from fakes.stepping import at_rest, rounds, stepping, without_threads

from relay.agents.runtime import Steered
from relay.agents.scripted.runtime import ScriptedTurn
from relay.app import Relay
from relay.surfaces.surface import MessageEvent, Person, ReactionEvent

pytestmark = pytest.mark.anyio
OLGA = Person("owner", "Olga", owner=True)
MOST_ROUNDS = 400
BEYOND = 15
"""Rounds behind the turn's beginning that are still tried."""


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No threads; and an agent that takes its time to say that it took a message."""
    without_threads(monkeypatch)
    steer = ScriptedTurn.steer

    async def slowly(turn: ScriptedTurn, message_id: str, prompt: str) -> Steered:
        taken = await steer(turn, message_id, prompt)
        await rounds(12)
        return taken

    monkeypatch.setattr(ScriptedTurn, "steer", slowly)


async def take_back(relay: Relay, chat: ChatInMemory, said: MessageEvent, how: str) -> None:
    (intake,) = relay.intakes
    if how == "stop sign":
        await intake.reaction(ReactionEvent(said.place, said.message, OLGA, "🛑", True, 1))
    else:
        chat.erase(said.message)
        await intake.deleted(said.place, said.message)


@pytest.mark.parametrize("behind", ["nothing", "a turn"])
@pytest.mark.parametrize("how", ["stop sign", "deletion"])
async def test_what_is_taken_back_as_its_turn_opens_is_dropped_or_met_by_the_turn(
    tmp_path: Path, inline: None, how: str, behind: str
) -> None:
    """`behind` a turn that runs: the message is on its way into that turn."""
    came: Counter[str] = Counter()
    late = 0
    async with stepping(tmp_path, "steer") as (relay, chat):
        (intake,) = relay.intakes
        for n in range(MOST_ROUNDS):
            if behind == "a turn":
                await intake.message(chat.write("slow 0.02"))
                await rounds(150)
            before = relay.parts.engine.head
            said = chat.write(f"say it is done, {n}.\nslow 0.02")
            await intake.message(said)
            await rounds(n)
            await take_back(relay, chat, said, how)
            await at_rest(relay)
            log = await relay.parts.engine.store.read(before, 1_000_000)
            (prompt,) = [i.id for i in log if i.verb == "turn.prompted"]
            dropped = any(i.verb == "turn.withdrawn" for i in log)
            given = any(
                prompt in i.body.get("takes", ()) or prompt == i.body.get("prompt")
                for i in log
                if i.verb in ("turn.started", "turn.steered")
            )
            stopped = any(i.verb == "turn.stop_asked" for i in log)
            asked = any(i.verb == "correction.offered" for i in log)
            verbs = [i.verb for i in log]
            if dropped and not given:
                came["dropped"] += 1
                assert not any(f"done, {n}." in text for text in chat.ours()), verbs
            else:
                came["given"] += 1
                came["given as it was dropped"] += dropped
                assert given, verbs
                assert stopped if how == "stop sign" else asked, verbs
                assert behind == "a turn" or not dropped, verbs
                late += 1
            if late > BEYOND:
                break
    assert came["given"] > BEYOND, came
    assert came["dropped" if behind == "nothing" else "given as it was dropped"], came

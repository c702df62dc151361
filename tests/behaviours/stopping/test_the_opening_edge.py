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


class Became:
    """What became of a message, as the ledger has it since `before`."""

    def __init__(self, relay: Relay, before: int, how: str) -> None:
        self._relay, self._before, self._how = relay, before, how
        self.verbs: list[str] = []
        self.dropped = self.given = self.met = False

    async def look(self) -> bool:
        """Whether it is settled: dropped, or with a turn that was stopped or whose card asks."""
        log = await self._relay.parts.engine.store.read(self._before, 1_000_000)
        self.verbs = [i.verb for i in log]
        prompts = [i.id for i in log if i.verb == "turn.prompted"]
        self.dropped = "turn.withdrawn" in self.verbs
        self.given = any(
            {*i.body.get("takes", ()), i.body.get("prompt")} & set(prompts)
            for i in log
            if i.verb in ("turn.started", "turn.steered")
        )
        self.met = ("turn.stop_asked" if self._how == "stop sign" else "correction.offered") in self.verbs
        return self.met if self.given else self.dropped


async def settled(became: Became) -> None:
    for _ in range(2_000):
        if await became.look():
            return
        await rounds(1)
    raise AssertionError(f"it is neither dropped nor met: {became.verbs}")


@pytest.mark.parametrize("behind", ["nothing", "a turn"])
@pytest.mark.parametrize("how", ["stop sign", "deletion"])
async def test_what_is_taken_back_as_its_turn_opens_is_dropped_or_met_by_the_turn(
    tmp_path: Path, inline: None, how: str, behind: str
) -> None:
    """`behind` a turn that runs: the message is on its way into that turn."""
    came: Counter[str] = Counter()
    async with stepping(tmp_path, "steer") as (relay, chat):
        (intake,) = relay.intakes
        for n in range(MOST_ROUNDS):
            if behind == "a turn":
                await intake.message(chat.write("slow 600"))
                await rounds(150)
            became = Became(relay, relay.parts.engine.head, how)
            said = chat.write(f"say it is done, {n}.\nslow 600")
            await intake.message(said)
            await rounds(n)
            await take_back(relay, chat, said, how)
            await settled(became)
            await rounds(40)  # it may be given to the turn only now
            await settled(became)
            if became.given:
                came["given"] += 1
                came["given as it was dropped"] += became.dropped
                assert behind == "a turn" or not became.dropped, became.verbs
            else:
                came["dropped"] += 1
            await intake.message(chat.write("!stop"))
            await at_rest(relay)
            assert became.given or not any(f"done, {n}." in text for text in chat.ours()), became.verbs
            if came["given"] > BEYOND:
                break
    assert came["given"] > BEYOND, came
    assert came["dropped" if behind == "nothing" else "given as it was dropped"], came

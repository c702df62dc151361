"""A message that comes as a turn ends belongs to exactly one turn, whatever the moment.

No thread and no timer takes part here: the relay moves one round of the event loop at a time, and the message comes
after each number of them in turn, from before the agent's turn began to well after it was over.
"""

from collections import Counter
from pathlib import Path

import pytest
from fakes.stepping import at_rest, rounds, stepping, without_threads

from relay.app import Relay

pytestmark = pytest.mark.anyio
MOST_ROUNDS = 600
BEYOND = 25
"""Rounds behind the turn's end that are still tried."""
FIRST = "say first of {n}.\ntool write f.txt x\ntool read f.txt\ntool append f.txt x\ntool read f.txt"


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    without_threads(monkeypatch)


async def taken(relay: Relay) -> Counter[str]:
    """How often each prompt was taken by a turn."""
    counted: Counter[str] = Counter()
    for i in await relay.parts.engine.store.read(0, 1_000_000):
        if i.verb == "turn.started":
            counted.update(i.body["takes"])
        elif i.verb == "turn.steered":
            counted[i.body["prompt"]] += 1
        elif i.verb == "turn.prompted":
            counted[i.id] += 0
    return counted


@pytest.mark.parametrize("busy", ["steer", "queue", "interrupt"])
async def test_l14_m8_a_message_at_the_edge_belongs_to_exactly_one_turn(
    tmp_path: Path, inline: None, busy: str
) -> None:
    came: Counter[str] = Counter()
    beyond = 0
    async with stepping(tmp_path, busy) as (relay, chat):
        (intake,) = relay.intakes
        for n in range(MOST_ROUNDS):
            before = relay.parts.engine.head
            await intake.message(chat.write(FIRST.format(n=n)))
            await rounds(n)
            await intake.message(chat.write(f"say second of {n}."))
            await at_rest(relay)
            log = await relay.parts.engine.store.read(before, 1_000_000)
            verbs = [
                i.verb
                for i in log
                if i.verb in ("turn.prompted", "turn.started", "turn.steered", "turn.ended")
            ]
            when = {0: "before", 1: "during", 2: "after"}[
                min(len(verbs[1 : verbs.index("turn.prompted", 1)]), 2)
            ]
            came[f"{when}, steered" if "turn.steered" in verbs else when] += 1
            assert verbs.count("turn.started") == verbs.count("turn.ended")
            said = "\n".join(chat.ours())
            assert said.count(f"second of {n}.") == 1, (n, verbs)
            assert said.count(f"first of {n}.") <= 1, (n, verbs)
            assert said.count(f"first of {n}.") == 1 or busy == "interrupt", (n, verbs)
            both = {
                f"m{number}"
                for number, s in enumerate(chat.said, 1)
                if f"of {n}." in s.post.text and s.person
            }
            marks = {(message, emoji) for message, emoji in chat.our_reactions if message in both}
            assert marks == {(message, "👀") for message in both}, (n, verbs)
            beyond = beyond + 1 if when == "after" else 0
            if beyond > BEYOND:
                break
        assert set((await taken(relay)).values()) == {1}
    assert came["after"] > BEYOND
    assert came["during"], "it came too late to go into the turn, and ran next"
    assert bool(came["during, steered"]) == (busy == "steer"), came

"""Bots and the agent don't talk without end: after so many turns a person is needed, and that is said once."""

from pathlib import Path

import pytest
from fakes.living import OWNER, STRANGER, Living, access, living

from relay.behaviours.intake.filter import Said, Taken, take
from relay.config import Access, Peer
from relay.surfaces.surface import Person

pytestmark = pytest.mark.anyio
SCOUT_B = Person("scout-b", "scout-b", bot=True)
UNKNOWN_BOT = Person("other", "other", bot=True)


def with_peer(folder: Path, **limits: int) -> Access:
    base = access(folder, peers=("scout-b",), limits={"bot_turns": 2, **limits})
    return base.model_copy(update={"peers": {"scout-b": Peer()}})


async def one_turn(relay: Living, number: int) -> None:
    await relay.say(f"@scout\nsay turn {number}", by=SCOUT_B)
    await relay.seen(f"turn {number}")


async def test_s1_two_bots_stop_at_the_cap_which_only_a_person_s_message_resets(tmp_path: Path) -> None:
    async with living(tmp_path, access_=with_peer(tmp_path)) as relay:
        await one_turn(relay, 1)
        await one_turn(relay, 2)
        for number in range(3, 6):
            await relay.say(f"@scout\nsay turn {number}", by=SCOUT_B)
        await relay.until_logged("intake.turned_away", 3)
        await relay.say("@scout\nsay hello", by=STRANGER)
        await relay.say("@scout\nsay turn 6", by=SCOUT_B)
        await relay.until_logged("intake.turned_away", 4)
        await relay.quiet()
        told = await relay.ours()
        assert told[:2] == ["turn 1", "turn 2"]
        assert len(told) == 3
        assert "Bots have started 2 turns in a row here" in told[2]
        assert (await relay.messages())[-1]["ping"] == []

        await relay.say("say go on")
        await relay.seen("go on")
        await one_turn(relay, 7)
        await one_turn(relay, 8)
        await relay.say("@scout\nsay turn 9", by=SCOUT_B)
        await relay.seen("Bots have started", times=2)
        await relay.quiet()
        assert not any("turn 9" in text or "turn 5" in text for text in await relay.ours())


async def test_s1_the_cap_outlives_a_restart_and_counts_a_scope_alone(tmp_path: Path) -> None:
    async with living(tmp_path, access_=with_peer(tmp_path)) as relay:
        await one_turn(relay, 1)
        await one_turn(relay, 2)
        await relay.restart(kill=True)
        await relay.say("@scout\nsay turn 3", by=SCOUT_B)
        await relay.seen("Bots have started")
        thread = await relay.thread()
        await relay.say("@scout\nsay in a thread", thread, by=SCOUT_B)
        await relay.seen("in a thread", thread)
        assert len(await relay.ours()) == 3


async def test_turns_that_a_watch_starts_do_not_use_the_cap_up(tmp_path: Path) -> None:
    async with living(tmp_path, access_=with_peer(tmp_path), speed=60) as relay:
        for number, name in enumerate(("one", "two", "three"), 1):
            await relay.say(f'!watch --in 2s "{name}"')
            await relay.until_logged("turn.ended", number)  # else two that are due at once make one turn
        await one_turn(relay, 1)
        await one_turn(relay, 2)
        await relay.quiet()
        assert not await relay.log("intake.turned_away")


async def test_a_burst_of_a_bot_is_bounded_too(tmp_path: Path) -> None:
    async with living(tmp_path, access_=with_peer(tmp_path)) as relay:
        await relay.say("slow 3")
        await relay.turn_runs()
        for number in range(6):
            await relay.say(f"@scout\nsay burst {number}", by=SCOUT_B)
        await relay.seen("Bots have started")
        await relay.quiet()
        said = "\n".join(await relay.ours())
        assert [f"burst {n}" in said for n in range(6)] == [True, True, False, False, False, False]


async def test_a_bot_that_access_json_does_not_name_is_not_heard_and_a_known_one_stops_nothing(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, access_=with_peer(tmp_path)) as relay:
        await relay.say("@scout\nsay to the unknown", by=UNKNOWN_BOT)
        await relay.say("slow 6\nsay unharmed", by=OWNER)
        await relay.turn_runs()
        await relay.say("!stop @scout", by=SCOUT_B)
        await relay.seen("unharmed")
        await relay.seen("You said: !stop @scout")
        await relay.quiet()
        assert not await relay.log("turn.stop_asked")
        assert await relay.ends() == ["completed", "completed"]


def said(**fields: object) -> Said:
    base: dict[str, object] = {
        "text": "!stop hello",
        "role": "webhook",
        "mentions_us": False,
        "thread": False,
        "thread_joined": False,
        "replies_to_us": False,
        "room_known": True,
        "require_mention": False,
    }
    return Said(**{**base, **fields})  # pyright: ignore[reportArgumentType]


def test_c11_a_listed_webhook_starts_a_turn_and_commands_nothing() -> None:
    words = {"!stop"}
    assert take(said(), words) == Taken("room", None)
    assert take(said(require_mention=True), words) is None
    assert take(said(require_mention=True, mentions_us=True), words) == Taken("mention", None)
    assert take(said(role="stranger", mentions_us=True), words) is None

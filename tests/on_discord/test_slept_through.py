"""A machine that sleeps between two tries of a post (a closed laptop) wakes up when Discord has forgotten the nonce."""

from pathlib import Path

import pytest
from fakes.discord.rest_faults import Call
from town import Town, town

from relay.behaviours.posting.concept import Outbox

pytestmark = pytest.mark.anyio
MESSAGES = "/channels/*/messages"
TEN_MINUTES_S = 600


def sleep_of_the_machine(here: Town) -> None:
    """Ten minutes in which no process ran: wall time has gone on, and Linux's monotonic clock has not."""
    here.server.clock.advance(TEN_MINUTES_S)
    here.clock.jumped_ms += TEN_MINUTES_S * 1000


def is_answer(call: Call) -> bool:
    return "once" in str((call.body or {}).get("content", ""))


@pytest.mark.parametrize("status", [502, 503])
async def test_a_post_that_slept_after_a_lost_answer_is_not_doubled(tmp_path: Path, status: int) -> None:
    # 502 is tried again by discord.py itself, 503 by the relay.
    async with town(tmp_path, speed=1) as here:
        here.server.faults.answer("POST", MESSAGES, status, after=True, fits=is_answer)
        here.ask("say once")
        await here.server.until(lambda: here.ours(), within=60)
        sleep_of_the_machine(here)
        owed = here.relay.parts.engine.view.of(Outbox).state.where
        await here.server.until(lambda: not owed, within=60, saying="the post recorded as sent")
        await here.quiet()
        assert len(here.ours()) == 1
        assert [i.body["message"] for i in await here.log("post.sent")] == [str(here.room.seen()[-1].id)]


async def test_a_post_that_slept_while_it_waited_for_a_rate_limit_comes_all_the_same(tmp_path: Path) -> None:
    async with town(tmp_path, speed=1) as here:
        here.server.faults.too_many("POST", MESSAGES, 1.0)
        here.ask("say once")
        await here.server.until(lambda: here.server.rest.made("POST", MESSAGES), within=60)
        sleep_of_the_machine(here)
        await here.server.until(lambda: here.ours(), within=60)
        assert len(here.ours()) == 1

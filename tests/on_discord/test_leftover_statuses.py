"""No status of a turn stays in a channel: not after a crash, and not when Discord lost an answer or refused."""

from pathlib import Path

import anyio
import pytest
from fakes.discord import Place
from fakes.discord.rest_faults import Call
from town import Town, town

pytestmark = pytest.mark.anyio
MESSAGES = "/channels/*/messages"
LONG_S = 60.0


def is_status(call: Call) -> bool:
    return str((call.body or {}).get("content", "")).startswith("⏳")


def statuses(place: Place) -> list[str]:
    return [text for text in place.texts("relay") if text.startswith("⏳")]


async def said(here: Town, text: str) -> None:
    await here.server.until(lambda: any(text in t for t in here.ours()), within=LONG_S, saying=text)


async def gone(here: Town) -> None:
    await here.server.until(lambda: not statuses(here.room), within=LONG_S, saying="no status stands")


async def test_a_status_that_came_as_the_relay_died_is_taken_away_by_the_next(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        held = here.server.faults.hold("POST", f"/channels/{here.room.id}/messages", after=True)
        here.ask("slow 30\nsay done")
        await here.server.until(lambda: statuses(here.room), within=LONG_S)
        await held.reached.wait()
        async with here.away():
            held.open()
            assert len(statuses(here.room)) == 1
        await said(here, "done")
        await gone(here)


async def test_a_status_is_taken_away_although_the_next_turn_shows_one_meanwhile(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        held = here.server.faults.hold("POST", MESSAGES, after=True)
        here.ask("slow 40\nsay done")
        await here.server.until(lambda: statuses(here.room), within=LONG_S)
        await held.reached.wait()
        await here.kill()
        held.open()
        # The look for what was left is answered only while the turn that goes on is sending a status of its own.
        looked = here.server.faults.hold("GET", f"/channels/{here.room.id}/messages")
        second = here.server.faults.hold("POST", MESSAGES, fits=is_status)
        await here.start(wait=False)
        await looked.reached.wait()
        with anyio.move_on_after(LONG_S):
            await second.reached.wait()
        looked.open()
        await here.server.until(lambda: here.server.rest.made("GET", MESSAGES)[-1].status, within=LONG_S)
        second.open()
        await said(here, "done")
        await gone(here)


async def test_a_status_whose_answer_was_lost_stands_once_and_goes_with_its_turn(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.faults.cut("POST", MESSAGES, times=2, after=True, fits=is_status)
        here.ask("slow 40\nsay done")
        await here.server.until(lambda: statuses(here.room), within=LONG_S)
        await said(here, "done")
        await gone(here)
        sent = [one for one in here.server.rest.made("POST", MESSAGES) if is_status(one)]
        assert len(sent) == 3
        assert len({one.body["nonce"] for one in sent if one.body}) == 1


async def test_a_status_of_which_the_relay_never_heard_is_found(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.faults.cut("POST", MESSAGES, times=None, after=True, fits=is_status)
        here.ask("slow 40\nsay done")
        await said(here, "done")
        here.server.faults.clear()
        await gone(here)


async def test_a_status_that_discord_does_not_let_be_deleted_is_deleted_later(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.faults.answer("DELETE", f"{MESSAGES}/*", 503, times=3)
        here.ask("slow 40\nsay done")
        await said(here, "done")
        await here.server.until(
            lambda: len(here.server.rest.made("DELETE", f"{MESSAGES}/*")) >= 4, within=LONG_S
        )
        await gone(here)


async def test_an_answer_that_looks_like_a_status_stays(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("say ⏳ since <t:1796064101:R>")
        await here.server.until(lambda: statuses(here.room), within=LONG_S)
        here.server.faults.cut("POST", MESSAGES, times=None, after=True, fits=is_status)
        here.ask("slow 40\nsay done")
        await said(here, "done")
        await here.server.until(lambda: len(statuses(here.room)) == 1, within=LONG_S)
        assert "1796064101" in statuses(here.room)[0]

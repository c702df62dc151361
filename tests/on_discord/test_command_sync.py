"""Discord is told the set of slash commands when it changed, and keeps the old one when it can't be told."""

import logging
from pathlib import Path

import orjson
import pytest
from fakes.discord import commands
from fakes.discord.rest_faults import Call
from town import Town, town

from relay.behaviours import discover
from relay.surfaces.discord import slash

pytestmark = pytest.mark.anyio

WITHIN_S = 45.0
PATH = "/applications/*/commands"


def told(here: Town) -> list[Call]:
    return here.server.rest.made("PUT", PATH)


def kept(folder: Path) -> Path:
    return folder / "state" / "discord-commands.json"


def shown(here: Town) -> list[str]:
    """What a person finds who types a slash."""
    return sorted(one["name"] for one in here.bot.commands.get(None, {}).values())


WORDS = sorted(command.name for behaviour in discover() for command in behaviour.commands)


async def offered(here: Town) -> None:
    await here.server.until(lambda: shown(here) == WORDS, within=WITHIN_S, saying="the slash commands")


async def sessions(here: Town, count: int) -> None:
    """Wait until the gateway has greeted so many, and the relay has heard the last."""

    def greeted() -> bool:
        up = here.surface._connection.up_since is not None and here.server.gateway.online(here.bot)
        return up and here.server.gateway.heard.count("identify") >= count

    await here.server.until(greeted, within=WITHIN_S, saying=f"session {count}")


async def test_r3_ten_sessions_tell_it_at_most_once(tmp_path: Path) -> None:
    async with town(tmp_path, speed=200) as here:
        await offered(here)
        for count in range(2, 11):
            await sessions(here, count - 1)
            if count % 2:
                here.server.gateway.invalidate()
            else:
                await here.surface._connection.anew("a new client")
        await sessions(here, 10)
        here.ask("say still here")
        await here.answered("still here")
        assert len(told(here)) == 1
        assert len(here.bot.creations) == len(WORDS)


async def test_after_a_restart_it_is_told_only_when_the_set_is_another(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        await here.server.until(kept(tmp_path).exists, within=WITHIN_S)
        async with here.away(kill=False):
            pass
        here.ask("say back")
        await here.answered("back")
        assert len(told(here)) == 1
        for other in (orjson.dumps("another set"), b"{", b"[1]", b""):
            before = len(told(here))
            async with here.away():
                kept(tmp_path).write_bytes(other)
            await here.server.until(
                lambda n=before: len(told(here)) > n, within=WITHIN_S, saying="told again"
            )
        assert shown(here) == WORDS
        assert len(here.bot.creations) == len(WORDS), "those that Discord has are no new ones"


async def test_another_bot_is_told_its_own(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        await here.kill()
        here.bot = here.server.bot("relay two")
        here.guild.add(here.bot)
        await here.start()
        await offered(here)


FULL = "the day's count of new commands is full"
FAULTS = [
    "a long pause",
    FULL,
    "not available",
    "a page in front of it",
    "the connection is cut",
]


def break_it(here: Town, fault: str) -> None:
    faults = here.server.faults
    match fault:
        case "a long pause":
            faults.too_many("PUT", PATH, 40)
        case "the day's count of new commands is full":
            here.server.world.rules.creations_a_day = 2
        case "not available":
            faults.answer("PUT", PATH, 503)
        case "a page in front of it":
            faults.cloudflare("PUT", PATH, 403)
        case _:
            faults.cut("PUT", PATH, times=2)


@pytest.mark.parametrize("fault", FAULTS)
async def test_r5_a_refusal_leaves_the_old_set_whole_and_is_tried_again_later(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with town(tmp_path, start=False, speed=60) as here:
        old = [
            {"name": "status", "description": "as it was"},
            {"name": "older", "description": "gone one day"},
        ]
        commands.overwrite(here.server.world, here.bot, None, old)
        break_it(here, fault)
        await here.start()
        await here.server.until(lambda: here.surface.trouble, within=WITHIN_S, saying="trouble")
        assert shown(here) == ["older", "status"]
        assert "the slash commands are as they were" in here.surface.trouble
        assert any("the slash commands stay as they were" in one.message for one in caplog.records)
        assert not kept(tmp_path).exists()
        here.ask("say all the same")
        await here.answered("all the same")
        if fault == FULL:  # a day is too long for a test
            return
        await offered(here)
        await here.server.until(lambda: not here.surface.trouble, within=WITHIN_S, saying="no trouble")


async def test_a_set_that_discord_finds_wrong_is_said_and_not_sent_again_and_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with town(tmp_path, start=False, speed=200) as here:
        here.server.faults.refuse("PUT", PATH, 50035, times=None)
        await here.start()
        await here.server.until(lambda: here.surface.trouble, within=WITHIN_S, saying="trouble")
        here.ask("say all the same")
        await here.answered("all the same")
        await here.quiet()
        assert len(told(here)) == 1
        assert any("did not take the slash commands" in one.message for one in caplog.records)


async def test_a_folder_that_can_t_be_written_costs_one_more_request_a_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with town(tmp_path, start=False, speed=200) as here:
        (tmp_path / "state" / "discord-commands.part").mkdir(parents=True)
        await here.start()
        await offered(here)
        await here.surface._connection.anew("a new client")
        await sessions(here, 2)
        here.ask("say on")
        await here.answered("on")
        assert len(told(here)) == 1
        assert any("can't be written down" in one.message for one in caplog.records)


def test_the_digest_tells_sets_and_bots_apart() -> None:
    one = slash.definitions([command for behaviour in discover() for command in behaviour.commands])
    assert slash.digest("1", one) == slash.digest("1", [dict(each) for each in one])
    assert slash.digest("1", one) != slash.digest("2", one)
    assert slash.digest("1", one) != slash.digest("1", one[:-1])

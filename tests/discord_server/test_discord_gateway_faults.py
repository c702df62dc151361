"""What can go wrong on the gateway, each fault once, as the real discord.py meets it."""

import asyncio

import discord
import pytest
from discord_clients import Client, ended, running
from fakes.discord import intents, oddities

pytestmark = pytest.mark.anyio


async def _back(scene, client: Client, times: int = 1) -> None:
    """The client is connected again, `times` more often than at first."""
    again = ("resumed", "ready")
    await scene.server.until(
        lambda: sum(client.events.count(name) for name in again) > times and not client.is_closed()
    )


async def test_a_cut_link_is_resumed_and_nothing_is_lost(scene, client: Client) -> None:
    scene.server.gateway.cut()
    scene.ada.say(scene.room, "in the gap")
    scene.ada.say(scene.room, "still in it")
    await scene.server.until(lambda: client.heard("ada") == ["in the gap", "still in it"])
    assert "resumed" in client.events
    assert client.events.count("ready") == 1


@pytest.mark.parametrize("how", ["reconnect", "resumable", "close 4000", "close 4009", "close 1001"])
async def test_asked_to_come_back_it_resumes(scene, client: Client, how: str) -> None:
    gateway = scene.server.gateway
    if how == "reconnect":
        gateway.reconnect()
    elif how == "resumable":
        gateway.invalidate(resumable=True)
    else:
        gateway.close(int(how.split()[1]))
    scene.ada.say(scene.room, "meanwhile")
    await scene.server.until(lambda: "resumed" in client.events and client.heard("ada") == ["meanwhile"])
    assert gateway.heard.count("identify") == 1


async def test_a_gap_without_resume_is_lost_and_stands_in_the_history(scene, client: Client) -> None:
    before = scene.ada.say(scene.room, "before")
    await scene.server.until(lambda: client.heard("ada") == ["before"])
    scene.server.gateway.faults.refuse_resumes(60)
    scene.server.gateway.cut()
    scene.ada.say(scene.room, "in the gap")
    await scene.server.until(lambda: client.events.count("ready") == 2, within=10)
    scene.ada.say(scene.room, "after")
    await scene.server.until(lambda: client.heard("ada") == ["before", "after"])
    channel = client.get_channel(scene.room.id)
    assert [one.content async for one in channel.history(after=before)] == ["in the gap", "after"]
    assert scene.server.gateway.heard.count("identify") == 2


async def test_op_9_false_ends_the_session(scene, client: Client) -> None:
    scene.server.gateway.invalidate(resumable=False)
    await scene.server.until(lambda: client.events.count("ready") == 2, within=10)
    assert scene.server.gateway.heard.count("resume") == 0


async def test_a_dropped_event_never_comes_not_even_by_resume(scene, client: Client) -> None:
    scene.server.gateway.faults.drop("MESSAGE_CREATE", fits=lambda data: data["content"] == "lost")
    scene.ada.say(scene.room, "heard")
    scene.ada.say(scene.room, "lost")
    scene.server.gateway.cut()
    scene.ada.say(scene.room, "heard too")
    await scene.server.until(lambda: client.heard("ada") == ["heard", "heard too"])


@pytest.mark.parametrize("same_number", [True, False])
async def test_an_event_comes_twice(scene, client: Client, same_number: bool) -> None:
    scene.server.gateway.faults.double("MESSAGE_CREATE", same_number=same_number)
    scene.ada.say(scene.room, "once")
    await scene.server.until(lambda: client.heard("ada") == ["once", "once"])
    assert client.messages[0].id == client.messages[1].id
    assert scene.room.texts() == ["once"]


async def test_events_come_in_another_order_or_late(scene, client: Client) -> None:
    faults = scene.server.gateway.faults
    faults.swap("MESSAGE_CREATE", 3)
    for text in ("one", "two", "three"):
        scene.ada.say(scene.room, text)
    await scene.server.until(lambda: client.heard("ada") == ["three", "two", "one"])
    faults.late("MESSAGE_CREATE", 0.1)
    scene.ada.say(scene.room, "four")
    scene.ada.say(scene.room, "five")
    await scene.server.until(lambda: client.heard("ada")[3:] == ["five", "four"])
    assert scene.room.texts() == ["one", "two", "three", "four", "five"]


async def test_connected_and_deaf(scene, client: Client) -> None:
    scene.server.gateway.faults.silence()
    scene.ada.say(scene.room, "anybody?")
    newest = [one.content async for one in client.get_channel(scene.room.id).history(limit=1)]
    scene.server.gateway.faults.speak()
    scene.ada.say(scene.room, "again")
    await scene.server.until(lambda: client.heard("ada") == ["again"])
    assert newest == ["anybody?"], "a look at the history shows what the gateway never told"


async def test_a_link_that_answers_no_heartbeat_is_left(scene) -> None:
    scene.server.gateway.heartbeat = 0.05
    async with running(scene.server, scene.bot, heartbeat_timeout=0.3) as client:
        await scene.server.until(lambda: scene.server.gateway.heard.count("heartbeat") >= 3)
        scene.server.gateway.faults.acks = False
        await scene.server.until(lambda: "resumed" in client.events, within=10)


async def test_slow_answers_to_heartbeats_are_measured(scene) -> None:
    scene.server.gateway.heartbeat = 0.1
    scene.server.gateway.faults.ack_after = 0.2
    async with running(scene.server, scene.bot) as client:
        await scene.server.until(lambda: 0.1 < client.latency < 10)


async def test_a_late_hello_only_takes_longer(scene) -> None:
    scene.server.gateway.faults.hello_after = 0.2
    async with running(scene.server, scene.bot) as client:
        assert client.is_ready()


@pytest.mark.parametrize("status", [None, 503])
async def test_a_refused_first_connection_ends_start(scene, status: int | None) -> None:
    scene.server.gateway.faults.refuse_connections(1 if status else 2, status=status)
    assert isinstance(await ended(scene.server, scene.bot), AttributeError), "Rapptz/discord.py#10520"


async def test_a_wrong_token_and_one_that_is_withdrawn(scene) -> None:
    good, scene.bot.token = scene.bot.token, "wrong"
    app = type(scene.bot)(scene.bot.id, scene.bot.user, good, 0)
    assert isinstance(await ended(scene.server, app), discord.LoginFailure)
    assert len(scene.server.limits.invalid) == 1


@pytest.mark.parametrize(
    ("code", "fatal"), [(4001, False), (4004, True), (4010, True), (4011, True), (4012, True), (4013, True)]
)
async def test_close_codes(scene, client: Client, code: int, fatal: bool) -> None:
    scene.server.gateway.close(code)
    if fatal:
        await scene.server.until(client.is_closed)
    else:
        await _back(scene, client)


async def test_an_intent_that_is_off_in_the_portal(scene) -> None:
    scene.bot.privileged = 0
    error = await ended(scene.server, scene.bot)
    assert isinstance(error, discord.PrivilegedIntentsRequired)


async def test_a_thousand_identifies_a_day_and_the_token_is_gone(scene) -> None:
    scene.server.world.rules.identifies_a_day = 1
    async with running(scene.server, scene.bot) as client:
        found = await client.http.get_bot_gateway()
        assert found[2]["remaining"] == 0
    error = await ended(scene.server, scene.bot)
    assert isinstance(error, discord.ConnectionClosed)
    assert (error.code, scene.bot.token_valid) == (4004, False)


async def test_unknown_events_pass_and_unparsable_ones_end_start(scene) -> None:
    client = Client(scene.server)
    start = asyncio.create_task(client.start(scene.bot.token))
    await scene.server.until(client.is_ready)
    scene.server.gateway.raw("NEVER_HEARD_OF", {"x": 1})
    scene.ada.say(scene.room, "still here")
    await scene.server.until(lambda: client.heard("ada") == ["still here"])
    scene.server.gateway.raw("MESSAGE_CREATE", {"id": "1"})
    with pytest.raises(KeyError):
        await start
    await client.close()


async def test_odd_fields_in_events(scene, client: Client) -> None:
    scene.server.gateway.faults.reshape("MESSAGE_CREATE", oddities.integer_ids, times=1)
    scene.server.gateway.faults.reshape("MESSAGE_CREATE", oddities.without("flags", "member"), times=1)
    scene.ada.say(scene.room, "odd")
    await scene.server.until(lambda: client.heard("ada") == ["odd"])
    assert client.messages[0].id == scene.room.seen()[0].id


async def test_a_session_that_was_away_too_long_is_gone(scene, client: Client) -> None:
    scene.server.gateway.faults.refuse_connections(1)
    scene.server.gateway.cut()
    scene.server.clock.advance(scene.server.world.rules.session_kept + 1)
    await scene.server.until(lambda: client.events.count("ready") == 2, within=15)


async def test_members_are_given_when_asked_for(scene) -> None:
    scene.bot.privileged |= intents.MEMBERS
    wanted = discord.Intents(guilds=True, members=True)
    async with running(scene.server, scene.bot, intents=wanted, chunk_guilds_at_startup=True) as client:
        assert {one.name for one in client.get_guild(scene.guild.id).members} >= {"ada", "relay"}


async def test_all_of_discord_is_away_for_a_while(scene, client: Client) -> None:
    async with scene.server.outage():
        scene.ada.say(scene.room, "people go on")
        with pytest.raises(OSError):
            await client.get_channel(scene.room.id).send("lost")
    await scene.server.until(lambda: client.heard("ada") == ["people go on"], within=15)
    assert scene.room.texts() == ["people go on"]


async def test_every_name_that_was_looked_up_is_discords(scene, client: Client) -> None:
    asked = {name for resolver in scene.server.resolvers for name in resolver.asked}
    assert asked == {"discord.com", "gateway.discord.gg"}
    assert [one.refused for one in scene.server.resolvers] == [[]]

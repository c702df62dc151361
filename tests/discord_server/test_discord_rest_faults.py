"""What can go wrong over REST, each fault once, as the real discord.py meets it."""

import asyncio
import time

import aiohttp
import discord
import pytest
from discord_clients import Client
from fakes.discord import oddities

pytestmark = pytest.mark.anyio

SEND = ("POST", "/channels/*/messages")


async def test_some_server_errors_are_tried_again_and_make_one_message(scene, client: Client) -> None:
    statuses = (500, 502, 504, 524)
    rooms = [scene.guild.text_channel(f"room-{status}") for status in statuses]
    for room, status in zip(rooms, statuses, strict=True):
        scene.server.faults.answer("POST", f"/channels/{room.id}/messages", status, after=True)
    await asyncio.gather(*(client.get_partial_messageable(room.id).send("done") for room in rooms))
    assert [room.texts() for room in rooms] == [["done"]] * 4
    assert len(scene.server.rest.made(*SEND)) == 8


async def test_a_503_is_raised_at_once(scene, client: Client) -> None:
    scene.server.faults.answer(*SEND, 503)
    with pytest.raises(discord.DiscordServerError):
        await client.get_channel(scene.room.id).send("done")
    assert scene.room.texts() == []


async def test_a_cut_before_the_work_and_one_after_it(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    scene.server.faults.cut(*SEND)
    with pytest.raises((aiohttp.ClientError, OSError)):
        await channel.send("one", nonce="k1")
    assert scene.room.texts() == []
    scene.server.faults.cut(*SEND, after=True)
    with pytest.raises((aiohttp.ClientError, OSError)):
        await channel.send("one", nonce="k1")
    assert scene.room.texts() == ["one"], "the work was done, the answer lost"
    await channel.send("one", nonce="k1")
    assert scene.room.texts() == ["one"], "the same nonce, so the same message"


async def test_cloudflares_pages(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    for status in (403, 429, 503):
        scene.server.faults.cloudflare(*SEND, status)
        with pytest.raises(discord.HTTPException) as refused:
            await channel.send("hi")
        assert (refused.value.status, refused.value.code) == (status, 0)
    assert scene.room.texts() == []


async def test_a_429_with_via_is_waited_for_and_one_without_is_not(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    for scope in ("user", "shared", "global"):
        scene.server.faults.too_many(*SEND, 0.05, scope=scope)
        await channel.send(scope)
    assert scene.room.texts() == ["user", "shared", "global"]
    scene.server.faults.too_many(*SEND, 0.05, via=False)
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("never")
    assert refused.value.status == 429
    assert len(scene.server.limits.invalid) == 3, "a shared one isn't held against the bot"


async def test_a_long_429_can_be_refused(scene, client: Client) -> None:
    client.http.max_ratelimit_timeout = 30.0
    scene.server.faults.too_many(*SEND, 600.0)
    with pytest.raises(discord.RateLimited) as refused:
        await client.get_channel(scene.room.id).send("later")
    assert refused.value.retry_after == 600


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (10003, discord.NotFound),
        (10008, discord.NotFound),
        (50001, discord.Forbidden),
        (50013, discord.Forbidden),
        (50027, discord.HTTPException),
        (50035, discord.HTTPException),
        (50083, discord.HTTPException),
        (40005, discord.HTTPException),
        (40058, discord.Forbidden),
        (200000, discord.HTTPException),
        (130000, discord.DiscordServerError),
    ],
)
async def test_each_refusal_can_be_ordered(scene, client: Client, code: int, kind: type[Exception]) -> None:
    scene.server.faults.refuse(*SEND, code)
    with pytest.raises(kind) as refused:
        await client.get_channel(scene.room.id).send("hi")
    assert refused.value.code == code
    assert scene.room.texts() == []


async def test_slow_answers_and_held_ones(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    scene.server.faults.slow(*SEND, 0.1)
    start = time.monotonic()
    await channel.send("slow")
    assert time.monotonic() - start >= 0.1
    hold = scene.server.faults.hold(*SEND, after=True)
    sending = asyncio.create_task(channel.send("held"))
    await hold.reached.wait()
    assert scene.room.texts() == ["slow", "held"]
    assert not sending.done()
    hold.open()
    await sending


async def test_odd_answers_of_other_servers(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    scene.server.faults.reshape(*SEND, oddities.integer_ids, times=1)
    sent = await channel.send("one")
    assert sent.id == scene.room.seen()[0].id
    scene.ada.say(scene.room, "two")
    scene.server.faults.reshape("GET", "/channels/*/messages", oddities.oldest_first, times=1)
    assert [one.content async for one in channel.history(limit=2)] == ["one", "two"]
    scene.server.faults.reshape(*SEND, oddities.without("content"), times=1)
    with pytest.raises(KeyError):
        await channel.send("three")
    assert scene.room.texts() == ["one", "two", "three"]


async def test_a_bucket_is_learned_and_kept(scene, client: Client) -> None:
    scene.server.limits.limit(*SEND, 2, 0.3)
    channel = client.get_channel(scene.room.id)
    start = time.monotonic()
    for number in range(4):
        await channel.send(str(number))
    assert 0.25 < time.monotonic() - start < 3
    assert scene.room.texts() == ["0", "1", "2", "3"]
    assert scene.server.limits.invalid == [], "the client waits before it is refused"


async def test_the_global_limit(scene, client: Client) -> None:
    scene.server.limits.global_limit = 5
    rooms = [scene.guild.text_channel(f"room-{number}") for number in range(7)]
    await asyncio.gather(*(client.get_partial_messageable(room.id).send("x") for room in rooms))
    assert [room.texts() for room in rooms] == [["x"]] * 7
    assert 1 <= len(scene.server.limits.invalid) <= 10


async def test_too_many_refusals_get_the_address_banned(scene, client: Client) -> None:
    scene.server.limits.banned_at = 3
    scene.server.faults.refuse(*SEND, 50013, times=3)
    channel = client.get_channel(scene.room.id)
    for _ in range(3):
        with pytest.raises(discord.Forbidden):
            await channel.send("hi")
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("hi")
    assert refused.value.status == 429
    scene.server.clock.advance(601)
    await channel.send("hi")


async def test_unknown_paths_and_wrong_bodies(scene, client: Client) -> None:
    async with aiohttp.ClientSession(connector=scene.server.connector()) as session:
        headers = {"Authorization": f"Bot {scene.bot.token}", "Content-Type": "application/json"}
        base = "https://discord.com/api/v10"
        for path, body, status, code in (
            ("/nowhere", b"{}", 404, 0),
            (f"/channels/{scene.room.id}/messages", b"{", 400, 50109),
            ("/channels/abc/messages", b"{}", 400, 50035),
        ):
            async with session.post(base + path, data=body, headers=headers) as answer:
                assert (answer.status, (await answer.json())["code"]) == (status, code)
                assert answer.headers["Content-Type"] == "application/json"
        with pytest.raises(OSError):
            await session.get("https://example.com/")

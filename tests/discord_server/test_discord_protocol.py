"""The gateway to a client that breaks the rules: each broken rule has its own close code."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

pytestmark = pytest.mark.anyio

URL = "wss://gateway.discord.gg/?v=10&encoding=json"


@pytest.fixture
async def link(scene) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with (
        aiohttp.ClientSession(connector=scene.server.connector()) as session,
        session.ws_connect(URL) as socket,
    ):
        assert (await socket.receive_json())["op"] == 10
        yield socket


def _identify(scene, **more: Any) -> str:
    return json.dumps({"op": 2, "d": {"token": scene.bot.token, "intents": 1, "properties": {}, **more}})


async def _closed(link: aiohttp.ClientWebSocketResponse) -> int | None:
    while True:
        frame = await link.receive(timeout=5)
        if frame.type is not aiohttp.WSMsgType.TEXT:
            return link.close_code


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (['{"op": 3, "d": {}}'], 4003),
        (["no json"], 4002),
        (["[1]"], 4002),
        (["x" * 4097], 4002),
        (["identify", '{"op": 99, "d": {}}'], 4001),
        (["identify", "identify"], 4005),
        (['{"op": 1, "d": null}'] * 121, 4008),
        (['{"op": 2, "d": {"token": "wrong", "intents": 1}}'], 4004),
        (['{"op": 6, "d": {"token": "wrong", "session_id": "x", "seq": 1}}'], 4004),
    ],
)
async def test_what_breaks_the_protocol(scene, link, frames: list[str], code: int) -> None:
    for one in frames:
        await link.send_str(_identify(scene) if one == "identify" else one)
    assert await _closed(link) == code


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [("intents", 1 << 40, 4013), ("intents", None, 4013), ("intents", 1 << 1, 4014), ("shard", [2, 1], 4010)],
)
async def test_what_is_wrong_in_identify(scene, link, field: str, value: object, code: int) -> None:
    await link.send_str(_identify(scene, **{field: value}))
    assert await _closed(link) == code


async def _ready(scene, link: aiohttp.ClientWebSocketResponse) -> str:
    await link.send_str(_identify(scene))
    return (await link.receive_json())["d"]["session_id"]


async def test_a_sequence_number_that_was_never_given(scene, link) -> None:
    session = await _ready(scene, link)
    resume = {"token": scene.bot.token, "session_id": session, "seq": 999}
    async with aiohttp.ClientSession(connector=scene.server.connector()) as other:
        again = await other.ws_connect(URL)
        await again.send_json({"op": 6, "d": resume})
        assert await _closed(again) == 4007


async def test_a_resume_takes_the_session_over_from_a_link_that_is_still_open(scene, link) -> None:
    session = await _ready(scene, link)
    resume = {"token": scene.bot.token, "session_id": session, "seq": 1}
    async with aiohttp.ClientSession(connector=scene.server.connector()) as other:
        again = await other.ws_connect(URL)
        await again.send_json({"op": 6, "d": resume})
        told = [await again.receive_json() for _ in range(3)]
        assert [one.get("t") for one in told] == [None, "GUILD_CREATE", "RESUMED"]
        assert await _closed(link) == 4005


async def test_a_forgotten_session_cant_be_resumed(scene, link) -> None:
    session = await _ready(scene, link)
    scene.server.gateway.cut()
    scene.server.gateway.forget_sessions()
    resume = {"token": scene.bot.token, "session_id": session, "seq": 1}
    async with aiohttp.ClientSession(connector=scene.server.connector()) as other:
        again = await other.ws_connect(URL)
        await again.receive_json()
        await again.send_json({"op": 6, "d": resume})
        assert await again.receive_json() == {"op": 9, "d": False}


async def test_a_client_that_says_goodbye_ends_its_session(scene, link) -> None:
    await _ready(scene, link)
    assert len(scene.server.gateway.sessions) == 1
    await link.close(code=1000)
    await scene.server.until(lambda: not scene.server.gateway.sessions)
    assert scene.server.gateway.heard == ["connect", "identify", "close 1000"]


async def test_what_didnt_come_true_is_told_with_what_was_to_be_seen(scene) -> None:
    scene.ada.say(scene.room, "hello")
    with pytest.raises(AssertionError, match=r"(?s)The answer didn't come true.*ada: 'hello'"):
        await scene.server.until(lambda: False, 0.01, saying="The answer")

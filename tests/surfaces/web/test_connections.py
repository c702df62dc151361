"""Programs of the same machine that connect and have no key keep nobody out and fill nothing up."""

import logging
import os
import resource
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import anyio.abc
import anyio.lowlevel
import httpx
import pytest
from page_serving import TOKEN, Served, serving, until

from relay.surfaces.surface import Person
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.connections import most_connections

pytestmark = pytest.mark.anyio
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
KEYED = f"Authorization: Bearer {TOKEN}\r\n".encode()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@asynccontextmanager
async def crowd(port: int, size: int, sends: bytes = b"") -> AsyncIterator[list[socket.socket]]:
    """That many connections which send this and no more, as fast as the server takes them."""
    made: list[socket.socket] = []
    try:
        for number in range(size):
            one = socket.socket()
            made.append(one)
            one.setblocking(False)
            with suppress(BlockingIOError):
                one.connect(("127.0.0.1", port))
            with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                one.send(sends)
            if number % 20 == 0:
                await anyio.sleep(0.005)
        yield made
    finally:
        for one in made:
            one.close()


async def held_until_ended(stream: anyio.abc.ByteStream, drip: bytes = b"") -> float:
    """Seconds until the server ends this connection, into which a byte drips now and then."""
    start = time.monotonic()
    with anyio.move_on_after(5):
        try:
            while True:
                if drip:
                    await stream.send(drip)
                with anyio.move_on_after(0.05 if drip else 5):
                    await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return time.monotonic() - start
    raise TimeoutError("it is held still")


def ask(port: int, path: str, more: bytes = b"") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode() + more + b"\r\n"


@asynccontextmanager
async def listening(served: Served) -> AsyncIterator[AsyncIterator[str]]:
    """The page's stream, open for as long as the block."""
    async with served.client.stream("GET", "/api/events", timeout=20) as response:
        lines = response.aiter_lines()
        assert "hello" in await anext(lines)
        yield lines


@pytest.mark.parametrize("sends", [b"", HALF], ids=["nothing", "half a request"])
async def test_a_flood_without_the_key_keeps_no_page_out(
    served: Served, ada: Person, sends: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(served) as lines:
        before = descriptors()
        port = served.server.port
        async with crowd(port, 300, sends) as made:
            await anyio.sleep(0.3)
            assert descriptors() - before - len(made) <= most_connections() // 2 + 5
            assert (await served.post("in the flood")).status_code == 200
            assert "in the flood" in await anext(lines), "the open stream lives on"
            async with httpx.AsyncClient(base_url=served.server.address, trust_env=False) as newcomer:
                assert (await newcomer.get("/")).status_code == 200, "so does the page's own opening"
    told = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1, [record.getMessage() for record in told]
    assert "let go" in told[0].getMessage()


async def test_half_a_request_is_not_waited_for(chat: LocalChat) -> None:
    async with serving(chat, patience=0.5) as served:
        port = served.server.port
        for sends in (b"", HALF, ask(port, "/") + HALF, ask(port, "/api/state", KEYED) + HALF):
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                await stream.send(sends)
                assert 0.4 < await held_until_ended(stream) < 3, sends


async def test_a_head_that_comes_drop_by_drop_is_not_waited_for(chat: LocalChat) -> None:
    async with (
        serving(chat, patience=0.5) as served,
        await anyio.connect_tcp("127.0.0.1", served.server.port) as stream,
    ):
        await stream.send(HALF)
        assert 0.4 < await held_until_ended(stream, b"x") < 3


async def test_who_has_the_key_may_take_longer_than_a_head_may(chat: LocalChat, ada: Person) -> None:
    async with serving(chat, patience=0.3) as served, listening(served) as lines:
        await anyio.sleep(0.8)
        await chat.post_as(ada, "main", "late")
        assert "late" in await anext(lines)

        async def slowly() -> AsyncIterator[bytes]:
            for part in (b'{"place":"main",', b'"text":', b'"slow"}'):
                await anyio.sleep(0.2)
                yield part

        headers = {"Content-Type": "application/json"}
        assert (await served.client.post("/api/post", content=slowly(), headers=headers)).status_code == 200


async def test_a_request_without_the_key_whose_answer_is_not_taken_is_let_go(chat: LocalChat) -> None:
    async with serving(chat, patience=0.5) as served, crowd(served.server.port, 1) as (stuck,):
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        for _ in range(400):
            await anyio.lowlevel.checkpoint()
            try:
                stuck.send(ask(served.server.port, "/static/page.js") * 20)
            except BlockingIOError:
                break
            except OSError:
                return
        before = descriptors()
        await until(lambda: descriptors() < before)


async def test_many_pages_with_the_key_never_hold_more_than_there_may_be(served: Served) -> None:
    port = served.server.port
    before = descriptors()
    async with crowd(port, 150) as made:
        await anyio.sleep(0.2)
        for one in made:
            try:
                one.send(ask(port, "/api/state", KEYED))
            except OSError:
                continue
        await anyio.sleep(0.3)
        assert descriptors() - before - len(made) <= most_connections() + 5
        assert (await served.client.get("/api/state")).status_code == 200


async def test_nonsense_is_told_of_once(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = ask(served.server.port, "/", b"Connection: upgrade\r\nUpgrade: websocket\r\n")
    for sends in (b"\x16\x03\x01 no HTTP\r\n\r\n", upgrade):
        for _ in range(20):
            async with await anyio.connect_tcp("127.0.0.1", served.server.port) as stream:
                await stream.send(sends)
                await stream.receive()
    told = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) == len(set(told)) > 0


async def test_without_descriptors_the_log_is_not_flooded_and_the_page_comes_back(
    chat: LocalChat, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with serving(chat) as served:
        await served.client.get("/")
        async with crowd(served.server.port, 60):
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 3, hard))
                await anyio.sleep(1.5)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            told = [r for r in caplog.records if r.levelno >= logging.WARNING]
            assert len(told) <= 2, [r.getMessage() for r in told]
            assert any("can't take connections" in r.getMessage() for r in told)
            assert not any(r.exc_info for r in told)
            with anyio.fail_after(5):
                assert (await served.post("again")).status_code == 200


def test_a_process_that_may_have_few_descriptors_gives_the_page_a_quarter_of_them() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        for limit, most in ((64, 16), (256, 64), (1024, 100)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, hard), hard))
            assert most_connections() == most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

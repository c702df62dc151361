"""The way between the real discord.py and the tests' Discord, without sockets and on virtual time.

discord.py asks `aiohttp` for a session and, from that, for answers and for a WebSocket: `in_memory` gives it these
instead. Everything above them is the library's own: its rate limits, its tries, its gateway with RESUME. Its heartbeat
is a thread that waits by the machine's clock, and so the same steps are a task here.

What is on its way goes by the world's clock: neither a freeze nor a kill of the relay holds it up, but only its hearing
of it.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import aiohttp
import anyio
import discord.gateway
from fakes.discord import gateway_link
from fakes.discord.asking import Ask, Route
from fakes.discord.gateway import HELLO, Gateway
from fakes.discord.model import Json
from fakes.discord.rest import BASE, ROUTES, Rest, html, written
from fakes.discord.rest_faults import Call
from fakes.discord.session import Session
from multidict import CIMultiDict
from simulation.virtual_loop import LIFE, Life, VirtualLoop

_PATHS = [
    (route, re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.template) + r"\Z")) for route in ROUTES
]
HEARTBEAT_S = 41.25


class Network:
    """See the module. `down`: nobody reaches Discord; `deaf_until`: no gateway takes a connection before."""

    def __init__(self, rest: Rest, gateway: Gateway, loop: VirtualLoop, rng: random.Random) -> None:
        self.rest = rest
        self.gateway = gateway
        self.loop = loop
        self.rng = rng
        self.down = False
        self.slow = False
        self.faulty = True
        self.deaf_until = 0.0
        self.on_post: Callable[[Life, str], None] = lambda life, when: None
        self.sockets: list[Socket] = []

    def delay(self) -> float:
        wait = self.rng.uniform(0.005, 0.08)
        if self.slow or (self.faulty and self.rng.random() < 0.02):
            wait += self.rng.uniform(0, 8)
        return wait

    def cut(self, life: Life, seconds: float) -> None:
        """The connections of that life break, and the gateway takes none for so long. REST goes on."""
        self.deaf_until = self.loop.time() + seconds
        for socket in list(self.sockets):
            if socket.life is life:
                socket.wire.cut()

    def leave(self, life: Life) -> None:
        """The process is gone: its end of each connection is closed by the kernel."""
        for socket in list(self.sockets):
            if socket.life is life:
                socket.wire.left()

    # -- REST ---------------------------------------------------------------------------------------------------------

    async def ask(self, method: str, url: str, kwargs: dict[str, Any]) -> Answer:
        """One request of the life that runs now."""
        life = LIFE.get()
        assert life is not None
        path = url.partition(BASE)[2]
        posts = method == "POST" and re.fullmatch(r"/channels/\d+/messages", path) is not None
        rng = self.rng
        there, back = self.delay(), self.delay()
        draw, survives, wait = (rng.random() if self.faulty else 1.0), rng.random() < 0.5, rng.uniform(1, 20)
        future: asyncio.Future[Answer] = self.loop.create_future()

        def reply(answer: Answer | Exception) -> None:
            if future.done():
                return
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)

        def arrive() -> None:
            if life.dead and not survives:
                return
            if self.down and draw < 0.7:
                self.loop.outside(back, lambda: reply(aiohttp.ServerDisconnectedError()))
                return
            instead = self._instead(draw)
            if instead is not None:
                self.loop.outside(back, lambda: reply(instead))
                return
            if draw < 0.02:
                self.loop.outside(back + wait, lambda: reply(aiohttp.ServerDisconnectedError()))
                return
            found: Answer | Exception = Answer(self._done(method, path, kwargs))
            if self.down or draw < 0.04:
                found = aiohttp.ServerDisconnectedError()
            elif draw < 0.05:
                found = Answer(html(rng.choice((502, 503, 504)), "<html>away</html>"))
            self.loop.outside(back, lambda: reply(found))

        if posts:
            self.on_post(life, "before")
        if life.dead:
            await anyio.sleep_forever()
        self.loop.outside(there, arrive)
        found = await future
        if posts:
            self.on_post(life, "after")
        if life.dead:
            await anyio.sleep_forever()
        return found

    def _instead(self, draw: float) -> Answer | None:
        """What is answered though nothing was done."""
        if 0.05 <= draw < 0.06:
            return Answer(html(503, "<html>away</html>"))
        if 0.06 <= draw < 0.075:
            wait = 45.0 if draw < 0.065 else 2.0
            body = {"message": "Slow down.", "retry_after": wait, "global": False}
            return Answer(written(429, body, {"Retry-After": str(round(wait))}))
        if 0.075 <= draw < 0.08:
            return Answer(html(429, "<html>cloudflare</html>"))
        return None

    def _done(self, method: str, path: str, kwargs: dict[str, Any]) -> Any:
        route, parts = _routed(method, path)
        headers, data = kwargs.get("headers") or {}, kwargs.get("data")
        app = self.rest.world.app_by_token(str(headers.get("Authorization", "")).removeprefix("Bot "))
        body = json.loads(data) if isinstance(data, str | bytes) and data else None
        query = {key: str(value) for key, value in (kwargs.get("params") or {}).items()}
        call = Call(method, path, self.rest.world.clock.now(), body, app.id if app else None)
        ask = Ask(self.rest.world, parts, query, body, [], app)
        return self.rest._answer(call, route, ask, SimpleNamespace(remote="relay"), None)  # type: ignore[arg-type]

    # -- the gateway --------------------------------------------------------------------------------------------------

    async def connect(self) -> Socket:
        life = LIFE.get()
        assert life is not None
        await asyncio.sleep(self.delay())
        if self.down or self.loop.time() < self.deaf_until:
            raise aiohttp.ServerDisconnectedError
        return Socket(self, life)


def _routed(method: str, path: str) -> tuple[Route | None, dict[str, str]]:
    for route, pattern in _PATHS:
        if route.method == method and (found := pattern.match(path)):
            return route, {name: unquote(part) for name, part in found.groupdict().items()}
    return None, {}


class Answer:
    """What discord.py reads of a response."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status
        self.reason = ""
        self.headers = CIMultiDict(response.headers)
        if response.content_type and "content-type" not in self.headers:
            self.headers["Content-Type"] = response.content_type
        self._body: bytes = response.body or b""
        if self.headers.get("content-type", "").startswith("application/json"):
            self.headers["Content-Type"] = "application/json"

    async def text(self, encoding: str = "utf-8") -> str:
        return self._body.decode(encoding)


class Wire:
    """One connection to the gateway as Discord holds it (a `Link`)."""

    def __init__(self, network: Network, socket: Socket) -> None:
        self.gone = False
        self.session: Session | None = None
        self._network = network
        self._socket = socket
        self._latest = 0.0

    def send(self, packet: Json) -> None:
        self._carry(aiohttp.WSMessage(aiohttp.WSMsgType.TEXT, json.dumps(packet), None))

    def close(self, code: int, reason: str = "") -> None:
        self._carry(aiohttp.WSMessage(aiohttp.WSMsgType.CLOSE, code, reason))
        self.left()

    def cut(self) -> None:
        """It breaks: what is on its way is gone."""
        if not self.gone:
            self.left()
            self._socket.arrived(aiohttp.WSMessage(aiohttp.WSMsgType.CLOSED, None, None))

    def left(self, code: int | None = None) -> None:
        """Discord sees that nobody is there any more."""
        if not self.gone:
            self.gone = True
            self._network.sockets.remove(self._socket)
            if self.session is not None:
                self._network.gateway.left(self.session, self, code)

    def heard(self, text: str) -> None:
        """A frame of the library's."""
        if not self.gone:
            answer = gateway_link._answer(self._network.gateway, self, self.session, json.loads(text))  # type: ignore[arg-type]
            self.session = at_once(answer)

    def _carry(self, message: aiohttp.WSMessage) -> None:
        """In order, whatever each of them takes."""
        loop = self._network.loop
        if not self.gone:
            self._latest = max(self._latest, loop.time() + self._network.rng.uniform(0.005, 0.05))
            last = message.type is aiohttp.WSMsgType.CLOSE
            loop.outside(
                self._latest - loop.time(),
                lambda: self._socket.arrived(message) if last or not self.gone else None,
            )


class Socket:
    """One connection to the gateway as the library holds it."""

    def __init__(self, network: Network, life: Life) -> None:
        self.life = life
        self.closed = False
        self.close_code: int | None = None
        self.wire = Wire(network, self)
        self._network = network
        self._arrived: deque[aiohttp.WSMessage] = deque()
        self._wake: asyncio.Future[None] | None = None
        network.sockets.append(self)
        self.wire.send({"op": HELLO, "d": {"heartbeat_interval": int(HEARTBEAT_S * 1000), "_trace": []}})

    def arrived(self, message: aiohttp.WSMessage) -> None:
        if message.type is aiohttp.WSMsgType.CLOSE:
            self.close_code = message.data
        self._arrived.append(message)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def receive(self, timeout: float | None = None) -> aiohttp.WSMessage:
        while not self._arrived:
            if self.closed:
                return aiohttp.WSMessage(aiohttp.WSMsgType.CLOSED, None, None)
            self._wake = self._network.loop.create_future()
            await asyncio.wait_for(self._wake, timeout)
        return self._arrived.popleft()

    async def send_str(self, text: str) -> None:
        if self.closed or self.wire.gone:
            raise ConnectionResetError("the connection is gone")
        self._network.loop.outside(self._network.rng.uniform(0.005, 0.05), lambda: self.wire.heard(text))

    async def close(self, *, code: int = 1000, message: bytes = b"") -> bool:
        if not self.closed:
            self.closed, self.close_code = True, self.close_code or code
            self.wire.left(code)
            if self._wake is not None and not self._wake.done():
                self._wake.set_result(None)
        return True


def at_once(coro: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that awaits nothing."""
    try:
        coro.send(None)
    except StopIteration as end:
        return end.value
    coro.close()
    raise AssertionError("it was to wait for nothing")


class _Session:
    """What discord.py has of `aiohttp.ClientSession`."""

    def __init__(self, network: Network, traces: Sequence[aiohttp.TraceConfig] | None) -> None:
        self._network = network
        self._traces = traces or ()
        for trace in self._traces:
            trace.freeze()
        self.closed = False

    def request(self, method: str, url: str, **kwargs: Any) -> _Asking:
        return _Asking(self._network, self._traces, method, url, kwargs)

    async def ws_connect(self, url: str, **_: Any) -> Socket:
        return await self._network.connect()

    async def close(self) -> None:
        self.closed = True


class _Asking:
    def __init__(
        self,
        network: Network,
        traces: Sequence[aiohttp.TraceConfig],
        method: str,
        url: str,
        kwargs: dict[str, Any],
    ) -> None:
        self._traces = traces
        self._asked = (network, method, str(url), kwargs)

    async def __aenter__(self) -> Answer:
        for trace in self._traces:
            await trace.on_request_start.send(self, None, None)  # type: ignore[arg-type]
        network, method, url, kwargs = self._asked
        return await network.ask(method, url, kwargs)

    async def __aexit__(self, *_: object) -> None:
        return


class Beating:
    """discord.py's heartbeat (`KeepAliveHandler`) step by step, as a task on the loop instead of a thread beside it."""

    def __init__(self, *, ws: Any, interval: float, shard_id: int | None = None) -> None:
        self.ws, self.interval, self.shard_id = ws, interval, shard_id
        self.heartbeat_timeout: float = ws._max_heartbeat_timeout
        self.latency = float("inf")
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self._last_recv = self._last_send = self._loop.time()

    def start(self) -> None:
        self._task = self._loop.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.interval)
            if self._stopped:
                return
            if self._last_recv + self.heartbeat_timeout < self._loop.time():
                await self.ws.close(4000)
                return
            try:
                await self.ws.send_heartbeat(self.get_payload())
            except (OSError, discord.DiscordException):
                return
            self._last_send = self._loop.time()

    def get_payload(self) -> dict[str, Any]:
        return {"op": self.ws.HEARTBEAT, "d": self.ws.sequence}

    def stop(self) -> None:
        self._stopped = True

    def tick(self) -> None:
        self._last_recv = self._loop.time()

    def beat(self) -> dict[str, Any]:
        self._last_send = self._loop.time()
        return self.get_payload()

    def ack(self) -> None:
        self.latency = self._loop.time() - self._last_send


@contextmanager
def in_memory(network: Callable[[], Network]) -> Iterator[None]:
    """Inside, every session of discord.py goes over this network."""

    def session(*, trace_configs: Sequence[aiohttp.TraceConfig] | None = None, **_: Any) -> _Session:
        return _Session(network(), trace_configs)

    with ExitStack() as patches:
        patches.enter_context(patch.object(aiohttp, "ClientSession", session))
        patches.enter_context(patch.object(aiohttp, "TCPConnector", lambda **_: None))
        patches.enter_context(patch.object(discord.gateway, "KeepAliveHandler", Beating))
        yield

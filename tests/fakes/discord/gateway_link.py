"""One WebSocket of the gateway: frames in and out, in order, until one side closes it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from fakes.discord import gateway as words
from fakes.discord.compression import packer
from fakes.discord.gateway import Gateway
from fakes.discord.model import Json
from fakes.discord.session import Session

LONGEST = 4096
"""Bytes that a client may send in one go."""
A_MINUTE = 120
"""Frames that a client may send in a minute."""


class SocketLink:
    """What the gateway knows of a socket. Its methods return at once; `pump` sends in order."""

    def __init__(
        self, socket: web.WebSocketResponse, request: web.Request, pack: Callable[[Json], str | bytes]
    ):
        self._socket, self._request, self._pack = socket, request, pack
        self._out: asyncio.Queue[Json | tuple[int, str]] = asyncio.Queue(100_000)

    def send(self, packet: Json) -> None:
        self._out.put_nowait(packet)

    def close(self, code: int, reason: str = "") -> None:
        self._out.put_nowait((code, reason))

    def cut(self) -> None:
        if self._request.transport is not None:
            self._request.transport.abort()

    async def pump(self) -> None:
        """Sends what is queued; returns when the socket is closed."""
        while not self._socket.closed:
            one = await self._out.get()
            try:
                if isinstance(one, tuple):
                    await self._socket.close(code=one[0], message=one[1].encode())
                    return
                frame = self._pack(one)
                if isinstance(frame, str):
                    await self._socket.send_str(frame)
                else:
                    await self._socket.send_bytes(frame)
            except (ConnectionError, RuntimeError):
                return


async def serve(gateway: Gateway, request: web.Request) -> web.StreamResponse:
    """The whole life of one connection."""
    gateway.heard.append("connect")
    faults = gateway.faults
    if faults.refused:
        status = faults.refused.pop(0)
        if status is not None:
            return web.Response(status=status, text="<html>away</html>", content_type="text/html")
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)
    if request.query.get("v") != "10" or request.query.get("encoding") != "json":
        return web.Response(status=400)
    socket = web.WebSocketResponse(compress=False, max_msg_size=1 << 20, timeout=1.0)
    await socket.prepare(request)
    link = SocketLink(socket, request, packer(request.query.get("compress")))
    gateway.links.append(link)
    async with asyncio.TaskGroup() as tasks:
        pump = tasks.create_task(link.pump())
        tasks.create_task(_converse(gateway, socket, link, pump))
    return socket


async def _converse(
    gateway: Gateway, socket: web.WebSocketResponse, link: SocketLink, pump: asyncio.Task[None]
) -> None:
    if gateway.faults.hello_after:
        await asyncio.sleep(gateway.faults.hello_after)
    link.send({"op": words.HELLO, "d": {"heartbeat_interval": int(gateway.heartbeat * 1000), "_trace": []}})
    session: Session | None = None
    code: int | None = None
    recent: deque[float] = deque()
    while True:
        frame = await socket.receive()
        if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            code = frame.data if frame.type is WSMsgType.CLOSE else None
            break
        refusal, packet = _read(frame, recent)
        if packet is None:
            link.close(refusal)
            continue
        session = await _answer(gateway, link, session, packet)
    gateway.heard.append(f"close {code or socket.close_code or WSCloseCode.ABNORMAL_CLOSURE.value}")
    if session is not None:
        gateway.left(session, link, code)
    gateway.links.remove(link)
    pump.cancel()


def _read(frame: WSMessage, recent: deque[float]) -> tuple[int, Json | None]:
    """The packet, or the close code that says what is wrong with the frame."""
    now = time.monotonic()
    recent.append(now)
    while recent and now - recent[0] > 60:
        recent.popleft()
    if len(recent) > A_MINUTE:
        return 4008, None
    text = frame.data
    if len(text) > LONGEST:
        return 4002, None
    try:
        packet = json.loads(text)
    except ValueError:
        return 4002, None
    return 4002, packet if isinstance(packet, dict) else None


async def _answer(
    gateway: Gateway, link: SocketLink, session: Session | None, packet: Json
) -> Session | None:
    op, data = packet.get("op"), packet.get("d")
    if op == words.HEARTBEAT:
        gateway.heard.append("heartbeat")
        if gateway.faults.ack_after:
            loop = asyncio.get_running_loop()
            loop.call_later(gateway.faults.ack_after, link.send, {"op": words.ACK, "d": None})
        elif gateway.faults.acks:
            link.send({"op": words.ACK, "d": None})
        return session
    if op == words.IDENTIFY and isinstance(data, dict):
        gateway.heard.append("identify")
        if session is not None:
            link.close(4005, "Already authenticated.")
            return session
        return gateway.identify(link, data)
    if op == words.RESUME and isinstance(data, dict):
        gateway.heard.append("resume")
        return gateway.resume(link, data)
    if session is None:
        link.close(4003, "Not authenticated.")
    elif op == words.MEMBERS and isinstance(data, dict):
        gateway.members(session, data)
    elif op not in (words.PRESENCE, words.VOICE):
        link.close(4001, "Unknown opcode.")
    return session

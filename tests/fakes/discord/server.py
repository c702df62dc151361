"""The tests' Discord as it runs: a TLS server on a port of this machine, and handles for the people in it."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import aiohttp
import trustme
from aiohttp import web
from fakes.discord import gateway_link, guilds, intents, people, places
from fakes.discord.clock import Clock
from fakes.discord.conformity import Conformity
from fakes.discord.connector import HOSTS, OnlyHere, connector
from fakes.discord.gateway import Gateway
from fakes.discord.gateway_faults import GatewayFaults
from fakes.discord.model import App
from fakes.discord.ratelimits import RateLimits
from fakes.discord.rest import Rest
from fakes.discord.rest_faults import RestFaults
from fakes.discord.world import World

CHECKED = "RELAY_TESTS_CHECK_DISCORD"
"""Set (to 1): every answer is held against Discord's OpenAPI, and a misfit fails the test. CI sets it."""


@cache
def authority() -> trustme.CA:
    """The test CA, one for a process; nobody but the tests' clients trusts it."""
    return trustme.CA()


class DiscordServer:
    """Use it with `async with`. Its parts are open: `world` (what there is), `rest` and `gateway` (what is said),
    `faults` and `gateway.faults` (what goes wrong), `limits`, `clock`."""

    def __init__(self, *, checked: bool | None = None) -> None:
        self.world = World()
        self.clock: Clock = self.world.clock
        self.faults = RestFaults()
        self.limits = RateLimits(self.clock)
        asked = os.environ.get(CHECKED) == "1" if checked is None else checked
        self.conformity = Conformity() if asked else None
        check = self.conformity.check if self.conformity else None
        self.rest = Rest(self.world, self.faults, self.limits, check)
        self.gateway = Gateway(self.world, GatewayFaults(self.clock))
        self.port = 0
        self.on_file: Callable[[web.Request], Awaitable[web.StreamResponse | None]] | None = None
        """Asked before the file server answers; None leaves the answer to it."""
        self.resolvers: list[OnlyHere] = []
        self._changed = asyncio.Event()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._runner: web.AppRunner | None = None
        self._tls: ssl.SSLContext | None = None
        self._kept: socket.socket | None = None

    # Running

    async def __aenter__(self) -> DiscordServer:
        self._folder = tempfile.TemporaryDirectory(prefix="discord-")
        authority().cert_pem.write_to_path(str(self.ca))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority().issue_cert(*HOSTS).configure_cert(self._tls)
        self.world.watchers.append(self._changed.set)
        await self.come_back()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.go_away()
        if self._kept is not None:
            self._kept.close()
        if self._folder is not None:
            self._folder.cleanup()
        if self.conformity is not None and self.conformity.misfits:
            raise AssertionError("Answers that Discord wouldn't give:\n" + "\n".join(self.conformity.misfits))

    @property
    def ca(self) -> Path:
        """The file with the test CA, for clients in other processes."""
        if self._folder is None:
            raise RuntimeError("The server isn't running: use `async with`.")
        return Path(self._folder.name) / "ca.pem"

    async def come_back(self) -> None:
        """Listens (again), on the same port as before."""
        app = web.Application(client_max_size=200 << 20)
        self.rest.add_to(app.router)
        app.router.add_get("/attachments/{channel}/{file}/{name}", self._file)
        app.router.add_get("/", self._gateway)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        if self._kept is not None:
            self._kept.close()
        listening = self._bound()
        self.port = listening.getsockname()[1]
        await web.SockSite(self._runner, listening, ssl_context=self._tls).start()

    def _bound(self) -> socket.socket:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", self.port))
        return found

    async def go_away(self) -> None:
        """All of Discord is gone: connections break, new ones are refused. People still see and write."""
        if self._runner is None:
            return
        runner, self._runner = self._runner, None
        for session in self.gateway.sessions.values():
            if session.link is not None:
                session.link.cut()
        if runner.server is not None:
            for handler in list(runner.server.connections):
                if handler.transport is not None:
                    handler.transport.abort()
        await runner.cleanup()
        self._kept = self._bound()  # refuses connections, and nobody else gets the port

    @asynccontextmanager
    async def outage(self) -> AsyncIterator[None]:
        """Away inside the block, back after it."""
        await self.go_away()
        try:
            yield
        finally:
            await self.come_back()

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        return await gateway_link.serve(self.gateway, request)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        if self.on_file is not None and (answer := await self.on_file(request)) is not None:
            return answer
        channel = self.world.channels.get(int(request.match_info["channel"]))
        wanted = int(request.match_info["file"])
        for message in channel.messages.values() if channel else ():
            for one in message.attachments:
                if one.id == wanted:
                    kind = (one.content_type or "application/octet-stream").split(";")[0]
                    return web.Response(body=one.data, content_type=kind)
        return web.Response(status=404)

    # The way in for a bot

    def connector(self) -> aiohttp.TCPConnector:
        """A new connector for one Client. What it looked up stands in `resolvers`."""
        resolver = OnlyHere(self.port)
        self.resolvers.append(resolver)
        return connector(self.port, self.ca, resolver)

    def bot(self, name: str = "relay", *, privileged: int = intents.CONTENT) -> App:
        """An application with its bot; `.token` signs it in. `privileged`: the intents on in its portal."""
        return self.world.new_app(name, privileged)

    # People

    def speaking_as(self, app: App) -> people.Person:
        """Another bot's part, played by the test."""
        return people.Person(self.world, app.user)

    def guild(self, name: str = "Workshop", *, bots: tuple[App, ...] | list[App] = ()) -> places.Community:
        """A guild with an owner, and these bots in it."""
        owner = self.world.new_user(f"{name.lower()}-owner")
        made = guilds.make(self.world, name, owner)
        for app in bots:
            guilds.add_member(self.world, made, app.user)
        return places.Community(self.world, made)

    def person(self, name: str) -> people.Person:
        """Somebody who is in no guild yet."""
        return people.Person(self.world, self.world.new_user(name))

    async def until(self, holds: Callable[[], object], within: float = 30.0, *, saying: str = "") -> None:
        """Waits until `holds()` is true; it is asked again at every change, and 20 times a second.

        Raises AssertionError with what every channel shows when `within` seconds are over.
        """
        try:
            async with asyncio.timeout(within):
                while not holds():
                    self._changed.clear()
                    try:
                        await asyncio.wait_for(self._changed.wait(), 0.05)
                    except TimeoutError:
                        continue
        except TimeoutError:
            raise AssertionError(
                f"{saying or 'It'} didn't come true in {within} s.\n{self.shown()}"
            ) from None

    def shown(self) -> str:
        """What every channel shows, to read."""
        return "\n".join(places.Place(self.world, one).shown() for one in self.world.channels.values())

"""Serves the page on 127.0.0.1 and nowhere else. It makes and ends connections; what is said over them is `api.py`'s.

The page's own files are read once and kept: no path from outside ever reaches the file system.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from relay.clock import Clock
from relay.errors import ConfigError, RelayError
from relay.surfaces.web.api import Api, Refused, on_refused
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.connections import (
    BACKLOG,
    HEAD_PATIENCE,
    Connection,
    Gate,
    GatedConfig,
    most_connections,
)
from relay.surfaces.web.facts import Facts
from relay.surfaces.web.guard import Guard
from relay.surfaces.web.send_api import SendApi, Sender

HOST = "127.0.0.1"
STATIC = Path(__file__).with_name("static")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class PageServer:
    """The page's server. The port is bound when it is made, so `url` is right before anything runs."""

    def __init__(
        self,
        chat: LocalChat,
        facts: Facts,
        *,
        token: str,
        clock: Clock,
        port: int = 0,
        patience: float = HEAD_PATIENCE,
        sender: Sender | None = None,
        programs: str = "",
    ) -> None:
        """`port` 0 takes a free one. `patience`: seconds for the head of a request. `sender` takes in what programs
        send that hold the token `programs`.

        Raises `ConfigError` when the port can't be had.
        """
        self._chat = chat
        self._token = token
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._api = Api(chat, facts, clock)
        refusals = dict.fromkeys((Refused, RelayError, HTTPException, 500), on_refused)
        sending = SendApi(sender).routes() if sender is not None else []
        app = Starlette(routes=[*_pages(), *self._api.routes(), *sending], exception_handlers=refusals)
        app.router.redirect_slashes = False
        self._app = Guard(app, port=self.port, token=token, programs=programs)
        self._gate = Gate(self._app.has_key, clock, most=most_connections(), patience=patience)

    @property
    def address(self) -> str:
        """The page's address, without the key."""
        return f"http://{HOST}:{self.port}/"

    @property
    def url(self) -> str:
        """The link to open. The key stands in the fragment, which no browser sends anywhere."""
        return f"{self.address}#token={self._token}"

    def close(self) -> None:
        """Give the port back when `run` was never called."""
        self._socket.close()

    async def run(self) -> None:
        """Serve until cancelled; then streams end, requests get one second, and the port is free."""
        config = GatedConfig(
            self._app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            ws="none",
            http=Connection,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=60,  # the gate's patience is shorter
            timeout_graceful_shutdown=1,
        )
        config.gate = self._gate
        server = _Server(config)

        async def serve() -> None:
            with anyio.CancelScope(shield=True):
                with self._gate.quiet(asyncio.get_running_loop()):
                    await server.serve(sockets=[self._socket])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            try:
                await self._api.push_facts()
            finally:
                server.should_exit = True
                self._chat.announcements.close()


class _Server(uvicorn.Server):
    """Leaves the signals to the application."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # Listening from here on: whoever opens the link a moment too early waits instead of being refused.
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(
            f"the page can't listen on {HOST}:{port} ({getattr(error, 'strerror', None) or error}).",
            "Set another port (surfaces.web.port in access.json, or --port), or 0 for any free one.",
        ) from error
    listener.setblocking(False)
    return listener


def _pages() -> list[Route]:
    """The page and its files: exactly those, by name."""
    files = {path.name: path for path in sorted(STATIC.iterdir()) if path.suffix in TYPES}

    def served(path: Path) -> Response:
        return Response(path.read_bytes(), media_type=TYPES[path.suffix])

    kept = {name: served(path) for name, path in files.items()}

    async def page(request: Request) -> Response:
        return kept["index.html"]

    async def static(request: Request) -> Response:
        found = kept.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return found

    return [Route("/", page, methods=["GET"]), Route("/static/{name}", static, methods=["GET"])]

"""Which connections the page's server holds open, and for how long. It knows the key and reads nothing else.

Any program of this machine can connect. Whoever has not shown the key gets half of the connections at most, and a
few seconds; when it gets tight, the one of them that has waited longest goes. So silent connections neither use up the
relay's descriptors nor keep out a page that has the key, and they are told of in one line a minute.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from relay.clock import Clock

MOST_CONNECTIONS = 100
HEAD_PATIENCE = 10.0
"""Seconds for the head of a request, from the connection's start or the end of the last answer. Without the key, the
answer must be taken in as many."""
BACKLOG = 64
"""Connections that are taken in one go, before any can be let go again."""
TELL_EVERY = 60.0
_NO_DESCRIPTORS = "socket.accept() out of system resource"
_log = logging.getLogger(__name__)


def most_connections() -> int:
    """A quarter of the descriptors that this process may have; the rest is for files and agents."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft < 0 else min(MOST_CONNECTIONS, max(8, soft // 4))


class Gate:
    """The open connections of one server. `has_key` looks at the headers of a request."""

    def __init__(
        self,
        has_key: Callable[[Iterable[tuple[bytes, bytes]]], bool],
        clock: Clock,
        *,
        most: int,
        patience: float = HEAD_PATIENCE,
    ) -> None:
        self.has_key = has_key
        self.patience = patience
        self._clock = clock
        self._most = most
        self._keyless: dict[Connection, None] = {}
        """In the order they came."""
        self._keyed: dict[Connection, None] = {}
        self._dropped = 0
        self._told: dict[str, float] = {}

    def enter(self, connection: Connection) -> bool:
        """Take a new connection in; another may have to go for it. False when there is no room at all."""
        full = len(self._keyless) + len(self._keyed) >= self._most
        if full or len(self._keyless) >= self._most // 2:
            goes = self._dispensable()
            if goes is None:
                self.dropped()
                return False
            goes.drop()
        self._keyless[connection] = None
        return True

    def _dispensable(self) -> Connection | None:
        """The one that is missed least: without the key and without a request, then without the key, then at rest."""
        resting = (c for c in self._keyless if not c.busy)
        rested = (c for c in self._keyed if not c.busy)
        return next(resting, None) or next(iter(self._keyless), None) or next(rested, None)

    def admit(self, connection: Connection) -> None:
        """It has shown the key."""
        if self._keyless.pop(connection, self) is None:
            self._keyed[connection] = None

    def keyed(self, connection: Connection) -> bool:
        return connection in self._keyed

    def leave(self, connection: Connection) -> None:
        self._keyless.pop(connection, None)
        self._keyed.pop(connection, None)

    def dropped(self) -> None:
        """Count a connection that was let go, and tell of them once a minute."""
        self._dropped += 1
        if self.may_tell("dropped"):
            _log.warning(
                "the page let go of connections that sent no whole request: %d so far", self._dropped
            )

    def may_tell(self, what: str) -> bool:
        """Whether a line about this may stand in the log now: one a minute."""
        now = self._clock.monotonic()
        if now - self._told.get(what, -TELL_EVERY) < TELL_EVERY:
            return False
        self._told[what] = now
        return True

    @contextmanager
    def quiet(self, loop: asyncio.AbstractEventLoop) -> Generator[None]:
        """Inside the block, asyncio's own cry that there are no descriptors is one line a minute, not a flood."""
        before = loop.get_exception_handler()

        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if context.get("message") == _NO_DESCRIPTORS:
                if self.may_tell("descriptors"):
                    _log.error("the page can't take connections just now: %s", context.get("exception"))
            elif before is not None:
                before(loop, context)
            else:
                loop.default_exception_handler(context)

        loop.set_exception_handler(handle)
        try:
            yield
        finally:
            loop.set_exception_handler(before)


class GatedConfig(uvicorn.Config):
    """A configuration of uvicorn whose connections go through `gate`."""

    gate: Gate


class Connection(H11Protocol):
    """A connection of uvicorn that the gate knows and that doesn't wait for ever."""

    def __init__(
        self,
        config: GatedConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._gate = config.gate
        self._timer: asyncio.TimerHandle | None = None
        self._answered: object = None
        """The last request whose head was seen."""
        quiet: Any = _Seldom(logging.getLogger("uvicorn.error"), self._gate)
        self.logger = quiet

    @property
    def busy(self) -> bool:
        """A request came whole, and its answer is not out yet."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if self._gate.enter(self):
            self._wait()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self._gate.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()
        self._look()

    def _look(self) -> None:
        """Of a new request, see the key. One with the key may take its time."""
        if self.cycle is self._answered:
            return
        self._answered = self.cycle
        if self._gate.has_key(self.headers):
            self._gate.admit(self)
        if self._gate.keyed(self):
            self._rest()
        else:
            self._wait()

    def _wait(self) -> None:
        self._rest()
        if not self.transport.is_closing():
            self._timer = self.loop.call_later(self._gate.patience, self._late)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        silent = self._answered is not None and not (self.busy or self.conn.trailing_data[0])
        if silent and not self.transport.get_write_buffer_size():
            self.transport.close()  # the usual end of a connection that is kept for a next request
            return
        self._gate.dropped()
        self._end()

    def drop(self) -> None:
        """End it at once, for another one."""
        self._gate.dropped()
        self._end()

    def _end(self) -> None:
        self._rest()
        self._gate.leave(self)
        self.transport.abort()


class _Seldom(logging.LoggerAdapter[logging.Logger]):
    """Warnings of uvicorn about what somebody sent (not HTTP, an upgrade): each once a minute."""

    def __init__(self, logger: logging.Logger, gate: Gate) -> None:
        super().__init__(logger)
        self._gate = gate

    @property
    def level(self) -> int:
        return self.logger.level

    def warning(self, msg: object, *args: object, **kwargs: Any) -> None:
        if self._gate.may_tell(str(msg)):
            super().warning(msg, *args, **kwargs)

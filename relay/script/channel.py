"""Lines of JSON over an inherited socket, both ways. No name, no port: only who was handed the socket can speak.

It bounds every line and every wait to send; it knows nothing of what the lines mean.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from typing import Any, cast

import anyio
import orjson

from relay.errors import RelayError

MOST_LINE = 32_000_000
SEND_LIMIT_S = 20.0
_CHUNK = 1 << 16

Line = dict[str, Any]


class ChannelClosed(RelayError):
    """The other side is gone."""


class Channel:
    """One side of the socket. One task reads `lines`; any number of tasks may `send`."""

    def __init__(self, side: socket.socket) -> None:
        side.setblocking(False)
        self._side = side
        self._sending = anyio.Lock()

    async def send(self, line: Line) -> None:
        """Send one line, whole. Raises `ChannelClosed`."""
        data = memoryview(orjson.dumps(line) + b"\n")
        try:
            # A line that was cut in the middle would spoil all that follow it.
            with anyio.CancelScope(shield=True):
                async with self._sending:
                    with anyio.fail_after(SEND_LIMIT_S):
                        while data:
                            try:
                                data = data[self._side.send(data) :]
                            except BlockingIOError:
                                await anyio.wait_writable(self._side)
        except (OSError, TimeoutError) as error:
            raise ChannelClosed("the other side of the control channel is gone.") from error

    async def lines(self) -> AsyncIterator[Line]:
        """What the other side sends, until it is gone. Raises `ChannelClosed` for what is no line of ours."""
        held = bytearray()
        while True:
            try:
                chunk = self._side.recv(_CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._side)
                continue
            except OSError:
                return
            if not chunk:
                return
            held += chunk
            if b"\n" in chunk:
                *whole, rest = held.split(b"\n")
                held = bytearray(rest)
                for raw in whole:
                    yield _read(bytes(raw))
            if len(held) > MOST_LINE:
                raise ChannelClosed(f"a line of the control channel is longer than {MOST_LINE:,} bytes.")

    def close(self) -> None:
        self._side.close()


def _read(raw: bytes) -> Line:
    try:
        line = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ChannelClosed("a line of the control channel is not JSON.") from error
    if not isinstance(line, dict):
        raise ChannelClosed("a line of the control channel is not an object.")
    return cast(Line, line)

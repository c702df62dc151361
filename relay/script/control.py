"""The relay's side of a script: it obeys one inherited socket, and ends when that closes. It opens no port.

Whoever holds the socket may speak as anyone; nothing else in the product gives that power, and only the process that
started this one can have it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace

import anyio
import orjson

from relay import app
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.status.concept import Questions
from relay.behaviours.turns.concept import Turns
from relay.behaviours.watches.concept import Watches
from relay.errors import RelayError, UsageError
from relay.parts import Parts
from relay.script.channel import Channel, ChannelClosed, Line
from relay.script.hands import Hands, refusal
from relay.surfaces.web.chat import LocalChat

STOP_LIMIT_S = 20
"""Seconds that a clean stop may take once nobody holds the other side; then the system ends the process."""
QUIET_S = 0.3

log = logging.getLogger("relay.script")


async def serve(options: app.Options, fd: int) -> None:
    """Run the relay without a page, under the socket `fd`. Raises `UsageError` when that is none."""
    try:
        side = socket.socket(fileno=fd)
    except OSError as error:
        raise UsageError("--control is for `relay up --script` alone.", "Use --script FILE.") from error
    channel = Channel(side)

    def beside(chat: LocalChat, parts: Parts) -> Callable[[], object]:
        return Control(channel, chat, parts).run

    await app.run(replace(options, page=False), beside)


class Control:
    """See the module."""

    def __init__(self, channel: Channel, chat: LocalChat, parts: Parts) -> None:
        self._channel = channel
        self._chat = chat
        self._parts = parts
        self._hands = Hands(chat)

    async def run(self) -> None:
        """Obey until the other side is gone, then stop the relay cleanly."""
        subscription = self._chat.announcements.subscribe()
        async with anyio.create_task_group() as tasks:

            async def tell() -> None:
                while batch := await subscription.batch():
                    for raw in batch:
                        await self._send({"tell": orjson.loads(raw)})

            tasks.start_soon(tell)
            try:
                await self._send({"tell": {"kind": "hello"}})
                async for line in self._channel.lines():
                    # A wait for quiet must not hold up what is asked meanwhile.
                    tasks.start_soon(self._answer, line)
            except ChannelClosed as error:
                log.warning("%s The relay stops.", error)
            finally:
                self._chat.announcements.unsubscribe(subscription)
            signal.alarm(STOP_LIMIT_S)
            os.kill(os.getpid(), signal.SIGTERM)

    async def _answer(self, line: Line) -> None:
        try:
            if line.get("do") == "quiet":
                gave = await self._quiet(float(line.get("within", 0)))
            else:
                gave = await self._hands.do(line)
            answer: Line = {"gave": gave}
        except RelayError as error:
            answer = refusal(error)
        await self._send({"n": line.get("n"), **answer})

    async def _send(self, line: Line) -> None:
        try:
            await self._channel.send(line)
        except ChannelClosed as error:  # whoever reads the channel sees it too, and stops the relay
            log.debug("%s", error)

    async def _quiet(self, within_s: float) -> list[str]:
        """Wait until the relay has nothing left to do, for a moment on end; what it still has, if that doesn't come."""
        engine, clock = self._parts.engine, self._parts.clock
        until = clock.monotonic() + within_s
        since: tuple[int, float] | None = None
        while True:
            now = clock.monotonic()
            left = await self._left()
            if left:
                since = None
            elif since is None or since[0] != engine.head:
                since = (engine.head, now)
            elif now - since[1] >= QUIET_S:
                return []
            if now >= until:
                return left or ["something moves all the time"]
            await clock.sleep(0.03)

    async def _left(self) -> list[str]:
        view = self._parts.engine.view
        turns, outbox, watches = view.of(Turns).state, view.of(Outbox).state, view.of(Watches).state
        counts = {
            "running turn": len(turns.running),
            "waiting lane": len(turns.startable),
            "post": len(outbox.where),
            "reaction": len(outbox.reactions),
            "edit": len(outbox.edits),
            "question": len(view.of(Questions).state.open),
            "watch to arm": len(watches.requests),
            "watch to start": len(watches.unstarted),
            "watch to end": len(watches.ending),
            "message to take in": len(await self._chat.undelivered(0, 100)),
        }
        return [f"{count} × {what}" for what, count in counts.items() if count]

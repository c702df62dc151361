"""The page's stream of changes: lines of JSON in one response that doesn't end. It only passes lines on.

Not a `StreamingResponse`, because a stream must end at once when the page leaves, when the relay ends, and when a page
takes no bytes any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from starlette.types import Receive, Scope, Send

from relay.clock import Clock
from relay.surfaces.web.announcements import Subscription, line

HEARTBEAT = 15.0
"""Seconds between signs of life, so that a page notices a dead connection."""
STUCK = 30.0
"""Seconds after which a page that takes no bytes is let go."""
GATHER = 0.05
"""Seconds in which changes are gathered, so that a fast reply is not one packet a word."""


class StreamResponse:
    """Sends `first`, then what the subscription brings, until the page leaves or the subscription is closed."""

    def __init__(self, subscription: Subscription, first: Sequence[bytes], clock: Clock) -> None:
        self._subscription = subscription
        self._first = first
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as tasks:

            async def leave() -> None:
                while (await receive())["type"] != "http.disconnect":
                    continue
                tasks.cancel_scope.cancel()

            async def beat() -> None:
                while True:
                    await self._clock.sleep(HEARTBEAT)
                    self._subscription.replace("heartbeat", line("heartbeat"))

            tasks.start_soon(leave)
            tasks.start_soon(beat)
            headers = [(b"content-type", b"application/x-ndjson")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            lines = list(self._first)
            while lines:
                with anyio.move_on_after(STUCK) as patience:
                    await send({"type": "http.response.body", "body": b"".join(lines), "more_body": True})
                if patience.cancelled_caught:
                    break
                await self._clock.sleep(GATHER)
                lines = await self._subscription.batch()
            else:
                await send({"type": "http.response.body", "body": b""})
            tasks.cancel_scope.cancel()

"""What the open pages are told, as lines of JSON. It keeps nothing: a page that missed something reads it again.

Each page has a queue of bounded length and bytes. A page too slow for it is told to reload; nobody ever waits for it.
Of live views, facts and trouble only the newest counts, so they take one slot each.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from typing import Any

import anyio
import orjson

from relay.surfaces.surface import LiveView

MOST_LINES = 256
MOST_BYTES = 8_000_000
_RELOAD = b'{"kind":"reload"}\n'


def line(kind: str, **body: Any) -> bytes:
    """One line of the stream."""
    return orjson.dumps({"kind": kind, **body}) + b"\n"


class Subscription:
    """One page's queue. Made by `Announcements.subscribe`."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._newest: dict[str, bytes] = {}
        self._wake = anyio.Event()
        self._closed = False

    def put(self, entry: bytes) -> None:
        """Add a line; past the bound, the queue becomes one order to reload."""
        self._bytes += len(entry)
        if len(self._lines) >= MOST_LINES or self._bytes > MOST_BYTES:
            self._lines.clear()
            self._newest.clear()
            self._bytes = len(_RELOAD)
            entry = _RELOAD
        self._lines.append(entry)
        self._wake.set()

    def replace(self, slot: str, entry: bytes) -> None:
        """Put a line where only the newest counts."""
        if slot not in self._newest and len(self._newest) >= MOST_LINES:
            self._newest.clear()
            self.put(_RELOAD)
            return
        self._newest[slot] = entry
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    async def batch(self) -> list[bytes]:
        """Wait for lines and take them all; empty only when the relay is ending."""
        while not (self._lines or self._newest or self._closed):
            await self._wake.wait()
            self._wake = anyio.Event()
        if self._closed:
            return []
        lines = [*self._lines, *self._newest.values()]
        self._lines.clear()
        self._newest.clear()
        self._bytes = 0
        self._wake = anyio.Event()
        return lines


class Announcements:
    """All subscriptions, and what the page shows that is not kept: live views and the surface's own trouble."""

    def __init__(self) -> None:
        self._subscriptions: set[Subscription] = set()
        self._live: dict[str, LiveView] = {}
        self._trouble = ""

    def __len__(self) -> int:
        return len(self._subscriptions)

    @property
    def trouble(self) -> str:
        """What keeps the page's messages from the relay just now; empty when nothing does."""
        return self._trouble

    def live(self) -> dict[str, dict[str, Any]]:
        """The live views by place."""
        return {place: asdict(view) for place, view in self._live.items()}

    def subscribe(self) -> Subscription:
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End every stream."""
        for subscription in self._subscriptions:
            subscription.close()

    def announce(self, kind: str, **body: Any) -> None:
        """Tell every page something that it must not miss."""
        if self._subscriptions:
            entry = line(kind, **body)
            for subscription in self._subscriptions:
                subscription.put(entry)

    def renew(self, slot: str, kind: str, **body: Any) -> None:
        """Tell every page something of which only the newest counts."""
        if self._subscriptions:
            entry = line(kind, **body)
            for subscription in self._subscriptions:
                subscription.replace(slot, entry)

    def show(self, place: str, view: LiveView | None) -> None:
        if view is None:
            self._live.pop(place, None)
        else:
            self._live[place] = view
        self.renew(f"live {place}", "live", place=place, view=view and asdict(view))

    def say_trouble(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self.renew("trouble", "trouble", text=text)

"""The live status of a running turn: typing, and one message that is edited in place and gone at the end.

The newest state wins, at most one edit in 1.5 s, and it calls nobody. A short turn has typing alone. Showing it is best
effort; that it is gone in the end is seen to by `leftovers`.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import anyio
from discord.http import Route

from relay import texts
from relay.clock import Clock
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.errors import DiscordRefused
from relay.surfaces.discord.leftovers import SILENT, Leftovers
from relay.surfaces.discord.raw import word
from relay.surfaces.discord.writing import cut, nobody
from relay.surfaces.surface import LiveView

EDIT_EVERY_S = 1.5
FIRST_AFTER_S = 1.5
TYPING_EVERY_S = 8.0
_MOST_TEXT = 900
_MOST_LINES = 8

log = logging.getLogger(__name__)


def status_text(view: LiveView) -> str:
    """What is shown: since when, what it does, who waits, and the last lines of what it says."""
    doing = f" · {texts.inline(view.doing, 200)}" if view.doing else ""
    waiting = f" · {texts.plural(view.waiting, 'message')} waiting" if view.waiting else ""
    head = f"⏳ since <t:{view.started_at // 1000}:R>{doing}{waiting}"
    lines = [line for line in view.text[-_MOST_TEXT:].splitlines() if line.strip()][-_MOST_LINES:]
    quoted = "\n".join(f"> {line.replace('`', chr(0x2CB))}" for line in lines)
    return cut(f"{head}\n{quoted}" if quoted else head, 1_900)


class LiveStatus:
    """See the module. One task a place, owned by `run`."""

    def __init__(self, api: DiscordApi, clock: Clock, path: Path) -> None:
        self._api = api
        self._clock = clock
        self._leftovers = Leftovers(api, clock, path)
        self._views: dict[str, LiveView | None] = {}
        self._changed: dict[str, anyio.Event] = {}
        self._fresh = anyio.Event()

    def show(self, place: str, view: LiveView | None) -> None:
        """The newest state of that place; None ends it."""
        if view is None and place not in self._views:
            return
        self._views[place] = view
        if place in self._changed:
            self._changed[place].set()
        self._fresh.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._leftovers.run)
            while True:
                self._fresh = anyio.Event()
                for place in [p for p in self._views if p not in self._changed]:
                    self._changed[place] = anyio.Event()
                    tasks.start_soon(self._keep, place)
                await self._fresh.wait()

    async def _keep(self, place: str) -> None:
        try:
            while (view := self._views.get(place)) is not None:
                await self._one(place, view.turn)
        finally:
            self._changed.pop(place, None)
            if self._views.get(place) is None:
                self._views.pop(place, None)
            self._fresh.set()

    async def _one(self, place: str, turn: str) -> None:
        """One turn's status, from typing to the end."""
        began = self._clock.monotonic()
        typed, edited = began - TYPING_EVERY_S, began
        message, text, refusals = "", "", 0
        while (view := self._views.get(place)) is not None and view.turn == turn:
            self._changed[place] = changed = anyio.Event()
            now = self._clock.monotonic()
            if now - typed >= TYPING_EVERY_S:
                typed = now
                await self._quietly(Route("POST", "/channels/{channel_id}/typing", channel_id=place))
            wanted = status_text(view)
            due = max(edited + EDIT_EVERY_S, began + FIRST_AFTER_S)
            if now >= due and wanted != text and refusals < 3:
                stands = await self._write(place, message, wanted, turn)
                edited = self._clock.monotonic()
                if stands:
                    message, text = stands, wanted
                else:
                    refusals += 1
            wake = typed + TYPING_EVERY_S
            if wanted != text and refusals < 3:
                wake = min(wake, max(edited + EDIT_EVERY_S, began + FIRST_AFTER_S))
            await self._until(changed, wake)
        await self._leftovers.over(place)

    async def _until(self, changed: anyio.Event, wake: float) -> None:
        """Until that instant, or until something changed."""
        async with anyio.create_task_group() as waiting:

            async def heard() -> None:
                await changed.wait()
                waiting.cancel_scope.cancel()

            waiting.start_soon(heard)
            await self._clock.sleep(max(0.01, wake - self._clock.monotonic()))
            waiting.cancel_scope.cancel()

    async def _write(self, place: str, message: str, text: str, turn: str) -> str:
        body: Json = {"content": text, "allowed_mentions": nobody()}
        try:
            if message:
                path = "/channels/{channel_id}/messages/{message_id}"
                await self._api.call(Route("PATCH", path, channel_id=place, message_id=message), body=body)
                return message
            body |= {"flags": SILENT, "nonce": _nonce(turn), "enforce_nonce": True}
            self._leftovers.sending(place)
            made = await self._api.object(
                Route("POST", "/channels/{channel_id}/messages", channel_id=place), body=body
            )
        except DiscordRefused as error:
            log.debug("the live status could not be shown: %s", error)
            return ""
        self._leftovers.stands(place, word(made.get("id")))
        return word(made.get("id"))

    async def _quietly(self, route: Route) -> None:
        try:
            await self._api.call(route)
        except DiscordRefused as error:
            log.debug("%s of the live status: %s", route.method, error)


def _nonce(turn: str) -> str:
    """The same at every try, so that a try whose answer was lost makes no second message."""
    return hashlib.sha256(f"status/{turn}".encode()).hexdigest()[:25]

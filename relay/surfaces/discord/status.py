"""The live status of a running turn: typing, and one message that is edited in place and gone at the end.

The newest state wins, at most one edit in 1.5 s, and it calls nobody. A short turn has typing alone. Which messages
stand is kept in a small file, so that those of a process that died are taken away by the next. Best effort throughout.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import cast

import anyio
import orjson
from discord.http import Route

from relay import texts
from relay.clock import Clock
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.errors import DiscordRefused
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
        self._path = path
        self._views: dict[str, LiveView | None] = {}
        self._changed: dict[str, anyio.Event] = {}
        self._fresh = anyio.Event()
        self._standing: dict[str, str] = {}

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
            tasks.start_soon(self._tidy)
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
                stands = await self._write(place, message, wanted)
                edited = self._clock.monotonic()
                if stands:
                    message, text = stands, wanted
                else:
                    refusals += 1
            wake = typed + TYPING_EVERY_S
            if wanted != text and refusals < 3:
                wake = min(wake, max(edited + EDIT_EVERY_S, began + FIRST_AFTER_S))
            await self._until(changed, wake)
        if message:
            await self._quietly(
                Route(
                    "DELETE",
                    "/channels/{channel_id}/messages/{message_id}",
                    channel_id=place,
                    message_id=message,
                )
            )
            self._note(place, None)

    async def _until(self, changed: anyio.Event, wake: float) -> None:
        """Until that instant, or until something changed."""
        async with anyio.create_task_group() as waiting:

            async def heard() -> None:
                await changed.wait()
                waiting.cancel_scope.cancel()

            waiting.start_soon(heard)
            await self._clock.sleep(max(0.01, wake - self._clock.monotonic()))
            waiting.cancel_scope.cancel()

    async def _write(self, place: str, message: str, text: str) -> str:
        body: Json = {"content": text, "allowed_mentions": nobody()}
        try:
            if message:
                path = "/channels/{channel_id}/messages/{message_id}"
                await self._api.call(Route("PATCH", path, channel_id=place, message_id=message), body=body)
                return message
            # Silent: nobody's phone rings for it.
            body["flags"] = 1 << 12
            made = await self._api.object(
                Route("POST", "/channels/{channel_id}/messages", channel_id=place), body=body
            )
        except DiscordRefused as error:
            log.debug("the live status could not be shown: %s", error)
            return ""
        self._note(place, word(made.get("id")))
        return word(made.get("id"))

    async def _quietly(self, route: Route) -> None:
        try:
            await self._api.call(route)
        except DiscordRefused as error:
            log.debug("%s of the live status: %s", route.method, error)

    # -- what stands, over a crash ------------------------------------------------------------------------------------

    def _note(self, place: str, message: str | None) -> None:
        if message:
            self._standing[place] = message
        else:
            self._standing.pop(place, None)
        part = self._path.with_suffix(".part")
        try:
            part.write_bytes(orjson.dumps(self._standing))
            os.replace(part, self._path)
        except OSError as error:
            log.debug("the list of status messages can't be written: %s", error)

    async def _tidy(self) -> None:
        """Take away what a process that died has left."""
        try:
            found: object = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return
        left = cast("dict[object, object]", found) if isinstance(found, dict) else {}
        for place, message in left.items():
            if word(place) and word(message) and self._standing.get(word(place)) != word(message):
                path = "/channels/{channel_id}/messages/{message_id}"
                await self._quietly(Route("DELETE", path, channel_id=word(place), message_id=word(message)))

"""Status messages that no turn shows any more, taken away until none stands.

A message that is to be sent is noted in a small file first, so that a process which died, or whose answer was lost on
the way, leaves nothing that the next look doesn't find. Which messages are meant is told by Discord itself: ours, with
the flag of a silent message, which no post of the relay's has, and with a status's first words.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import cast

import anyio
import orjson
from discord.http import Route

from relay.clock import Clock
from relay.surfaces.discord.api import DiscordApi, Json
from relay.surfaces.discord.errors import DiscordRefused
from relay.surfaces.discord.raw import number, own, word

SILENT = 1 << 12
"""The flag of a message for which nobody's phone rings."""
FIRST_PAUSE_S = 2.0
LONGEST_PAUSE_S = 60.0
LOOKED_AT = 100
"""Messages of a place that one look asks for: what is older is known by its id, or was swept by an earlier look."""
_FIRST_WORDS = re.compile(r"⏳ since <t:\d+:R>")
_ONE = "/channels/{channel_id}/messages/{message_id}"
_ALL = "/channels/{channel_id}/messages"

log = logging.getLogger(__name__)


class Leftovers:
    """See the module."""

    def __init__(self, api: DiscordApi, clock: Clock, path: Path) -> None:
        self._api = api
        self._clock = clock
        self._path = path
        self._shown: dict[str, str] = {}
        """place → the message that a running turn shows there; empty while that isn't known."""
        self._left: dict[str, str] = {}
        """place → the message that is left there; empty where Discord must be asked."""
        self._came = anyio.Event()

    # -- what is shown ------------------------------------------------------------------------------------------------

    def sending(self, place: str) -> None:
        """A status is about to be sent there."""
        self._shown.setdefault(place, "")
        self._note()

    def stands(self, place: str, message: str) -> None:
        """It stands, and its turn runs."""
        self._shown[place] = message
        self._note()

    async def over(self, place: str) -> None:
        """Its turn is over, so that nothing may be left there. What Discord doesn't let be done now is done later."""
        if place in self._shown:
            message = self._shown.pop(place)
            # One that an earlier process left there is not known by its id.
            self._left[place] = "" if place in self._left else message
            await self._sweep(place)
            if place in self._left:
                self._came.set()

    # -- taking away --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until cancelled. Begins with what earlier processes left."""
        self._left |= self._noted()
        pause = FIRST_PAUSE_S
        while True:
            self._came = anyio.Event()
            for place in list(self._left):
                await self._sweep(place)
            if not self._left:
                pause = FIRST_PAUSE_S
                await self._came.wait()
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _sweep(self, place: str) -> None:
        known = self._left.get(place)
        if known is None:
            return
        try:
            found = [known] if known else await self._found(place)
            if not known and self._shown.get(place) == "":
                return  # one is on its way there, and can't be told from what was left: later
            for message in found:
                await self._delete(place, message)
        except DiscordRefused as error:
            if error.kind != "permanent":
                log.debug("a status stays for now in %s: %s", place, error)
                return
            log.debug("a status can't be taken away in %s: %s", place, error)
        if self._left.get(place) == known:
            del self._left[place]
            self._note()

    async def _found(self, place: str) -> list[str]:
        listed = await self._api.objects(Route("GET", _ALL, channel_id=place), query={"limit": LOOKED_AT})
        return [message for one in listed if (message := self._is_left(place, one))]

    def _is_left(self, place: str, one: Json) -> str:
        """The message's id, if it is a status that no turn shows."""
        post = own(one, self._api.us)
        if post is None or not number(one.get("flags")) & SILENT or not _FIRST_WORDS.match(post.text):
            return ""
        return "" if self._shown.get(place) == post.message else post.message

    async def _delete(self, place: str, message: str) -> None:
        try:
            await self._api.call(Route("DELETE", _ONE, channel_id=place, message_id=message))
        except DiscordRefused as error:
            if error.kind != "permanent":
                raise

    # -- the file -----------------------------------------------------------------------------------------------------

    def _note(self) -> None:
        standing = self._left | self._shown
        part = self._path.with_suffix(".part")
        try:
            part.write_bytes(orjson.dumps(standing))
            os.replace(part, self._path)
        except OSError as error:
            log.debug("the list of status messages can't be written: %s", error)

    def _noted(self) -> dict[str, str]:
        try:
            found: object = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        read = cast("dict[object, object]", found) if isinstance(found, dict) else {}
        # A process that died between sending and hearing of it knew of no message: Discord is asked each time.
        return {word(place): "" for place in read if word(place)}

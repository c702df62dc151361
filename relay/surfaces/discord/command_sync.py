"""Tells Discord the set of slash commands, and only when it is another one than Discord was told last.

The whole set goes in one request, so Discord takes it whole or keeps the one it has: it is never without. Discord
counts new commands (200 a day), so what it was told is kept on disk, by a digest.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import orjson
from discord.http import Route

from relay.behaviours.commands import Command
from relay.clock import Clock
from relay.surfaces.discord import slash
from relay.surfaces.discord.api import DiscordApi
from relay.surfaces.discord.errors import DiscordRefused

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3_600.0

log = logging.getLogger(__name__)


class CommandSync:
    """See the module. `offered` gives the set. `trouble` is why Discord has not got it."""

    def __init__(
        self, api: DiscordApi, path: Path, clock: Clock, offered: Callable[[], Sequence[Command]]
    ) -> None:
        self._api = api
        self._path = path
        self._clock = clock
        self._offered = offered
        self._asked = anyio.Event()
        self._told = ""
        self.trouble = ""

    def look(self) -> None:
        """A session begins: look whether the set is another one. Never waits."""
        self._asked.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            pause = FIRST_PAUSE_S
            while (wait := await self._tried(pause)) is not None:
                await self._clock.sleep(wait)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _tried(self, pause: float) -> float | None:
        """None when Discord has the set, or will not take it; else after how many seconds to try again."""
        wanted = slash.definitions(self._offered())
        try:
            await self._api.log_in()
            digest = slash.digest(self._api.application, wanted)
            if digest in (self._told, self._kept()):
                self.trouble = ""
                return None
            path = "/applications/{application_id}/commands"
            route = Route("PUT", path, application_id=self._api.application)
            await self._api.call(route, body=wanted)
        except DiscordRefused as error:
            self.trouble = f"the slash commands are as they were: {error}"
            if error.kind != "transient":
                log.error("Discord did not take the slash commands, which stay as they were: %s", error)
                return None
            wait = max(pause, (error.retry_after_ms or 0) / 1000)
            log.warning("the slash commands stay as they were; the next try is in %.0f s: %s", wait, error)
            return wait
        self.trouble, self._told = "", digest
        self._keep(digest)
        log.info("Discord has the slash commands: %d", len(wanted))
        return None

    def _kept(self) -> str:
        """What an earlier process told. A file that can't be read counts as none."""
        try:
            found: object = orjson.loads(self._path.read_bytes())
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            log.warning("which slash commands Discord has can't be read: %s", error)
            return ""
        return found if isinstance(found, str) else ""

    def _keep(self, digest: str) -> None:
        part = self._path.with_suffix(".part")
        try:
            part.write_bytes(orjson.dumps(digest))
            os.replace(part, self._path)
        except OSError as error:
            log.warning("which slash commands Discord has can't be written down: %s", error)

"""Asking Discord over REST: bodies as they are on the wire, errors as `DiscordRefused`.

A client of its own that never connects to the gateway, so that posting goes on while the connection is made anew. It
parses nothing: what is missing or odd in an answer is the reader's to bear. discord.py keeps the rate limits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import aiohttp
import anyio
import discord
import orjson
from discord.http import Route

from relay.surfaces.discord.errors import DiscordRefused, refused

LONGEST_CALL_S = 180.0
LONGEST_PAUSE_S = 30.0
"""A longer pause that Discord asks for is not slept through: it is told, and the caller comes again."""

Connector = Callable[[], aiohttp.BaseConnector]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send."""

    name: str
    data: bytes


class DiscordApi:
    """See the module. Logs in at its first call."""

    def __init__(self, token: str, connector: Connector | None = None) -> None:
        self._token = token
        self._connector = connector
        self._client: discord.Client | None = None
        self._login = anyio.Lock()
        self._fatal: DiscordRefused | None = None
        self.us = ""
        """Our own id; empty before the first call."""
        self.application = ""

    async def log_in(self) -> discord.Client:
        """Raises `DiscordRefused`: fatal when the token is refused, which is then not tried again."""
        async with self._login:
            if self._fatal is not None:
                raise self._fatal
            if self._client is None:
                no_voice()
                made = discord.Client(
                    intents=discord.Intents(guilds=True),
                    connector=self._connector() if self._connector else None,
                    max_ratelimit_timeout=LONGEST_PAUSE_S,
                )
                try:
                    with anyio.fail_after(LONGEST_CALL_S):
                        await made.login(self._token)
                except Exception as error:
                    await _closed(made)
                    told = refused(error)
                    if told.kind == "fatal":
                        self._fatal = told
                    raise told from error
                except BaseException:
                    await _closed(made)
                    raise
                self._client = made
                self.us = str(made.user.id) if made.user else ""
                self.application = str(made.application_id or self.us)
            return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await _closed(client)

    async def call(
        self,
        route: Route,
        *,
        body: Json | list[Json] | None = None,
        query: dict[str, str | int] | None = None,
        files: Sequence[Upload] = (),
    ) -> Any:
        """The answer's JSON, or its text where it is none. Raises `DiscordRefused`."""
        client = await self.log_in()
        more: dict[str, Any] = {"params": query} if query else {}
        sent = [discord.File(BytesIO(file.data), file.name) for file in files]
        if sent:
            listed = [{"id": index, "filename": file.filename} for index, file in enumerate(sent)]
            payload = {**(body if isinstance(body, dict) else {}), "attachments": listed}
            more["form"] = [{"name": "payload_json", "value": orjson.dumps(payload).decode()}] + [
                {
                    "name": f"files[{index}]",
                    "value": file.fp,
                    "filename": file.filename,
                    "content_type": "application/octet-stream",
                }
                for index, file in enumerate(sent)
            ]
            more["files"] = sent
        elif body is not None:
            more["json"] = body
        try:
            with anyio.fail_after(LONGEST_CALL_S):
                return await client.http.request(route, **more)
        except Exception as error:
            raise refused(error) from error

    async def object(self, route: Route, **more: Any) -> Json:
        """As `call`, where the answer is an object. Raises `DiscordRefused`, transient, where it isn't."""
        found = await self.call(route, **more)
        if not isinstance(found, dict):
            raise DiscordRefused("Discord's answer was no object.", kind="transient")
        return cast("Json", found)

    async def objects(self, route: Route, **more: Any) -> list[Json]:
        """As `call`, where the answer is a list of objects; what in it is none is left out."""
        found = await self.call(route, **more)
        if not isinstance(found, list):
            raise DiscordRefused("Discord's answer was no list.", kind="transient")
        return [cast("Json", one) for one in cast("list[object]", found) if isinstance(one, dict)]


def no_voice() -> None:
    """The library warns at its first client that it can't speak aloud, which nobody here wants."""
    for flag in ("warn_nacl", "warn_dave"):
        if hasattr(discord.VoiceClient, flag):
            setattr(discord.VoiceClient, flag, False)


async def _closed(client: discord.Client) -> None:
    with anyio.move_on_after(5, shield=True):
        await client.close()

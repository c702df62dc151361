"""Fetching a file that hangs on a message: only from Discord's own hosts, bounded in bytes and time.

The address that Discord signs for a file is good for a day, so it is never kept: each try asks for the message anew.
Source: https://discord.com/developers/docs/reference#signed-attachment-cdn-urls
"""

from __future__ import annotations

from urllib.parse import urlsplit

import aiohttp
import anyio
from discord.http import Route
from yarl import URL

from relay.surfaces.discord import raw
from relay.surfaces.discord.api import Connector, DiscordApi
from relay.surfaces.discord.errors import UNKNOWN_MESSAGE, DiscordRefused, refused
from relay.surfaces.discord.history import known

HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
LONGEST_S = 50.0
_PIECE = 64 * 1024


class Files:
    """See the module. `connector` makes the network's way to Discord."""

    def __init__(self, api: DiscordApi, connector: Connector | None) -> None:
        self._api = api
        self._connector = connector

    async def fetch(self, place: str, message: str, file: str, most: int) -> bytes | None:
        """See `Surface.fetch`."""
        await self._api.log_in()
        path = "/channels/{channel_id}/messages/{message_id}"
        try:
            data = await self._api.object(
                Route("GET", path, channel_id=known(place), message_id=known(message))
            )
        except DiscordRefused as error:
            if error.number == UNKNOWN_MESSAGE:
                return None
            raise
        for one in raw.objs(data.get("attachments")):
            if raw.word(one.get("id")) == file:
                if raw.number(one.get("size")) > most:
                    raise _too_large(most)
                return await self._download(checked(raw.text(one.get("url"))), most)
        return None

    async def _download(self, url: str, most: int) -> bytes | None:
        """The bytes as they come: nothing is unpacked, no redirect followed, no cookie kept, no token sent."""
        connector = self._connector() if self._connector else None
        try:
            with anyio.fail_after(LONGEST_S):
                async with (
                    aiohttp.ClientSession(
                        connector=connector,
                        cookie_jar=aiohttp.DummyCookieJar(),
                        auto_decompress=False,
                        headers={"Accept-Encoding": "identity"},
                    ) as session,
                    session.get(URL(url, encoded=True), allow_redirects=False) as answer,
                ):
                    return await _body(answer, most)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise refused(error) from error


async def _body(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    if answer.status in (404, 410):
        return None
    if answer.status == 429 or answer.status >= 500:
        raise DiscordRefused(
            f"Discord's file server is not available just now ({answer.status}).", kind="transient"
        )
    if answer.status != 200:
        raise DiscordRefused(f"Discord's file server refused it ({answer.status}).", status=answer.status)
    if (answer.content_length or 0) > most:
        raise _too_large(most)
    data = bytearray()
    async for piece in answer.content.iter_chunked(_PIECE):
        data += piece
        if len(data) > most:
            raise _too_large(most)
    return bytes(data)


def checked(url: str) -> str:
    """The address, if it is one of Discord's file servers. Raises `DiscordRefused`."""
    try:
        found = urlsplit(url)
        ours = found.scheme == "https" and found.hostname in HOSTS and found.port in (None, 443)
    except ValueError:
        ours = False
        found = urlsplit("")
    if not ours or found.username is not None or found.password is not None or "\\" in url:
        raise DiscordRefused("this file does not lie with Discord.")
    return url


def _too_large(most: int) -> DiscordRefused:
    return DiscordRefused(f"the file has more than {most // 1_000_000} MB.")

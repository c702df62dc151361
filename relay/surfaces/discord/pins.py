"""Pinning one of our messages, without the line that Discord writes about it.

Discord lets a channel or thread have a limited number of pins, and tells each pin in a message of its own in our name:
that one is taken away again, best effort. `docs.discord.com/developers/resources/message#pin-message`.
"""

from __future__ import annotations

import logging

from discord.http import Route

from relay.clock import Clock
from relay.surfaces.discord import raw
from relay.surfaces.discord.api import DiscordApi
from relay.surfaces.discord.errors import MISSING_PERMISSION, TOO_MANY_PINS, DiscordRefused
from relay.surfaces.discord.history import known

PINNED = 6
"""The kind of Discord's own message that says so."""
LOOKS = 3
LOOK_AGAIN_S = 1.0
_PAGE = 50

_WHY = {
    MISSING_PERMISSION: ("the bot may not pin messages here.", "Give its role Pin Messages."),
    TOO_MANY_PINS: ("there are as many pins here as Discord allows.", "Unpin one."),
}

log = logging.getLogger(__name__)


class Pins:
    """See the module."""

    def __init__(self, api: DiscordApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock

    async def pin(self, place: str, message: str) -> None:
        """See `Surface.pin`. Raises `DiscordRefused`."""
        path = "/channels/{channel_id}/messages/pins/{message_id}"
        parts = {"channel_id": known(place), "message_id": known(message)}
        try:
            await self._api.call(Route("PUT", path, **parts))
        except DiscordRefused as error:
            if error.number not in _WHY:
                raise
            raise DiscordRefused(*_WHY[error.number], number=error.number, status=error.status) from error
        try:
            await self._unsay(place, message)
        except DiscordRefused as error:  # it stays: a line more than need be
            log.debug("what Discord wrote about a pin in %s stays: %s", place, error)

    async def _unsay(self, place: str, message: str) -> None:
        for look in range(LOOKS):
            if look:
                await self._clock.sleep(LOOK_AGAIN_S)
            for one in await self._api.objects(
                Route("GET", "/channels/{channel_id}/messages", channel_id=place),
                query={"after": message, "limit": _PAGE},
            ):
                about = raw.word(raw.obj(one.get("message_reference")).get("message_id"))
                ours = raw.word(raw.obj(one.get("author")).get("id")) == self._api.us
                note = raw.word(one.get("id"))
                if raw.number(one.get("type")) == PINNED and ours and about == message and note:
                    path = "/channels/{channel_id}/messages/{message_id}"
                    await self._api.call(Route("DELETE", path, channel_id=place, message_id=note))
                    return

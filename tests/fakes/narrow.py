"""The page's chat as a chat that pins, and takes short messages only: what the page itself has no need of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fakes.living import FastClock, ToldWhenReady

from relay.errors import SurfaceError
from relay.surfaces.surface import Capabilities, Choice, MessageEvent, OutgoingPost
from relay.surfaces.web.chat import LocalChat


@dataclass
class Narrow:
    """Makes such surfaces, one a life of the relay, and keeps what outlives each: the pins, and every edit."""

    limit: int = 2_000
    pins: bool = True
    pinned: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    edits: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """(when, text)"""
    no_edits: str = ""
    """Why nothing can be edited."""
    refused: int = 0
    """How many edits were refused for that."""
    gone: set[str] = field(default_factory=set[str])
    """Messages that somebody deleted."""
    locked: dict[str, str] = field(default_factory=dict[str, str])
    """Places that nothing can be posted in any more, and why."""

    def __call__(self, chat: LocalChat, clock: FastClock) -> ToldWhenReady:
        return _Surface(chat, clock, self)


class _Surface(ToldWhenReady):
    def __init__(self, chat: LocalChat, clock: FastClock, narrow: Narrow) -> None:
        super().__init__(chat, clock)
        self._narrow = narrow
        self._now = clock.now_ms

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, limit=self._narrow.limit, pins=self._narrow.pins)

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        if place in self._narrow.locked:
            raise SurfaceError(self._narrow.locked[place])
        if len(post.text) > self._narrow.limit:
            raise SurfaceError(f"{len(post.text)} characters are too many.")
        return await super().post(place, post, nonce)

    async def pin(self, place: str, message: str) -> None:
        self._there(message)
        self._narrow.pinned.append((place, message))

    async def edit(
        self,
        place: str,
        message: str,
        text: str,
        *,
        close_card: bool = False,
        card: str = "",
        choices: Sequence[Choice] = (),
    ) -> None:
        self._there(message)
        if self._narrow.no_edits:
            self._narrow.refused += 1
            raise SurfaceError(self._narrow.no_edits)
        if len(text) > self._narrow.limit:
            raise SurfaceError(f"{len(text)} characters are too many.")
        await super().edit(place, message, text, close_card=close_card)
        self._narrow.edits.append((self._now(), text))

    async def look(self, place: str, message: str) -> MessageEvent | None:
        return None if message in self._narrow.gone else await super().look(place, message)

    def _there(self, message: str) -> None:
        if message in self._narrow.gone:
            raise SurfaceError("that message is gone.")

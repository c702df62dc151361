"""A REST request as its handler sees it, and the table of routes. Handlers know the world, not HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import App, Attachment, Channel, Json, Message, User
from fakes.discord.world import World


@dataclass
class Ask:
    """`path` holds the path's parts by name, `query` the query's, `files` what was uploaded."""

    world: World
    path: dict[str, str]
    query: dict[str, str]
    body: Any = None
    files: list[Attachment] = field(default_factory=list[Attachment])
    app: App | None = None

    @property
    def bot(self) -> User:
        """Raises 40001 where nobody has signed in."""
        if self.app is None:
            raise ApiError(40001)
        return self.app.user

    @property
    def signed_in(self) -> App:
        if self.app is None:
            raise ApiError(40001)
        return self.app

    @property
    def fields(self) -> Json:
        """The body as an object; an empty one is fine."""
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise ApiError(50109)
        return self.body

    def number(self, name: str) -> int:
        """A part of the path that is an id."""
        return snowflake(self.path[name], name)

    def asked(self, name: str) -> int | None:
        """An id or number in the query."""
        return snowflake(self.query[name], name) if name in self.query else None

    def yes(self, name: str) -> bool:
        """A switch in the query."""
        return self.query.get(name, "").lower() in ("true", "1")

    @property
    def channel(self) -> Channel:
        return self.world.channel(self.number("channel_id"), self.bot)

    @property
    def message(self) -> Message:
        return self.world.message(self.channel, self.number("message_id"), self.bot)


def snowflake(text: str, name: str) -> int:
    if not text.isdigit():
        raise wrong_form(name, "NUMBER_TYPE_COERCE", f"Not a snowflake: {text!r}")
    return int(text)


Handler = Callable[[Ask], tuple[int, Any]]
"""(HTTP status, the JSON body or None)."""


@dataclass(frozen=True)
class Route:
    """`template` as Discord's OpenAPI writes it, so that the answer can be held against it. `open`: needs no token."""

    method: str
    template: str
    handler: Handler
    open: bool = False

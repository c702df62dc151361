"""One session with Discord's gateway, by discord.py: every event is handed on as it came, in order.

The library's own cache is not used, and its parsers may stumble over what they don't know without ending the session.
It answers nothing and decides nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, cast

import discord
import orjson

from relay.clock import Clock
from relay.surfaces.discord.api import Connector, Json

BETWEEN_IDENTIFIES_S = 5.0
MOST_BREAKS = 10
BREAKS_IN_S = 60.0
_NEEDED = frozenset({"READY", "RESUMED"})

log = logging.getLogger(__name__)


def intents() -> discord.Intents:
    """Servers, messages there and in direct messages, reactions, and what messages say. No more."""
    wanted = discord.Intents.none()
    wanted.guilds = wanted.guild_messages = wanted.dm_messages = True
    wanted.guild_reactions = wanted.dm_reactions = wanted.message_content = True
    return wanted


class GatewayClient(discord.Client):
    """See the module. `hear` is called with the name and the data of each event, `begins` before a session; neither
    waits."""

    def __init__(
        self,
        hear: Callable[[str, Json], None],
        identify: Callable[[], Awaitable[None]],
        clock: Clock,
        connector: Connector | None = None,
        begins: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(
            intents=intents(),
            connector=connector() if connector else None,
            enable_debug_events=True,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=0.0,
            allowed_mentions=discord.AllowedMentions.none(),
        )
        self._hear = hear
        self._identify = identify
        self._clock = clock
        self._begins = begins
        self._breaks: deque[float] = deque(maxlen=MOST_BREAKS)
        self._bear_odd_events()

    def _bear_odd_events(self) -> None:
        """An event that a parser of the library can't read would end the session; none of them is needed here but
        those that begin it."""
        state = getattr(self, "_connection", None)
        parsers: object = getattr(state, "parsers", None)
        if isinstance(parsers, dict):
            known = cast("dict[str, Callable[[Any], None]]", parsers)
            for name in known.keys() - _NEEDED:
                known[name] = _bearing(name, known[name])

    async def setup_hook(self) -> None:
        self._begins()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await self._clock.sleep(BETWEEN_IDENTIFIES_S)
        await self._identify()

    async def on_socket_raw_receive(self, frame: str) -> None:
        # Nothing here waits: the library starts a task for each frame, and tasks that don't wait keep their order.
        try:
            read: object = orjson.loads(frame)
        except ValueError:
            log.warning("Discord sent a frame that is no JSON")
            return
        event = cast("Json", read) if isinstance(read, dict) else {}
        name, data = event.get("t"), event.get("d")
        if event.get("op") == 0 and isinstance(name, str) and isinstance(data, dict):
            self._hear(name, cast("Json", data))

    async def on_disconnect(self) -> None:
        """A server that takes each session back at once would be called without a pause: leave it to the
        supervisor, which makes one."""
        now = self._clock.monotonic()
        self._breaks.append(now)
        if len(self._breaks) == MOST_BREAKS and now - self._breaks[0] < BREAKS_IN_S and not self.is_closed():
            log.warning("Discord broke the connection %d times within a minute", MOST_BREAKS)
            await self.close()


def _bearing(name: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    def parsed(data: Any) -> None:
        try:
            parse(data)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            log.debug("discord.py could not read a %s: %r", name, error)

    return parsed

"""Keeps the bot connected: a new session after every end, with growing pauses, until it is cancelled or can't be.

What only a person can mend (a refused token, an intent that is off) ends it with one sentence that says what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio

from relay.clock import Clock
from relay.surfaces.discord.api import Connector, Json
from relay.surfaces.discord.budget import IdentifyBudget
from relay.surfaces.discord.client import GatewayClient
from relay.surfaces.discord.errors import DiscordRefused, fatal, refused

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
LONG_ENOUGH_S = 60.0
"""A session that lasted so long was a good one: the next pause is short again."""

log = logging.getLogger(__name__)


class Connection:
    """See the module. `trouble` is why there is no session just now; `over` says that there will be none."""

    def __init__(
        self,
        token: str,
        token_env: str,
        hear: Callable[[str, Json], None],
        budget: IdentifyBudget,
        clock: Clock,
        *,
        connector: Connector | None = None,
        say: Callable[[str], None] = log.warning,
        jitter: Callable[[], float] = lambda: 1.0,
        begins: Callable[[], None] = lambda: None,
    ) -> None:
        self._token = token
        self._token_env = token_env
        self._hear = hear
        self._budget = budget
        self._clock = clock
        self._connector = connector
        self._say = say
        self._jitter = jitter
        self._begins = begins
        self._client: GatewayClient | None = None
        self._up_since: float | None = None
        self.trouble = ""
        self.over = False

    @property
    def up_since(self) -> float | None:
        """Since when (monotonic seconds) there is a session; None while there is none."""
        return self._up_since

    async def run(self, before: Callable[[], Awaitable[object]]) -> None:
        """Until cancelled, or until only a person can help. `before` is what must succeed before each session."""
        pause = FIRST_PAUSE_S
        while True:
            began = self._clock.monotonic()
            error = await self._session(before)
            self._up_since = None
            sentence = fatal(error, self._token_env) or fatal(error.__cause__ or error, self._token_env)
            if sentence is not None:
                self.trouble, self.over = sentence, True
                self._say(f"discord: {sentence}")
                return
            if self._clock.monotonic() - began > LONG_ENOUGH_S:
                pause = FIRST_PAUSE_S
            self.trouble = f"no connection to Discord: {refused(error)}"
            log.warning("%s The next try is in %.0f s (%r)", self.trouble, pause, error)
            await self._clock.sleep(pause * (0.5 + self._jitter() / 2))
            pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _session(self, before: Callable[[], Awaitable[object]]) -> Exception:
        """One session; what ended it. discord.py's own reconnecting resumes a session that was cut; what it can't
        resume ends here, since its own pauses grow to a quarter of an hour."""
        client: GatewayClient | None = None
        try:
            await before()
            client = self._client = GatewayClient(
                self._heard, self._budget.spend, self._clock, self._connector, self._begins
            )
            await client.start(self._token, reconnect=False)
        except Exception as error:  # whatever a parser or a socket raises: the session is over and is told
            return error
        finally:
            self._client = None
            if client is not None:
                with anyio.move_on_after(5, shield=True):
                    await client.close()
        return DiscordRefused("Discord ended the session.", kind="transient")

    def _heard(self, name: str, data: Json) -> None:
        if name in ("READY", "RESUMED"):
            self._up_since = self._clock.monotonic()
            self.trouble = ""
        self._hear(name, data)

    async def anew(self, why: str) -> None:
        """End the session, so that a new one is made."""
        client = self._client
        if client is not None:
            log.warning("the connection to Discord is made anew: %s", why)
            await client.close()

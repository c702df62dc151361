"""What goes wrong on the tests' Discord while a relay is killed again and again: in the gateway, in REST, in all of it.

It counts what it did, so that a test can say that enough went wrong.
"""

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import anyio
from fakes.discord import DiscordServer

MESSAGES = "/channels/*/messages"
ONE = "/channels/*/messages/*"
REACTIONS = "/channels/*/messages/*/reactions/**"
LONG_S = 35.0
"""Longer than the relay lets discord.py sleep through: it is told, and comes again."""


class Weather:
    """See the module. `run` until cancelled; then `clear`. `only`: the names of what alone goes wrong."""

    def __init__(
        self, server: DiscordServer, rng: random.Random, every_s: float = 0.35, only: Sequence[str] = ()
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._server = server
        self._random = rng
        self._every_s = every_s
        self._only = only

    async def run(self) -> None:
        deeds: list[tuple[int, Callable[[], Awaitable[None] | None]]] = [
            (5, self._event_dropped),
            (3, self._event_doubled),
            (2, self._event_late),
            (4, self._connection_cut),
            (4, self._resume_refused),
            (2, self._session_invalid),
            (2, self._asked_to_reconnect),
            (6, self._answer_lost),
            (3, self._request_lost),
            (4, self._unavailable),
            (3, self._too_many),
            (1, self._cloudflare),
            (3, self._history_unavailable),
            (3, self._reaction_unavailable),
            (3, self._outage),
        ]
        if self._only:
            deeds = [(weight, deed) for weight, deed in deeds if deed.__name__.strip("_") in self._only]
        while True:
            await anyio.sleep(self._random.uniform(0, 2 * self._every_s))
            weights = [weight for weight, _ in deeds]
            deed = self._random.choices([deed for _, deed in deeds], weights)[0]
            self.counts[deed.__name__.strip("_")] += 1
            waits = deed()
            if waits is not None:
                await waits

    def clear(self) -> None:
        """Everything works from now on."""
        self._server.faults.clear()
        self._server.gateway.faults.clear()

    # -- the gateway --------------------------------------------------------------------------------------------------

    def _event_dropped(self) -> None:
        bots = {str(app.user.id) for app in self._server.world.apps.values()}
        self._server.gateway.faults.drop(
            "MESSAGE_CREATE", self._random.randint(1, 2), fits=lambda data: data["author"]["id"] not in bots
        )

    def _event_doubled(self) -> None:
        name = self._random.choice(("MESSAGE_CREATE", "MESSAGE_REACTION_ADD"))
        self._server.gateway.faults.double(name, same_number=self._random.random() < 0.5)

    def _event_late(self) -> None:
        self._server.gateway.faults.late("MESSAGE_CREATE", self._random.uniform(0.1, 1.0))

    def _connection_cut(self) -> None:
        self._server.gateway.cut()

    def _resume_refused(self) -> None:
        self._server.gateway.faults.refuse_resumes(2.0)
        self._server.gateway.cut()

    def _session_invalid(self) -> None:
        self._server.gateway.invalidate(resumable=self._random.random() < 0.3)

    def _asked_to_reconnect(self) -> None:
        self._server.gateway.reconnect()

    # -- REST ---------------------------------------------------------------------------------------------------------

    def _answer_lost(self) -> None:
        """The message stands, and the one who sent it is told nothing, or that it failed."""
        if self._random.random() < 0.6:
            self._server.faults.cut("POST", MESSAGES, after=True)
        else:
            self._server.faults.answer("POST", MESSAGES, self._random.choice((500, 503, 504)), after=True)

    def _request_lost(self) -> None:
        self._server.faults.cut("POST", MESSAGES)

    def _unavailable(self) -> None:
        status, times = self._random.choice((500, 502, 503)), self._random.randint(1, 2)
        self._server.faults.answer("POST", MESSAGES, status, times=times)

    def _too_many(self) -> None:
        wait = self._random.choice((0.2, 0.2, LONG_S))
        scope = self._random.choice(("user", "shared", "global")) if wait < 1 else "user"
        self._server.faults.too_many("POST", MESSAGES, wait, scope=scope)

    def _cloudflare(self) -> None:
        self._server.faults.cloudflare("POST", MESSAGES, self._random.choice((403, 502)))

    def _history_unavailable(self) -> None:
        self._server.faults.answer("GET", MESSAGES, 503, times=self._random.randint(1, 2))

    def _reaction_unavailable(self) -> None:
        if self._random.random() < 0.5:
            self._server.faults.cut("PUT", REACTIONS, times=2, after=True)
        else:
            self._server.faults.answer("PUT", REACTIONS, 503)

    async def _outage(self) -> None:
        with anyio.CancelScope(
            shield=True
        ):  # half an outage would leave a server that is neither there nor away
            async with self._server.outage():
                await anyio.sleep(self._random.uniform(0.3, 2.0))

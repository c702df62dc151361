"""What goes wrong in a simulated hour, by seed: kills at any point, freezes, gaps, outages, clocks that jump.

It decides when; `Fleet`, `ModelChat` and `Disk` know how.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from simulation.fleet import Being, Fleet
from simulation.virtual_loop import Life

from relay.config import Access


@dataclass(slots=True)
class Weather:
    """See the module. `calm` ends all of it."""

    rng: random.Random
    fleet: Fleet
    access_of: Callable[[random.Random], Access]
    over: bool = False
    away_until: float = 0.0
    kills: int = 0
    freezes: int = 0

    def strike(self) -> None:
        holder = self.fleet.holder
        if holder is None or not holder.up:  # it could not start: whoever minds the relay tries again
            self._restart(self.rng.uniform(1, 5))
            return
        if holder.life.frozen or holder.relay is None:
            return
        deeds: list[tuple[int, Callable[[Being], None]]] = [
            (5, self._kill),
            (14, self._kill_at_a_write),
            (8, self._kill_at_a_post),
            (8, self._freeze),
            (3, self._freeze_at_a_write),
            (4, self._stop),
            (4, self._outage),
            (8, self._gap),
            (6, self._chat_down),
            (3, self._chat_slow),
            (3, self._disk),
            (4, self._reload),
            (3, self._jump),
            *((weight, lambda being, deed=deed: deed()) for weight, deed in self.fleet.chat.strikes()),
        ]
        self.rng.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])[0](holder)

    def calm(self) -> None:
        """The end of all trouble: everything works, everyone wakes up, and one relay holds the epoch."""
        self.over = True
        fleet = self.fleet
        fleet.disk.on_append = fleet.chat.on_post = _nothing
        fleet.disk.full = fleet.disk.slow = False
        fleet.chat.down = fleet.chat.slow = fleet.chat.faulty = False
        for being in fleet.beings:
            if being.life.frozen:
                fleet.thaw(being)
        if fleet.holder is None or not fleet.holder.up or fleet.holder.stop.is_set():  # it is about to end
            fleet.start()

    # -- ends of a life ---------------------------------------------------------------------------------------------

    def _later(self, seconds: float, deed: Callable[[], None]) -> None:
        self.fleet.loop.outside(seconds, lambda: None if self.over else deed())

    def _restart(self, after: float) -> None:
        self.away_until = self.fleet.loop.time() + after

        def start() -> None:
            holder = self.fleet.holder
            if holder is None or not holder.up or holder.life.frozen:
                self.fleet.start()

        self._later(after, start)

    def _end(self, being: Being, after: float) -> None:
        if being.up:
            self.kills += 1
            self.fleet.kill(being)
            self._restart(after)

    def _kill(self, being: Being) -> None:
        self._end(being, self.rng.uniform(0.3, 8))

    def _outage(self, being: Being) -> None:
        self._end(being, self.rng.choice((90, 150, 700, 2400, 9000)) * self.rng.uniform(0.8, 1.3))

    def _away(self) -> float:
        return self.rng.choice((0.5, 3, 10, 70, 130, 180))

    def _at(
        self, being: Being, times: int, when: str, deed: Callable[[], None]
    ) -> Callable[[Life, str], None]:
        """A hook that does the deed at the n-th such moment of this life."""
        left = [times]

        def hook(life: Life, moment: str) -> None:
            if life is being.life and moment == when and left[0] > 0:
                left[0] -= 1
                if left[0] == 0:
                    deed()

        return hook

    def _kill_at_a_write(self, being: Being) -> None:
        after, when = self._away(), self.rng.choice(("before", "after", "after"))
        self.fleet.disk.on_append = self._at(
            being, self.rng.randrange(1, 25), when, lambda: self._end(being, after)
        )

    def _kill_at_a_post(self, being: Being) -> None:
        """Before the answer is heard, mostly: it stands, and nobody recorded it."""
        after, when = self._away(), self.rng.choice(("before", "after", "after"))
        self.fleet.chat.on_post = self._at(
            being, self.rng.randrange(1, 5), when, lambda: self._end(being, after)
        )

    def _stop(self, being: Being) -> None:
        being.stop.set()
        self._restart(self.rng.uniform(2, 12))

    # -- a freeze ---------------------------------------------------------------------------------------------------

    def _freeze(self, being: Being) -> None:
        if not being.up or being.life.frozen:
            return
        self.freezes += 1
        self.fleet.freeze(being)
        takeover = self.rng.uniform(0.5, 15)
        self._restart(takeover)
        self._later(takeover + self.rng.choice((0.0, 1, 10, 60, 140, 300)), lambda: self.fleet.thaw(being))

    def _freeze_at_a_write(self, being: Being) -> None:
        times, when = self.rng.randrange(1, 20), self.rng.choice(("before", "after"))
        self.fleet.disk.on_append = self._at(being, times, when, lambda: self._freeze(being))

    # -- the world --------------------------------------------------------------------------------------------------

    def _gap(self, being: Being) -> None:
        being.link.drop(self.rng.choice((0.3, 2, 8, 30, 90)))

    def _chat_down(self, being: Being) -> None:
        chat = self.fleet.chat
        chat.down = True
        being.link.drop(0.5)
        self._later(self.rng.choice((2, 10, 40, 100, 160)), lambda: setattr(chat, "down", False))

    def _chat_slow(self, being: Being) -> None:
        chat = self.fleet.chat
        chat.slow = True
        self._later(self.rng.uniform(5, 40), lambda: setattr(chat, "slow", False))

    def _disk(self, being: Being) -> None:
        disk = self.fleet.disk
        kind = self.rng.choice(("full", "slow"))
        setattr(disk, kind, True)
        self._later(self.rng.uniform(1, 15), lambda: setattr(disk, kind, False))

    def _reload(self, being: Being) -> None:
        self.fleet.settings.access = self.access_of(self.rng)
        self.fleet.settings.version += 1

    def _jump(self, being: Being) -> None:
        """The wall clock is set: back or forward, and never more than minutes from the chat's."""
        self.fleet.clock.offset_ms = self.rng.choice((-90, -20, -2, 0, 2, 30, 300)) * 1000


def _nothing(life: Life, when: str) -> None:
    return

"""What can go wrong between Discord's gateway and a bot, made on command.

`drop`, `double`, `swap`, `late` and `reshape` act on the next events that fit; `silence`, `refuse_resumes`,
`refuse_connections`, `hello_after`, `ack_after` and `acks` say how the gateway behaves until told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fakes.discord.clock import Clock
from fakes.discord.model import Json

Fits = Callable[[Json], bool]


@dataclass
class _Rule:
    name: str
    kind: str
    left: int
    fits: Fits | None = None
    shape: Callable[[Json], Json] | None = None
    seconds: float = 0.0
    held: list[Json] = field(default_factory=list[Json])


@dataclass
class Delivery:
    """What becomes of an event: `data` (in this order) now, or after `late` seconds; each `again` once more with
    its old number."""

    data: list[Json]
    late: float = 0.0
    again: bool = False


class GatewayFaults:
    """Every fault is off at first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rules: list[_Rule] = []
        self._resumes_from = 0.0
        self.silent = False
        self.hello_after = 0.0
        """Seconds."""
        self.ack_after = 0.0
        """Seconds."""
        self.acks = True
        """False: heartbeats get no answer."""
        self.refused: list[int | None] = []
        """For each of the next connections: an HTTP status, or None for a cut."""

    def drop(self, name: str, times: int = 1, *, fits: Fits | None = None) -> None:
        """The next `times` events of this name never arrive, not even with RESUME; their numbers aren't used."""
        self._rules.append(_Rule(name, "drop", times, fits))

    def double(
        self, name: str, times: int = 1, *, same_number: bool = False, fits: Fits | None = None
    ) -> None:
        """The next `times` events arrive twice."""
        self._rules.append(_Rule(name, "again" if same_number else "double", times, fits))

    def swap(self, name: str, count: int = 2) -> None:
        """The next `count` events arrive when the last of them is there, in reverse."""
        self._rules.append(_Rule(name, "swap", count))

    def late(self, name: str, seconds: float, times: int = 1, *, fits: Fits | None = None) -> None:
        """The next `times` events arrive `seconds` (real ones) later, others pass them."""
        self._rules.append(_Rule(name, "late", times, fits, seconds=seconds))

    def reshape(self, name: str, shape: Callable[[Json], Json], times: int = 1_000_000) -> None:
        """The next `times` events have odd or missing fields: `shape` gives what is sent."""
        self._rules.append(_Rule(name, "reshape", times, shape=shape))

    def silence(self) -> None:
        """Connected, heartbeats answered, and no event is ever told, until `speak`. What happened is lost."""
        self.silent = True

    def speak(self) -> None:
        self.silent = False

    def refuse_resumes(self, seconds: float) -> None:
        """For so long by Discord's clock, each RESUME gets INVALID_SESSION (false)."""
        self._resumes_from = self._clock.now() + seconds

    @property
    def resumes(self) -> bool:
        return self._clock.now() >= self._resumes_from

    def refuse_connections(self, times: int = 1, status: int | None = None) -> None:
        """The next connections to the gateway are cut, or get this HTTP status.

        aiohttp itself tries once more after a cut: `times=2` for one to be noticed.
        """
        self.refused += [status] * times

    def clear(self) -> None:
        """All faults off."""
        self.__init__(self._clock)

    def deliver(self, name: str, data: Json, *, greeting: bool = False) -> Delivery:
        """Decides over one event; uses up the rules that fit. A `greeting` is heard even in a silence."""
        found = Delivery([data])
        if self.silent and not greeting:
            return Delivery([])
        for rule in list(self._rules):
            if rule.name != name or (rule.fits is not None and not rule.fits(data)):
                continue
            rule.left -= 1
            if rule.left <= 0:
                self._rules.remove(rule)
            if rule.kind == "reshape" and rule.shape is not None:
                data = rule.shape(data)
                found.data = [data]
                continue
            if rule.kind == "drop":
                return Delivery([])
            if rule.kind == "double":
                return Delivery([data, data])
            if rule.kind == "again":
                return Delivery([data], again=True)
            if rule.kind == "late":
                return Delivery([data], late=rule.seconds)
            if rule.kind == "swap":
                rule.held.append(data)
                return Delivery(rule.held[::-1] if rule.left <= 0 else [])
        return found

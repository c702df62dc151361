"""Fires that wake nobody yet: because a person wants quiet, or because a bound on unprompted turns is reached.

Pure. It counts what woke somebody, says what holds a fire and until when, and keeps what is held. A window begins with
the first wake in it, so that a bound is told once for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from watch_supervisor.spec import WatchSpec, closed_until

HOUR = 3_600_000
DAY = 24 * HOUR
MOST_HELD = 5
"""So many held fires are kept of a watch, the newest; of the others their number."""
FOR_GOOD = 0

Why = Literal["muted", "snoozed", "hours", "fires", "thread", "room", "day", "tokens"]
WANTED: tuple[Why, ...] = ("muted", "snoozed", "hours")
"""What people chose themselves: nobody is told of it again."""


@dataclass(slots=True)
class Bounds:
    """What access.json allows; 0 is without a bound."""

    thread: int = 0
    room: int = 0
    day: int = 0
    tokens: int = 0
    fires: int = 0


@dataclass(slots=True)
class Window:
    """What has woken somebody since `begun` (UTC ms). `told`: people know that its bound is reached."""

    begun: int = 0
    count: int = 0
    told: bool = False


@dataclass(slots=True)
class Quiet:
    """A person wants a watch quiet until then; `FOR_GOOD` is until they say otherwise."""

    until: int
    by: str


@dataclass(slots=True)
class Held:
    """The fires of one watch that are held. `until` is when to look again (UTC ms)."""

    armed: str
    scope: str
    room: str
    name: str
    person: str
    role: str
    notify: bool
    is_diff: bool
    why: Why
    until: int
    fires: list[str] = field(default_factory=list[str])
    count: int = 0
    told_at: str = ""
    """The fire at which people are told of the bound."""


@dataclass(slots=True)
class Spent:
    """What was spent of each bound. An hour's window is forgotten after it is over, when a later wake is counted."""

    hours: dict[str, Window] = field(default_factory=dict[str, Window])
    """`thread SCOPE`, `room ROOM` and `watch ARMED` → its window; the one that began first stands first."""
    day: Window = field(default_factory=Window)
    tokens: int = 0
    lifted: dict[str, int] = field(default_factory=dict[str, int])
    """room → until when its bounds don't hold."""

    def wake(self, scope: str, room: str, now: int) -> None:
        """Somebody is woken for this scope."""
        for key in (f"thread {scope}", f"room {room}"):
            self._hour(key, now).count += 1
        self._today(now).count += 1

    def fire(self, armed: str, now: int) -> None:
        """A watch has said something."""
        self._hour(f"watch {armed}", now).count += 1

    def use(self, tokens: int, now: int) -> None:
        """A turn that nobody asked for has used so many."""
        self._today(now)
        self.tokens += tokens

    def lift(self, room: str, until: int, now: int) -> None:
        """The room's bounds don't hold until then."""
        self.lifted = {other: at for other, at in self.lifted.items() if at > now}
        self.lifted[room] = until
        for window in (*self.hours.values(), self.day):
            window.told = False

    def over(self, bounds: Bounds, held: Held, now: int) -> tuple[Why, int] | None:
        """Which bound holds back a fire of that watch, and until when."""
        if self.lifted.get(held.room, 0) > now:
            return None
        checks: list[tuple[Why, str, int]] = [("fires", f"watch {held.armed}", bounds.fires)]
        if not held.notify:
            checks.append(("thread", f"thread {held.scope}", bounds.thread))
            checks.append(("room", f"room {held.room}", bounds.room))
        for why, key, most in checks:
            window = self.hours.get(key)
            if most and window is not None and window.count >= most and now < window.begun + HOUR:
                return why, window.begun + HOUR
        day = self.day
        if not held.notify and now < day.begun + DAY:
            if bounds.day and day.count >= bounds.day:
                return "day", day.begun + DAY
            if bounds.tokens and self.tokens >= bounds.tokens:
                return "tokens", day.begun + DAY
        return None

    def count(self, key: str, now: int) -> int:
        """How often somebody was woken in that window."""
        window = self.hours.get(key)
        return window.count if window is not None and now < window.begun + HOUR else 0

    def in_day(self, now: int) -> int:
        """The same for the day."""
        return self.day.count if now < self.day.begun + DAY else 0

    def first_over(self, held: Held) -> bool:
        """Whether a fire is the first that the bound of `held.why` holds back in its window."""
        keys = {"fires": f"watch {held.armed}", "thread": f"thread {held.scope}", "room": f"room {held.room}"}
        window = self.hours.get(keys.get(held.why, "")) if held.why in keys else self.day
        if held.why in WANTED or window is None or window.told:
            return False
        window.told = True
        return True

    def _hour(self, key: str, now: int) -> Window:
        while self.hours:
            first = next(iter(self.hours))
            if now < self.hours[first].begun + HOUR:
                break
            del self.hours[first]
        if key not in self.hours:
            self.hours[key] = Window(now)
        return self.hours[key]

    def _today(self, now: int) -> Window:
        if now >= self.day.begun + DAY:
            self.day, self.tokens = Window(now), 0
        return self.day


def wanted_quiet(spec: WatchSpec, quiet: Quiet | None, now: int) -> tuple[Why, int] | None:
    """Whether people want that watch quiet now: why, and until when."""
    if quiet is not None and quiet.until == FOR_GOOD:
        return "muted", FOR_GOOD
    if quiet is not None and now < quiet.until:
        return "snoozed", quiet.until
    opens = closed_until(spec, now)
    return ("hours", opens) if opens is not None else None

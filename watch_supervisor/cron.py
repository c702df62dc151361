"""Schedules in the five fields of cron, read strictly, and when they come next.

Pure. Minute, hour, day of the month, month, day of the week, as in crontab(5): `*`, lists, ranges, steps, names of
months and days, 0 and 7 both Sunday; where both days are restricted either is enough. Daylight saving: a time that
the clock skips comes after the jump (02:30 at 03:30), one that comes twice comes the first time only. A schedule
whose hour is `*` or `*/N` goes by the hours that are: it comes in both of two equal hours, and not in one that is
skipped.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from watch_supervisor.moments import DAY, MINUTE, instants
from watch_supervisor.spec_error import SpecError, shown

_FORM = "Write it like `--cron '0 8 * * mon-fri'`: minute, hour, day, month, day of the week."
_MONTHS: tuple[str, ...] = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_WEEK: tuple[str, ...] = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_NAMELESS: tuple[str, ...] = ()
_FIELDS = (
    ("minute", 0, 59, _NAMELESS),
    ("hour", 0, 23, _NAMELESS),
    ("day of the month", 1, 31, _NAMELESS),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _WEEK),
)
_PART = re.compile(r"(\*|[a-z]{3}|[0-9]{1,2})(?:-([a-z]{3}|[0-9]{1,2}))?(?:/([0-9]{1,2}))?", re.ASCII)
_LONGEST = 200
# Every date of the calendar comes again within 8 years (29 February over a century's end).
_DAYS_AHEAD = 366 * 9
_LAST_DAY = date(9990, 1, 1)


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule. `text` is its canonical form: five fields with one blank between."""

    text: str
    times: tuple[int, ...]
    """Minutes of the day, ascending."""
    days: frozenset[int]
    months: frozenset[int]
    week: frozenset[int]
    """0 is Monday."""
    either_day: bool
    every_hour: bool

    def next_after(self, now_ms: int, zone: tzinfo) -> int | None:
        """The first instant (UTC ms) after `now_ms`; None when there is none within nine years."""
        first = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone).date() - timedelta(days=2)
        best: int | None = None
        rest = 0
        for ahead in range(_DAYS_AHEAD):
            day = first + timedelta(days=ahead)
            if day >= _LAST_DAY:
                break
            if self.on(day):
                found = self._after(day, now_ms, zone)
                if found is not None and (best is None or found < best):
                    best = found
            # A day that a zone skips whole comes later than the next one, so two more are looked at.
            rest += best is not None
            if rest > 2:
                break
        return best

    def on(self, day: date) -> bool:
        """Whether it comes on that day at all."""
        if day.month not in self.months:
            return False
        by_month, by_week = day.day in self.days, day.weekday() in self.week
        return by_month or by_week if self.either_day else by_month and by_week

    def _after(self, day: date, now_ms: int, zone: tzinfo) -> int | None:
        """The first instant of that day after `now_ms`."""
        midnight = datetime.combine(day, time())
        begin, end = instants(midnight, zone)[0], instants(midnight + timedelta(days=1), zone)[0]
        if end - begin == DAY and len(instants(midnight, zone)) == 1 and _is_plain(midnight, zone):
            at = bisect_right(self.times, (now_ms - begin) // MINUTE)
            return begin + self.times[at] * MINUTE if at < len(self.times) else None
        ahead: list[int] = []
        for minute in self.times:
            local = midnight + timedelta(minutes=minute)
            both = instants(local, zone)
            if self.every_hour:
                ahead += [ms for ms in both if ms > now_ms and _shows(ms, local, zone)]
            elif min(both) > now_ms:
                ahead.append(min(both))
        return min(ahead, default=None)


def parse_cron(text: str) -> Cron:
    """Read five fields, or a nickname like `@daily`. SpecError for what is neither, or never comes."""
    if len(text) > _LONGEST:
        raise SpecError(f"That schedule is longer than {_LONGEST} characters. {_FORM}", "cron")
    cleaned = " ".join(text.lower().split())
    fields = _NICKNAMES.get(cleaned, cleaned).split(" ")
    if len(fields) != len(_FIELDS):
        raise SpecError(f"{shown(text)} has {len(fields)} fields and not five. {_FORM}", "cron")
    minutes, hours, days, months, week = (
        _field(field, *form) for field, form in zip(fields, _FIELDS, strict=True)
    )
    cron = Cron(
        text=" ".join(fields),
        times=tuple(sorted(hour * 60 + minute for hour in hours for minute in minutes)),
        days=frozenset(days),
        months=frozenset(months),
        week=frozenset((day - 1) % 7 for day in week),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
        every_hour=fields[1].startswith("*"),
    )
    # 2024 is a leap year, and its days fall on others in the years that follow.
    if not any(cron.on(date(2024, 1, 1) + timedelta(days=ahead)) for ahead in range(366 * 28)):
        raise SpecError(f"{shown(text)} never comes: there is no such day. {_FORM}", "cron")
    return cron


def _field(text: str, what: str, low: int, high: int, names: tuple[str, ...]) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        read = _PART.fullmatch(part)
        if read is None:
            raise SpecError(f"{shown(part)} can't be read as a {what}. {_FORM}", "cron")
        first, last, step = read[1], read[2], read[3]
        if first == "*":
            if last is not None:
                raise SpecError(f"{shown(part)} can't be read as a {what}. {_FORM}", "cron")
            start, end = low, min(high, 6) if names is _WEEK else high
        else:
            start = _value(first, what, low, high, names)
            end = _value(last, what, low, high, names) if last is not None else (high if step else start)
            if names is _WEEK and last == "sun":
                end = 7
        if start > end:
            raise SpecError(f"{shown(part)} runs backwards. {_FORM}", "cron")
        by = int(step) if step is not None else 1
        if by == 0:
            raise SpecError(f"{shown(part)} has a step of zero. {_FORM}", "cron")
        found |= set(range(start, end + 1, by))
    return found


def _value(text: str, what: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text in names:
        return names.index(text) + (1 if names is _MONTHS else 0)
    if not text.isdigit() or not low <= int(text) <= high:
        raise SpecError(f"{shown(text)} isn't a {what} ({low} to {high}). {_FORM}", "cron")
    return int(text)


def _is_plain(midnight: datetime, zone: tzinfo) -> bool:
    """Whether the day has one offset throughout, so that its minutes can be counted."""
    offsets = {
        (midnight + timedelta(hours=hour)).replace(tzinfo=zone).utcoffset() for hour in (0, 6, 12, 18, 24)
    }
    return len(offsets) == 1


def _shows(ms: int, local: datetime, zone: tzinfo) -> bool:
    """Whether clocks really show `local` at that instant: not in a gap."""
    there = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone)
    return there.replace(tzinfo=None) == local

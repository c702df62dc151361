"""Durations and times of day as people type them, turned into milliseconds.

Pure: the present moment and the zone are passed in. A local time that a clock change skips means the same
time after the jump (02:30 becomes 03:30); one that comes twice means the earliest of the two that is still
ahead.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from watch_supervisor.spec_error import SpecError, shown

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
LONGEST = 365 * DAY
_COARSE = 5 * SECOND
# The calendar that instants are shown in: the years 1 to 9999, in UTC.
EARLIEST = -62_135_596_800_000
LATEST = 253_402_300_799_999

_DURATION = re.compile(
    r"(?:([0-9]{1,9})d)?\s*(?:([0-9]{1,9})h)?\s*(?:([0-9]{1,9})m)?\s*(?:([0-9]{1,9})s)?", re.ASCII
)
_TIME_OF_DAY = re.compile(r"([0-9]{1,2}):([0-9]{2})", re.ASCII)
_DATE_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,3}))?)?"
    r"(Z|z|[+-][0-9]{2}:?[0-9]{2})?",
    re.ASCII,
)
_DURATION_FORMS = "Write it like `90s`, `45m`, `2h`, `1h30m` or `2d`."
_MOMENT_FORMS = "Write it like `09:30` or `2026-12-01T09:30`."


def parse_duration(text: str) -> int:
    """`90s`, `2h`, `1h30m`, `2d` in milliseconds; more than zero, at most 365 days. SpecError otherwise."""
    cleaned = text.strip().lower()
    found = _DURATION.fullmatch(cleaned)
    if not cleaned or found is None:
        raise SpecError(f"{shown(text)} isn't a length of time. {_DURATION_FORMS}")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    total = days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND
    if total <= 0:
        raise SpecError(f"A length of time must be more than zero, not {shown(text)}. {_DURATION_FORMS}")
    if total > LONGEST:
        raise SpecError(f"{shown(text)} is longer than a year, which is the most. {_DURATION_FORMS}")
    return total


def render_duration(ms: int) -> str:
    """The form that `parse_duration` reads, exact to the second (what is below a second is dropped)."""
    parts: list[str] = []
    rest = ms
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def rough_duration(ms: int) -> str:
    """A length of time for reading: its two largest units (`2 h`, `1 h 30 min`, `3 d 4 h`)."""
    units = (("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", SECOND))
    for index, (unit, size) in enumerate(units):
        if ms < size:
            continue
        count, rest = divmod(ms, size)
        if index + 1 < len(units):
            smaller, smaller_size = units[index + 1]
            second = rest // smaller_size
            if second:
                return f"{count} {unit} {second} {smaller}"
        return f"{count} {unit}"
    return "less than a second"


def rough_wait(ms: int) -> str:
    """How long it still is to something ahead, as a person who set it a moment ago would say: rounded up, to
    the second below two minutes and to 5 s from there on, so that 1 h 59 min 57 s is `2 h`.
    """
    coarse = -(-ms // _COARSE) * _COARSE
    return rough_duration(coarse if coarse >= 2 * MINUTE else -(-ms // SECOND) * SECOND)


def parse_moment(text: str, *, now_ms: int, zone: tzinfo) -> int:
    """The instant that `text` means, in UTC milliseconds: the next such time of day in `zone`, or a date and
    time.

    Always ahead of `now_ms` and within 365 days of it; SpecError otherwise, and for what is no time at all.
    """
    cleaned = text.strip()
    try:
        due = _moment(cleaned, now_ms, zone)
    except (ValueError, OverflowError, ArithmeticError) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(f"{shown(text)} isn't a time. {_MOMENT_FORMS}") from None
    if due <= now_ms:
        raise SpecError(f"{shown(text)} is already past. {_MOMENT_FORMS}")
    if due - now_ms > LONGEST:
        raise SpecError(f"{shown(text)} is more than a year ahead, which is the most. {_MOMENT_FORMS}")
    return due


def render_moment(ms: int) -> str:
    """`ms` as a date and time in UTC that `parse_moment` reads back exactly."""
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def _moment(text: str, now_ms: int, zone: tzinfo) -> int:
    if found := _TIME_OF_DAY.fullmatch(text):
        return next_time_of_day(int(found[1]), int(found[2]), now_ms, zone)
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        raise SpecError(f"{shown(text)} isn't a time. {_MOMENT_FORMS}")
    year, month, day, hour, minute = (int(found[i]) for i in range(1, 6))
    second, micro = int(found[6] or 0), int((found[7] or "0").ljust(3, "0")) * 1000
    local = datetime(year, month, day, hour, minute, second, micro)
    offset = found[8]
    if offset is None:
        ahead = [ms for ms in instants(local, zone) if ms > now_ms]
        return min(ahead) if ahead else max(instants(local, zone))
    return _epoch_ms(local - _offset(offset))


def _offset(text: str) -> timedelta:
    if text in ("Z", "z"):
        return timedelta(0)
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    size = timedelta(hours=hours, minutes=minutes)
    return size if text[0] == "+" else -size


def next_time_of_day(hour: int, minute: int, now_ms: int, zone: tzinfo) -> int:
    """When clocks in `zone` show that time next, after `now_ms`. ValueError when they never do."""
    wanted = time(hour, minute)
    now = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(zone)
    first: date = now.date()
    ahead: list[int] = []
    # Yesterday too: near midnight a clock change can put "yesterday's" time after now.
    for days in (-1, 0, 1, 2):
        local = datetime.combine(first + timedelta(days=days), wanted)
        ahead += [ms for ms in instants(local, zone) if ms > now_ms]
    if not ahead:
        raise ValueError("no such time ahead")
    return min(ahead)


def instants(local: datetime, zone: tzinfo) -> list[int]:
    """The instants at which clocks in `zone` show `local`: one, two (clocks go back), or the one after a
    gap.
    """
    early = local.replace(tzinfo=zone, fold=0)
    late = local.replace(tzinfo=zone, fold=1)
    before, after = early.utcoffset(), late.utcoffset()
    if before is None or after is None:
        raise ValueError("the zone has no offset")
    # In a gap the offset from before the jump (fold 0) gives the time moved on by the jump, which is the rule
    # here.
    offsets = [before] if before <= after else [before, after]
    return [_epoch_ms(local - offset) for offset in offsets]


def _epoch_ms(utc: datetime) -> int:
    return (utc - datetime(1970, 1, 1)) // timedelta(milliseconds=1)

"""Time zones by name, days of the week, and the hours of the day in which a watch may speak.

Pure: the present moment is passed in.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from watch_supervisor.moments import next_time_of_day
from watch_supervisor.spec_error import SpecError, shown

_WHOLE = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {name[:length]: number for number, name in enumerate(_WHOLE) for length in (3, len(name))}
_DAY_WORDS = {"daily": "mon-sun", "weekdays": "mon-fri", "weekends": "sat-sun"}
_LONGEST_ZONE = 64
_OFFSET = re.compile(r"UTC([+-])([0-9]{1,2})(?::([0-9]{2}))?", re.ASCII | re.IGNORECASE)
_HOURS = re.compile(r"([0-9]{1,2}):([0-9]{2})\s*[-–—]\s*([0-9]{1,2}):([0-9]{2})", re.ASCII)
_ZONE_FORMS = "Write it like `--tz Europe/Berlin` or `--tz UTC`."
_HOURS_FORMS = "Write it like `--hours 08:00-20:00`."
_DAYS_FORMS = "Write it like `--days mon-fri` or `--days mon,wed,fri`."


def zone_named(name: str) -> tzinfo:
    """The zone of an IANA name (`Europe/Berlin`), `UTC`, or a fixed offset like `UTC+02:00`. SpecError else."""
    text = name.strip()
    if text.upper() in ("UTC", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(text):
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        if size >= timedelta(hours=24) or int(offset[3] or 0) > 59:
            raise SpecError(f"{shown(name)} isn't a time zone. {_ZONE_FORMS}", "tz")
        return timezone(size if offset[1] == "+" else -size)
    try:
        if not text or len(text) > _LONGEST_ZONE or not text.isascii():
            raise ValueError
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise SpecError(f"{shown(name)} isn't a time zone that I know. {_ZONE_FORMS}", "tz") from None


def zone_name(zone: tzinfo) -> str:
    """The name by which `zone_named` finds the zone again. SpecError for a zone that has none."""
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    offset = zone.utcoffset(None)
    if offset is None:
        raise SpecError(f"The machine's time zone has no name. {_ZONE_FORMS}", "tz")
    minutes = int(offset.total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '-'}{hours:02}:{rest:02}"


def parse_days(text: str) -> tuple[int, ...]:
    """The days that `mon-fri`, `sat,sun`, `fri-mon`, `weekdays` … name, as 0 (Monday) to 6. SpecError else."""
    found: set[int] = set()
    for part in text.strip().lower().split(","):
        first, dash, last = _DAY_WORDS.get(part.strip(), part).partition("-")
        day, end = _DAYS.get(first.strip()), _DAYS.get((last if dash else first).strip())
        if day is None or end is None:
            raise SpecError(f"{shown(text)} doesn't name days. {_DAYS_FORMS}", "days")
        found.add(day)
        while day != end:
            day = (day + 1) % 7
            found.add(day)
    return tuple(sorted(found))


def parse_hours(text: str) -> str:
    """`8:00 - 20:00` as `08:00-20:00`. The end may lie before the start (over midnight), or be 24:00."""
    found = _HOURS.fullmatch(text.strip())
    if found is not None:
        first, last = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
        minutes = max(int(found[2]), int(found[4])) <= 59
        if minutes and first < 24 * 60 and last <= 24 * 60 and first != last % (24 * 60):
            return f"{first // 60:02}:{first % 60:02}-{last // 60:02}:{last % 60:02}"
    raise SpecError(f"{shown(text)} isn't a span of the day. {_HOURS_FORMS}", "hours")


def opens_at(hours: str, zone: str, now_ms: int) -> int | None:
    """None while `now_ms` lies within the hours (as `parse_hours` gives them); else when they begin next."""
    where = zone_named(zone)
    first, last = (_minute_of_day(end) for end in hours.split("-"))
    local = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(where)
    now = local.hour * 60 + local.minute
    inside = first <= now < last if first < last else now >= first or now < last
    if inside:
        return None
    return next_time_of_day(first // 60, first % 60, now_ms, where)


def _minute_of_day(text: str) -> int:
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)

"""Schedules come when a calendar that is counted through minute by minute says so, also where clocks are changed."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watch_supervisor.cron import Cron, parse_cron
from watch_supervisor.hours import opens_at, parse_days, parse_hours, zone_name, zone_named
from watch_supervisor.spec_error import SpecError

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = 60_000
DAY = 24 * 60 * MINUTE


def at(text: str, zone: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def told(ms: int | None, zone: tzinfo = UTC) -> str:
    assert ms is not None
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone).strftime("%Y-%m-%d %H:%M")


def all_of(cron: str, start: str, count: int, zone: tzinfo) -> list[str]:
    found: list[str] = []
    now = at(start, zone)
    for _ in range(count):
        following = parse_cron(cron).next_after(now, zone)
        assert following is not None
        now = following
        found.append(told(now, zone))
    return found


@pytest.mark.parametrize(
    ("cron", "after", "comes"),
    [
        ("0 8 * * *", "2026-11-30 07:59", "2026-11-30 08:00"),
        ("0 8 * * *", "2026-11-30 08:00", "2026-12-01 08:00"),
        ("*/15 * * * *", "2026-11-30 08:01", "2026-11-30 08:15"),
        ("5-20/5 8 * * *", "2026-11-30 08:11", "2026-11-30 08:15"),
        ("50/5 * * * *", "2026-11-30 08:51", "2026-11-30 08:55"),
        ("0 0 29 2 *", "2026-11-30 00:00", "2028-02-29 00:00"),
        ("0 9 * * mon-fri", "2026-12-04 09:00", "2026-12-07 09:00"),
        ("0 9 * * 0", "2026-11-30 09:00", "2026-12-06 09:00"),
        ("0 9 * * 7", "2026-11-30 09:00", "2026-12-06 09:00"),
        ("0 9 * * fri-sun", "2026-12-05 09:00", "2026-12-06 09:00"),
        ("0 9 * * 5-7", "2026-12-05 09:00", "2026-12-06 09:00"),
        ("0 9 13 * fri", "2026-11-30 00:00", "2026-12-04 09:00"),
        ("0 9 13 * *", "2026-11-30 00:00", "2026-12-13 09:00"),
        ("0 9 */2 * fri", "2026-11-30 00:00", "2026-12-11 09:00"),
        ("0 9 1 jan,jul *", "2026-11-30 00:00", "2027-01-01 09:00"),
        ("@daily", "2026-11-30 00:00", "2026-12-01 00:00"),
        ("  0   8 *\t* MON ", "2026-11-30 08:00", "2026-12-07 08:00"),
    ],
)
def test_a_schedule_comes_next(cron: str, after: str, comes: str) -> None:
    assert told(parse_cron(cron).next_after(at(after), UTC)) == comes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0 8 * *",
        "0 8 * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * 0 *",
    ]
    + ["* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "1, * * * *", ", * * * *", "*-5 * * * *"]
    + [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "-1 * * * *",
        "1.5 * * * *",
        "٣ * * * *",
        "* * * * monday",
        "@reboot",
    ]
    + ["* * * * fri-mon", "1-2-3 * * * *", "*/5/5 * * * *", "0 8 * * *\x00", "* " * 200],
)
def test_what_is_no_schedule_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(SpecError, match="mon-fri"):
        parse_cron(text)


# Berlin 2027-03-28: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00.
@pytest.mark.parametrize(
    ("cron", "start", "comes"),
    [
        ("30 2 * * *", "2027-03-27 12:00", ["2027-03-28 03:30", "2027-03-29 02:30"]),
        ("30 2,3 * * *", "2027-03-28 00:00", ["2027-03-28 03:30", "2027-03-29 02:30"]),
        ("0 * * * *", "2027-03-28 00:30", ["2027-03-28 01:00", "2027-03-28 03:00", "2027-03-28 04:00"]),
        ("30 2 * * *", "2026-10-24 12:00", ["2026-10-25 02:30", "2026-10-26 02:30"]),
        ("0 3 * * *", "2026-10-24 12:00", ["2026-10-25 03:00", "2026-10-26 03:00"]),
    ],
)
def test_daylight_saving_by_the_stated_rule(cron: str, start: str, comes: list[str]) -> None:
    assert all_of(cron, start, len(comes), BERLIN) == comes


def test_an_hour_that_comes_twice_has_twice_as_many_quarters() -> None:
    cron, now, found = parse_cron("*/15 * * * *"), at("2026-10-24T23:59:00"), list[int]()
    while now < at("2026-10-25T02:00:00"):
        following = cron.next_after(now, BERLIN)
        assert following is not None
        now = following
        found.append(now)
    assert found == [at("2026-10-25T00:00:00") + n * 15 * MINUTE for n in range(9)]


def test_a_day_that_a_zone_left_out_comes_the_day_after() -> None:
    """Apia had no 30 December 2011."""
    apia = ZoneInfo("Pacific/Apia")
    assert all_of("0 9 30 12 *", "2011-12-01 00:00", 1, apia) == ["2011-12-31 09:00"]


def field(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """A field and the values that it means, made together."""
    values = st.integers(low, high)
    one = values.map(lambda n: (str(n), frozenset({n})))
    span = st.tuples(values, values, st.integers(1, 9)).map(
        lambda t: (f"{min(t[:2])}-{max(t[:2])}/{t[2]}", frozenset(range(min(t[:2]), max(t[:2]) + 1, t[2])))
    )
    step = st.integers(1, 12).map(lambda n: (f"*/{n}", frozenset(range(low, high + 1, n))))
    some = st.lists(one | span, min_size=1, max_size=3).map(
        lambda parts: (",".join(p[0] for p in parts), frozenset().union(*(p[1] for p in parts)))
    )
    return some | step | st.just(("*", frozenset(range(low, high + 1))))


SCHEDULES = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6))
ZONES = st.sampled_from(
    [UTC, BERLIN]
    + [
        ZoneInfo(name)
        for name in ("America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago")
    ]
)
Fields = tuple[tuple[str, frozenset[int]], ...]


def on(fields: Fields, day: date) -> bool:
    """crontab(5), word by word."""
    (_, _, (days, in_month), (_, months), (week, in_week)) = fields
    by_month, by_week = day.day in in_month, day.isoweekday() % 7 in in_week
    if day.month not in months:
        return False
    if days.startswith("*") or week.startswith("*"):
        return by_month and by_week
    return by_month or by_week


def brute(fields: Fields, now_ms: int, zone: tzinfo, days: int) -> int | None:
    """Count through the minutes that really pass; what the clock shows a second time counts only for `*` hours."""
    every = fields[1][0].startswith("*")
    minute = now_ms // MINUTE + 1
    for ms in range(minute * MINUTE, now_ms + days * DAY, MINUTE):
        local = datetime.fromtimestamp(ms / 1000, UTC).astimezone(zone)
        if local.fold and not every:
            continue
        shows = [local.replace(tzinfo=None)]
        gap = _gap_before(local, zone)
        if not every and gap and local.replace(tzinfo=None) < gap[1] + (gap[1] - gap[0]):
            # Within so long after a jump, the times that it skipped come as well.
            shows.append(local.replace(tzinfo=None) - (gap[1] - gap[0]))
        if any(
            on(fields, show.date()) and show.hour in fields[1][1] and show.minute in fields[0][1]
            for show in shows
        ):
            return ms
    return None


def _gap_before(local: datetime, zone: tzinfo) -> tuple[datetime, datetime] | None:
    """The last jump forward within two hours before, as the times on its two sides."""
    utc = local.astimezone(UTC)
    if (utc - timedelta(minutes=126)).astimezone(zone).utcoffset() == local.utcoffset():
        return None
    for back in range(0, 121, 5):
        there = utc - timedelta(minutes=back)
        later, earlier = there.astimezone(zone), (there - timedelta(minutes=5)).astimezone(zone)
        size = later.replace(tzinfo=None) - earlier.replace(tzinfo=None) - timedelta(minutes=5)
        if size > timedelta(0):
            for step in range(5):
                a = (there - timedelta(minutes=step)).astimezone(zone).replace(tzinfo=None)
                b = (there - timedelta(minutes=step + 1)).astimezone(zone).replace(tzinfo=None)
                if a - b > timedelta(minutes=1):
                    return (a - size, a)
    return None


def text_of(fields: Fields) -> str:
    return " ".join(part[0] for part in fields)


def parsed(fields: Fields) -> Cron | None:
    try:
        return parse_cron(text_of(fields))
    except SpecError:
        return None


@given(SCHEDULES, st.integers(at("2026-01-01"), at("2029-01-01")), ZONES)
def test_the_next_time_is_the_one_that_counting_finds(fields: Fields, now: int, zone: tzinfo) -> None:
    cron = parsed(fields)
    if cron is None:
        assert not any(on(fields, date(2024, 1, 1) + timedelta(days=n)) for n in range(366))
        return
    found = cron.next_after(now, zone)
    assert found is not None
    assert found > now
    expected = brute(fields, now, zone, 2)
    assert found == expected if expected is not None else found >= now + 2 * DAY - MINUTE


CHANGES = st.sampled_from(
    [(BERLIN, "2026-10-25T00:00"), (BERLIN, "2027-03-28T00:00")]
    + [(ZoneInfo("America/New_York"), "2026-11-01T05:00"), (ZoneInfo("America/New_York"), "2027-03-14T06:00")]
    + [
        (ZoneInfo("Australia/Lord_Howe"), "2026-10-03T15:00"),
        (ZoneInfo("America/Santiago"), "2026-09-06T03:00"),
    ]
)


@given(SCHEDULES, CHANGES, st.integers(-300, 300))
def test_counting_agrees_round_the_hours_at_which_clocks_are_changed(
    fields: Fields, change: tuple[tzinfo, str], minutes: int
) -> None:
    zone, moment = change
    fields = (fields[0], fields[1], ("*", frozenset(range(1, 32))), ("*", frozenset(range(1, 13))), fields[4])
    now = at(moment) + minutes * MINUTE
    found = parse_cron(text_of(fields)).next_after(now, zone)
    assert found is not None
    expected = brute(fields, now, zone, 1)
    assert found == expected if expected is not None else found >= now + DAY - MINUTE


@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["*", "5", "*/2", "1-3", "mon", "jan", ",", "/", "-"]), max_size=8).map(
        " ".join
    )
)
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        cron = parse_cron(text)
    except SpecError as error:
        str(error).encode()
        return
    assert parse_cron(cron.text) == cron


def test_days_hours_and_zones_are_read_strictly() -> None:
    assert parse_days("mon-fri") == (0, 1, 2, 3, 4)
    assert parse_days("sat-mon, wed") == (0, 2, 5, 6)
    assert parse_days("Tuesday") == (1,)
    for wrong in ("", "mon-", "xyz", "mon-fri-sun", "1-5", "mon;tue"):
        with pytest.raises(SpecError):
            parse_days(wrong)
    assert parse_hours("8:00 – 24:00") == "08:00-24:00"
    for name in ("Europe/Berlin", "UTC", "UTC+05:30", "UTC-12:00"):
        assert zone_name(zone_named(name)) == name
    for wrong in (
        "",
        "Mars",
        "../etc/passwd",
        "/etc/passwd",
        "Europe",
        "UTC+25",
        "UTC+01:75",
        "x" * 200,
        "Europe/Berlin\0",
    ):
        with pytest.raises(SpecError):
            zone_named(wrong)


@pytest.mark.parametrize(
    ("hours", "now", "opens"),
    [
        ("08:00-20:00", "2026-11-30 08:00", None),
        ("08:00-20:00", "2026-11-30 19:59", None),
        ("08:00-20:00", "2026-11-30 20:00", "2026-12-01 08:00"),
        ("08:00-20:00", "2026-11-30 07:59", "2026-11-30 08:00"),
        ("22:00-06:00", "2026-11-30 23:00", None),
        ("22:00-06:00", "2026-11-30 05:59", None),
        ("22:00-06:00", "2026-11-30 06:00", "2026-11-30 22:00"),
        ("18:00-24:00", "2026-11-30 23:59", None),
        ("02:30-04:00", "2027-03-28 01:00", "2027-03-28 03:30"),
    ],
)
def test_active_hours_begin_and_end(hours: str, now: str, opens: str | None) -> None:
    found = opens_at(hours, "Europe/Berlin", at(now, BERLIN))
    assert (told(found, BERLIN) if found is not None else None) == opens

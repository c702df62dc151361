"""Tails, schedules and conditions are read as strictly as the rest, and told in one short line."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from watch_supervisor.spec import SpecError, WatchSpec, describe, parse_line

BERLIN = ZoneInfo("Europe/Berlin")
NOW = int(datetime(2026, 11, 30, 8, tzinfo=UTC).timestamp() * 1000)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def read(line: str, *, zone: tzinfo = UTC, taken: tuple[str, ...] = ()) -> WatchSpec:
    return parse_line(line, now_ms=NOW, zone=zone, taken=taken)


def test_the_forms_of_tails_schedules_and_conditions_are_read() -> None:
    log = read("log --tail error.log --match ERROR")
    assert (log.source, log.path, log.fire, log.match, log.window_ms) == (
        *("tail", "error.log", "match", "ERROR", 5_000),
    )
    assert read("log --tail error.log").fire == "each-line"
    assert read("log tail=error.log fire=change once").fire == "change"
    stand = read('stand --at 09:30 --days mon-fri --tz Europe/Berlin "stand up"')
    assert (stand.source, stand.cron, stand.tz, stand.text, stand.once) == (
        *("schedule", "30 9 * * mon-fri", "Europe/Berlin", "stand up", False),
    )
    assert read("s --at 9:05 --days weekends x", zone=BERLIN).tz == "Europe/Berlin"
    assert read("s --at 9:05 --days fri-mon x").cron == "5 9 * * mon,fri-sun"
    assert read("s --at 9:05 --days daily x").cron == "5 9 * * *"
    backup = read("--cron “0 3 * * sun” back up", taken=("schedule-1",))
    assert (backup.name, backup.cron, backup.tz, backup.text) == (
        "schedule-2",
        "0 3 * * sun",
        "UTC",
        "back up",
    )
    assert read("x --at 09:30 --tz Europe/Berlin tea").due == at("2026-11-30T08:30")
    loss = read("loss --tail train.log --match 'loss=(.*)' --below 0.10 --hours 8:00-20:00")
    assert (loss.below, loss.above, loss.hours, loss.tz) == ("0.1", None, "08:00-20:00", "UTC")
    assert read("n --file a --above 90 --hours 22:00-06:00 --tz Asia/Tokyo").hours == "22:00-06:00"


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("notes --file a --fire each-line", "fire"),
        ("notes --file a --days mon", "days"),
        ("notes --file a --tz UTC", "tz"),
        ("notes --file a --above high", "above"),
        ("notes --file a --above nan", "above"),
        ("notes --file a --below 1e99", "below"),
        ("notes --file a --hours 08:00", "hours"),
        ("notes --file a --hours 08:00-08:00", "hours"),
        ("notes --file a --hours 08:00-25:00", "hours"),
        ("notes --file a --hours 08:00-20:00 --tz Mars/Olympus", "tz"),
        ("notes --file a --hours 08:00-20:00 --tz ../../etc/passwd", "tz"),
        ("notes --file a --hours 08:00-20:00 --tz Europe", "tz"),
        ("--tail a.log", "name"),
        ("log --tail a.log --file a", "tail"),
        ("log --tail", "tail"),
        ("log --tail a.log --text x", "text"),
        ("log --tail a.log --fire match", "match"),
        ("log --tail a.log --fire each-line --match x", "fire"),
        ("log --tail a.log --match (", "match"),
        ("log --tail a\u202eb", "tail"),
        ("s --at 09:30 --days someday x", "days"),
        ("s --at 09:30 --days mon-", "days"),
        ("s --at 2026-12-01T09:30 --days mon x", "at"),
        ("s --in 2h --days mon x", "days"),
        ("s --in 2h --tz UTC x", "tz"),
        ("s --at 24:00 --days mon x", "at"),
        ("s --at 09:30 --tz Nowhere x", "tz"),
        ("s --cron '0 8 * *' x", "cron"),
        ("s --cron '0 8 * * * *' x", "cron"),
        ("s --cron '60 8 * * *' x", "cron"),
        ("s --cron '0 8 30 2 *' x", "cron"),
        ("s --cron '0 8 * * mon' --days tue x", "days"),
        ("s --cron '0 8 * * mon' --match x y", "match"),
        ("s --cron '0 8 * * mon' --at 09:30 y", "cron"),
        ("s --at 09:30 --days mon --hours 08:00-20:00 x", "hours"),
    ],
)
def test_what_cannot_be_armed_is_refused_by_name(line: str, option: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(line)
    assert caught.value.option == option
    assert str(caught.value).endswith((".", "?"))


def test_descriptions_are_one_short_line() -> None:
    log = "log --tail e.log --match E --above 9 --hours 08:00-20:00 --tz Europe/Berlin --notify"
    assert describe(read(log)) == (
        "tail e.log · on match E · above 9 · 08:00-20:00 (Europe/Berlin) · notice only"
    )
    assert describe(read("log --tail e.log")) == "tail e.log · each line"
    daily = read("s --at 09:30 --days mon-fri --tz Europe/Berlin --max 3 tea")
    assert describe(daily) == "09:30 on mon-fri (Europe/Berlin) · tea · at most 3 fires"
    assert describe(read("s --cron '*/5 * * * *' tea")) == "cron */5 * * * * (UTC) · tea"

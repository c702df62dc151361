"""A watch is read strictly: what can't be armed is a sentence that shows the right form, and nothing else is raised."""

import string
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from watch_supervisor.spec import (
    SpecError,
    WatchSpec,
    describe,
    from_fields,
    parse_duration,
    parse_line,
    render,
)

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: tzinfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


NOW = at("2026-11-30T08:00")
HOUR = 3_600_000


def read(line: str, *, now_ms: int = NOW, zone: tzinfo = UTC, taken: tuple[str, ...] = ()) -> WatchSpec:
    return parse_line(line, now_ms=now_ms, zone=zone, taken=taken)


def refused(line: str, **more: object) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read(line, **more)  # type: ignore[arg-type]
    assert str(caught.value).endswith((".", "?", '"`.'))
    return caught.value


def test_the_forms_of_the_design_are_read() -> None:
    notes = read("notes --file notes_and_todo.md")
    assert (notes.name, notes.source, notes.path, notes.fire, notes.once, notes.window_ms) == (
        *("notes", "file", "notes_and_todo.md", "change", False, 5_000),
    )
    log = read("log --file app.log --match ERROR --once")
    assert (log.fire, log.match, log.once, log.window_ms) == ("match", "ERROR", True, 0)
    stretch = read('--in 2h "stretch"')
    assert (stretch.name, stretch.source, stretch.due, stretch.text, stretch.once, stretch.window_ms) == (
        *("timer-1", "timer", NOW + 2 * HOUR, "stretch", True, 0),
    )
    stand = read('stand --at 09:30 "stand up"')
    assert (stand.name, stand.due, stand.text) == ("stand", at("2026-11-30T09:30"), "stand up")
    seed = read("notes ttl=2h max=5 once file=notes.md")
    assert (seed.ttl_ms, seed.max_fires, seed.once, seed.path) == (2 * HOUR, 5, True, "notes.md")


def test_timers_without_a_name_count_on() -> None:
    assert read("--in 1h x", taken=("timer-1", "timer-2", "notes")).name == "timer-3"
    assert read("--in 1h --name tea x").name == "tea"
    assert read("tea --in 1h").name == "tea"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--in 2h stretch your legs", "stretch your legs"),
        ("--in 2h don't forget the milk", "don't forget the milk"),
        ("—in 2h “don’t forget”", "don’t forget"),
        ("–in 2h „Tee“", "Tee"),
        ("--in 2h 'a \\ b'", "a \\ b"),
        (r'--in 2h "say \"hi\" \\ bye"', r'say "hi" \ bye'),
        ("“stretch now” --in 2h", "stretch now"),
        ("--in 2h tea — then rest", "tea — then rest"),
        ("--in\u00a02h\u00a0tea", "tea"),
        ('--in 2h "two\nlines"', "two\nlines"),
        ("--in 2h try once more", "try once more"),
        ("--in 2h x=1", "x=1"),
        ("--in=2h --text=tea", "tea"),
        ("in=2h tea", "tea"),
    ],
)
def test_a_reminder_keeps_the_words_as_typed_on_a_phone(line: str, text: str) -> None:
    assert read(line).text == text


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("notes", None),
        ("", None),
        ("notes --file", "file"),
        ("notes --file a --file b", "file"),
        ("notes --file a file=b", "file"),
        ("notes --file a --in 2h", "in"),
        ("x --in 2h --at 09:30", "at"),
        ("--file a", "name"),
        ("notes more --file a", None),
        ("notes --file a stray", None),
        ("notes --file a --frob", "frob"),
        ("notes --name other --file a", "name"),
        ("notes --file a --once --once", "once"),
        ("notes --file a --once maybe", None),
        ("notes --file a --once=maybe", "once"),
        ("notes --file a --text x", "text"),
        ("notes --file a --max 0", "max"),
        ("notes --file a --max -1", "max"),
        ("notes --file a --max ٣", "max"),
        ("notes --file a --max 9999999999999999", "max"),
        ("notes --file a --ttl 0s", "ttl"),
        ("notes --file a --ttl 2", "ttl"),
        ("notes --file a --ttl 400d", "ttl"),
        ("notes --file a --window -5s", "window"),
        ("notes --file a --fire match", "match"),
        ("notes --file a --fire change --match x", "fire"),
        ("notes --file a --fire sometimes", "fire"),
        ("notes --file a --fire exit", "fire"),
        ("notes --file a --match (", "match"),
        ("notes --file a --match (?=x)", "match"),
        ("notes --file a --match " + "x" * 600, "match"),
        ('notes --file ""', "file"),
        ("notes --file " + "x" * 2_000, "file"),
        ("notes --file a\u202eb", "file"),
        ("tea --in 0s", "in"),
        ("tea --in -2h", "in"),
        ("tea --in 2", "in"),
        ("tea --in 99999999999999d", "in"),
        ("tea --at 2026-11-30T07:59", "at"),
        ("tea --at 2029-01-01T00:00", "at"),
        ("tea --at 25:00", "at"),
        ("tea --at 2026-02-30T09:00", "at"),
        ("tea --at tomorrow", "at"),
        ("tea --in 2h --match x", "match"),
        ("tea --in 2h --once=no", "once"),
        ("tea --in 2h --ttl 2h", "ttl"),
        ("tea --in 2h --text a b", "text"),
        ('tea --in 2h "open', None),
        ("<@1> --file a", "name"),
        ("`x` --file a", "name"),
        ("-x- --file a", "x-"),
        ('"a\nb" --file a', "name"),
        ("a" * 65 + " --file a", "name"),
        ("no\0tes --file a", None),
        ("n --file \ud800", None),
        ("x" * 9_000, None),
    ],
)
def test_what_cannot_be_armed_is_refused_by_name(line: str, option: str | None) -> None:
    assert refused(line).option == option


@pytest.mark.parametrize(
    "line",
    ["w --every 30s -- wandb status", "w every=30s x", "b --exit -- ./train.sh", "b — ./train.sh"]
    + ["b –– ./train.sh", "n --file a --keep"],
)
def test_what_is_not_there_yet_is_said_with_what_is(line: str) -> None:
    message = str(refused(line))
    assert "yet" in message
    assert "--file notes.md" in message
    assert "--in 2h" in message


def test_re2_says_why_it_refuses_a_pattern() -> None:
    assert "missing )" in str(refused("notes --file a --match (x"))


def test_a_message_never_repeats_what_could_do_harm() -> None:
    message = str(refused("n --file a `\u202e@everyone" + "x" * 500))
    assert "\u202e" not in message
    assert len(message) < 400


def test_fields_read_as_the_line_does() -> None:
    fields = {
        "name": "log",
        "file": "app.log",
        "match": "ERROR",
        "once": True,
        "ttl": "2h",
        "max": 5,
        "notify": None,
    }
    spec = from_fields(fields, now_ms=NOW, zone=UTC)
    assert spec == read("log --file app.log --match ERROR --once --ttl 2h --max 5")
    assert from_fields({"in": "2h", "text": "tea"}, now_ms=NOW, zone=UTC) == read("--in 2h tea")


@pytest.mark.parametrize(
    "fields",
    [{"name": "x", "file": 5}, {"name": ["x"], "file": "a"}, {"name": "x", "file": "a", "max": True}]
    + [{"name": "x", "file": "a", "max": 1.5}, {"name": "x", "file": "a", "ttl": 7200}, {5: "x", "file": "a"}]
    + [{"name": "x", "command": "df -h", "every": "10m"}, {"name": "x", "file": "a", "once": "perhaps"}]
    + [{"name": "x", "file": "a", "\ud800": 1}, {"name": "x", "in": "2h", "text": "\ud800"}, {}],
)
def test_wrong_fields_are_refused(fields: dict[object, object]) -> None:
    with pytest.raises(SpecError) as caught:
        from_fields(fields, now_ms=NOW, zone=UTC)  # type: ignore[arg-type]
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("now", "written", "zone", "due"),
    [
        ("2026-11-30T08:30", "09:30", BERLIN, "2026-12-01T08:30"),
        ("2026-11-30T08:29", "09:30", BERLIN, "2026-11-30T08:30"),
        ("2026-11-30T08:00", "2026-12-01T09:30", BERLIN, "2026-12-01T08:30"),
        ("2026-11-30T08:00", "2026-12-01T09:30:15Z", BERLIN, "2026-12-01T09:30:15"),
        ("2026-11-30T08:00", "2026-12-01T09:30+02:00", BERLIN, "2026-12-01T07:30"),
        # 2027-03-28: 02:00 becomes 03:00; 02:30 doesn't exist and means 03:30.
        ("2027-03-27T20:00", "02:30", BERLIN, "2027-03-28T01:30"),
        ("2027-03-27T20:00", "2027-03-28T02:30", BERLIN, "2027-03-28T01:30"),
        # 2026-10-25: 03:00 becomes 02:00; 02:30 comes at 00:30 and at 01:30 UTC: the earliest still ahead.
        ("2026-10-24T20:00", "02:30", BERLIN, "2026-10-25T00:30"),
        ("2026-10-25T00:45", "02:30", BERLIN, "2026-10-25T01:30"),
        ("2026-10-25T00:45", "2026-10-25T02:30", BERLIN, "2026-10-25T01:30"),
        ("2026-10-25T01:45", "02:30", BERLIN, "2026-10-26T01:30"),
        ("2026-11-30T23:00", "9:30", timezone(timedelta(hours=14)), "2026-12-01T19:30"),
    ],
)
def test_a_time_of_day_is_the_next_one_by_the_stated_rule(
    now: str, written: str, zone: tzinfo, due: str
) -> None:
    assert read(f"x --at {written}", now_ms=at(now), zone=zone).due == at(due)


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("2h", 2 * HOUR), ("1h30m", 5_400_000), ("2d", 48 * HOUR), (" 1H 5s ", 3_605_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", "0s", "-1h", "2", "h", "1.5h", "2h1d", "366d", "1m1m", "٣h", "1e3s", "9" * 400 + "s"]
)
def test_wrong_durations(text: str) -> None:
    with pytest.raises(SpecError):
        parse_duration(text)


def test_descriptions_are_one_short_line() -> None:
    assert describe(read("n --file notes.md")) == "file notes.md · on change"
    assert describe(read("n --file a.log --match E --ttl 1h30m --max 2 --notify")) == (
        "file a.log · on match E · at most 2 fires · for 1 h 30 min · notice only"
    )
    timer = read("--in 2h")
    assert describe(timer, now_ms=NOW) == "timer · in 2 h"
    assert describe(timer, now_ms=NOW + 3 * HOUR) == "timer · due now"
    assert describe(timer) == "timer · at 2026-11-30 10:00 UTC"
    assert "\n" not in describe(read('--in 2h "a\nb"'))


@pytest.mark.parametrize(
    ("typed", "later_ms", "said"),
    [
        ("1s", 0, "1 s"),
        ("1s", 900, "1 s"),
        ("12s", 40, "12 s"),
        ("90s", 700, "1 min 30 s"),
        ("2m", 3_000, "2 min"),
        ("5m", 1, "5 min"),
        ("5m", 61_000, "4 min"),
        ("2m30s", 3_000, "2 min 30 s"),
        ("2h", 1, "2 h"),
        ("2h", 30_000, "1 h 59 min"),
        ("1d", 3_000, "1 d"),
        ("3d4h", 3_000, "3 d 4 h"),
    ],
)
def test_how_long_a_timer_still_has_is_said_as_it_was_typed(typed: str, later_ms: int, said: str) -> None:
    assert describe(read(f"--in {typed} tea"), now_ms=NOW + later_ms) == f"timer · in {said} · tea"


@given(st.integers(24, 31_536_000 // 5), st.integers(0, 3_000))
def test_a_timer_of_two_minutes_or_more_reads_the_same_three_seconds_later(fives: int, later_ms: int) -> None:
    timer = read(f"--in {fives * 5}s")
    assert describe(timer, now_ms=NOW + later_ms) == describe(timer, now_ms=NOW)


@given(st.integers(1, 115), st.integers(0, 3_000))
def test_a_shorter_timer_is_said_to_the_second_and_never_as_nothing(seconds: int, later_ms: int) -> None:
    said = describe(read(f"--in {seconds}s"), now_ms=NOW + later_ms)
    if seconds * 1000 <= later_ms:
        assert said == "timer · due now"
    else:
        left = said.removeprefix("timer · in ").replace("min", "m").replace(" ", "")
        assert parse_duration(left) == (seconds - later_ms // 1000) * 1000


def test_a_spec_made_by_hand_gets_the_defaults_and_is_checked() -> None:
    assert WatchSpec(name="n", source="file", path="a").window_ms == 5_000
    assert WatchSpec(name="n", source="file", path="a", once=True).window_ms == 0
    assert WatchSpec(name="n", source="timer", due=1).once
    for wrong in (
        {"source": "file"},
        {"source": "timer"},
        {"source": "file", "path": "a", "fire": "match"},
        {"extra": 1},
    ):
        with pytest.raises(ValidationError):
            WatchSpec(name="n", **wrong)  # type: ignore[arg-type]
    spec = read("n --file a --match b")
    assert WatchSpec.model_validate_json(spec.model_dump_json()) == spec


PIECES = st.one_of(
    st.sampled_from(
        [
            "--file",
            "—file",
            "a.md",
            "--in",
            "2h",
            "--at",
            "09:30",
            "--name",
            "notes",
            "--match",
            "ERROR",
            "--once",
            "once",
        ]
        + [
            "ttl=2h",
            "max=5",
            "file=",
            '"',
            "“",
            "'",
            "\\",
            "--",
            "—",
            "=",
            "--max",
            "0",
            "--window",
            "1s",
            "--notify",
        ]
        + [
            "--fire",
            "match",
            "change",
            "--text",
            "\n",
            "--every",
            "--tail",
            "(",
            "2026-12-01T09:30",
            "9999-12-31T23:59",
        ]
    ),
    st.text(max_size=12),
    st.text(alphabet=st.characters(), max_size=6),
    st.text(alphabet=string.printable, max_size=8),
)


@given(
    st.lists(PIECES, max_size=10),
    st.sampled_from([" ", "", "\u00a0"]),
    st.integers(-(10**14), 10**15),
    st.sampled_from([UTC, BERLIN, ZoneInfo("Pacific/Apia"), timezone(timedelta(hours=-12))]),
)
def test_no_line_raises_anything_else(pieces: list[str], joint: str, now_ms: int, zone: tzinfo) -> None:
    try:
        spec = parse_line(joint.join(pieces), now_ms=now_ms, zone=zone)
    except SpecError as error:
        str(error).encode()
        return
    assert describe(spec, now_ms=now_ms)
    assert parse_line(render(spec), now_ms=now_ms, zone=zone) == spec


NEARLY_RIGHT = st.builds(
    lambda name, source, options, text: " ".join([name, source, *options, text]),
    st.sampled_from(["", "notes", "tea.1", "ö", "“x”", "once"]),
    st.sampled_from(
        ["--tail a.log", "--cron '0 8 * * mon'", "--at 09:30 --days mon-fri", "cron='5 4 1,15 * sun'"]
        + [
            "--file a.md",
            "—file “b c”",
            "file=x",
            "--in 2h",
            "in=365d",
            "--at 09:30",
            "--at 2026-12-01T09:30",
        ]
    ),
    st.lists(
        st.sampled_from(
            ["--tz Europe/Berlin", "--hours 8:00-20:00", "--above 3", "below=-0.5", "--fire each-line"]
            + ["--once", "once", "--max 3", "ttl=2h", "--window 0", "--window 1m", "--notify", "--name n"]
        )
        | st.sampled_from(["--match 'a|b'", "--match \\d+", "--fire match", "--text hi", "notify=yes"]),
        max_size=3,
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.sampled_from(["", "tea", '"a b"']),
)
ZONES = st.sampled_from(
    [UTC, BERLIN, ZoneInfo("Pacific/Apia"), ZoneInfo("Antarctica/Troll"), timezone(timedelta(hours=-12))]
)


@given(NEARLY_RIGHT, st.integers(-(10**14), 10**15) | st.integers(NOW - 10**10, NOW + 10**10), ZONES)
def test_a_line_that_is_nearly_right_is_read_or_refused(line: str, now_ms: int, zone: tzinfo) -> None:
    try:
        spec = parse_line(line, now_ms=now_ms, zone=zone)
    except SpecError as error:
        str(error).encode()
        return
    assert describe(spec)
    assert parse_line(render(spec), now_ms=now_ms, zone=zone) == spec


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=10)
    | st.sampled_from(["a", "2h", "09:30"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)
NAMES = st.sampled_from(
    ["tail", "cron", "days", "tz", "hours", "above", "below"]
    + ["file", "in", "at", "name", "text", "once", "match", "fire", "ttl", "max", "window", "notify"]
)


@given(st.dictionaries(NAMES | st.text(max_size=5), VALUES, max_size=6))
def test_no_fields_raise_anything_else(fields: dict[str, object]) -> None:
    try:
        spec = from_fields(fields, now_ms=NOW, zone=BERLIN)
    except SpecError as error:
        str(error).encode()
        return
    assert parse_line(render(spec), now_ms=NOW, zone=UTC) == spec


VISIBLE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zl", "Zp")), min_size=1, max_size=40)


@given(
    VISIBLE.filter(str.strip), st.integers(1, 31_536_000), st.booleans(), st.none() | st.integers(1, 10**6)
)
def test_what_is_rendered_is_read_back(path: str, ttl: int, notify: bool, most: int | None) -> None:
    spec = WatchSpec(
        name="n", source="file", path=path, ttl_ms=ttl * 1000, notify=notify, max_fires=most, window_ms=0
    )
    assert read(render(spec)) == spec

"""The options of a tail and of a schedule, and the conditions that more than one kind of watch has.

Pure. It answers with the fields of a `WatchSpec`; putting them together is the spec's.
"""

from collections.abc import Collection, Mapping
from datetime import tzinfo
from typing import Any

from watch_supervisor.cron import parse_cron
from watch_supervisor.hours import parse_days
from watch_supervisor.option_values import (
    SHAPES,
    checked_name,
    count,
    duration,
    flag,
    hours,
    number,
    path,
    refuse_hidden,
    string,
    window,
    words_of,
    zone_of,
)
from watch_supervisor.patterns import compile_pattern
from watch_supervisor.spec_error import SpecError, shown

_OUTPUT_WINDOW_MS = 5_000
_FOR_LINES = ("match", "fire", "window", "above", "below", "hours")


def tail(given: Mapping[str, object], zone: tzinfo) -> dict[str, Any]:
    """Fields of a tail: the lines that are added to a file."""
    refuse_others(given, ("text", "days", "cron"), "a tail")
    name = string(given, "name")
    if name is None:
        raise SpecError("Give the watch a name, in front: `log --tail error.log --match ERROR`.", "name")
    fire, match = _gate(given)
    once = flag(given, "once")
    wide = window(given)
    return {
        "name": checked_name(name),
        "source": "tail",
        "path": path(given, "tail"),
        "fire": fire,
        "match": match,
        "once": once,
        "ttl_ms": duration(given, "ttl"),
        "max_fires": count(given, "max"),
        "window_ms": wide if wide is not None else (0 if once else _OUTPUT_WINDOW_MS),
        "notify": flag(given, "notify"),
        **conditions(given, zone),
    }


def schedule(
    given: Mapping[str, object], now_ms: int, zone: tzinfo, taken: Collection[str]
) -> dict[str, Any]:
    """Fields of a schedule: `cron`, or a time of day `at` on certain `days`."""
    refuse_others(given, _FOR_LINES, "a schedule")
    written = string(given, "cron")
    if written is None:
        written = _daily(string(given, "at") or "", string(given, "days") or "")
    elif "days" in given:
        raise SpecError("`cron` names its days itself: leave `days` out.", "days")
    cron = parse_cron(written)
    named, where = zone_of(given, zone)
    if cron.next_after(now_ms, where) is None:
        raise SpecError(f"{shown(written)} never comes in {named}.", "cron")
    name = string(given, "name")
    return {
        "name": checked_name(name) if name is not None else free_name("schedule", taken),
        "source": "schedule",
        "cron": cron.text,
        "tz": named,
        "text": words_of(given),
        "once": flag(given, "once"),
        "ttl_ms": duration(given, "ttl"),
        "max_fires": count(given, "max"),
        "window_ms": 0,
        "notify": flag(given, "notify"),
    }


def conditions(given: Mapping[str, object], zone: tzinfo) -> dict[str, Any]:
    """The captured number's bounds, and the hours of the day: `above`, `below`, `hours`, `tz`."""
    spoken = hours(given)
    if spoken is None and "tz" in given:
        raise SpecError("`tz` goes with `hours`, with `at` or with `cron`. Leave it out.", "tz")
    return {
        "above": number(given, "above"),
        "below": number(given, "below"),
        "hours": spoken,
        "tz": zone_of(given, zone)[0] if spoken is not None else None,
    }


def refuse_others(given: Mapping[str, object], names: Collection[str], what: str) -> None:
    """SpecError for an option that a watch of this kind can't have."""
    for name in names:
        if name in given:
            raise SpecError(f"`{name}` isn't an option of {what}. Leave it out.", name)


def free_name(kind: str, taken: Collection[str]) -> str:
    """`kind-1`, or the next number that is free."""
    at = 1
    while f"{kind}-{at}" in taken:
        at += 1
    return f"{kind}-{at}"


def days_told(cron: str) -> str | None:
    """`09:30 on mon-fri` for a schedule that is one time of day on certain days; None for any other."""
    minute, hour, day, month, week = cron.split(" ")
    if not (minute.isdigit() and hour.isdigit() and (day, month) == ("*", "*")):
        return None
    at = f"{int(hour):02}:{int(minute):02}"
    return f"{at} daily" if week == "*" else f"{at} on {week}" if any(c.isalpha() for c in week) else None


def _daily(at: str, days: str) -> str:
    hour, colon, minute = at.strip().partition(":")
    if not (colon and hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit()):
        raise SpecError(
            f"With `days`, `at` is a time of day, not {shown(at)}. Write it like `--at 09:30`.", "at"
        )
    if len(hour) > 2 or len(minute) != 2 or int(hour) > 23 or int(minute) > 59:
        raise SpecError(f"{shown(at)} isn't a time of day. Write it like `--at 09:30`.", "at")
    return f"{int(minute)} {int(hour)} * * {_week(parse_days(days))}"


def _week(days: tuple[int, ...]) -> str:
    """Days as cron names them: `mon-fri`, `tue,thu`; `*` for all."""
    names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    if len(days) == 7:
        return "*"
    spans: list[list[int]] = []
    for day in days:
        if spans and spans[-1][-1] == day - 1:
            spans[-1].append(day)
        else:
            spans.append([day])
    return ",".join(
        f"{names[span[0]]}-{names[span[-1]]}" if len(span) > 2 else ",".join(names[day] for day in span)
        for span in spans
    )


def _gate(given: Mapping[str, object]) -> tuple[str, str | None]:
    match, fire = string(given, "match"), string(given, "fire")
    fire = fire.strip().lower() if fire is not None else None
    if fire not in (None, "each-line", "change", "match"):
        raise SpecError(f"`fire` can't be {shown(fire)} here. Write it like `--fire each-line`.", "fire")
    if match is None:
        if fire == "match":
            raise SpecError(f"`fire` match needs a pattern. Write it like {SHAPES['match']}.", "match")
        return fire or "each-line", None
    refuse_hidden(match, "match")
    compile_pattern(match)
    if fire not in (None, "match"):
        raise SpecError(f"`fire` {fire} and `match` say different things: keep one of them.", "fire")
    return "match", match

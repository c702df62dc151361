"""What a watch is, and the strict reading of how people, agents and the config write one down.

Pure: no I/O and no clock (the moment and the zone are passed in). Nothing that was written is silently
ignored: an option that is unknown, doubled, out of place or not there yet is a `SpecError` that shows the
right form.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import tzinfo
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from watch_supervisor.command_options import poll, process
from watch_supervisor.hours import opens_at
from watch_supervisor.moments import (
    EARLIEST,
    LATEST,
    parse_duration,
    parse_moment,
    render_duration,
    render_moment,
    rough_duration,
    rough_wait,
)
from watch_supervisor.native_options import (
    conditions,
    days_told,
    free_name,
    refuse_others,
    schedule,
    tail,
)
from watch_supervisor.option_values import SHAPES as _SHAPES
from watch_supervisor.option_values import checked_name as _checked_name
from watch_supervisor.option_values import count as _count
from watch_supervisor.option_values import duration as _duration
from watch_supervisor.option_values import flag as _flag
from watch_supervisor.option_values import minute as _minute
from watch_supervisor.option_values import one_line as _one_line
from watch_supervisor.option_values import path as _path
from watch_supervisor.option_values import refuse_broken as _refuse_broken
from watch_supervisor.option_values import refuse_hidden as _refuse_hidden
from watch_supervisor.option_values import string as _string
from watch_supervisor.option_values import window as _window
from watch_supervisor.option_values import words_of as _words_of
from watch_supervisor.option_values import zone_of as _zone_of
from watch_supervisor.patterns import compile_pattern
from watch_supervisor.spec_error import SpecError, shown
from watch_supervisor.typed_line import Word, quote, words

__all__ = [
    "SpecError",
    "WatchSpec",
    "closed_until",
    "describe",
    "from_fields",
    "parse_duration",
    "parse_line",
    "render",
    "render_duration",
]

FILE_WINDOW_MS = 5_000
LONGEST_LINE = 8_000

_FORMS = '`notes --file notes.md`, `log --tail app.log --match ERROR --once` or `--in 2h "stretch"`'
_FILE_ONLY = ("match", "fire", "ttl", "max", "window", "above", "below", "hours")
_FLAGS = ("once", "notify")
_VALUES = ("file", "tail", "in", "at", "cron", "days", "tz", "name", "text", *_FILE_ONLY)
_COMMAND_FORMS = (
    '`notes --file a.md`, `build --exit -- ./train.sh`, `disk --every 10m -- df -h /` or `--in 2h "stretch"`'
)
_FOR_COMMANDS = ("every", "exit", "restart", "command")
_NOT_YET = ("keep", "net", "notebook", "cell")


def _default_window(data: dict[str, Any]) -> int:
    return 0 if data.get("source") in ("timer", "schedule") or data.get("once") else FILE_WINDOW_MS


def _default_once(data: dict[str, Any]) -> bool:
    return data.get("source") == "timer"


def _default_fire(data: dict[str, Any]) -> Literal["change", "match", "each-line"]:
    return "each-line" if data.get("source") in ("tail", "process") else "change"


class WatchSpec(BaseModel):
    """One watch: what it waits for and what counts. Times are milliseconds, `due` is UTC since 1970.

    `cron` and `tz` are a schedule's; `tz` is also the zone of `hours`, outside of which it stays silent. A
    captured number counts when it is `above` and `below` those (decimal; either is enough where the two leave
    no number between them).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    source: Literal["file", "tail", "timer", "schedule", "process", "poll"]
    path: str | None = None
    command: str | None = None
    every_ms: int | None = Field(default=None, gt=0)
    restart: Literal["never", "on-failure", "always"] = "never"
    due: int | None = Field(default=None, ge=EARLIEST, le=LATEST)
    text: str | None = None
    cron: str | None = None
    tz: str | None = None
    fire: Literal["change", "match", "each-line", "exit"] = Field(default_factory=_default_fire)
    match: str | None = None
    once: bool = Field(default_factory=_default_once)
    ttl_ms: int | None = Field(default=None, gt=0)
    max_fires: int | None = Field(default=None, gt=0)
    window_ms: int = Field(default_factory=_default_window, ge=0)
    notify: bool = False
    above: str | None = None
    below: str | None = None
    hours: str | None = None

    @field_validator("name")
    @classmethod
    def _name_is_plain(cls, name: str) -> str:
        return _checked_name(name)

    @model_validator(mode="after")
    def _parts_fit(self) -> "WatchSpec":
        if self.source in ("file", "tail") and (self.path is None or self.due is not None):
            raise ValueError("a file watch has a path and no due time")
        if (self.source == "schedule") != (self.cron is not None) or (self.cron is not None and not self.tz):
            raise ValueError("a schedule, and nothing else, has a cron line and its time zone")
        if (self.source in ("process", "poll")) != (self.command is not None):
            raise ValueError("a command, and nothing else, is run")
        if (self.source == "poll") != (self.every_ms is not None):
            raise ValueError("a check, and nothing else, is run every so often")
        if self.hours is not None and not self.tz:
            raise ValueError("hours belong to a time zone")
        if self.source == "timer" and (self.due is None or self.path is not None or not self.once):
            raise ValueError("a timer has a due time, no path, and fires once")
        if (self.fire == "match") != (self.match is not None):
            raise ValueError("a pattern and fire == 'match' belong together")
        return self


def parse_line(
    text: str, *, now_ms: int, zone: tzinfo, taken: Collection[str] = (), commands: bool = False
) -> WatchSpec:
    """Read what follows `!watch`. `taken` are the names armed in the scope; they only choose `timer-1`,
    `timer-2` … Without `commands` a watch that would run one is refused as not there yet.

    SpecError, and nothing else, for whatever can't be armed.
    """
    if len(text) > LONGEST_LINE:
        raise SpecError(f"That line is longer than {LONGEST_LINE} characters, which is the most.")
    _refuse_broken(text, None)
    fields = _fields_of(words(text, _is_for_a_time), commands)
    return from_fields(fields, now_ms=now_ms, zone=zone, taken=taken, commands=commands)


def from_fields(
    fields: Mapping[str, object],
    *,
    now_ms: int,
    zone: tzinfo,
    taken: Collection[str] = (),
    commands: bool = False,
) -> WatchSpec:
    """Read the same options as names and values (`access.json`, the agent's tool). A value of None is no
    value. `command` is what follows `--`.

    SpecError, and nothing else, for whatever can't be armed.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        _refuse_unknown(name, commands)
    sources = [name for name in ("file", "tail", "in", "at", "cron", "command") if name in given]
    if not sources:
        if missing := next((name for name in _FOR_COMMANDS if name in given), None):
            raise SpecError(f"The command is missing: it follows `--`, like {_SHAPES[missing]}.", "command")
        raise SpecError(f"Say what to watch: {_COMMAND_FORMS if commands else _FORMS}.")
    if len(sources) > 1:
        raise SpecError(
            f"A watch has one source, but this has `{sources[0]}` and `{sources[1]}`: keep one of them.",
            sources[1],
        )
    if sources[0] == "command":
        return WatchSpec(**(poll(given, zone) if "every" in given else process(given, zone)))
    refuse_others(given, _FOR_COMMANDS, f"a watch with `{sources[0]}`")
    if sources[0] == "file":
        return _file(given, zone)
    if sources[0] == "tail":
        return WatchSpec(**tail(given, zone))
    if sources[0] == "cron" or (sources[0] == "at" and "days" in given):
        return WatchSpec(**schedule(given, now_ms, zone, taken))
    return _timer(given, sources[0], now_ms, zone, taken)


def describe(spec: WatchSpec, *, now_ms: int | None = None) -> str:
    """One short line for people: `file notes.md · on change`, `timer · in 2 h`."""
    parts: list[str] = []
    if spec.source in ("file", "tail"):
        parts.append(f"{spec.source} {_one_line(spec.path or '')}")
        each = "each line" if spec.fire == "each-line" else "on change"
        parts.append(each if spec.match is None else f"on match {_one_line(spec.match)}")
        parts += _bounds_told(spec)
    elif spec.source == "schedule":
        parts.append(f"{days_told(spec.cron or '') or f'cron {spec.cron}'} ({spec.tz})")
        if spec.text:
            parts.append(_one_line(spec.text))
        parts += _bounds_told(spec)
    elif spec.command is not None:
        every = f"every {rough_duration(spec.every_ms)}: " if spec.every_ms is not None else "command "
        parts.append(f"{every}{_one_line(spec.command)}")
        on = {"each-line": "each line", "change": "on change", "exit": "on its exit"}.get(spec.fire, "")
        parts.append(on if spec.match is None else f"on match {_one_line(spec.match)}")
        if spec.restart != "never":
            parts.append("started again" if spec.restart == "always" else "started again when it fails")
        parts += [part for part in _bounds_told(spec) if (part, spec.fire) != ("once", "exit")]
    else:
        due = spec.due or 0
        parts.append("timer")
        if now_ms is None:
            parts.append(f"at {_minute(due)}")
        else:
            parts.append(f"in {rough_wait(due - now_ms)}" if due > now_ms else "due now")
        if spec.text:
            parts.append(_one_line(spec.text))
    if spec.notify:
        parts.append("notice only")
    return " · ".join(parts)


def _bounds_told(spec: WatchSpec) -> list[str]:
    parts = [f"{name} {value}" for name, value in (("above", spec.above), ("below", spec.below)) if value]
    if spec.once:
        parts.append("once")
    if spec.max_fires is not None:
        parts.append(f"at most {spec.max_fires} fires")
    if spec.ttl_ms is not None:
        parts.append(f"for {rough_duration(spec.ttl_ms)}")
    if spec.hours is not None:
        parts.append(f"{spec.hours} ({spec.tz})")
    return parts


def closed_until(spec: WatchSpec, now_ms: int) -> int | None:
    """When its active hours begin (UTC ms); None while they last, or when it has none."""
    return opens_at(spec.hours, spec.tz, now_ms) if spec.hours is not None and spec.tz is not None else None


def render(spec: WatchSpec) -> str:
    """The line that `parse_line` reads as this spec (if a timer is still ahead, and times are whole
    seconds).
    """
    parts = [spec.name if spec.name.lower() != "once" else f"--name {spec.name}"]
    if spec.source == "timer":
        parts.append(f"--at {render_moment(spec.due or 0)}")
        if spec.text is not None:
            parts.append(f"--text {quote(spec.text)}")
    elif spec.source == "schedule":
        parts.append(f"--cron {quote(spec.cron or '')} --tz {spec.tz}")
        if spec.text is not None:
            parts.append(f"--text {quote(spec.text)}")
        parts += _bounds_rendered(spec)
    elif spec.command is not None:
        parts += _command_rendered(spec)
    else:
        parts.append(f"--{spec.source} {quote(spec.path or '')}")
        if spec.match is not None:
            parts.append(f"--match {quote(spec.match)}")
        else:
            parts.append(f"--fire {spec.fire}")
        parts += _bounds_rendered(spec)
        parts.append(f"--window {render_duration(spec.window_ms)}")
    if spec.notify:
        parts.append("--notify")
    if spec.command is not None:
        parts.append(f"-- {spec.command}")
    return " ".join(parts)


def _command_rendered(spec: WatchSpec) -> list[str]:
    """All but the command itself, which comes last."""
    if spec.fire == "exit":
        return ["--exit", *(part for part in _bounds_rendered(spec) if part != "--once")]
    parts = [f"--every {render_duration(spec.every_ms)}"] if spec.every_ms is not None else []
    parts.append(f"--fire {spec.fire}" if spec.match is None else f"--match {quote(spec.match)}")
    if spec.restart != "never":
        parts.append(f"--restart {spec.restart}")
    return [*parts, *_bounds_rendered(spec), f"--window {render_duration(spec.window_ms)}"]


def _bounds_rendered(spec: WatchSpec) -> list[str]:
    parts = [f"--{name} {value}" for name, value in (("above", spec.above), ("below", spec.below)) if value]
    if spec.once:
        parts.append("--once")
    if spec.ttl_ms is not None:
        parts.append(f"--ttl {render_duration(spec.ttl_ms)}")
    if spec.max_fires is not None:
        parts.append(f"--max {spec.max_fires}")
    if spec.hours is not None:
        parts.append(f"--hours {spec.hours} --tz {spec.tz}")
    return parts


def _is_for_a_time(before: Sequence[Word]) -> bool:
    """Whether the line so far is a reminder's, in whose text a long dash is a dash."""
    return any((word.option or word.key) in ("in", "at", "cron") for word in before if not word.quoted)


def _fields_of(line: list[Word], commands: bool) -> dict[str, object]:
    """Options of a typed line. Bare words before the first option are the name, after it a timer's text."""
    fields: dict[str, object] = {}
    before: list[Word] = []
    after: list[Word] = []
    timer = _is_for_a_time(line)
    at = 0
    while at < len(line):
        word = line[at]
        at += 1
        if word.command:
            _refuse_unknown("command", commands)
            fields["command"] = word.value
            continue
        name = word.option
        if name is None and not word.quoted:
            if word.key in (*_VALUES, *_FLAGS, *_NOT_YET, *_FOR_COMMANDS):
                name = word.key
            elif word.text.lower() == "once" and not timer:
                name = "once"
        if name is None:
            (after if fields else before).append(word)
            continue
        _refuse_unknown(name, commands, dashes=word.option is not None)
        if name in fields:
            raise SpecError(f"`{name}` stands there twice: keep one of them.", name)
        if word.value is not None:
            fields[name] = word.value
        elif name in (*_FLAGS, "exit"):
            fields[name] = True
        elif at < len(line) and line[at].option is None and not line[at].command:
            fields[name] = line[at].text
            at += 1
        else:
            raise SpecError(f"`--{name}` needs a value. Write it like {_SHAPES[name]}.", name)
    _place_bare_words(fields, before, after, timer)
    return fields


def _place_bare_words(fields: dict[str, object], before: list[Word], after: list[Word], timer: bool) -> None:
    if before and timer and before[0].quoted:
        after, before = before + after, []
    if len(before) > 1:
        raise SpecError(
            f"A name is one word, but {shown(before[0].text)} is followed by {shown(before[1].text)}. "
            f"Write it like {_FORMS}."
        )
    if before:
        if "name" in fields:
            raise SpecError(
                f"This has two names, {shown(before[0].text)} and {shown(str(fields['name']))}: keep one.",
                "name",
            )
        fields["name"] = before[0].text
    if after:
        if not timer:
            raise SpecError(f"I don't know what {shown(after[0].text)} is for. Write it like {_FORMS}.")
        if "text" in fields:
            raise SpecError("This has two texts: keep either `--text` or the words at the end.", "text")
        fields["text"] = " ".join(word.text for word in after)


def _refuse_unknown(name: object, commands: bool, *, dashes: bool = False) -> None:
    if name in _VALUES or name in _FLAGS or (commands and name in _FOR_COMMANDS):
        return
    forms = _COMMAND_FORMS if commands else _FORMS
    written = name if isinstance(name, str) else type(name).__name__
    option = shown(written).strip("`")
    if name in _NOT_YET or name in _FOR_COMMANDS:
        what = "A command" if name == "command" else shown(f"--{written}" if dashes else written)
        raise SpecError(f"{what} isn't something this relay can watch with yet. It can do {forms}.", option)
    what = shown(f"--{written}" if dashes else written)
    raise SpecError(f"{what} isn't an option of a watch. Write it like {forms}.", option)


def _file(given: Mapping[str, object], zone: tzinfo) -> WatchSpec:
    path = _path(given, "file")
    if "text" in given:
        raise SpecError("`text` is for a timer; a file watch brings its own. Leave it out.", "text")
    refuse_others(given, ("days",), "a file watch")
    name = _string(given, "name")
    if name is None:
        raise SpecError("Give the watch a name, in front: `notes --file notes.md`.", "name")
    fire, match = _gate(given)
    once = _flag(given, "once")
    window = _window(given)
    return WatchSpec(
        name=_checked_name(name),
        source="file",
        path=path,
        fire=fire,
        match=match,
        once=once,
        ttl_ms=_duration(given, "ttl"),
        max_fires=_count(given, "max"),
        window_ms=window if window is not None else (0 if once else FILE_WINDOW_MS),
        notify=_flag(given, "notify"),
        **conditions(given, zone),
    )


def _gate(given: Mapping[str, object]) -> tuple[Literal["change", "match"], str | None]:
    match = _string(given, "match")
    fire = _string(given, "fire")
    fire = fire.strip().lower() if fire is not None else None
    if fire == "each-line":
        raise SpecError("The lines that are added come with `--tail`, like `log --tail app.log`.", "fire")
    if fire == "exit":
        raise SpecError(f"A file has no exit; it can have {_SHAPES['fire']}.", "fire")
    if fire not in (None, "change", "match"):
        raise SpecError(f"`fire` can't be {shown(fire)}. Write it like {_SHAPES['fire']}.", "fire")
    if match is not None:
        _refuse_hidden(match, "match")
        compile_pattern(match)
        if fire == "change":
            raise SpecError("`fire` change and `match` say different things: keep one of them.", "fire")
        return "match", match
    if fire == "match":
        raise SpecError(f"`fire` match needs a pattern. Write it like {_SHAPES['match']}.", "match")
    return "change", None


def _timer(
    given: Mapping[str, object], source: str, now_ms: int, zone: tzinfo, taken: Collection[str]
) -> WatchSpec:
    for name in _FILE_ONLY:
        if name in given:
            raise SpecError(f"`{name}` isn't for a timer, which fires once. Leave it out.", name)
    if "days" in given or ("tz" in given and source == "in"):
        wrong = "days" if "days" in given else "tz"
        raise SpecError(f"`{wrong}` goes with `--at`, like `--at 09:30 --days mon-fri`. Leave it out.", wrong)
    zone = _zone_of(given, zone)[1] if "tz" in given else zone
    if "once" in given and not _flag(given, "once"):
        raise SpecError("A timer always fires once: leave `once` out.", "once")
    written = _string(given, source) or ""
    try:
        if source == "in":
            due = now_ms + parse_duration(written)
        else:
            due = parse_moment(written, now_ms=now_ms, zone=zone)
    except SpecError as error:
        raise SpecError(str(error), source) from None
    if not EARLIEST <= due <= LATEST:
        raise SpecError("That time is beyond the calendar.", source)
    text = _words_of(given)
    name = _string(given, "name") or free_name("timer", taken)
    return WatchSpec(
        name=_checked_name(name),
        source="timer",
        due=due,
        text=text,
        once=True,
        window_ms=0,
        notify=_flag(given, "notify"),
    )

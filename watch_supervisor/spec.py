"""What a watch is, and the strict reading of how people, agents and the config write one down.

Pure: no I/O and no clock (the moment and the zone are passed in). Nothing that was written is silently
ignored: an option that is unknown, doubled, out of place or not there yet is a `SpecError` that shows the
right form.
"""

import unicodedata
from collections.abc import Collection, Mapping
from datetime import tzinfo
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

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
from watch_supervisor.patterns import compile_pattern
from watch_supervisor.spec_error import SpecError, shown
from watch_supervisor.typed_line import Word, quote, words

__all__ = [
    "SpecError",
    "WatchSpec",
    "describe",
    "from_fields",
    "parse_duration",
    "parse_line",
    "render",
    "render_duration",
]

FILE_WINDOW_MS = 5_000
LONGEST_NAME = 64
LONGEST_LINE = 8_000
LONGEST_TEXT = 4_000
LONGEST_PATH = 1_024
MOST_FIRES = 1_000_000

_FORMS = '`notes --file notes.md`, `log --file app.log --match ERROR --once` or `--in 2h "stretch"`'
_FILE_ONLY = ("match", "fire", "ttl", "max", "window")
_FLAGS = ("once", "notify")
_VALUES = ("file", "in", "at", "name", "text", *_FILE_ONLY)
_NOT_YET = (
    *(
        "tail",
        "every",
        "exit",
        "cron",
        "command",
        "days",
        "tz",
        "hours",
        "keep",
        "net",
        "restart",
        "above",
        "below",
    ),
    *("notebook", "cell"),
)
_SHAPES = {
    "file": "`--file notes.md`",
    "in": "`--in 2h`",
    "at": "`--at 09:30` or `--at 2026-12-01T09:30`",
    "name": "`--name notes`",
    "text": "`--text stretch`",
    "match": "`--match ERROR`",
    "fire": "`--fire change` or `--fire match`",
    "ttl": "`--ttl 2h`",
    "max": "`--max 5`",
    "window": "`--window 30s`",
    "once": "`--once`",
    "notify": "`--notify`",
}


def _default_window(data: dict[str, Any]) -> int:
    return 0 if data.get("source") == "timer" or data.get("once") else FILE_WINDOW_MS


def _default_once(data: dict[str, Any]) -> bool:
    return data.get("source") == "timer"


class WatchSpec(BaseModel):
    """One watch: what it waits for and what counts. Times are milliseconds, `due` is UTC since 1970."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    source: Literal["file", "timer", "process", "poll"]
    path: str | None = None
    command: str | None = None
    every_ms: int | None = Field(default=None, gt=0)
    restart: Literal["never", "on-failure", "always"] = "never"
    due: int | None = Field(default=None, ge=EARLIEST, le=LATEST)
    text: str | None = None
    fire: Literal["change", "match", "each-line", "exit"] = "change"
    match: str | None = None
    once: bool = Field(default_factory=_default_once)
    ttl_ms: int | None = Field(default=None, gt=0)
    max_fires: int | None = Field(default=None, gt=0)
    window_ms: int = Field(default_factory=_default_window, ge=0)
    notify: bool = False

    @field_validator("name")
    @classmethod
    def _name_is_plain(cls, name: str) -> str:
        return _checked_name(name)

    @model_validator(mode="after")
    def _parts_fit(self) -> "WatchSpec":
        if self.source == "file" and (self.path is None or self.due is not None):
            raise ValueError("a file watch has a path and no due time")
        if self.source == "timer" and (self.due is None or self.path is not None or not self.once):
            raise ValueError("a timer has a due time, no path, and fires once")
        if (self.fire == "match") != (self.match is not None):
            raise ValueError("a pattern and fire == 'match' belong together")
        return self


def parse_line(text: str, *, now_ms: int, zone: tzinfo, taken: Collection[str] = ()) -> WatchSpec:
    """Read what follows `!watch`. `taken` are the names armed in the scope; they only choose `timer-1`,
    `timer-2` …

    SpecError, and nothing else, for whatever can't be armed.
    """
    if len(text) > LONGEST_LINE:
        raise SpecError(f"That line is longer than {LONGEST_LINE} characters, which is the most.")
    _refuse_broken(text, None)
    return from_fields(_fields_of(words(text)), now_ms=now_ms, zone=zone, taken=taken)


def from_fields(
    fields: Mapping[str, object], *, now_ms: int, zone: tzinfo, taken: Collection[str] = ()
) -> WatchSpec:
    """Read the same options as names and values (`access.json`, the agent's tool). A value of None is no
    value.

    SpecError, and nothing else, for whatever can't be armed.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        _refuse_unknown(name)
    sources = [name for name in ("file", "in", "at") if name in given]
    if not sources:
        raise SpecError(f"Say what to watch: {_FORMS}.")
    if len(sources) > 1:
        raise SpecError(
            f"A watch has one source, but this has `{sources[0]}` and `{sources[1]}`: keep one of them.",
            sources[1],
        )
    if sources[0] == "file":
        return _file(given)
    return _timer(given, sources[0], now_ms, zone, taken)


def describe(spec: WatchSpec, *, now_ms: int | None = None) -> str:
    """One short line for people: `file notes.md · on change`, `timer · in 2 h`."""
    parts: list[str] = []
    if spec.source == "file":
        parts.append(f"file {_one_line(spec.path or '')}")
        parts.append("on change" if spec.match is None else f"on match {_one_line(spec.match)}")
        if spec.once:
            parts.append("once")
        if spec.max_fires is not None:
            parts.append(f"at most {spec.max_fires} fires")
        if spec.ttl_ms is not None:
            parts.append(f"for {rough_duration(spec.ttl_ms)}")
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


def render(spec: WatchSpec) -> str:
    """The line that `parse_line` reads as this spec (if a timer is still ahead, and times are whole
    seconds).
    """
    parts = [spec.name if spec.name.lower() != "once" else f"--name {spec.name}"]
    if spec.source == "timer":
        parts.append(f"--at {render_moment(spec.due or 0)}")
        if spec.text is not None:
            parts.append(f"--text {quote(spec.text)}")
    else:
        parts.append(f"--file {quote(spec.path or '')}")
        if spec.match is not None:
            parts.append(f"--match {quote(spec.match)}")
        if spec.once:
            parts.append("--once")
        if spec.ttl_ms is not None:
            parts.append(f"--ttl {render_duration(spec.ttl_ms)}")
        if spec.max_fires is not None:
            parts.append(f"--max {spec.max_fires}")
        parts.append(f"--window {render_duration(spec.window_ms)}")
    if spec.notify:
        parts.append("--notify")
    return " ".join(parts)


def _fields_of(line: list[Word]) -> dict[str, object]:
    """Options of a typed line. Bare words before the first option are the name, after it a timer's text."""
    fields: dict[str, object] = {}
    before: list[Word] = []
    after: list[Word] = []
    timer = any((word.option or word.key) in ("in", "at") for word in line if not word.quoted)
    at = 0
    while at < len(line):
        word = line[at]
        at += 1
        if word.command:
            if word.typographic and timer and after:
                after.append(word)
                continue
            _refuse_unknown("command")
        name = word.option
        if name is None and not word.quoted:
            if word.key in _VALUES or word.key in _FLAGS or word.key in _NOT_YET:
                name = word.key
            elif word.text.lower() == "once" and not timer:
                name = "once"
        if name is None:
            (after if fields else before).append(word)
            continue
        _refuse_unknown(name, dashes=word.option is not None)
        if name in fields:
            raise SpecError(f"`{name}` stands there twice: keep one of them.", name)
        if word.value is not None:
            fields[name] = word.value
        elif name in _FLAGS:
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


def _refuse_unknown(name: object, *, dashes: bool = False) -> None:
    if name in _VALUES or name in _FLAGS:
        return
    written = name if isinstance(name, str) else type(name).__name__
    option = shown(written).strip("`")
    if name in _NOT_YET:
        what = "A command" if name == "command" else shown(f"--{written}" if dashes else written)
        raise SpecError(f"{what} isn't something this relay can watch with yet. It can do {_FORMS}.", option)
    what = shown(f"--{written}" if dashes else written)
    raise SpecError(f"{what} isn't an option of a watch. Write it like {_FORMS}.", option)


def _file(given: Mapping[str, object]) -> WatchSpec:
    path = _string(given, "file")
    if path is None or not path.strip():
        raise SpecError(f"`file` needs a path. Write it like {_SHAPES['file']}.", "file")
    _refuse_hidden(path, "file")
    if len(path) > LONGEST_PATH:
        raise SpecError(f"The path is longer than {LONGEST_PATH} characters, which is the most.", "file")
    if "text" in given:
        raise SpecError("`text` is for a timer; a file watch brings its own. Leave it out.", "text")
    name = _string(given, "name")
    if name is None:
        raise SpecError("Give the watch a name, in front: `notes --file notes.md`.", "name")
    fire, match = _gate(given)
    once = _flag(given, "once")
    most = _count(given, "max")
    window = _window(given)
    return WatchSpec(
        name=_checked_name(name),
        source="file",
        path=path,
        fire=fire,
        match=match,
        once=once,
        ttl_ms=_duration(given, "ttl"),
        max_fires=most,
        window_ms=window if window is not None else (0 if once else FILE_WINDOW_MS),
        notify=_flag(given, "notify"),
    )


def _gate(given: Mapping[str, object]) -> tuple[Literal["change", "match"], str | None]:
    match = _string(given, "match")
    fire = _string(given, "fire")
    fire = fire.strip().lower() if fire is not None else None
    if fire in ("each-line", "exit"):
        raise SpecError(f"`fire` {fire} isn't there yet; a file can have {_SHAPES['fire']}.", "fire")
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
            raise SpecError(f"`{name}` is for a file watch; a timer fires once. Leave it out.", name)
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
    text = _string(given, "text")
    if text is not None:
        _refuse_control(text, "text")
        if len(text) > LONGEST_TEXT:
            raise SpecError(f"The text is longer than {LONGEST_TEXT} characters, which is the most.", "text")
        text = text.strip() or None
    name = _string(given, "name")
    if name is None:
        number = 1
        while f"timer-{number}" in taken:
            number += 1
        name = f"timer-{number}"
    return WatchSpec(
        name=_checked_name(name),
        source="timer",
        due=due,
        text=text,
        once=True,
        window_ms=0,
        notify=_flag(given, "notify"),
    )


def _string(given: Mapping[str, object], name: str) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"`{name}` needs a value. Write it like {_SHAPES[name]}.", name)
    _refuse_broken(value, name)
    return value


def _flag(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name, False)
    if isinstance(value, bool):
        return value
    written = value.strip().lower() if isinstance(value, str) else ""
    if written in ("yes", "true", "on"):
        return True
    if written in ("no", "false", "off"):
        return False
    raise SpecError(f"`{name}` is yes or no. Write it like {_SHAPES[name]}.", name)


def _count(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_FIRES:
        raise SpecError(f"`{name}` is a number from 1 to {MOST_FIRES}. Write it like {_SHAPES[name]}.", name)
    return value


def _duration(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise SpecError(f"`{name}` needs a unit. Write it like {_SHAPES[name]}.", name)
    _refuse_broken(value, name)
    try:
        return parse_duration(value)
    except SpecError as error:
        raise SpecError(str(error), name) from None


def _window(given: Mapping[str, object]) -> int | None:
    """`0` and `0s` are allowed here: every change is a fire of its own."""
    value = given.get("window")
    if isinstance(value, str) and value.strip() in ("0", "0s"):
        return 0
    return _duration(given, "window")


def _checked_name(name: str) -> str:
    form = "A name is one word of letters, digits, `.`, `_` and `-`, like `notes` or `app.log`"
    _refuse_broken(name, "name")
    plain = unicodedata.normalize("NFC", name)
    allowed = all(
        c in "._-" or unicodedata.category(c)[0] in "LM" or unicodedata.category(c) == "Nd" for c in plain
    )
    if not plain or not allowed or unicodedata.category(plain[0])[0] not in "LN":
        raise SpecError(f"{shown(name)} can't be a name. {form}.", "name")
    if len(plain) > LONGEST_NAME:
        raise SpecError(f"The name is longer than {LONGEST_NAME} characters. {form}.", "name")
    return plain


def _refuse_broken(text: str, option: str | None) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        what = f"The value of `{option}`" if option else "That line"
        raise SpecError(f"{what} holds a broken character. Type it again.", option)


def _refuse_control(text: str, option: str) -> None:
    if any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text):
        raise SpecError(f"The value of `{option}` holds a control character. Type it again.", option)


def _refuse_hidden(text: str, option: str) -> None:
    """A path or pattern shows on an approval exactly as it is, so nothing in it may be invisible."""
    if any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in text):
        raise SpecError(f"The value of `{option}` holds an invisible character. Type it again.", option)


def _one_line(text: str) -> str:
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return clean if len(clean) <= 60 else f"{clean[:59]}…"


def _minute(ms: int) -> str:
    return f"{render_moment(ms)[:16].replace('T', ' ')} UTC"

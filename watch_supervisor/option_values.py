"""The values of a watch's options, each read strictly.

Pure. Every refusal is a `SpecError` that names the option and shows the right form.
"""

import unicodedata
from collections.abc import Mapping
from datetime import tzinfo
from decimal import Decimal, InvalidOperation

from watch_supervisor.hours import parse_hours, zone_name, zone_named
from watch_supervisor.moments import parse_duration, render_moment
from watch_supervisor.spec_error import SpecError, shown

LONGEST_NAME = 64
MOST_FIRES = 1_000_000
LONGEST_TEXT = 4_000
LONGEST_PATH = 1_024

SHAPES = {
    "file": "`--file notes.md`",
    "in": "`--in 2h`",
    "at": "`--at 09:30` or `--at 2026-12-01T09:30`",
    "name": "`--name notes`",
    "text": "`--text stretch`",
    "match": "`--match ERROR`",
    "fire": "`--fire change` or `--fire match`",
    "tail": "`--tail error.log`",
    "cron": "`--cron '0 8 * * mon-fri'`",
    "days": "`--days mon-fri`",
    "tz": "`--tz Europe/Berlin`",
    "hours": "`--hours 08:00-20:00`",
    "above": "`--above 90`",
    "below": "`--below 0.5`",
    "every": "`disk --every 10m -- df -h /`",
    "exit": "`build --exit -- ./train.sh`",
    "command": "`build --exit -- ./train.sh`",
    "restart": "`--restart on-failure`",
    "ttl": "`--ttl 2h`",
    "max": "`--max 5`",
    "window": "`--window 30s`",
    "once": "`--once`",
    "notify": "`--notify`",
}


def string(given: Mapping[str, object], name: str) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"`{name}` needs a value. Write it like {SHAPES[name]}.", name)
    refuse_broken(value, name)
    return value


def flag(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name, False)
    if isinstance(value, bool):
        return value
    written = value.strip().lower() if isinstance(value, str) else ""
    if written in ("yes", "true", "on"):
        return True
    if written in ("no", "false", "off"):
        return False
    raise SpecError(f"`{name}` is yes or no. Write it like {SHAPES[name]}.", name)


def count(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_FIRES:
        raise SpecError(f"`{name}` is a number from 1 to {MOST_FIRES}. Write it like {SHAPES[name]}.", name)
    return value


def duration(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise SpecError(f"`{name}` needs a unit. Write it like {SHAPES[name]}.", name)
    refuse_broken(value, name)
    try:
        return parse_duration(value)
    except SpecError as error:
        raise SpecError(str(error), name) from None


def window(given: Mapping[str, object]) -> int | None:
    """`0` and `0s` are allowed here: every change is a fire of its own."""
    value = given.get("window")
    if isinstance(value, str) and value.strip() in ("0", "0s"):
        return 0
    return duration(given, "window")


def path(given: Mapping[str, object], name: str) -> str:
    """A path as it was typed, of a source of that name."""
    value = string(given, name)
    if value is None or not value.strip():
        raise SpecError(f"`{name}` needs a path. Write it like {SHAPES[name]}.", name)
    refuse_hidden(value, name)
    if len(value) > LONGEST_PATH:
        raise SpecError(f"The path is longer than {LONGEST_PATH} characters, which is the most.", name)
    return value


def words_of(given: Mapping[str, object]) -> str | None:
    """The text of a reminder."""
    text = string(given, "text")
    if text is None:
        return None
    refuse_control(text, "text")
    if len(text) > LONGEST_TEXT:
        raise SpecError(f"The text is longer than {LONGEST_TEXT} characters, which is the most.", "text")
    return text.strip() or None


def number(given: Mapping[str, object], name: str) -> str | None:
    """A decimal number, in its shortest exact form (the ledger holds no floats)."""
    value = given.get(name)
    if value is None:
        return None
    written = "" if isinstance(value, bool) else str(value).strip()
    try:
        if not (written.isascii() and len(written) <= 40 and "_" not in written):
            raise InvalidOperation
        exact = Decimal(written)
        if not exact.is_finite() or abs(exact.adjusted()) > 30:
            raise InvalidOperation
    except InvalidOperation:
        raise SpecError(f"`{name}` is a number. Write it like {SHAPES[name]}.", name) from None
    return format(exact.normalize() if exact else Decimal(0), "f")


def zone_of(given: Mapping[str, object], default: tzinfo) -> tuple[str, tzinfo]:
    """The zone that `tz` names, else the machine's; with its name."""
    written = string(given, "tz")
    zone = zone_named(written) if written is not None else default
    return zone_name(zone), zone


def hours(given: Mapping[str, object]) -> str | None:
    written = string(given, "hours")
    return None if written is None else parse_hours(written)


def checked_name(name: str) -> str:
    form = "A name is one word of letters, digits, `.`, `_` and `-`, like `notes` or `app.log`"
    refuse_broken(name, "name")
    plain = unicodedata.normalize("NFC", name)
    allowed = all(
        c in "._-" or unicodedata.category(c)[0] in "LM" or unicodedata.category(c) == "Nd" for c in plain
    )
    if not plain or not allowed or unicodedata.category(plain[0])[0] not in "LN":
        raise SpecError(f"{shown(name)} can't be a name. {form}.", "name")
    if len(plain) > LONGEST_NAME:
        raise SpecError(f"The name is longer than {LONGEST_NAME} characters. {form}.", "name")
    return plain


def refuse_broken(text: str, option: str | None) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        what = f"The value of `{option}`" if option else "That line"
        raise SpecError(f"{what} holds a broken character. Type it again.", option)


def refuse_control(text: str, option: str) -> None:
    if any(unicodedata.category(char) == "Cc" and char not in "\n\t" for char in text):
        raise SpecError(f"The value of `{option}` holds a control character. Type it again.", option)


def refuse_hidden(text: str, option: str) -> None:
    """A path or pattern shows on an approval exactly as it is, so nothing in it may be invisible."""
    if any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in text):
        raise SpecError(f"The value of `{option}` holds an invisible character. Type it again.", option)


def one_line(text: str) -> str:
    clean = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return clean if len(clean) <= 60 else f"{clean[:59]}…"


def minute(ms: int) -> str:
    return f"{render_moment(ms)[:16].replace('T', ' ')} UTC"

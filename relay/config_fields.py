"""The kinds of value that access.json holds: lengths of time, sizes, names, folders, names of environment variables.

Each kind reads the file's form, says in words what is wrong with another, and knows its JSON Schema. It looks at
nothing but the value (and the home folder, for `~`). A value that may be a secret is never repeated in an error.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from watch_supervisor.spec import SpecError, parse_duration, render_duration

SURFACES = ("discord", "web")
LONGEST_NAME = 64
LONGEST_LINE = 200
LONGEST_TEXT = 8_000
LONGEST_PATH = 4_000

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"([0-9]{1,9}) ?(KiB|MiB|GiB|TiB)")
_ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_DISCORD_ID = r"[0-9]{1,20}"
_ROOM_ID = re.compile(rf"discord:{_DISCORD_ID}|web:[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}|dm:")
_RULE = r"[A-Za-z_*][A-Za-z0-9_.:*-]{0,127}(\([^\x00-\x1f\x7f]{1,1000}\))?"
_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_RESERVED = ("owner", "relay")


def quoted(value: object, most: int = 40) -> str:
    """A value of the file as a short quotation on one line."""
    if not isinstance(value, str):
        return kind(value)
    clean = "".join(char if char.isprintable() else " " for char in value[: most + 1])
    return f'"{clean}"' if len(clean) <= most else f'"{clean[: most - 1]}…"'


def kind(value: object) -> str:
    """What a value of the file is, in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, dict) else "a list"


def written_size(size: int) -> str:
    """Bytes in the largest unit that says them exactly: `3GiB`."""
    unit = next((name for name, one in reversed(_UNITS.items()) if size and size % one == 0), None)
    return f"{size // _UNITS[unit]}{unit}" if unit else f"{size}B"


class _Kind:
    """A value with its own reading, writing and schema."""

    def read(self, value: object, info: ValidationInfo) -> object:
        """The value as the relay keeps it. ValueError, in words, for any other."""
        raise ValueError(kind(value))

    def write(self, value: Any) -> object:
        """The value as the file holds it."""
        return value

    def schema(self) -> dict[str, object]:
        """The JSON Schema of the file's form."""
        return {}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            self.read,
            serialization=core_schema.plain_serializer_function_ser_schema(self.write, when_used="json"),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return dict(self.schema())


@dataclass(frozen=True, slots=True)
class Length(_Kind):
    """A length of time, `"10m"` in the file and milliseconds inside; in code a whole number passes as it is."""

    low: str
    high: str

    def read(self, value: object, info: ValidationInfo) -> int:
        if info.context is None and isinstance(value, int) and not isinstance(value, bool):
            return value
        form = 'a length of time in quotes, like "90s", "10m", "4h" or "2d"'
        if not isinstance(value, str):
            raise ValueError(f"must be {form}, not {kind(value)}")
        try:
            length = parse_duration(value)
        except SpecError:
            raise ValueError(f"{quoted(value)} is not {form}") from None
        if not parse_duration(self.low) <= length <= parse_duration(self.high):
            raise ValueError(f"{quoted(value)} must be from {self.low} to {self.high}")
        return length

    def write(self, value: Any) -> object:
        return render_duration(value)

    def schema(self) -> dict[str, object]:
        pattern = r"^\s*([0-9]{1,9}[dD])?\s*([0-9]{1,9}[hH])?\s*([0-9]{1,9}[mM])?\s*([0-9]{1,9}[sS])?\s*$"
        return {"type": "string", "pattern": pattern, "examples": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Size(_Kind):
    """An amount of memory, `"3GiB"` in the file and bytes inside; in code a whole number passes as it is."""

    low: str
    high: str

    def read(self, value: object, info: ValidationInfo) -> int:
        if info.context is None and isinstance(value, int) and not isinstance(value, bool):
            return value
        form = 'a size in quotes, like "512MiB" or "3GiB"'
        if not isinstance(value, str):
            raise ValueError(f"must be {form}, not {kind(value)}")
        size = self._bytes(value.strip())
        if size is None:
            raise ValueError(f"{quoted(value)} is not {form}")
        if not cast(int, self._bytes(self.low)) <= size <= cast(int, self._bytes(self.high)):
            raise ValueError(f"{quoted(value)} must be from {self.low} to {self.high}")
        return size

    @staticmethod
    def _bytes(text: str) -> int | None:
        found = _SIZE.fullmatch(text)
        return int(found[1]) * _UNITS[found[2]] if found else None

    def write(self, value: Any) -> object:
        return written_size(value)

    def schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": f"^{_SIZE.pattern}$", "examples": [self.low, self.high]}


@dataclass(frozen=True, slots=True)
class Count(_Kind):
    """A whole number within bounds."""

    low: int
    high: int

    def read(self, value: object, info: ValidationInfo) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            given = quoted(value) if isinstance(value, str) else kind(value)
            raise ValueError(f"must be a whole number from {self.low} to {self.high}, not {given}")
        return value

    def schema(self) -> dict[str, object]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Amount(_Kind):
    """A number within bounds, whole or not."""

    low: int
    high: int

    def read(self, value: object, info: ValidationInfo) -> float:
        good = (
            isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high
        )
        if not good:
            given = quoted(value) if isinstance(value, str) else kind(value)
            raise ValueError(f"must be a number from {self.low} to {self.high}, not {given}")
        return float(cast(float, value))

    def schema(self) -> dict[str, object]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Folder(_Kind):
    """A folder: `~` is the home folder, and what isn't absolute is relative to the config file's folder."""

    def read(self, value: object, info: ValidationInfo) -> Path:
        if isinstance(value, Path) and info.context is None:
            return value
        if not isinstance(value, str) or not value.strip():
            raise ValueError('must be a folder in quotes, like "~/repos/project-x"')
        _plain(value, LONGEST_PATH)
        path = os.path.expanduser(value)
        if path.startswith("~"):
            raise ValueError(f"{quoted(value)}: no such home folder is known; write the whole path")
        base = cast("dict[str, Any]", info.context or {}).get("folder", ".")
        return Path(os.path.normpath(os.path.join(os.path.abspath(base), path)))

    def write(self, value: Any) -> object:
        return str(value)

    def schema(self) -> dict[str, object]:
        return {"type": "string", "minLength": 1}


def _plain(text: str, most: int, also: str = "") -> str:
    """`text`, if it is short enough and holds nothing that hides or breaks a line."""
    if len(text) > most:
        raise ValueError(f"must be at most {most} characters long")
    hidden = ("Cc", "Cs", "Zl", "Zp")
    if any((unicodedata.category(c) in hidden and c not in also) or c in _BIDI for c in text):
        raise ValueError("holds a line break or another invisible character; take it out")
    return text


def _text(text: str) -> str:
    return _plain(text, LONGEST_TEXT, also="\n\t")


def _line(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return _plain(text, LONGEST_LINE)


def _name(name: str) -> str:
    fits = all(c in "._-" or unicodedata.category(c)[0] in "LMN" for c in name)
    if not name or not fits or not name[0].isalnum() or len(name) > LONGEST_NAME:
        raise ValueError(
            f"{quoted(name)} is not a name: one word of letters, digits, . _ and -, up to {LONGEST_NAME}"
        )
    if name.lower() in _RESERVED:
        raise ValueError(f"{quoted(name)} already means something here; choose another name")
    return name


def _who(name: str) -> str:
    return name if name == "owner" else _name(name)


def _surface(word: str) -> str:
    if word not in SURFACES:
        raise ValueError(f"{quoted(word)} is no surface; there are {' and '.join(SURFACES)}")
    return word


def _room_id(name: str) -> str:
    if _ROOM_ID.fullmatch(name) is None:
        raise ValueError(
            f'{quoted(name)} is not a room: write "web:main", "discord:" with the channel\'s number, or "dm:"'
        )
    return name


def _fits(pattern: str, words: str, *, show: bool) -> Callable[[str], str]:
    """A check against a pattern; `show` says whether a wrong value may be repeated."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError(f"{quoted(text)} {words}" if show else words)
        return text

    return check


def _url(url: str) -> str:
    if url == "auto":
        return url
    words = 'must be "auto" or an address like "http://127.0.0.1:8888"'
    _plain(url, 1_000)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        secret = bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        raise ValueError(words) from None
    if secret:
        raise ValueError("must hold no token, name or password; name the token's variable with token_env")
    if not good:
        raise ValueError(words)
    return url


def _one(value: object) -> object:
    # 1.0 and true equal 1 too.
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{quoted(value)} can't stand here; write 1")
    return value


def _schema(**more: object) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **more})


One = Annotated[Literal[1], BeforeValidator(_one)]
Name = Annotated[str, AfterValidator(_name), _schema(minLength=1, maxLength=LONGEST_NAME)]
Who = Annotated[str, AfterValidator(_who), _schema(minLength=1, maxLength=LONGEST_NAME)]
RoomId = Annotated[str, AfterValidator(_room_id), _schema(pattern=f"^({_ROOM_ID.pattern})$")]
OneLine = Annotated[str, AfterValidator(_line), _schema(minLength=1, maxLength=LONGEST_LINE)]
LongText = Annotated[str, AfterValidator(_text), _schema(maxLength=LONGEST_TEXT)]
SurfaceWord = Annotated[str, AfterValidator(_surface), _schema(enum=list(SURFACES))]
EnvName = Annotated[
    str,
    AfterValidator(
        _fits(
            _ENV_NAME,
            "must be the name of an environment variable, like RELAY_DISCORD_TOKEN; the token itself goes into .env",
            show=False,
        )
    ),
    _schema(pattern=f"^{_ENV_NAME}$"),
]
DiscordId = Annotated[
    str,
    AfterValidator(
        _fits(_DISCORD_ID, 'is not a Discord id: digits in quotes, like "100000000000000001"', show=True)
    ),
    _schema(pattern=f"^{_DISCORD_ID}$"),
]
Rule = Annotated[
    str,
    AfterValidator(_fits(_RULE, 'is not a rule: write a tool, or "Bash(npm test*)"', show=True)),
    _schema(pattern=f"^{_RULE}$"),
]
Address = Annotated[str, AfterValidator(_url), _schema(minLength=1)]

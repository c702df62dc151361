"""access.json: loading it, saying all that is wrong with it, and taking up a change while the relay runs.

What it holds is in `config_model`; this module reads the file and the `.env` beside it, and is the one to import from.
It never writes either, never keeps a secret, and raises nothing but ConfigError for what a file may hold.
Everything here blocks for a moment (a small file): from the event loop call it in a worker.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any, cast

from dotenv.parser import parse_stream

from relay.clock import Clock
from relay.config_check import Mistake, check, path_text
from relay.config_model import (
    Access,
    Agent,
    Budgets,
    Busy,
    Limits,
    Peer,
    Person,
    Profile,
    Role,
    Room,
    role_of,
    state_folder,
    with_direct_room,
)
from relay.config_source import SourceMistake, scan
from relay.errors import ConfigError

__all__ = [
    "Access",
    "Agent",
    "Budgets",
    "Busy",
    "ConfigWatch",
    "Limits",
    "Loaded",
    "Peer",
    "Person",
    "Profile",
    "Role",
    "Room",
    "default",
    "env_of",
    "load",
    "role_of",
    "schema_text",
    "state_folder",
]

LARGEST_BYTES = 1 << 20
LARGEST_ENV_BYTES = 1 << 18
MOST_MISTAKES = 10
# A file system may stamp two writes so close together with the same time.
FRESH_MS = 2_000

_ADVICE = "Every key is explained in docs/configuration.md."


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config that is right. `digest` is the SHA-256 of the file's bytes; `said` is to be told, but is no mistake."""

    access: Access
    path: Path
    digest: str
    said: tuple[str, ...] = ()


def load(path: Path, *, runtimes: Collection[str], now_ms: int, zone: tzinfo) -> Loaded:
    """Read and check access.json. `now_ms` and `zone` are for the times of day that watches name.

    ConfigError, and nothing else, for a file that is missing, unreadable or wrong; it names up to ten mistakes, each
    with its line.
    """
    return _loaded(path, _bytes(path), runtimes=runtimes, now_ms=now_ms, zone=zone)


def default(*, workspace: Path, agent: str = "scout") -> Access:
    """The config of a relay that was given none: the local page's room, with the scripted agent."""
    room = Room(agent=agent, workspace=Path(os.path.abspath(workspace)))
    return Access(version=1, agents={agent: Agent(runtime="scripted")}, rooms={"web:main": room})


def env_of(folder: Path, base: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """`base`, and below it what the `.env` in that folder adds; and a sentence to say, if something is wrong with it.

    A `.env` that others may read is left alone. Nothing that `base` sets is changed, not even to fill what is empty.
    """
    env, path = dict(base), folder / ".env"
    try:
        full_mode, data = _read(path, LARGEST_ENV_BYTES + 1)
    except FileNotFoundError:
        return env, None
    except (OSError, ValueError) as error:
        return env, f"{path} can't be read ({_reason(error)}), so nothing in it is used."
    if not stat.S_ISREG(full_mode):
        return env, f"{path} is no file, so nothing in it is used."
    mode = stat.S_IMODE(full_mode)
    if mode not in (0o600, 0o400):
        return env, (
            f"{path} has mode {mode:04o}, so nothing in it is used: secrets must be readable by you alone. "
            f"Run: chmod 600 {path}"
        )
    if len(data) > LARGEST_ENV_BYTES:
        return env, f"{path} is larger than {LARGEST_ENV_BYTES >> 10} KiB, so nothing in it is used."
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return env, f"{path} is not UTF-8 text, so nothing in it is used."
    odd: list[int] = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error or (
            binding.key and binding.value is not None and "\0" in binding.key + binding.value
        ):
            odd.append(binding.original.line)
        elif binding.key and binding.value is not None:
            env.setdefault(binding.key, binding.value)
    lines = ", ".join(str(line) for line in odd[:MOST_MISTAKES])
    return env, f"{path}: not understood, and not used: line {lines}. Write NAME=value." if odd else None


class ConfigWatch:
    """Looks whether access.json changed, so that a relay takes it up while it runs and else keeps what it has."""

    def __init__(
        self, path: Path, *, runtimes: Collection[str], zone: tzinfo, clock: Clock, last: Loaded | None = None
    ) -> None:
        """`last` is what was loaded already; the first poll then tells only what differs from it."""
        self._path = path
        self._runtimes = tuple(runtimes)
        self._zone = zone
        self._clock = clock
        self._told = last.digest if last else ""
        self._doubted = ""
        self._settled: tuple[int, ...] | None = None

    def poll(self) -> Loaded | ConfigError | None:
        """What the file became: a good config, or what is wrong with it; None when there is nothing new.

        Each state is told once, also the return to a good one. A wrong state is told when two polls in a row have
        found the same, because an editor may be in the middle of writing.
        """
        now_ms = self._clock.now_ms()
        mark = self._mark()
        if mark is not None and mark == self._settled:
            return None
        try:
            found = load(self._path, runtimes=self._runtimes, now_ms=now_ms, zone=self._zone)
        except ConfigError as error:
            found = error
        state = found.digest if isinstance(found, Loaded) else str(found)
        if isinstance(found, ConfigError) and state not in (self._told, self._doubted):
            self._doubted = state
            return None
        self._settled = mark if mark and max(mark[:2]) // 1_000_000 + FRESH_MS < now_ms else None
        self._doubted = ""
        if state == self._told:
            return None
        self._told = state
        return found

    def _mark(self) -> tuple[int, ...] | None:
        """What the file system says of the file: cheap, and different after a change, except right after another."""
        try:
            seen = os.stat(self._path)
        except (OSError, ValueError):
            return None
        return (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino, seen.st_dev)


def schema_text() -> str:
    """The JSON Schema of access.json, as it stands in docs/access.schema.json."""
    schema = Access.model_json_schema()
    definitions = cast("dict[str, Any]", schema["$defs"])
    # Pydantic shows these defaults as the numbers inside; the file holds them with their units.
    for name, value in Limits().model_dump(mode="json").items():
        definitions["Limits"]["properties"][name]["default"] = value
    for part in (schema, *definitions.values()):
        for field in part["properties"].values():
            field.pop("title", None)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "access.json"}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path, most: int) -> tuple[int, bytes]:
    """The mode of what is there, and its first bytes if it is a regular file. Never waits for the writer of a pipe."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        parts: list[bytes] = []
        while stat.S_ISREG(mode) and most > 0 and (part := os.read(handle, most)):
            parts.append(part)
            most -= len(part)
        return mode, b"".join(parts)
    finally:
        os.close(handle)


def _bytes(path: Path) -> bytes:
    try:
        mode, data = _read(path, LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path} is no file.", "Name the config file itself, like: --config access.json")
    if len(data) > LARGEST_BYTES:
        raise ConfigError(f"{path} is larger than 1 MiB, which is the most.", _ADVICE)
    return data


def _unreadable(path: Path, error: Exception) -> ConfigError:
    if isinstance(error, FileNotFoundError):
        return ConfigError(
            f"There is no file {path}.",
            "Copy config/access.example.json there, or name another with --config.",
        )
    if isinstance(error, PermissionError):
        return ConfigError(f"{path} may not be read by this user.", f"Run: chmod u+r {path}")
    return ConfigError(f"{path} can't be read: {_reason(error)}.", _ADVICE)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _loaded(path: Path, data: bytes, *, runtimes: Collection[str], now_ms: int, zone: tzinfo) -> Loaded:
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(
            f"{path.name}:1: the file begins with a byte order mark.", "Save it as UTF-8 without BOM."
        )
    try:
        source = scan(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path.name}:{line}: this is not UTF-8 text.", "Save the file as UTF-8.") from None
    except SourceMistake as error:
        raise ConfigError(f"{path.name}:{error.line}: {error}.", _ADVICE) from None
    folder = Path(os.path.abspath(path)).parent
    checked = check(source.value, folder=folder, runtimes=runtimes, now_ms=now_ms, zone=zone)
    found = [(source.line(mistake.where), mistake) for mistake in checked.mistakes]
    for twice in source.twice:
        words = f"stands here a second time; the first is in line {twice.first}. Keep one of them"
        found.append((twice.line, Mistake(twice.where, words)))
    if found or checked.access is None:
        found.sort(key=lambda pair: pair[0])
        lines = [_told(path.name, line, mistake) for line, mistake in found[:MOST_MISTAKES]]
        if len(found) > MOST_MISTAKES:
            lines.append(f"… and {len(found) - MOST_MISTAKES} more.")
        raise ConfigError("\n".join(lines), _ADVICE)
    digest = hashlib.sha256(data).hexdigest()
    return Loaded(with_direct_room(checked.access), path, digest, checked.said)


def _told(name: str, line: int, mistake: Mistake) -> str:
    place = f"{path_text(mistake.where)}: " if mistake.where else ""
    words = "".join(char if char.isprintable() else " " for char in mistake.words.rstrip("."))
    return f"{name}:{line}: {place}{words}"


if __name__ == "__main__":
    sys.stdout.write(schema_text())

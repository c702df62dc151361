"""The folder in which a script is played: its configuration, its state, its workspaces. It starts nothing.

A script never touches the ledger of a relay that people use: each play has a fresh folder.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from relay.app import RUNTIMES, chat_rooms, machine_zone
from relay.clock import Clock
from relay.config import Access, load
from relay.errors import RelayError, UsageError
from relay.script.language import AGENT, OWNER
from relay.script.steps import Mistake, Script, ScriptMistakes
from relay.surfaces.web.chat import ChatRoom

_MOST_PLAYS = 100_000


@dataclass(frozen=True, slots=True)
class Stage:
    """Where everything of one play lies."""

    folder: Path
    config: Path
    access: Access
    rooms: tuple[ChatRoom, ...]
    passing: bool
    """Whether the folder is taken away when all has held."""

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def log(self) -> Path:
        return self.folder / "relay.log"

    def workspace(self, room: str) -> Path:
        return Path(self.access.rooms[f"web:{room}"].workspace)

    def take_away(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def build(
    script: Script, path: Path, *, state: Path | None, config: Path | None, clock: Clock, env: dict[str, str]
) -> Stage:
    """Make the folder. Raises `ConfigError`, `ScriptMistakes`, `UsageError`, `RelayError`; then there is none."""
    if script.config is not None and config is not None:
        raise UsageError(
            f"{path.name} has a `config` line, and --config names another file.", "Leave one of the two out."
        )
    given = path.parent / script.config if script.config is not None else config
    zone = ZoneInfo(machine_zone(env))

    def read(file: Path) -> Access:
        return load(file, runtimes=RUNTIMES, now_ms=clock.now_ms(), zone=zone).access

    access = None
    if given is not None:
        access = read(given)
        _check_names(script, path.name, access)
    folder = _folder(path, state)
    try:
        file = given if given is not None else _written(script, folder)
        access = access or read(file)
        (folder / "state").mkdir(mode=0o700)
        for room in access.rooms.values():
            Path(room.workspace).mkdir(parents=True, exist_ok=True)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise RelayError(
                f"{error.filename} can't be made ({error.strerror}).", "Name another --state."
            ) from error
        raise
    return Stage(folder, file.absolute(), access, tuple(chat_rooms(access)), passing=state is None)


def _check_names(script: Script, name: str, access: Access) -> None:
    """With a config, its rooms and people are those that a script may name, besides the script's own."""
    rooms = {room.partition(":")[2] for room in access.rooms if room.startswith("web:")}
    known = rooms | set(script.aliases)
    mistakes = [
        Mistake(
            step.line,
            f"the config has no room web:{step.place.partition('/')[0]} (it has: {', '.join(sorted(rooms))})",
        )
        for step in script.steps
        if step.place not in known and step.place.partition("/")[0] not in rooms
    ]
    people = {OWNER, *script.humans, *script.guests, *access.people, *access.peers}
    for step in script.steps:
        person = getattr(step.act, "person", OWNER)
        if person not in people:
            told = f"nobody knows {person}; add them to people in the config, or write this line above: guest {person}"
            mistakes.append(Mistake(step.line, told))
    if mistakes:
        raise ScriptMistakes(name, mistakes)


def _folder(path: Path, state: Path | None) -> Path:
    name = re.sub(r"[^\w.-]+", "-", path.stem)[:40] or "play"
    try:
        if state is None:
            return Path(tempfile.mkdtemp(prefix=f"relay-script-{name}-"))
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _first_free(lambda number: state.absolute() / f"script-{name}-{number}")
    except OSError as error:
        raise RelayError(
            f"no folder for the script can be made in {state or tempfile.gettempdir()} ({error.strerror}).",
            "Name another one with --state DIR.",
        ) from error


def _first_free(named: Callable[[int], Path]) -> Path:
    for number in range(1, _MOST_PLAYS):
        try:
            named(number).mkdir(mode=0o700)
        except FileExistsError:
            continue
        return named(number)
    raise UsageError(
        "there are too many plays of this script in the state folder.", "Take the old ones away."
    )


def _written(script: Script, folder: Path) -> Path:
    """The configuration that a script has without a `config` line."""
    rooms = {
        f"web:{room}": {
            "agent": AGENT,
            "workspace": str(folder / ("workspace" if room == "main" else f"workspace-{room}")),
            "humans": list(script.humans),
        }
        for room in script.rooms
    }
    body: dict[str, Any] = {
        "version": 1,
        "agents": {AGENT: {"runtime": "scripted"}},
        "people": {human: {} for human in script.humans},
        "rooms": rooms,
        # A script speaks as fast as it can: what the cap on a person's messages is for does not arise in it.
        "limits": {"messages_per_minute": 600},
    }
    file = folder / "access.json"
    file.write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return file

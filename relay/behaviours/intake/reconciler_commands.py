"""Commands that are filled in on a surface: who may use them, and the line that each stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay import texts_for_commands
from relay.behaviours.commands import Command, Suggestion, Value, named
from relay.config import role_of
from relay.parts import Parts
from relay.surfaces.surface import CommandEvent, Person, Place, Surface, room_id


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is not taken in, for the one who used it."""

    words: str


@dataclass(frozen=True, slots=True)
class Line:
    """What somebody would have typed, and the `!word` it begins with."""

    text: str
    word: str


class FilledIn:
    """One surface's. See `SurfaceEvents` for what each call promises."""

    def __init__(self, parts: Parts, surface: Surface) -> None:
        self._parts = parts
        self._surface = surface

    def offered(self) -> Sequence[Command]:
        return self._parts.commands

    def suggestions(
        self, place: Place, person: Person, name: str, option: str, typed: str
    ) -> Sequence[Suggestion]:
        command = named(self._parts.commands, name)
        if command is None or self.refuses(place, person, name, {}) is not None:
            return []
        scope = f"{self._surface.name}:{place.place}"
        return command.suggestions(option, typed, self._parts.engine.view, scope)

    def refuses(self, place: Place, person: Person, name: str, values: Mapping[str, Value]) -> str | None:
        found = self._judged(place, person, name, values)
        return found.words if isinstance(found, Refusal) else None

    def line(self, event: CommandEvent) -> Line | Refusal:
        return self._judged(event.place, event.person, event.name, event.values)

    def _judged(self, place: Place, person: Person, name: str, values: Mapping[str, Value]) -> Line | Refusal:
        access, room = self._parts.access, room_id(self._surface.name, place)
        if room not in access.rooms:
            return Refusal(texts_for_commands.COMMAND_NOT_HERE)
        role = role_of(access, room, self._surface.name, person.id, bot=person.bot, owner=person.owner)
        if role not in ("owner", "human"):
            return Refusal(texts_for_commands.COMMAND_NOT_YOURS)
        command = named(self._parts.commands, name)
        line = command.line(values) if command is not None else None
        if command is None or line is None:
            return Refusal(texts_for_commands.COMMAND_CHANGED)
        return Line(line, command.word)

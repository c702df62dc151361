"""Slash commands as Discord has them: how the catalogue is offered there, and what of it somebody filled in. Pure.

https://discord.com/developers/docs/interactions/application-commands
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from relay.behaviours.commands import LONGEST_VALUE, MOST_OFFERED, Command, Option, Suggestion, Value
from relay.surfaces.discord import raw

Json = dict[str, Any]

_CHAT_INPUT = 1
_KINDS = {"text": 3, "number": 4, "switch": 5}
_NUMBER = 4
_IN_SERVERS, _IN_DIRECT = 0, 1
_LONGEST_ABOUT = 100
_LONGEST_CHOICE = 100
_LARGEST = 1_000_000_000


def definitions(commands: Sequence[Command]) -> list[Json]:
    """The whole set, for servers and for direct messages with the bot."""
    return [
        {
            "type": _CHAT_INPUT,
            "name": command.name,
            "description": _about(command.about),
            "options": [_option(option) for option in _required_first(command.to_fill_in)],
            "integration_types": [0],
            "contexts": [_IN_SERVERS, _IN_DIRECT],
        }
        for command in commands
    ]


def _required_first(options: Sequence[Option]) -> list[Option]:
    return sorted(options, key=lambda option: not option.required)


def _option(option: Option) -> Json:
    found: Json = {
        "type": _KINDS[option.kind],
        "name": option.name,
        "description": _about(option.about),
        "required": option.required,
    }
    if option.choices:
        found["choices"] = [{"name": one, "value": one} for one in option.choices]
    elif option.kind == "text":
        found["max_length"] = LONGEST_VALUE
    if option.kind == "number":
        found |= {"min_value": 0, "max_value": _LARGEST}
    if option.suggests is not None:
        found["autocomplete"] = True
    return found


def _about(text: str) -> str:
    return text if len(text) <= _LONGEST_ABOUT else text[: _LONGEST_ABOUT - 1] + "…"


def digest(application: str, wanted: Sequence[Json]) -> str:
    """What tells one set for one bot from every other."""
    form = orjson.dumps([application, list(wanted)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(form).hexdigest()


def filled_in(data: Json) -> tuple[str, dict[str, Value]]:
    """The command's name, and the options that hold a value; an option of an odd form is kept as an empty text, so that
    it is noticed."""
    values: dict[str, Value] = {}
    for option in raw.objs(data.get("options")):
        value: object = option.get("value")
        values[raw.text(option.get("name"))] = value if isinstance(value, str | int | bool) else ""
    return raw.text(data.get("name")), values


def being_typed(data: Json) -> tuple[str, str]:
    """The option that somebody types in just now, and what stands there so far."""
    for option in raw.objs(data.get("options")):
        if option.get("focused") is True:
            value: object = option.get("value")
            return raw.text(option.get("name")), str(value) if isinstance(value, str | int) else ""
    return "", ""


def choices(suggestions: Sequence[Suggestion], data: Json) -> list[Json]:
    """What Discord shows below an option. What it would refuse is left out."""
    focused = [one for one in raw.objs(data.get("options")) if one.get("focused") is True]
    as_number = any(one.get("type") == _NUMBER for one in focused)
    found: list[Json] = []
    for one in suggestions:
        if one.label.strip() and 0 < len(one.value) <= _LONGEST_CHOICE:
            value: Value = int(one.value) if as_number and one.value.isdecimal() else one.value
            found.append({"name": one.label[:_LONGEST_CHOICE], "value": value})
    return found[:MOST_OFFERED]


def names(listed: Sequence[Mapping[str, object]]) -> set[str]:
    """The slash commands among those that Discord has."""
    return {raw.text(one.get("name")) for one in listed if one.get("type", _CHAT_INPUT) == _CHAT_INPUT}

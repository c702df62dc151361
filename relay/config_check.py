"""All that is wrong with a config at once, each mistake with the place where it stands.

Pure: it is given what the file holds, and gives the model or the mistakes in words. Parts are checked one by one and
against each other even where another part is broken, so that a person mends the file in one go. It reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from relay.config_fields import SURFACES, kind, quoted
from relay.config_model import Access, Limits
from relay.config_source import Where
from watch_supervisor.spec import SpecError, WatchSpec, from_fields

YEAR_MS = 365 * 86_400_000
YEARS_BACK = 30

_MUST = {
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "model_type": "must be an object in { }",
    "dict_type": "must be an object in { }",
    "tuple_type": "must be a list in [ ]",
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at a place of the file, and how it is right."""

    where: Where
    words: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome: a model, or mistakes; and what is no mistake but must be said."""

    access: Access | None
    mistakes: tuple[Mistake, ...]
    said: tuple[str, ...]


def check(value: object, *, folder: Path, runtimes: Collection[str], now_ms: int, zone: tzinfo) -> Checked:
    """Check what access.json holds. `folder` is where relative folders start; `runtimes` are those that exist."""
    if not isinstance(value, dict):
        return Checked(None, (Mistake((), f"the file must be an object in {{ }}, not {kind(value)}"),), ())
    whole = cast("dict[str, object]", value)
    access: Access | None = None
    found: list[Mistake] = []
    try:
        access = Access.model_validate(whole, context={"folder": str(folder)})
    except ValidationError as error:
        found += [_worded(details) for details in error.errors(include_url=False)]
    said: list[str] = []
    found += _between(whole, runtimes)
    found += _watches(whole, now_ms, zone, said)
    if access is not None:
        found += _bounds(access)
        said += _without_effect(access)
    # One mistake a place: the first says enough.
    only = {mistake.where: mistake for mistake in reversed(found)}
    return Checked(access if not only else None, tuple(reversed(only.values())), tuple(said))


def _without_effect(access: Access) -> Iterator[str]:
    """What the file may say and nothing reads yet: whoever sets it must not rely on it."""
    if access.budgets.day.usd is not None:
        yield "budgets.day.usd: money isn't counted yet, so nothing is held back by it."
    for name in ("agents_memory", "agent_idle", "held_watch"):
        if getattr(access.limits, name) != getattr(Limits(), name):
            yield f"limits.{name}: this has no effect yet."
    for name, room in access.rooms.items():
        if room.wake_on_changes:
            yield f"rooms.{name}.wake_on_changes: this has no effect yet."
        if room.notebooks:
            yield f"rooms.{name}.notebooks: notebooks aren't followed yet."


def path_text(where: Where) -> str:
    """`rooms.web:main.watches[0].every`, on one line and never long."""
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{_clean(part)}"
    return text


def _clean(key: str) -> str:
    return quoted(key, 64)[1:-1] or '""'


def _worded(details: ErrorDetails) -> Mistake:
    where, given, sort = tuple(details["loc"]), details["input"], details["type"]
    if where and where[-1] == "[key]":
        where = where[:-1]
    context = details.get("ctx", {})
    if sort == "value_error":
        return Mistake(where, str(context.get("error", details["msg"])))
    if sort == "missing":
        return Mistake(where, f"is missing{_example(where)}")
    if sort == "extra_forbidden":
        return Mistake(where, _unknown_key(where))
    if sort == "literal_error":
        return Mistake(where, _not_one_of(given, str(context.get("expected", ""))))
    if sort == "too_short":
        return Mistake(where, 'must name a room, like "web:main": { "agent": …, "workspace": … }')
    if sort in _MUST:
        return Mistake(where, f"{_MUST[sort]}, not {kind(given)}")
    return Mistake(where, details["msg"])


def _example(where: Where) -> str:
    examples = {
        "version": '"version": 1',
        "rooms": '"rooms": { "web:main": { "agent": "scout", "workspace": "./workspace" } }',
        "agent": '"agent": "scout"',
        "workspace": '"workspace": "~/repos/project-x"',
        "runtime": '"runtime": "scripted"',
        "turns_per_hour": '"turns_per_hour": 20',
    }
    example = examples.get(str(where[-1])) if where else None
    return f"; write {example}" if example else ""


def _unknown_key(where: Where) -> str:
    """Never the value, which may be a secret in the wrong place."""
    keys = _keys(where)
    close = get_close_matches(str(where[-1])[:64], keys, 1)
    if close:
        return f'is no key that is known here; did you mean "{close[0]}"?'
    if str(where[-1]) == "token" and "token_env" in keys:
        return 'is no key here: name the environment variable that holds the token, with "token_env"'
    return (
        f"is no key that is known here; known are {', '.join(keys)}"
        if keys
        else "is no key that is known here"
    )


def _keys(where: Where) -> list[str]:
    """The keys that the part around `where` may have, found by walking down the model's own fields."""
    model: Any = Access
    named = False
    for key in where[:-1]:
        if named:
            named = False
            continue
        known = cast("dict[str, Any]", getattr(model, "model_fields", {}))
        if key not in known:
            return []
        model = known[key].annotation
        named = get_origin(model) is dict
        # `dict[Name, Person]` and `DiscordSurface | None` are about their one part.
        model = next((one for one in get_args(model) if hasattr(one, "model_fields")), model)
    return list(getattr(model, "model_fields", {}))


def _not_one_of(given: object, expected: str) -> str:
    allowed = re.findall(r"'([^']*)'", expected) or [expected]
    close = get_close_matches(given[:64], allowed, 1) if isinstance(given, str) else []
    also = f'; did you mean "{close[0]}"?' if close else ""
    if len(allowed) == 1:
        return f"{quoted(given)} can't stand here; write {expected.replace(chr(39), chr(34))}"
    return f"{quoted(given)} is not one of {', '.join(allowed)}{also}"


# ---- parts against each other, read from what the file holds, whether or not the rest of it is right


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _between(whole: Mapping[str, object], runtimes: Collection[str]) -> Iterator[Mistake]:
    people, peers, agents = (_object(whole.get(key)) for key in ("people", "peers", "agents"))
    for name, agent in agents.items():
        runtime = _object(agent).get("runtime")
        if isinstance(runtime, str) and runtime.strip() and runtime not in runtimes:
            there = ", ".join(sorted(runtimes)) or "none"
            words = f"there is no runtime {quoted(runtime)} in this relay yet; there is: {there}"
            yield Mistake(("agents", name, "runtime"), words)
    for name in peers:
        if name in people:
            yield Mistake(("peers", name), "is a name in people too; give one of them another name")
    yield from _ids(whole, people, peers)
    for room_id, value in _object(whole.get("rooms")).items():
        where, room = ("rooms", room_id), _object(value)
        if room_id.startswith("discord:") and _object(whole.get("surfaces")).get("discord") is None:
            words = 'needs "discord": { "token_env": "RELAY_DISCORD_TOKEN" } in surfaces'
            yield Mistake(where, words)
        agent = room.get("agent")
        if isinstance(agent, str) and agent not in agents:
            yield Mistake((*where, "agent"), _nobody(agent, "agents", agents))
        yield from _listed((*where, "approvers"), room, people, peers, also=("owner",))
        yield from _listed((*where, "humans"), room, people, peers)
        yield from _listed((*where, "peers"), room, peers, people)


def _listed(
    where: Where,
    room: Mapping[str, object],
    known: Collection[str],
    wrong: Collection[str],
    *,
    also: Collection[str] = (),
) -> Iterator[Mistake]:
    """Names in a room's list must stand in `known`; those of `wrong` are of the other kind."""
    key = str(where[-1])
    seen: set[str] = set()
    for at, name in enumerate(_list(room.get(key))):
        if not isinstance(name, str):
            continue
        here = (*where, at)
        if name in seen:
            yield Mistake(here, f"{quoted(name)} stands here twice")
        elif name in wrong and key == "peers":
            yield Mistake(here, f"{quoted(name)} is a person; people stand in humans")
        elif name in wrong:
            words = "bots never approve; name people" if key == "approvers" else "bots stand in peers"
            yield Mistake(here, f"{quoted(name)} is a bot; {words}")
        elif name == "owner" and not also:
            yield Mistake(here, "the owner belongs to every room; take this out")
        elif name not in known and name not in also:
            yield Mistake(here, _nobody(name, "peers" if key == "peers" else "people", [*known, *also]))
        seen.add(name)


def _nobody(name: str, section: str, known: Collection[str]) -> str:
    close = get_close_matches(name[:64], [one[:64] for one in known][:1_000], 1)
    if close:
        return f"{quoted(name)} is not in {section}; did you mean {quoted(close[0])}?"
    return f"{quoted(name)} is not in {section}; add it there, or take it out here"


def _ids(
    whole: Mapping[str, object], people: Mapping[str, object], peers: Mapping[str, object]
) -> Iterator[Mistake]:
    """An id stands for one only, or nobody could say who wrote."""
    seen: dict[tuple[str, str], str] = {}
    owner = _object(whole.get("owner"))
    discord = owner.get("discord")
    if isinstance(discord, str) and re.fullmatch("[0-9]{1,20}", discord) is None:
        words = 'is not a Discord id: digits in quotes, like "100000000000000001"'
        yield Mistake(("owner", "discord"), f"{quoted(discord)} {words}")
    everyone = [(("owner",), owner)]
    everyone += [(("people", name), _object(one)) for name, one in people.items()]
    everyone += [(("peers", name), _object(one)) for name, one in peers.items()]
    for where, ids in everyone:
        for surface in SURFACES:
            given = ids.get(surface)
            if not isinstance(given, str):
                continue
            first = seen.setdefault((surface, given), path_text(where))
            if first != path_text(where):
                yield Mistake((*where, surface), f"{quoted(given)} is the id of {first} already")


def _watches(whole: Mapping[str, object], now_ms: int, zone: tzinfo, said: list[str]) -> Iterator[Mistake]:
    """Read each declared watch as `!watch` would. A moment that has passed is no mistake: else no relay would start."""
    for room_id, room in _object(whole.get("rooms")).items():
        taken: set[str] = set()
        for at, value in enumerate(_list(_object(room).get("watches"))):
            where = ("rooms", room_id, "watches", at)
            if not isinstance(value, dict):
                continue
            fields = cast("dict[str, object]", value)
            if fields.get("name") is None:
                yield Mistake(where, 'needs a name, like "name": "notes"; by it the watch is known')
                continue
            try:
                spec, passed = _read_watch(fields, now_ms, zone)
            except SpecError as error:
                inner = (*where, error.option) if error.option in fields else where
                yield Mistake(inner, str(error))
                continue
            if spec.name != fields["name"]:
                # Others know the watch by the text that stands here, so both must be the same letters.
                yield Mistake(
                    (*where, "name"),
                    "is written with combining characters; type it again, or choose plain ones",
                )
            elif spec.name in taken:
                yield Mistake((*where, "name"), f"{quoted(spec.name)} is the name of a watch above already")
            taken.add(spec.name)
            if passed:
                said.append(
                    f"{path_text(where)}: the moment of {quoted(spec.name)} has passed; it isn't armed anew."
                )


def _read_watch(fields: Mapping[str, object], now_ms: int, zone: tzinfo) -> tuple[WatchSpec, bool]:
    """The watch, and whether its moment has passed already."""
    try:
        return from_fields(fields, now_ms=now_ms, zone=zone), False
    except SpecError as error:
        if error.option != "at":
            raise
        # A spec knows only moments within a year ahead, so go back year by year until the moment lies ahead.
        for years in range(1, YEARS_BACK):
            try:
                return from_fields(fields, now_ms=now_ms - years * YEAR_MS, zone=zone), True
            except SpecError:
                continue
        raise


def _bounds(access: Access) -> Iterator[Mistake]:
    limits = access.limits
    if limits.turn_total < limits.turn_silence:
        yield Mistake(("limits", "turn_total"), "must not be shorter than turn_silence")
    declared = sum(len(room.watches) for room in access.rooms.values())
    if declared > limits.watches:
        words = f"the rooms declare {declared} watches, and {limits.watches} is the most; raise it, or take some out"
        yield Mistake(("limits", "watches"), words)

"""Application commands: set as a whole or one by one, at most 200 new ones a day."""

from __future__ import annotations

import re

from fakes.discord.errors import ApiError, wrong_form
from fakes.discord.model import App, Json
from fakes.discord.world import World

_NAME = re.compile(r"^[-_'\w]{1,32}$")


def known(app: App, guild_id: int | None) -> dict[int, Json]:
    """The commands of a guild, or (None) those of everywhere."""
    return app.commands.setdefault(guild_id, {})


def overwrite(world: World, app: App, guild_id: int | None, wanted: list[Json]) -> list[Json]:
    """The whole set at once: those left out are gone. Refused as a whole (30034, 50035), the old set stays."""
    if len(wanted) > 110:
        raise wrong_form("commands", "BASE_TYPE_BAD_LENGTH", "Too many commands")
    old = {(one["name"], one["type"]): one for one in known(app, guild_id).values()}
    for index, one in enumerate(wanted):
        _check(one, str(index))
    keys = [(one["name"], one.get("type", 1)) for one in wanted]
    if len(set(keys)) != len(keys):
        raise wrong_form("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Each name once")
    _count(world, app, sum(key not in old for key in keys))
    made = [_made(world, app, guild_id, one, old.get(key)) for key, one in zip(keys, wanted, strict=True)]
    app.commands[guild_id] = {int(one["id"]): one for one in made}
    return made


def create(world: World, app: App, guild_id: int | None, wanted: Json) -> tuple[Json, bool]:
    """One command; (it, whether it is new). The same name again replaces it."""
    _check(wanted, "")
    key = (wanted["name"], wanted.get("type", 1))
    old = next((one for one in known(app, guild_id).values() if (one["name"], one["type"]) == key), None)
    if old is None:
        _count(world, app, 1)
    made = _made(world, app, guild_id, wanted, old)
    known(app, guild_id)[int(made["id"])] = made
    return made, old is None


def delete(app: App, guild_id: int | None, command_id: int) -> None:
    if known(app, guild_id).pop(command_id, None) is None:
        raise ApiError(10063)


def named(app: App, guild_id: int | None, name: str) -> Json | None:
    """The slash command that a person gets who types this name."""
    everywhere = [*known(app, guild_id).values(), *known(app, None).values()]
    return next((one for one in everywhere if one["name"] == name and one["type"] == 1), None)


def _count(world: World, app: App, new: int) -> None:
    now = world.clock.now()
    app.creations = [when for when in app.creations if now - when < 86_400]
    if len(app.creations) + new > world.rules.creations_a_day:
        oldest = app.creations[0] if app.creations else now
        wait = round(86_400 - (now - oldest), 3)
        raise ApiError(30034, retry_after=wait, **{"global": False})
    app.creations += [now] * new


def _check(one: Json, path: str) -> None:
    start = f"{path}." if path else ""
    name = one.get("name") or ""
    if not _NAME.match(name) or (one.get("type", 1) == 1 and name != name.lower()):
        raise wrong_form(f"{start}name", "APPLICATION_COMMAND_INVALID_NAME", "1 to 32 letters, in lower case")
    if one.get("type", 1) == 1 and not 1 <= len(one.get("description") or "") <= 100:
        raise wrong_form(f"{start}description", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters")
    if len(one.get("options") or []) > 25:
        raise wrong_form(f"{start}options", "BASE_TYPE_BAD_LENGTH", "At most 25 options")
    for index, option in enumerate(one.get("options") or []):
        _check({**option, "type": 1}, f"{start}options.{index}")


def _made(world: World, app: App, guild_id: int | None, one: Json, old: Json | None) -> Json:
    made: Json = {
        "id": old["id"] if old else str(world.ids.next()),
        "application_id": str(app.id),
        "version": str(world.ids.next()),
        "type": one.get("type", 1),
        "name": one["name"],
        "name_localizations": one.get("name_localizations"),
        "description": one.get("description") or "",
        "description_localizations": one.get("description_localizations"),
        "default_member_permissions": one.get("default_member_permissions"),
        "dm_permission": one.get("dm_permission", True),
        "nsfw": one.get("nsfw", False),
        "integration_types": one.get("integration_types") or [0],
        "contexts": one.get("contexts"),
    }
    if one.get("options"):
        made["options"] = one["options"]
    if guild_id is not None:
        made["guild_id"] = str(guild_id)
    return made

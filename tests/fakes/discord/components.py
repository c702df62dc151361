"""What Discord refuses about buttons, menus and forms. Pure; raises 50035 with the path of the wrong field."""

from __future__ import annotations

from collections.abc import Iterator

from fakes.discord.errors import wrong_form
from fakes.discord.model import Json

ROW, BUTTON, LINK_STYLE = 1, 2, 5
SELECTS = frozenset({3, 5, 6, 7, 8})


def check(rows: list[Json]) -> None:
    if len(rows) > 40:
        raise wrong_form("components", "BASE_TYPE_BAD_LENGTH", "Too many components")
    if sum(row.get("type") == ROW for row in rows) > 5 and all(row.get("type") == ROW for row in rows):
        raise wrong_form("components", "BASE_TYPE_BAD_LENGTH", "At most 5 rows")
    seen = set[str]()
    for path, one in walk(rows, "components"):
        kind = one.get("type")
        if kind == ROW and not 1 <= len(one.get("components", [])) <= 5:
            raise wrong_form(f"{path}.components", "BASE_TYPE_BAD_LENGTH", "A row holds 1 to 5 components")
        if kind == BUTTON:
            if len(one.get("label") or "") > 80:
                raise wrong_form(f"{path}.label", "BASE_TYPE_MAX_LENGTH", "At most 80 characters")
            if one.get("style") != LINK_STYLE and not one.get("custom_id"):
                raise wrong_form(f"{path}.custom_id", "BASE_TYPE_REQUIRED", "A button needs a custom id")
            if not one.get("label") and not one.get("emoji"):
                raise wrong_form(path, "BUTTON_COMPONENT_INVALID", "A button needs a label or an emoji")
        if kind in SELECTS and len(one.get("options") or []) > 25:
            raise wrong_form(f"{path}.options", "BASE_TYPE_BAD_LENGTH", "At most 25 choices")
        custom = one.get("custom_id")
        if custom is None:
            continue
        if not 1 <= len(custom) <= 100:
            raise wrong_form(f"{path}.custom_id", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters")
        if custom in seen:
            raise wrong_form(f"{path}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Each custom id once")
        seen.add(custom)


def walk(rows: list[Json], path: str = "components") -> Iterator[tuple[str, Json]]:
    """Every component with its dotted path, outer before inner."""
    for index, one in enumerate(rows):
        here = f"{path}.{index}"
        yield here, one
        inner = one.get("components")
        if isinstance(inner, list):
            yield from walk(inner, f"{here}.components")
        if isinstance(accessory := one.get("accessory"), dict):
            yield f"{here}.accessory", accessory


def numbered(rows: list[Json]) -> list[Json]:
    """The rows with a number on every component, as Discord gives them back."""
    for number, (_, one) in enumerate(walk(rows), start=1):
        one.setdefault("id", number)
    return rows


def clickable(rows: list[Json], custom_id: str) -> Json | None:
    """The enabled component with this custom id."""
    for _, one in walk(rows):
        if one.get("custom_id") == custom_id and not one.get("disabled"):
            return one
    return None


def labelled(rows: list[Json], label: str) -> Json | None:
    """The enabled button with this label."""
    for _, one in walk(rows):
        if one.get("label") == label and one.get("custom_id") and not one.get("disabled"):
            return one
    return None


def labels(rows: list[Json]) -> list[str]:
    """What a person reads on everything that can be pressed now."""
    found: list[str] = []
    for _, one in walk(rows):
        if one.get("type") == BUTTON and not one.get("disabled"):
            found.append(one.get("label") or (one.get("emoji") or {}).get("name") or "")
        elif one.get("type") in SELECTS and not one.get("disabled"):
            found += [str(option["label"]) for option in one.get("options") or []]
    return found


def filled(rows: list[Json], fields: dict[str, str]) -> list[Json]:
    """A form's rows as they are sent: with what the person wrote, by the fields' custom ids."""
    found: list[Json] = []
    for one in rows:
        row = {key: value for key, value in one.items() if key in ("type", "id", "custom_id")}
        if one.get("custom_id"):
            row["value"] = fields.get(one["custom_id"], one.get("value") or "")
        if isinstance(one.get("components"), list):
            row["components"] = filled(one["components"], fields)
        if isinstance(one.get("component"), dict):
            row["component"] = filled([one["component"]], fields)[0]
        found.append(row)
    return found

"""A card's buttons, which go on working after a restart: all that a click needs stands in the button's own id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.surfaces.surface import Choice

_HEAD = "relay"
_LONGEST_ID = 100
_LONGEST_LABEL = 80
_A_ROW = 5
_ROWS = 5
_STYLES = {"allow": 3, "deny": 4}
_PLAIN = 2


def button_id(card: str, value: str) -> str:
    return f"{_HEAD}:{card}:{value}"


def meant(custom_id: str) -> tuple[str, str] | None:
    """The card and the value of a button of ours, or None."""
    head, _, rest = custom_id.partition(":")
    card, _, value = rest.partition(":")
    return (card, value) if head == _HEAD and card and value else None


def rows(card: str, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """The buttons as Discord takes them. A choice whose id would be too long can't be offered and is left out."""
    buttons = [
        {
            "type": 2,
            "style": _STYLES.get(choice.value, _PLAIN),
            "label": choice.label[:_LONGEST_LABEL],
            "custom_id": button_id(card, choice.value),
        }
        for choice in choices
        if len(button_id(card, choice.value)) <= _LONGEST_ID
    ][: _A_ROW * _ROWS]
    return [
        {"type": 1, "components": buttons[start : start + _A_ROW]} for start in range(0, len(buttons), _A_ROW)
    ]

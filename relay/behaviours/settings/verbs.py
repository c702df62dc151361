"""The verb of settings."""

from __future__ import annotations

from typing import ClassVar, Literal

from relay.ledger.interaction import Payload


class SettingChosen(Payload):
    """A choice for the scope of the interaction: a thread or room; for `paused` a room, or none for every room; for
    `budget`, which bounds no longer hold until that time (UTC ms), a room."""

    VERB: ClassVar[str] = "setting.chosen"
    name: Literal["busy", "paused", "budget"]
    value: str
    by: str

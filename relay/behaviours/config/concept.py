"""The configuration as rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from relay.behaviours.config.verbs import ConfigLoaded, RoomRules
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class ConfiguredState:
    boot: str = ""
    loaded: ConfigLoaded | None = None


class Configured(Concept[ConfiguredState]):
    """What access.json said last. Keeps one load: every earlier one is forgotten when the next comes."""

    NAME = "configured"
    State = ConfiguredState

    @on(ConfigLoaded)
    def load_config(self, i: Interaction, p: ConfigLoaded) -> None:
        self.state.boot = p.boot
        self.state.loaded = p

    @property
    def loaded(self) -> ConfigLoaded | None:
        return self.state.loaded

    def room(self, room: str) -> RoomRules | None:
        """The rules of a room, or None when access.json does not name it any more."""
        return self.state.loaded.rooms.get(room) if self.state.loaded else None

    @property
    def zone(self) -> ZoneInfo:
        """The machine's time zone; UTC before the first load, or when the name is unknown here."""
        try:
            return ZoneInfo(self.state.loaded.zone if self.state.loaded else "UTC")
        except (ZoneInfoNotFoundError, ValueError):
            return ZoneInfo("UTC")

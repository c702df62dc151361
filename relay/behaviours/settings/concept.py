"""What was chosen for a scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from relay.behaviours.config.verbs import Busy
from relay.behaviours.settings.verbs import SettingChosen
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class SettingsState:
    scopes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])


class Settings(Concept[SettingsState]):
    """The last value of each setting of a scope; earlier ones are forgotten. Grows with the number of scopes that ever
    chose something."""

    NAME = "settings"
    State = SettingsState

    @on(SettingChosen)
    def chosen(self, i: Interaction, p: SettingChosen) -> None:
        if p.name == "busy":  # of the others those whom they concern keep account
            self.state.scopes.setdefault(i.scope, {})[p.name] = p.value

    def busy(self, scope: str, default: Busy) -> Busy:
        """What a message does that comes while a turn runs."""
        return cast("Busy", self.state.scopes.get(scope, {}).get("busy", default))

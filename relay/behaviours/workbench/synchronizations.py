"""A click on a workbench's button takes the watch off that it names."""

from __future__ import annotations

from collections.abc import Iterable

from relay.behaviours.intake.verbs import ChannelChosen
from relay.behaviours.watches.concept import Watches
from relay.behaviours.watches.verbs import WatchDisarmed
from relay.behaviours.workbench.concept import Workbenches
from relay.behaviours.workbench.rendering import cancels
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(ChannelChosen)
def cancel_by_click(i: Interaction, p: ChannelChosen, view: View) -> Iterable[Draft]:
    """The owner's, as `!unwatch` is. One that is off already, or was replaced since, stays as it is."""
    shown = view.of(Workbenches).state.shown.get(i.scope)
    if shown is None or shown.card != p.card or i.role != "owner":
        return
    for armed in view.of(Watches).of_scope(i.scope):
        if cancels(armed.armed) == p.choice:
            yield Draft.of(
                WatchDisarmed(
                    armed=armed.armed, name=armed.spec.name, reason="asked", by=p.name, path=armed.spec.path
                ),
                armed.armed,
                actor=f"by:{p.name}",
                scope=armed.scope,
                caused_by=[i.id],
            )

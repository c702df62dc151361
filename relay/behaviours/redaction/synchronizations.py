"""What follows when texts are taken out of the record: a message that still waits for a turn gets none."""

from __future__ import annotations

from collections.abc import Iterable

from relay.behaviours.redaction.verbs import InteractionRedacted
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import TurnWithdrawn
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(InteractionRedacted)
def withdraw_when_redacted(i: Interaction, p: InteractionRedacted, view: View) -> Iterable[Draft]:
    gone = set(p.rows)
    turns = view.of(Turns)
    for scope in [*turns.state.startable, *turns.state.running]:
        for waiting in turns.lane(scope).waiting:
            if set(waiting.sources) <= gone:
                yield Draft.of(
                    TurnWithdrawn(
                        prompt=waiting.prompt, why="deleted", by=p.by, message=waiting.origin.message
                    ),
                    waiting.prompt,
                    actor="rule:withdraw-when-redacted",
                    scope=scope,
                    caused_by=[i.id],
                )

"""At the cap on turns that bots start, people are told once."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.intake.verbs import IntakeTurnedAway
from relay.behaviours.loop_guard.concept import KEEPER, LoopGuard
from relay.behaviours.posting.verbs import notice
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(IntakeTurnedAway)
def tell_loop(i: Interaction, p: IntakeTurnedAway, view: View) -> Iterable[Draft]:
    """It replies to nobody: a bot might take that for the next question."""
    if p.keeper == KEEPER and view.of(LoopGuard).tells(i.scope, i.id):
        yield notice(i, texts.bots_capped(p.most), label="tell-loop")

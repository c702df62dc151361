"""Who writes too much is told once, with what to do."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts
from relay.behaviours.intake.verbs import IntakeTurnedAway
from relay.behaviours.posting.verbs import notice
from relay.behaviours.rate_cap.concept import KEEPER, RateCap
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(IntakeTurnedAway)
def tell_rate(i: Interaction, p: IntakeTurnedAway, view: View) -> Iterable[Draft]:
    """Once a minute for each person: which message was the first that wasn't taken, and when to send it again."""
    if p.keeper != KEEPER or not view.of(RateCap).tells(p.room, f"{p.surface}:{p.author}", i.id):
        return
    wait_ms = max(1_000, (p.until or p.sent_at) - p.sent_at)
    # A bot might take a reply for a question.
    reply_to = p.message if i.role == "human" else None
    yield notice(i, texts.rate_capped(p.name, p.most, wait_ms), label="tell-rate", reply_to=reply_to)

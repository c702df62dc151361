"""Which redactions are not completed, and how far the old texts were looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.redaction.verbs import InteractionRedacted, InteractionScrubbed
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class RedactionsState:
    open: dict[str, int] = field(default_factory=dict[str, int])
    """redaction whose texts may still stand somewhere → its seq, in their order."""
    swept: int = 0
    """Up to that seq there is no text that was too old when it was looked at last."""


class Redactions(Concept[RedactionsState]):
    """See the module. A redaction is forgotten when it is completed."""

    NAME = "redactions"
    State = RedactionsState

    @on(InteractionRedacted)
    def redacted(self, i: Interaction, p: InteractionRedacted) -> None:
        if p.rows or p.messages:
            self.state.open[i.id] = i.seq
        self.state.swept = max(self.state.swept, p.through)

    @on(InteractionScrubbed)
    def scrubbed(self, i: Interaction, p: InteractionScrubbed) -> None:
        last = self.state.open.get(p.redacted)
        if last is not None:
            self.state.open = {id: seq for id, seq in self.state.open.items() if seq > last}

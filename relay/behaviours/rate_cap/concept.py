"""What each person addressed to the agent in a room within the last minute."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.intake.door import Asking, Away
from relay.behaviours.intake.verbs import ChannelMessage, IntakeTurnedAway
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

KEEPER = "rate_cap"
WINDOW_MS = 60_000
MOST_KEPT = 600
"""No limit that access.json can name needs more."""


@dataclass(slots=True)
class Sender:
    """One person in one room. `sent` is when the messages were sent that were taken in, oldest first."""

    sent: list[int] = field(default_factory=list[int])
    told: str = ""
    """The message turned away last of which the sender is told."""
    told_at: int = 0


@dataclass(slots=True)
class RateState:
    senders: dict[str, Sender] = field(default_factory=dict[str, Sender])
    """room and person → what they sent; whoever wrote last stands last."""


class RateCap(Concept[RateState]):
    """See the module. It goes by when a message was sent, so what is caught up after a time offline isn't taken for a
    flood. Forgets a message a minute after it, as later ones come: it holds who wrote within the last minutes."""

    NAME = "rate_cap"
    State = RateState

    @on(ChannelMessage)
    def taken_in(self, i: Interaction, p: ChannelMessage) -> None:
        if i.role == "owner":
            return
        sender = self._sender(p.room, f"{p.surface}:{p.author}", p.sent_at)
        sender.sent = sorted([*_within(sender.sent, p.sent_at), p.sent_at])[-MOST_KEPT:]

    @on(IntakeTurnedAway)
    def turned_away(self, i: Interaction, p: IntakeTurnedAway) -> None:
        if p.keeper != KEEPER:
            return
        sender = self._sender(p.room, f"{p.surface}:{p.author}", p.sent_at)
        if not sender.told or p.sent_at - sender.told_at >= WINDOW_MS:
            sender.told, sender.told_at = i.id, p.sent_at

    def _sender(self, room: str, person: str, now: int) -> Sender:
        key = f"{room} {person}"
        sender = self.state.senders.pop(key, None) or Sender()
        for other in list(self.state.senders):
            known = self.state.senders[other]
            if max(known.told_at, *known.sent, 0) > now - WINDOW_MS:
                break
            del self.state.senders[other]
        self.state.senders[key] = sender
        return sender

    def turns_away(self, asking: Asking) -> Away | None:
        """See `Doorkeeper`. The owner is never capped."""
        sender = self.state.senders.get(f"{asking.room} {asking.person}")
        most = asking.limits.messages_per_minute
        if asking.role == "owner" or sender is None:
            return None
        recent = _within(sender.sent, asking.sent_at)
        return None if len(recent) < most else Away(KEEPER, most, recent[-most] + WINDOW_MS)

    def tells(self, room: str, person: str, away: str) -> bool:
        """Whether that message turned away is the one of which its sender is told."""
        sender = self.state.senders.get(f"{room} {person}")
        return sender is not None and sender.told == away


def _within(sent: list[int], now: int) -> list[int]:
    return [at for at in sent if now - WINDOW_MS < at <= now]

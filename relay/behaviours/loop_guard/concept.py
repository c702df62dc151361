"""How many turns in a row bots have started in a scope since a person spoke there."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.intake.door import Asking, Away
from relay.behaviours.intake.verbs import ChannelMessage, IntakeTurnedAway
from relay.behaviours.turns.verbs import TurnPrompted, TurnStarted, TurnSteered, TurnWithdrawn
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

KEEPER = "loop_guard"
BOTS = ("peer", "webhook")


@dataclass(slots=True)
class Talk:
    """What bots drive in one scope."""

    turns: int = 0
    waiting: list[str] = field(default_factory=list[str])
    """Prompts of bots that may each still start a turn."""
    told: str = ""
    """The message turned away of which people are told."""


@dataclass(slots=True)
class GuardState:
    talks: dict[str, Talk] = field(default_factory=dict[str, Talk])


class LoopGuard(Concept[GuardState]):
    """See the module. A turn that a watch starts counts for nothing. A scope is forgotten when a person speaks to the
    agent there, so it holds the scopes in which bots had the last word."""

    NAME = "loop_guard"
    State = GuardState

    @on(ChannelMessage)
    def spoken(self, i: Interaction, p: ChannelMessage) -> None:
        if i.role in BOTS or p.via == "http":  # only a person lets bots go on
            return
        talk = self.state.talks.pop(i.scope, None)
        if talk is not None and talk.waiting:
            self.state.talks[i.scope] = Talk(waiting=talk.waiting)

    @on(TurnPrompted)
    def prompted(self, i: Interaction, p: TurnPrompted) -> None:
        if i.role in BOTS and p.origin.kind == "message" and p.continues is None:
            self.state.talks.setdefault(i.scope, Talk()).waiting.append(i.id)

    @on(TurnStarted)
    def started(self, i: Interaction, p: TurnStarted) -> None:
        talk = self.state.talks.get(i.scope)
        if talk is not None and any(prompt in p.takes for prompt in talk.waiting):
            talk.waiting = [prompt for prompt in talk.waiting if prompt not in p.takes]
            talk.turns += 1

    @on(TurnSteered)
    def steered(self, i: Interaction, p: TurnSteered) -> None:
        self._leaves(i.scope, p.prompt)

    @on(TurnWithdrawn)
    def withdrawn(self, i: Interaction, p: TurnWithdrawn) -> None:
        self._leaves(i.scope, p.prompt)

    @on(IntakeTurnedAway)
    def turned_away(self, i: Interaction, p: IntakeTurnedAway) -> None:
        if p.keeper == KEEPER:
            talk = self.state.talks.setdefault(i.scope, Talk())
            talk.told = talk.told or i.id

    def _leaves(self, scope: str, prompt: str) -> None:
        talk = self.state.talks.get(scope)
        if talk is not None:
            talk.waiting = [waiting for waiting in talk.waiting if waiting != prompt]

    def turns_away(self, asking: Asking) -> Away | None:
        """See `Doorkeeper`."""
        talk = self.state.talks.get(asking.scope)
        most = asking.limits.bot_turns
        if asking.role not in BOTS or talk is None or talk.turns + len(talk.waiting) < most:
            return None
        return Away(KEEPER, most)

    def tells(self, scope: str, away: str) -> bool:
        """Whether that message turned away is the one of which people are told."""
        talk = self.state.talks.get(scope)
        return talk is not None and talk.told == away

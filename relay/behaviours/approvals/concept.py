"""Which cards are open, and what was decided for the turns that still run."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.approvals.verbs import ApprovalAsked, ApprovalClosed
from relay.behaviours.turns.verbs import TurnEnded
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class OpenApproval:
    approval: str
    scope: str
    turn: str
    request: str
    digest: str
    approvers: list[str]
    asker: str
    deadline: int
    turn_over: bool = False
    """Its turn has ended: nobody waits for the decision any more."""

    def may_be_decided_by(self, person: str, role: str) -> bool:
        """`person` is `surface:person`, `role` what they are in the room."""
        return person in self.approvers or (role == "owner" and "owner" in self.approvers)


@dataclass(slots=True)
class Decision:
    outcome: str
    by: str
    reason: str
    digest: str


@dataclass(slots=True)
class ApprovalsState:
    open: dict[str, OpenApproval] = field(default_factory=dict[str, OpenApproval])
    decided: dict[str, dict[str, Decision]] = field(default_factory=dict[str, dict[str, Decision]])
    """turn → request → decision."""


class Approvals(Concept[ApprovalsState]):
    """See the module. A closed card is forgotten at once, a decision when its turn has ended; one that comes after the
    turn's end isn't kept at all, nor that nobody needs one any more."""

    NAME = "approvals"
    State = ApprovalsState

    @on(ApprovalAsked)
    def asked(self, i: Interaction, p: ApprovalAsked) -> None:
        self.state.open[i.id] = OpenApproval(
            i.id, i.scope, p.turn, p.request, p.digest, list(p.approvers), p.asker, p.deadline
        )

    @on(ApprovalClosed)
    def closed(self, i: Interaction, p: ApprovalClosed) -> None:
        approval = self.state.open.pop(p.approval, None)
        if p.outcome != "withdrawn" and (approval is None or not approval.turn_over):
            decision = Decision(p.outcome, p.by, p.reason, p.digest)
            self.state.decided.setdefault(p.turn, {})[p.request] = decision

    @on(TurnEnded)
    def turn_ended(self, i: Interaction, p: TurnEnded) -> None:
        self.state.decided.pop(p.turn, None)
        for approval in self.of_turn(p.turn):
            approval.turn_over = True

    def of_turn(self, turn: str) -> list[OpenApproval]:
        return [a for a in self.state.open.values() if a.turn == turn]

    def decision(self, turn: str, request: str) -> Decision | None:
        return self.state.decided.get(turn, {}).get(request)

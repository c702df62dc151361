"""Closes cards whose time is up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from relay import texts
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.approvals.synchronizations import closing
from relay.ledger.fold import View
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Expirer(parts)]


class Expirer:
    """An open card past its deadline is expired, which is seen on it; the agent hears it as a no."""

    name = "approvals"
    kind: Literal["short", "holding"] = "short"
    cap = 16

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def owes(self, view: View) -> Iterable[Item]:
        now = self._parts.clock.now_ms()
        for approval in list(view.of(Approvals).state.open.values()):
            if approval.deadline <= now:
                yield Item(approval.approval, approval.approval)

    def due(self, view: View) -> int | None:
        return min((a.deadline for a in view.of(Approvals).state.open.values()), default=None)

    async def act(self, item: Item, held: Held) -> None:
        approval = held.view.of(Approvals).state.open.get(item.key)
        if approval is not None:
            await held.admit(closing(approval, "expired", "relay", texts.CARD_EXPIRED, item.key, "relay"))

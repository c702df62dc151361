"""`!status`, `!why` and `!help`: what is asked has to be looked up, so a reconciler answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from relay import texts
from relay.behaviours.furniture import Command
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.status.verbs import AnswerRequested
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

STATUS = Command("!status", "!status", texts.ABOUT_STATUS)
WHY = Command("!why", "!why [ID]", texts.ABOUT_WHY)
HELP = Command("!help", "!help", texts.ABOUT_HELP)


@rule(ChannelMessage)
def ask_for_answer(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    asked: dict[str, Literal["status", "why", "help"]] = {
        STATUS.word: "status",
        WHY.word: "why",
        HELP.word: "help",
    }
    what = asked.get(p.command or "")
    if what is None or p.late:
        return
    typed = p.text.split()[1:2]
    target = typed[0][:80] if typed else (f"{p.surface}:{p.reply_to}" if p.reply_to else None)
    yield Draft.of(
        AnswerRequested(what=what, target=target, reply_to=p.message),
        i.id,
        actor="rule:ask-for-answer",
        role=i.role,
        scope=i.scope,
        caused_by=[i.id],
    )

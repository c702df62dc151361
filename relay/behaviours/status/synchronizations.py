"""`!status`, `!why` and `!help`: what is asked has to be looked up, so a reconciler answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option, Suggestion
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.status.verbs import AnswerRequested
from relay.behaviours.turns.concept import Turns
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


def turns_here(view: View, scope: str) -> Iterable[Suggestion]:
    """The turn that runs, the one that ended last, and what waits."""
    lane = view.of(Turns).lane(scope)
    if lane.running is not None:
        yield _turn(
            lane.running.turn, texts_for_commands.TURN_THAT_RUNS, (o.name for o in lane.running.origins)
        )
    if lane.last is not None:
        yield _turn(lane.last.turn, texts_for_commands.TURN_THAT_ENDED, (o.name for o in lane.last.origins))
    for waiting in lane.waiting:
        yield _turn(waiting.prompt, texts_for_commands.PROMPT_THAT_WAITS, [waiting.origin.name])


def _turn(id: str, what: str, who: Iterable[str]) -> Suggestion:
    return Suggestion(id[:12], texts_for_commands.id_offered(id[:12], what, who))


STATUS = Command("!status", "!status", texts.ABOUT_STATUS)
WHY = Command(
    "!why",
    "!why [ID]",
    texts.ABOUT_WHY,
    options=(Option("id", texts_for_commands.OPTION_ID, suggests=turns_here),),
)
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

"""Answers that are still to be looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.posting.verbs import PostRequested
from relay.behaviours.status.verbs import AnswerRequested
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class Question:
    asked: str
    scope: str
    what: str
    target: str | None
    reply_to: str | None


@dataclass(slots=True)
class QuestionsState:
    open: dict[str, Question] = field(default_factory=dict[str, Question])


class Questions(Concept[QuestionsState]):
    """A question is forgotten when its answer is asked to be posted."""

    NAME = "questions"
    State = QuestionsState

    @on(AnswerRequested)
    def asked(self, i: Interaction, p: AnswerRequested) -> None:
        self.state.open[i.id] = Question(i.id, i.scope, p.what, p.target, p.reply_to)

    @on(PostRequested)
    def answered(self, i: Interaction, p: PostRequested) -> None:
        if self.state.open:
            for cause in i.caused_by:
                self.state.open.pop(cause, None)

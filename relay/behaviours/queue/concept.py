"""Queues that are still to be shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.posting.verbs import PostRequested
from relay.behaviours.queue.verbs import QueueAsked
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class Asked:
    asked: str
    scope: str
    reply_to: str


@dataclass(slots=True)
class QueueQuestionsState:
    open: dict[str, Asked] = field(default_factory=dict[str, Asked])


class QueueQuestions(Concept[QueueQuestionsState]):
    """A question is forgotten when its answer is asked to be posted."""

    NAME = "queue_questions"
    State = QueueQuestionsState

    @on(QueueAsked)
    def asked(self, i: Interaction, p: QueueAsked) -> None:
        self.state.open[i.id] = Asked(i.id, i.scope, p.reply_to)

    @on(PostRequested)
    def answered(self, i: Interaction, p: PostRequested) -> None:
        if self.state.open:
            for cause in i.caused_by:
                self.state.open.pop(cause, None)

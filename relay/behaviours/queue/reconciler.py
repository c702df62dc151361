"""Answers `!queue`: the words of what waits stand in the ledger, not in a fold, so they are looked up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from relay import texts, texts_for_agents
from relay.behaviours.config.concept import Configured
from relay.behaviours.posting.notices import notices
from relay.behaviours.queue.concept import QueueQuestions
from relay.behaviours.turns.concept import Turns
from relay.ledger.fold import View
from relay.ledger.interaction import Interaction
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts

MOST_SHOWN = 50


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [QueueAnswerer(parts)]


class QueueAnswerer:
    """See the module."""

    name = "queue"
    kind: Literal["short", "holding"] = "short"
    cap = 4

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def owes(self, view: View) -> Iterable[Item]:
        for question in list(view.of(QueueQuestions).state.open.values()):
            yield Item(question.asked, question.asked)

    def due(self, view: View) -> int | None:
        return None

    async def act(self, item: Item, held: Held) -> None:
        question = held.view.of(QueueQuestions).state.open.get(item.key)
        if question is None:
            return
        text, shown = await self._told(question.scope, held)
        await held.admit(
            *notices(
                item.key,
                question.scope,
                text,
                held.view,
                label="queue",
                by="relay",
                reply_to=question.reply_to,
                shows=shown,
            )
        )

    async def _told(self, scope: str, held: Held) -> tuple[str, list[str]]:
        """The text, and whose words it repeats."""
        turns = held.view.of(Turns)
        lane = turns.lane(scope)
        waiting = lane.waiting[:MOST_SHOWN]
        known = await held.engine.store.by_ids(dict.fromkeys(w.sources[0] for w in waiting))
        zone = held.view.of(Configured).zone
        lines: list[str] = []
        for each in waiting:
            source = known.get(each.sources[0])
            if source is not None and source.id in each.revisions:
                source = (await held.engine.store.by_outside(f"edits:{source.id}") or [source])[-1]
            words = _words(source) if source is not None else texts_for_agents.PROMPT_GONE
            since = datetime.fromtimestamp(each.at / 1000, UTC).astimezone(zone)
            who = texts.asker(each.origin.name, each.origin.kind == "watch")
            lines.append(texts.queue_line(each.number, who, words, f"{since:%H:%M:%S}"))
        text = texts.queue_shown(lines, len(lane.waiting) - len(waiting)) if lines else texts.NOTHING_WAITS
        pause = turns.pause_of(lane.room)
        if pause is not None:
            since_ms = self._parts.clock.now_ms() - pause.at
            text += "\n" + texts.paused_line(pause.by, texts.span(since_ms), "" in turns.state.paused)
        return text, list(known)


def _words(source: Interaction) -> str:
    """What somebody said, or why a watch fired."""
    body = source.body
    return str(body.get("why") or body.get("text") or texts_for_agents.PROMPT_REDACTED)

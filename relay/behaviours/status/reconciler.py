"""Answers `!status`, `!why` and `!help`: what has to be looked up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from relay import texts
from relay.behaviours.config.concept import Configured
from relay.behaviours.posting.notices import notices
from relay.behaviours.status.concept import Question, Questions
from relay.behaviours.status.telling import tell
from relay.ledger.chain import chain_of
from relay.ledger.fold import View
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts

MOST_TOLD = 16_000


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Answerer(parts)]


class Answerer:
    """See the module."""

    name = "status"
    kind: Literal["short", "holding"] = "short"
    cap = 4

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def owes(self, view: View) -> Iterable[Item]:
        for question in list(view.of(Questions).state.open.values()):
            yield Item(question.asked, question.asked)

    def due(self, view: View) -> int | None:
        return None

    async def act(self, item: Item, held: Held) -> None:
        question = held.view.of(Questions).state.open.get(item.key)
        if question is None:
            return
        shown: list[str] = []
        if question.what == "help":
            text = texts.help_text((c.usage, c.about) for c in self._parts.commands)
        elif question.what == "why":
            text, shown = await self._why(question, held)
        else:
            text = self._status(question, held.view)
        await held.admit(
            *notices(
                item.key,
                question.scope,
                text[:MOST_TOLD],
                held.view,
                label="answer",
                by="relay",
                reply_to=question.reply_to,
                shows=shown,
            )
        )

    async def _why(self, question: Question, held: Held) -> tuple[str, list[str]]:
        """The answer, and whose words it repeats."""
        if question.target is None:
            return texts.WHY_USAGE, []
        links = await chain_of(held.engine.store, question.target, self._parts.surfaces.by_name)
        if not links:
            return texts.WHY_UNKNOWN, []
        zone = held.view.of(Configured).zone
        lines: list[str] = []
        for link in links:
            i = link.interaction
            at = datetime.fromtimestamp(i.at / 1000, UTC).astimezone(zone)
            lines.append(f"{'  ' * min(link.depth, 8)}- `{i.id[:8]}` {at:%H:%M:%S} **{i.verb}** {tell(i)}")
        return "\n".join(lines), [link.interaction.id for link in links]

    def _status(self, question: Question, view: View) -> str:
        now = self._parts.clock.now_ms()
        lines = [line for concept in view.all() for line in concept.told(question.scope, now)]
        lines += [texts.trouble(name, why) for name, why in self._parts.trouble().items()]
        return "\n".join(lines)

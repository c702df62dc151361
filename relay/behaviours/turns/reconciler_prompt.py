"""Makes the prompt of a turn: the texts of what it takes, read from the ledger, framed by perception."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import texts
from relay.behaviours.turns.concept import Waiting
from relay.ledger.interaction import Interaction
from relay.parts import Parts
from relay.perception.framing import Part, frame

MOST_BODY = 400_000
"""Characters of one body; what is longer is cut, and that is said in the header."""


class Prompts:
    """Prompts of one turn: all share its nonce."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._nonce = parts.entropy(8).hex()

    async def for_turn(self, scope: str, taken: Sequence[Waiting]) -> tuple[str, str]:
        """The framed prompt of a turn that takes those, and its nonce."""
        parts: list[Part] = []
        ids = [source for waiting in taken for source in waiting.sources]
        known = await self._parts.engine.store.by_ids(dict.fromkeys(ids))
        for waiting in taken:
            if waiting.continues is not None:
                now = self._parts.clock.now_ms()
                parts.append(
                    Part(
                        "continuation", "relay", "system", waiting.continues[:12], now, texts.PROMPT_CONTINUES
                    )
                )
            parts += [await self._part(known[s], waiting.role) for s in waiting.sources if s in known]
        if not parts:
            now = self._parts.clock.now_ms()
            parts.append(Part("notice", "relay", "system", "", now, texts.PROMPT_GONE))
        return frame(parts, nonce=self._nonce, scope=scope), self._nonce

    async def for_steering(self, scope: str, waiting: Waiting) -> str:
        """The framed message that goes into the running turn."""
        known = await self._parts.engine.store.by_ids(waiting.sources)
        parts = [await self._part(known[s], waiting.role, steer=True) for s in waiting.sources if s in known]
        if not parts:
            parts = [Part("notice", "relay", "system", "", waiting.at, texts.PROMPT_GONE)]
        return frame(parts, nonce=self._nonce, scope=scope)

    async def _part(self, source: Interaction, role: str, *, steer: bool = False) -> Part:
        body = source.body
        text, facts = await self._text(body)
        if source.verb == "watch.fired":
            facts += [("why", str(body.get("why", ""))), ("changes", str(body.get("count", 1)))]
            if body.get("dropped"):
                facts.append(("dropped", str(body["dropped"])))
            name = str(body.get("name", ""))
            return Part("fire", name, "watch", name, source.at, text, tuple(facts))
        return Part(
            "steer" if steer else "message",
            str(body.get("name", "")),
            source.role or role,
            str(body.get("message", "")),
            int(body.get("sent_at", source.at)),
            text,
            tuple(facts),
        )

    async def _text(self, body: Any) -> tuple[str, list[tuple[str, str]]]:
        text = str(body.get("text", texts.PROMPT_REDACTED))
        facts: list[tuple[str, str]] = []
        if body.get("blob"):
            data = await self._parts.blobs.get(str(body["blob"]))
            if data is None:
                facts.append(("cut", texts.PROMPT_REST_MISSING))
            else:
                text = data.decode(errors="replace")
        if len(text) > MOST_BODY:
            facts.append(("cut", texts.prompt_cut(len(text) - MOST_BODY)))
            text = text[:MOST_BODY]
        if body.get("late"):
            facts.append(("late", texts.PROMPT_LATE))
        return text, facts

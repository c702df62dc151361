"""Makes the prompt of a turn: the texts of what it takes, read from the ledger, framed by perception.

What belongs to them comes along: the message that one replies to, what it forwards or quotes, and what was said above
it in the place and not to the agent. That is read from the surface; where it doesn't answer in time the turn starts
without.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio

from relay import texts_for_agents as told
from relay.behaviours.places.concept import Places
from relay.behaviours.turns.concept import Turns, Waiting
from relay.behaviours.turns.reconciler_prompt_files import files_of
from relay.errors import SurfaceError
from relay.ledger.interaction import Interaction
from relay.parts import Parts
from relay.perception.framing import Part, frame
from relay.surfaces.surface import MessageEvent, Surface

MOST_BODY = 400_000
"""Characters of one body; what is longer is cut, and that is said in the header."""
MOST_ABOVE = 30
"""Messages from above that a turn is given."""
MOST_ABOVE_BODY = 2_000
"""Characters of one of them, and of a message that is replied to."""
MOST_ABOVE_WHOLE = 20_000
"""Characters of all of them: the newest count."""
SURFACE_LIMIT_S = 5.0

_T = TypeVar("_T")
log = logging.getLogger("relay.turns")


@dataclass(slots=True)
class Prompt:
    """A framed prompt, and what went into it. `seen` is the position up to which the place was looked at."""

    text: str = ""
    nonce: str = ""
    revisions: dict[str, int] = field(default_factory=dict[str, int])
    quotes: list[str] = field(default_factory=list[str])
    """The messages that it repeats without taking them: `web:m17`."""
    above: int = 0
    seen: int = 0
    gone: frozenset[str] = frozenset()
    """Those of its sources that were deleted: they are left out, unless the turn goes on with them."""

    def misses(self, waiting: Waiting) -> bool:
        """Whether the prompt was made before the last change of what it takes."""
        stale = any(revision > self.revisions.get(s, 0) for s, revision in waiting.revisions.items())
        return stale or not self.gone.issuperset(waiting.gone)


class Prompts:
    """Prompts of one turn: all share its nonce."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._nonce = parts.entropy(8).hex()
        self._revisions: dict[str, int] = {}
        self._gone: set[str] = set()
        self._quotes: dict[str, None] = {}

    async def for_turn(self, scope: str, taken: Sequence[Waiting]) -> Prompt:
        """The framed prompt of a turn that takes those."""
        ids = [source for waiting in taken for source in waiting.sources]
        known = await self._parts.engine.store.by_ids(dict.fromkeys(ids))
        parts, seen = await self._above(scope, [known[s] for s in ids if s in known])
        above = len(parts)
        for waiting in taken:
            if waiting.continues is not None:
                now = self._parts.clock.now_ms()
                parts.append(
                    Part(
                        "continuation",
                        "relay",
                        "system",
                        waiting.continues[:12],
                        now,
                        told.PROMPT_CONTINUES,
                    )
                )
            for source in waiting.sources:
                if source in known:
                    given = waiting.continues is not None
                    parts += await self._of_source(known[source], waiting.role, given=given)
        if len(parts) == above:
            now = self._parts.clock.now_ms()
            parts.append(Part("notice", "relay", "system", "", now, told.PROMPT_GONE))
        text = frame(parts, nonce=self._nonce, scope=scope)
        revisions, quotes = dict(self._revisions), list(self._quotes)
        return Prompt(text, self._nonce, revisions, quotes, above, seen, frozenset(self._gone))

    async def for_steering(self, scope: str, waiting: Waiting) -> Prompt:
        """The framed message that goes into the running turn."""
        known = await self._parts.engine.store.by_ids(waiting.sources)
        parts: list[Part] = []
        for source in waiting.sources:
            if source in known:
                parts += await self._of_source(known[source], waiting.role, steer=True)
        if not parts:
            parts = [Part("notice", "relay", "system", "", waiting.at, told.PROMPT_GONE)]
        text = frame(parts, nonce=self._nonce, scope=scope)
        return Prompt(text, self._nonce, dict(self._revisions), list(self._quotes))

    # -- what was taken ---------------------------------------------------------------------------------------------

    async def _of_source(
        self, source: Interaction, role: str, *, steer: bool = False, given: bool = False
    ) -> list[Part]:
        """The parts of one interaction, the newest revision of a message; none for a message that was deleted, unless
        it was given to the agent before that: then a card asks what becomes of the work."""
        store = self._parts.engine.store
        body, facts = source.body, list[tuple[str, str]]()
        if source.redacted and "text" in body:
            body = {**body, "text": told.PROMPT_REDACTED}
        if source.verb == "channel.message":
            if await store.by_outside(f"deleted:{source.id}"):
                self._gone.add(source.id)
                if not given:
                    return []
            edits = await store.by_outside(f"edits:{source.id}")
            if edits:
                self._revisions[source.id] = len(edits)
                said = ("text", "blob")
                body = {**body, **{name: edits[-1].body.get(name) for name in said if not edits[-1].redacted}}
                facts.append(("edited", told.PROMPT_EDITED))
        elif source.verb == "channel.edited":
            facts.append(("edited", told.PROMPT_EDITED_NOW))
        if body.get("via") == "http":
            facts.append(("via", told.PROMPT_BY_PROGRAM))
        with_it = [*await self._replied_to(body, facts), *self._brought(body, source)]
        files = await files_of(self._parts, source, role, str(body.get("text", "")))
        if files.said is not None:
            body = {**body, "text": files.said}
            facts += files.facts
        return [*with_it, await self._part(source, body, facts, role, steer=steer), *files.parts]

    async def _part(
        self, source: Interaction, body: Any, facts: list[tuple[str, str]], role: str, *, steer: bool
    ) -> Part:
        text, more = await self._text(body)
        facts += more
        if source.verb == "watch.fired":
            facts += [("why", str(body.get("why", ""))), ("changes", str(body.get("count", 1)))]
            if body.get("dropped"):
                facts.append(("dropped", str(body["dropped"])))
            name = str(body.get("name", ""))
            return Part("fire", name, "watch", name, source.at, text, tuple(facts))
        if source.verb == "watch.released":
            return Part("notice", "relay", "system", str(body.get("name", "")), source.at, text, tuple(facts))
        if source.verb == "channel.deleted":
            message = str(body.get("message", ""))
            return Part("notice", "relay", "system", message, source.at, told.PROMPT_TAKEN_BACK)
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
        text = str(body.get("text", told.PROMPT_REDACTED))
        facts: list[tuple[str, str]] = []
        if body.get("blob"):
            data = await self._parts.blobs.get(str(body["blob"]))
            if data is None:
                facts.append(("cut", told.PROMPT_REST_MISSING))
            else:
                text = data.decode(errors="replace")
        if len(text) > MOST_BODY:
            facts.append(("cut", told.prompt_cut(len(text) - MOST_BODY)))
            text = text[:MOST_BODY]
        if body.get("late"):
            facts.append(("late", told.PROMPT_LATE))
        return text, facts

    # -- what comes along -------------------------------------------------------------------------------------------

    def _brought(self, body: Any, source: Interaction) -> list[Part]:
        return [
            Part(
                "above",
                str(quote.get("who", "")),
                "unknown",
                str(body.get("message", "")),
                int(quote.get("at", 0)) or source.at,
                str(quote.get("text", "")),
                (("how", str(quote.get("kind", ""))),),
            )
            for quote in body.get("quotes", ())
        ]

    async def _replied_to(self, body: Any, facts: list[tuple[str, str]]) -> list[Part]:
        """The message that is replied to, as it reads now."""
        found = self._parts.surfaces.by_name.get(str(body.get("surface", "")))
        reply_to, place = body.get("reply_to"), str(body.get("place", ""))
        if not reply_to or found is None:
            return []
        facts.append(("replies-to", str(reply_to)))
        event = await self._ask(lambda: found.look(place, str(reply_to)))
        return [] if event is None else [self._said(event, found, ("how", "replied to"))]

    async def _above(self, scope: str, sources: Sequence[Interaction]) -> tuple[list[Part], int]:
        """What was said in the place before the first of those messages, since the agent was last given anything, and
        isn't in the ledger: it was not said to the agent."""
        said = [s for s in sources if s.verb == "channel.message" and not s.redacted]
        placed = self._parts.engine.view.of(Places).of(scope)
        surface = self._parts.surfaces.by_name.get(placed.surface) if placed else None
        if not said or placed is None or surface is None:
            return [], 0
        here = [s.body for s in said if s.body["place"] == placed.place]
        positions = [int(body["position"]) for body in here]
        rules = self._parts.access.rooms.get(placed.room)
        if not positions or rules is None or not rules.require_mention:
            return [], max(positions, default=0)  # whatever is said there is said to the agent
        # What a program sent bears the position of the newest message before it: that one stands above it too.
        first = min(int(body["position"]) + (body.get("via") == "http") for body in here)
        since = self._parts.engine.view.of(Turns).lane(scope).seen
        events = await self._ask(lambda: surface.above(placed.place, first, MOST_ABOVE)) or []
        parts: list[Part] = []
        room = MOST_ABOVE_WHOLE
        for event in reversed(events):
            unheard = event.position > since and (event.text.strip() or event.files)
            if not unheard or await self._parts.engine.store.by_outside(f"{surface.name}:{event.message}"):
                continue
            part = self._said(event, surface)
            room -= len(part.text)
            if room < 0:
                break
            parts.append(part)
        return parts[::-1], max(positions)

    def _said(self, event: MessageEvent, surface: Surface, *facts: tuple[str, str]) -> Part:
        text = event.text
        if len(text) > MOST_ABOVE_BODY:
            facts = (*facts, ("cut", told.prompt_cut(len(text) - MOST_ABOVE_BODY)))
            text = text[:MOST_ABOVE_BODY]
        self._quotes[f"{surface.name}:{event.message}"] = None
        if event.files:
            facts = (*facts, ("files", ", ".join(file.name for file in event.files[:10])))
        role = "agent" if event.ours else "bot" if event.person.bot else "person"
        return Part("above", event.person.name, role, event.message, event.sent_at, text, facts)

    async def _ask(self, ask: Callable[[], Awaitable[_T]]) -> _T | None:
        """What the surface answers; None when it can't, or not in time."""
        try:
            with anyio.move_on_after(SURFACE_LIMIT_S):
                return await ask()
        except SurfaceError as error:
            log.warning("what belongs to a message can't be read: %s", error)
        return None

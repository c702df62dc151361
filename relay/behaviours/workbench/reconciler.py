"""Keeps each scope's workbench true: asks for its post once, pins it, and edits it, the newest state winning.

What it shows is a view: an edit is no interaction, and comes at most every 1.5 s a scope. Where a surface can't pin,
there is no workbench; the local page shows the same in its panels.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Literal

from relay.behaviours.places.concept import Places
from relay.behaviours.posting.notices import limit_of
from relay.behaviours.posting.verbs import PostRequested
from relay.behaviours.workbench.concept import Shown, Workbenches
from relay.behaviours.workbench.rendering import idle, render
from relay.behaviours.workbench.verbs import ViewShown
from relay.errors import SurfaceError
from relay.ledger.fold import View
from relay.ledger.interaction import Draft
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts
from relay.surfaces.surface import Choice, Surface

EVERY_S = 1.5
LONGEST_WAIT_S = 600.0

log = logging.getLogger("relay.workbench")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Workbench(parts)]


class Workbench:
    """See the module. What it knows of this boot alone: who changed, when each was written last, and what stands."""

    name = "workbench"
    kind: Literal["short", "holding"] = "short"
    cap = 8

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._noted = 0
        self._changed: dict[str, None] = {}
        self._not_before: dict[str, float] = {}
        """scope → when it may be written again, on the monotonic clock; of those that were written lately."""
        self._stands: dict[str, tuple[str, tuple[str, ...]]] = {}
        """scope → the text and the buttons that stand there, as far as this boot knows."""
        self._tried: dict[str, None] = {}
        """Scopes in which this boot has tried to pin."""
        self._refusals: dict[str, int] = {}
        """scope → how often it was refused in a row."""

    def owes(self, view: View) -> Iterable[Item]:
        self._note(view)
        now = self._parts.clock.monotonic()
        for scope in list(self._changed):
            if self._not_before.get(scope, 0.0) <= now:
                yield Item(scope, scope)

    def due(self, view: View) -> int | None:
        now = self._parts.clock.monotonic()
        waits = [self._not_before.get(scope, 0.0) - now for scope in self._changed]
        left = min((wait for wait in waits if wait > 0), default=None)
        return None if left is None else self._parts.clock.now_ms() + int(left * 1000) + 1

    def _note(self, view: View) -> None:
        """Take up what changed since the last look: the scopes at the end of the fold's list."""
        state = view.of(Workbenches).state
        newest, now = self._noted, self._parts.clock.monotonic()
        for scope, touch in reversed(state.touched.items()):
            if touch.seq <= self._noted or (self._noted == 0 and touch.at < state.unsettled_since):
                break
            newest = max(newest, touch.seq)
            found = self._parts.surfaces.of(scope)
            if touch.slight and scope not in self._stands and idle(view, scope):
                continue  # a pause of all rooms must not fetch every thread out of the archive
            if found is not None and found[0].capabilities.pins:
                self._changed[scope] = None
                if scope not in state.shown:  # what is over at once needs no message
                    self._not_before.setdefault(scope, now + EVERY_S)
        self._noted = newest

    async def act(self, item: Item, held: Held) -> None:
        scope = item.key
        clock = self._parts.clock
        self._changed.pop(scope, None)  # what changes from here on is written the next time
        wait = EVERY_S
        try:
            await self._show(scope, held)
            self._refusals.pop(scope, None)
        except SurfaceError as error:
            if error.kind == "permanent" and await self._is_gone(scope, held):
                await self._gone(scope, str(error), held)
                return
            # Refused for good or for now, it is tried again: a person may give leave. Ever more seldom.
            self._changed[scope] = None
            self._refusals[scope] = times = self._refusals.get(scope, 0) + 1
            wait = max(min(LONGEST_WAIT_S, EVERY_S * 2**times), (error.retry_after_ms or 0) / 1000)
            log.info("the workbench of %s waits: %s", scope, error)
        finally:
            now = clock.monotonic()
            self._not_before = {s: at for s, at in self._not_before.items() if at > now}
            self._not_before[scope] = now + wait

    async def _show(self, scope: str, held: Held) -> None:
        shown = held.view.of(Workbenches).state.shown.get(scope, Shown())
        now = self._parts.clock.now_ms()
        rendered = render(held.view, scope, now, limit_of(held.view, scope), shown.why)
        text = self._parts.mask(rendered.text)
        stands = (text, tuple(choice.value for choice in rendered.choices))
        if not shown.message:
            if rendered.worth and not shown.post and not shown.dead:
                self._stands[scope] = (text, ())
                await held.admit(self._post(scope, rendered.text, shown.count))
            return
        where = self._where(scope, held.view)
        if where is None:
            return
        surface, place = where
        if not shown.known or (not shown.pinned and scope not in self._tried):
            self._tried[scope] = None
            why = await self._pin(surface, place, shown.message)
            await held.admit(self._told(scope, shown, why))
            if why != shown.why:
                return  # which it says itself: it is looked at again at once
        if self._stands.get(scope) != stands:
            choices = [Choice(one.value, one.label) for one in rendered.choices]
            await surface.edit(place, shown.message, text, card=shown.card, choices=choices)
            self._stands[scope] = stands

    async def _pin(self, surface: Surface, place: str, message: str) -> str:
        """Why it can't be pinned; empty when it is. Where it can't be, it works all the same."""
        try:
            await surface.pin(place, message)
        except SurfaceError as error:
            if error.kind != "permanent":
                raise
            log.warning("the workbench in %s can't be pinned: %s", place, error)
            return error.told()
        return ""

    async def _is_gone(self, scope: str, held: Held) -> bool:
        """Whether the message, or its place, is there no more."""
        shown = held.view.of(Workbenches).state.shown.get(scope)
        where = self._where(scope, held.view)
        if shown is None or where is None or not shown.message:
            return False
        surface, place = where
        try:
            return await surface.look(place, shown.message) is None
        except SurfaceError as error:
            return error.kind == "permanent"

    async def _gone(self, scope: str, why: str, held: Held) -> None:
        """Somebody took the message away: the next one comes when there is something to show again."""
        shown = held.view.of(Workbenches).state.shown.get(scope)
        self._stands.pop(scope, None)
        self._tried.pop(scope, None)
        self._refusals.pop(scope, None)
        log.info("the workbench of %s is gone: %s", scope, why)
        if shown is not None:
            gone = ViewShown(message="", count=shown.count + 1, pinned=False)
            await held.admit(self._draft(gone, scope, "gone"))

    def _where(self, scope: str, view: View) -> tuple[Surface, str] | None:
        placed = view.of(Places).of(scope)
        surface = self._parts.surfaces.by_name.get(placed.surface) if placed is not None else None
        return (surface, placed.place) if surface is not None and placed is not None else None

    def _post(self, scope: str, text: str, count: int) -> Draft:
        post = PostRequested(kind="notice", text=text, view="workbench")
        return Draft.of(post, "workbench", scope, "notice", count, actor="relay", scope=scope)

    def _told(self, scope: str, shown: Shown, why: str) -> Draft:
        told = ViewShown(message=shown.message, count=shown.count, pinned=not why, why=why)
        # Where it couldn't be pinned, each boot tries once more.
        return self._draft(told, scope, *([self._parts.boot] if shown.known else []))

    def _draft(self, told: ViewShown, scope: str, *what: str) -> Draft:
        key = (scope, told.kind, told.count, *(what or ("stands",)))
        return Draft.of(told, *key, actor="relay", scope=scope)

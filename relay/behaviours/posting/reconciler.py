"""The Poster: makes each owed post stand exactly once, in order, per place; sets reactions; closes cards.

`post.sending` is recorded once, before the first try. Unless that was in this life and less than a minute ago, the
place's own recent messages are searched before trying again: a nonce is remembered by a surface for minutes only.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from relay import texts
from relay.behaviours.places.concept import Places
from relay.behaviours.places.verbs import opened
from relay.behaviours.posting.chunks import utf16_len
from relay.behaviours.posting.concept import Outbox, OwedPost, OwedReaction
from relay.behaviours.posting.verbs import (
    PostDead,
    PostDelayed,
    PostEdited,
    PostEditRequested,
    PostRequested,
    PostSending,
    PostSent,
    ReactionSet,
)
from relay.clock import Instant
from relay.errors import BadInteraction, RelayError, SurfaceError
from relay.ledger.canonical import clean_text
from relay.ledger.fold import View
from relay.ledger.interaction import Draft, Interaction
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts
from relay.surfaces.surface import Choice, OutgoingPost, SeenFile, Surface, room_id

HISTORY_AFTER_MS = 60_000
LONG_AGO_MS = 10**12
"""How old a first try counts that an earlier life made."""
CLOCKS_DIFFER_MS = 10 * 60_000
"""How far the surface's clock may be behind ours: a message that stands since then may be the one we sent."""
STALE_AFTER_S = 60.0
"""A look that is older is not acted on: the machine slept, and another relay may have posted since. Well within the
time for which a surface remembers a nonce."""
LATE_AFTER_MS = 10 * 60_000
FIRST_DELAY_MS = 1_000
MOST_MARKS = 2_000
LONGEST_DELAY_MS = 5 * 60_000

log = logging.getLogger("relay.posting")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Poster(parts)]


def nonce_of(post: str) -> str:
    """The nonce of a post: 25 characters, the same at every try."""
    return base64.b32encode(hashlib.sha256(f"post/{post}".encode()).digest()).decode().lower()[:25]


class Poster:
    """See the module."""

    name = "posting"
    kind: Literal["short", "holding"] = "short"
    cap = 64

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._first_try: dict[str, Instant] = {}
        """owed post → when this life tried it first, on the monotonic clock: wall time may have been set since."""
        self._marks: dict[tuple[str, str], bool] = {}
        """(message, emoji) of the last reactions → whether this life has tried to set it, or it was overtaken before
        that: to take one of those back needs no asking."""
        self._inherited: frozenset[str] | None = None
        """Reactions that an earlier life owed, and may have set."""

    def owes(self, view: View) -> Iterable[Item]:
        outbox = view.of(Outbox)
        now = self._parts.clock.now_ms()
        if self._inherited is None:
            self._inherited = frozenset(r for owed in outbox.state.reactions.values() for r in owed)
        for scope, reactions in list(outbox.state.reactions.items()):
            first = next(
                iter(reactions.values())
            )  # the head of each lane is enough: the rest waits behind it
            yield Item(f"reaction:{first.request}", f"react:{scope}", first)
        for edit in list(outbox.state.edits.values()):
            card = outbox.card(edit.post)
            if card is None or card.message:
                yield Item(f"edit:{edit.request}", f"edit:{edit.scope}", edit)
        for scope, owed in list(outbox.heads()):
            if owed.not_before <= now and self._may_speak(view, scope):
                yield Item(f"post:{owed.post}", f"post:{scope}", (scope, owed.post))

    def due(self, view: View) -> int | None:
        now = self._parts.clock.now_ms()
        return min((o.not_before for _, o in view.of(Outbox).heads() if o.not_before > now), default=None)

    def _may_speak(self, view: View, scope: str) -> bool:
        """A room that access.json names no more, perhaps for a minute only, gets what it is owed when it is back."""
        placed = view.of(Places).of(scope)
        return placed is None or placed.room in self._parts.access.rooms

    async def act(self, item: Item, held: Held) -> None:
        kind, _, id = item.key.partition(":")
        if kind == "post":
            await self._post(id, held)
        elif kind == "reaction":
            await self._react(item.data, held)
        else:
            await self._edit(id, held)

    # -- posts ------------------------------------------------------------------------------------------------------

    async def _post(self, post: str, held: Held) -> None:
        looked_at = Instant.now(self._parts.clock)
        outbox = held.view.of(Outbox)
        owed, scope = outbox.owed(post), outbox.state.where.get(post)
        if owed is None or scope is None:
            return
        where = await self._where(scope, held)
        if where is None:
            return
        surface, place = where
        request = (await held.engine.store.by_ids([post]))[post]
        if request.redacted:
            await self._dead(request, texts.POST_REDACTED, held)
            return
        wanted = request.read(PostRequested)
        outgoing = self._outgoing(wanted, owed, surface.capabilities.limit)
        if owed.sending_at is None:
            await held.admit(self._draft(PostSending(post=post), request, post))
            self._first_try[post] = Instant.now(self._parts.clock)
        elif self._may_stand(post):
            found = await self._in_history(surface, place, outgoing, owed.sending_at, held)
            if found is not None:
                await self._sent(request, wanted, surface, place, found, held)
                return
        if looked_at.passed(self._parts.clock) > STALE_AFTER_S:
            raise RelayError("a post was held up before it was sent, and is looked at again.")
        try:
            message = await surface.post(place, outgoing, nonce_of(post))
        except SurfaceError as error:
            await self._refused(request, wanted, owed, error, held)
            return
        await self._sent(request, wanted, surface, place, message, held)

    def _may_stand(self, post: str) -> bool:
        """Whether an earlier try may stand in the place and its nonce be forgotten."""
        first = self._first_try.get(post)
        age = LONG_AGO_MS if first is None else first.passed(self._parts.clock) * 1000
        return age > HISTORY_AFTER_MS

    async def _where(self, scope: str, held: Held) -> tuple[Surface, str] | None:
        """The surface and place of a scope; a scope that nobody wrote in yet is looked up and recorded."""
        placed = held.view.of(Places).of(scope)
        if placed is not None:
            surface = self._parts.surfaces.by_name.get(placed.surface)
            return (surface, placed.place) if surface else None
        found = self._parts.surfaces.of(scope)
        if found is None:
            return None
        surface, word = found
        place = await surface.place(word)
        if place is None:
            return None
        await held.admit(
            opened(
                scope,
                surface=surface.name,
                place=place.place,
                room=room_id(surface.name, place),
                thread=place.thread,
                limit=surface.capabilities.limit,
                title=clean_text(place.title)[:100],
            )
        )
        return surface, place.place

    def _outgoing(self, wanted: PostRequested, owed: OwedPost, limit: int) -> OutgoingPost:
        text = self._parts.mask(wanted.text)
        late = self._parts.clock.now_ms() - owed.asked_at
        if late > LATE_AFTER_MS:
            marked = f"⏰ ({late // 60_000} min late)\n{text}"
            # A chunk that fills a message has no room for the mark: better unmarked than refused, and lost.
            text = marked if utf16_len(marked) <= limit else text
        return OutgoingPost(
            text=text,
            reply_to=wanted.reply_to,
            ping=wanted.ping,
            files=tuple(SeenFile(f.name, f.digest, f.size) for f in wanted.files),
            card=wanted.approval or "",
            choices=tuple(Choice(c.value, c.label) for c in wanted.choices),
        )

    async def _in_history(
        self, surface: Surface, place: str, outgoing: OutgoingPost, since: int, held: Held
    ) -> str | None:
        text = outgoing.text.split("late)\n", 1)[-1] if outgoing.text.startswith("⏰ (") else outgoing.text
        for seen in await surface.own_since(place, since - CLOCKS_DIFFER_MS):
            late, mark, rest = seen.text.partition("late)\n")
            unmarked = replace(seen, text=rest) if mark and late.startswith("⏰ (") else seen
            same = surface.shows(seen, text) or surface.shows(unmarked, text)
            if same and seen.reply_to == outgoing.reply_to:
                bound = await held.engine.store.by_outside(f"{surface.name}:{seen.message}")
                if not bound:
                    return seen.message
        return None

    async def _sent(
        self,
        request: Interaction,
        wanted: PostRequested,
        surface: Surface,
        place: str,
        message: str,
        held: Held,
    ) -> None:
        self._first_try.pop(request.id, None)
        payload = PostSent(
            post=request.id, place=place, message=message, turn=wanted.turn, approval=wanted.approval
        )
        await held.admit(self._draft(payload, request, request.id, outside=[f"{surface.name}:{message}"]))

    async def _refused(
        self, request: Interaction, wanted: PostRequested, owed: OwedPost, error: SurfaceError, held: Held
    ) -> None:
        if error.kind == "permanent":  # a fatal one waits for a person to mend the surface
            placed = held.view.of(Places).of(request.scope)
            offered = placed.room if placed and placed.thread and wanted.kind == "answer" else ""
            await self._dead(request, str(error), held, room=offered, wanted=wanted)
            return
        attempt = owed.attempts + 1
        wait = error.retry_after_ms or min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** min(attempt, 16))
        payload = PostDelayed(
            post=request.id, attempt=attempt, not_before=self._parts.clock.now_ms() + wait, why=str(error)
        )
        await held.admit(self._draft(payload, request, request.id, attempt))

    async def _dead(
        self,
        request: Interaction,
        why: str,
        held: Held,
        *,
        room: str = "",
        wanted: PostRequested | None = None,
    ) -> None:
        self._first_try.pop(request.id, None)
        log.warning("post %s is dead: %s", request.id[:10], why)
        dead = PostDead(post=request.id, why=why)
        if room and wanted is not None:
            dead = PostDead(
                post=request.id,
                why=why,
                room=room,
                text=wanted.text,
                files=wanted.files,
                ping=wanted.ping,
                turn=wanted.turn,
            )
        await held.admit(self._draft(dead, request, request.id, outside=[f"dead:{request.id}"]))

    def _draft(
        self,
        payload: PostSending | PostSent | PostDelayed | PostDead | ReactionSet | PostEdited,
        cause: Interaction,
        *key: str | int,
        outside: Iterable[str] = (),
    ) -> Draft:
        return Draft.of(
            payload, *key, actor="relay", scope=cause.scope, caused_by=[cause.id], outside=outside
        )

    # -- reactions and edits ----------------------------------------------------------------------------------------

    async def _react(self, owed: OwedReaction, held: Held) -> None:
        request = owed.request
        where = await self._where(owed.scope, held)
        if where is None:
            return
        surface, place = where
        failed = ""
        if surface.capabilities.reactions and not self._passed_over(owed, held):
            try:
                await surface.react(place, owed.message, owed.emoji, add=owed.add)
            except SurfaceError as error:
                if error.kind == "transient":
                    raise
                failed = str(error)
        cause = (await held.engine.store.by_ids([request]))[request]
        await held.admit(self._draft(ReactionSet(request=request, failed=failed), cause, request))

    def _passed_over(self, owed: OwedReaction, held: Held) -> bool:
        """Whether nothing has to be asked for: a surface lets a bot set a few reactions a second, and after a burst the
        marks that count come the later, the more others go before them."""
        key = (owed.message, owed.emoji)
        if self._overtaken(owed, held):
            if owed.add:
                self._marks.setdefault(key, owed.request in (self._inherited or ()))
            return True
        was_set = self._marks.pop(key, True)
        if owed.add:
            self._marks[key] = True
            if len(self._marks) > MOST_MARKS:
                del self._marks[next(iter(self._marks))]
        return not owed.add and not was_set

    def _overtaken(self, owed: OwedReaction, held: Held) -> bool:
        """Whether another request for the same emoji waits behind this one: only the last of them is to be seen."""
        behind = held.view.of(Outbox).state.reactions.get(owed.scope, {}).values()
        same = [r.request for r in behind if (r.message, r.emoji) == (owed.message, owed.emoji)]
        return bool(same) and same[-1] != owed.request

    async def _edit(self, request: str, held: Held) -> None:
        outbox = held.view.of(Outbox)
        owed = outbox.state.edits.get(request)
        where = await self._where(owed.scope, held) if owed else None
        if owed is None or where is None:
            return
        surface, place = where
        card = outbox.card(owed.post)
        known = await held.engine.store.by_ids([request, owed.post])
        cause = known[request]
        failed = ""
        try:
            wanted = cause.read(PostEditRequested)
            before = known[owed.post].read(PostRequested)
            if card is not None and not cause.redacted and not known[owed.post].redacted:
                text = self._parts.mask(f"{before.text}\n{wanted.text}")
                await surface.edit(place, card.message, text, close_card=wanted.close_card)
        except SurfaceError as error:
            if error.kind == "transient":
                raise
            failed = str(error)
        except BadInteraction as error:
            failed = str(error)
        await held.admit(self._draft(PostEdited(request=request, failed=failed), cause, request))

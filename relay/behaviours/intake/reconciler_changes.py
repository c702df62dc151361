"""Edits and deletions on their way in: of messages that were taken in, and only where the content changed.

An event may come twice, late, or for no change at all (a link's preview); what stands in the ledger decides. What
changed while nobody listened is found by looking at each message that still waits. Nothing is decided here about what
follows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from relay.behaviours.intake.verbs import ChannelDeleted, ChannelEdited, ChannelMessage
from relay.behaviours.posting.verbs import PostSent
from relay.behaviours.turns.concept import Turns
from relay.errors import BadInteraction, SurfaceError
from relay.ledger.canonical import clean_text
from relay.ledger.interaction import Draft, Interaction
from relay.parts import Parts
from relay.surfaces.surface import EditEvent, Surface

INLINE = 16 * 1024
"""Bytes of a message's text that stand in its payload; a longer one is kept whole as a blob."""
MOST_LOOKED_AT = 200

log = logging.getLogger("relay.intake")


async def kept(parts: Parts, text: str) -> tuple[str, str | None]:
    """What of a text stands in a payload, and the digest of all of it where that is cut."""
    data = text.encode()
    if len(data) <= INLINE:
        return text, None
    return data[:INLINE].decode(errors="ignore"), await parts.blobs.put(data)


class Changes:
    """One surface's edits and deletions. Whoever calls sees to it that one comes after the other."""

    def __init__(self, parts: Parts, surface: Surface) -> None:
        self._parts = parts
        self._surface = surface

    async def edited(self, event: EditEvent) -> None:
        found = await self._taken_in(event.place, event.message)
        text = clean_text(event.text)
        if found is None or not text.strip():
            return
        source, said = found
        if said.command is not None:
            return  # it has acted, or was refused; what it says now is not typed again
        store = self._parts.engine.store
        if await store.by_outside(f"deleted:{source.id}"):
            return
        earlier = await store.by_outside(f"edits:{source.id}")
        before, changed_at = (said.text, said.blob), said.sent_at
        if earlier:
            try:
                last = earlier[-1].read(ChannelEdited)
                before, changed_at = (last.text, last.blob), last.sent_at
            except BadInteraction:  # redacted: what it said is not known any more
                before = ("", None)
        if event.edited_at is not None and event.edited_at < changed_at:
            return
        cut, blob = await kept(self._parts, text)
        if (cut, blob) == before:
            return
        revision = len(earlier) + 1
        payload = ChannelEdited(
            surface=said.surface,
            place=said.place,
            room=said.room,
            message=said.message,
            source=source.id,
            revision=revision,
            author=said.author,
            name=said.name,
            text=cut,
            blob=blob,
            size=len(text),
            sent_at=self._parts.clock.now_ms() if event.edited_at is None else event.edited_at,
        )
        key = (said.surface, said.place, said.message, revision)
        await self._parts.engine.admit(self._draft(payload, source, key, f"edits:{source.id}"))

    async def deleted(self, place: str, message: str) -> None:
        """A message that the ledger knows, ours or a person's, is gone."""
        found = await self._parts.engine.store.by_outside(f"{self._surface.name}:{message}")
        target = found[-1] if found else None
        if target is None or target.scope != f"{self._surface.name}:{place}":
            return
        payload = ChannelDeleted(surface=self._surface.name, place=place, message=message, target=target.id)
        try:
            if target.verb == PostSent.VERB:
                payload = payload.model_copy(update={"approval": target.read(PostSent).approval})
            elif target.verb == ChannelMessage.VERB:
                said = target.read(ChannelMessage)
                payload = payload.model_copy(update={"author": said.author, "name": said.name})
        except BadInteraction:  # redacted since
            log.debug("message %s was redacted before it was deleted", message)
        key = (self._surface.name, place, message)
        await self._parts.engine.admit(self._draft(payload, target, key, f"deleted:{target.id}"))

    async def look_at_waiting(self) -> None:
        """Take in what became of the messages that wait, or that a restart cut off, while nobody listened."""
        lanes = self._parts.engine.view.of(Turns).state.lanes
        sources: dict[str, None] = {}
        for scope, lane in lanes.items():
            if scope.startswith(f"{self._surface.name}:"):
                taken = lane.running.sources if lane.running is not None else []
                sources |= dict.fromkeys([*taken, *(s for w in lane.waiting for s in w.sources)])
        known = await self._parts.engine.store.by_ids(list(sources)[:MOST_LOOKED_AT])
        for source in known.values():
            if source.verb == ChannelMessage.VERB and not source.redacted:
                said = source.read(ChannelMessage)
                if said.via == "surface":  # what a program sent, the surface never held
                    await self._look_at(said)

    async def is_gone(self, place: str, message: str) -> bool:
        """Whether it was deleted; no, where that can't be known now."""
        try:
            return await self._surface.look(place, message) is None
        except SurfaceError as error:
            log.warning("message %s can't be looked at again: %s", message, error)
            return False

    async def _look_at(self, said: ChannelMessage) -> None:
        try:
            now = await self._surface.look(said.place, said.message)
        except SurfaceError as error:  # it is taken as it was written
            log.warning("message %s can't be looked at again: %s", said.message, error)
            return
        if now is None:
            await self.deleted(said.place, said.message)
        else:
            await self.edited(EditEvent(said.place, said.message, now.text))

    async def _taken_in(self, place: str, message: str) -> tuple[Interaction, ChannelMessage] | None:
        """The record of a person's message in a room that is still known; None for any other message."""
        for found in await self._parts.engine.store.by_outside(f"{self._surface.name}:{message}"):
            if found.verb == ChannelMessage.VERB and not found.redacted:
                said = found.read(ChannelMessage)
                if said.place == place and said.room in self._parts.access.rooms:
                    return found, said
        return None

    def _draft(
        self,
        payload: ChannelEdited | ChannelDeleted,
        source: Interaction,
        key: Iterable[str | int],
        outside: str,
    ) -> Draft:
        return Draft.of(
            payload,
            *key,
            actor=source.actor,
            role=source.role,
            scope=source.scope,
            caused_by=[source.id],
            outside=[outside],
        )

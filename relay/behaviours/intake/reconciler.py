"""The way in: what a surface tells is filtered, looked up and admitted; gaps are closed from the surface's history.

Live events are held while a gap is closed. A position is recorded only when everything up to it was read, never the
highest seen: one live message recorded first would hide the gap behind it.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Mapping, Sequence

import anyio

from relay import texts_for_commands
from relay.behaviours.commands import Command, Suggestion, Value
from relay.behaviours.intake.concept import CaughtUp
from relay.behaviours.intake.door import Asking, Away, Doorkeeper
from relay.behaviours.intake.filter import Said, Taken, take
from relay.behaviours.intake.reconciler_belonging import belonging
from relay.behaviours.intake.reconciler_changes import Changes, kept
from relay.behaviours.intake.reconciler_clicks import chosen
from relay.behaviours.intake.reconciler_commands import FilledIn, Refusal
from relay.behaviours.intake.reconciler_turnstile import Turnstile
from relay.behaviours.intake.verbs import (
    AttachedFile,
    ChannelMessage,
    ChannelReacted,
    IntakeCaughtUp,
    IntakeTurnedAway,
    QuotedText,
    Role,
)
from relay.behaviours.places.concept import Places
from relay.behaviours.places.verbs import PlaceLost, opened
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.posting.verbs import PostSent
from relay.config import role_of
from relay.errors import StoreUnavailable, SurfaceError
from relay.ledger.canonical import clean_text
from relay.ledger.interaction import Draft, Interaction
from relay.parts import Parts
from relay.surfaces.surface import (
    ChoiceEvent,
    CommandEvent,
    EditEvent,
    HungFile,
    MessageEvent,
    Person,
    Place,
    Quote,
    ReactionEvent,
    Surface,
    room_id,
)

PAGE = 100
MOST_QUOTES = 5
QUOTE_BYTES = 4 * 1024
MOST_FILES = 10
"""Files of one message, on every surface."""
SCAN_EVERY_S = 300.0
LATE_AFTER_MS = 60_000

log = logging.getLogger("relay.intake")


class Intake:
    """One surface's way in. Implements `SurfaceEvents`."""

    def __init__(self, parts: Parts, surface: Surface) -> None:
        self._parts = parts
        self._surface = surface
        self._turnstile = Turnstile()
        self._changes = Changes(parts, surface)
        self._filled_in = FilledIn(parts, surface)
        self._places: dict[str, Place] = {}
        self._words = frozenset(command.word for command in parts.commands)
        self._began = False

    async def run(self) -> None:
        """Listen to the surface, and look for gaps every five minutes. Until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._surface.run, self)
            while True:
                await self._parts.clock.sleep(SCAN_EVERY_S)
                try:
                    async with self._turnstile.alone():
                        await self._close_gaps(list(self._places.values()), boot=False)
                except (StoreUnavailable, SurfaceError) as error:
                    log.warning("the scan for missed messages waits: %s", error)

    async def close(self) -> None:
        """A clean stop: record how far everything was taken in."""
        with anyio.move_on_after(5, shield=True):
            try:
                async with self._turnstile.alone():
                    await self._close_gaps(list(self._places.values()), boot=False)
            except (StoreUnavailable, SurfaceError) as error:  # the next start reads on from where it stands
                log.warning("how far was taken in is not recorded: %s", error)

    # -- gaps -------------------------------------------------------------------------------------------------------

    async def ready(self, places: Sequence[Place]) -> None:
        async with self._turnstile.alone():
            self._places = {place.place: place for place in places}
            await self._changes.look_at_waiting()
            await self._close_gaps(list(places), boot=not self._began)
            self._began = True
            self._parts.listening_to(self._surface.name).set()
            await self._look_at_cards()

    async def _close_gaps(self, places: Sequence[Place], *, boot: bool) -> None:
        """Threads before their rooms: where a thread begins to be read depends on how far its room was read."""
        waits: SurfaceError | None = None
        for place in sorted(places, key=lambda p: not p.thread):
            if self._room_known(place):
                try:
                    await self._close_gap(place, boot=boot)
                except SurfaceError as error:  # one place must not keep the others from being read
                    log.warning("%s can't be read: %s", place.place, error)
                    waits = error if error.kind == "transient" else waits
        if waits is not None:
            raise waits

    async def _look_at_cards(self) -> None:
        """A reaction that was set while nobody listened still decides an open card, and so does taking it away."""
        for card in list(self._parts.engine.view.of(Outbox).state.cards.values()):
            surface, _, place = card.scope.partition(":")
            if surface == self._surface.name and card.message:
                for event in await self._surface.reactions(place, card.message):
                    await self._take_reaction(event)
                if await self._changes.is_gone(place, card.message):
                    await self._changes.deleted(place, card.message)

    async def _close_gap(self, place: Place, *, boot: bool) -> None:
        name = self._surface.name
        caught_up = self._parts.engine.view.of(CaughtUp)
        position = caught_up.position(name, place.place)
        if position is None:
            # First sight of a room starts at its newest message and replays nothing. Of a new thread all is the gap.
            begins = self._thread_begins(place)
            position = await self._surface.newest(place.place) if begins is None else begins
            await self._record(place.place, position)
            if begins is None:
                return
        reached = position
        while True:
            page = await self._surface.read_since(place.place, reached, PAGE)
            for event in sorted(page, key=lambda e: e.position):
                late = boot or event.sent_at < self._parts.clock.now_ms() - LATE_AFTER_MS
                await self._take(event, late=late)
                reached = max(reached, event.position)
            if len(page) < PAGE:
                break
        if reached > position:
            await self._record(place.place, reached)

    def _thread_begins(self, place: Place) -> int | None:
        """Where the gap of a thread begins that is seen for the first time: at its first message, or, when it is older
        than that, where its room was seen first. Not where its room was read to: a room is read on while a thread of
        it is not yet known, because the gateway lost its beginning. None for a room, and for a thread of a room that
        was never read."""
        if not place.thread:
            return None
        room = self._parts.engine.view.of(CaughtUp).began(self._surface.name, place.room)
        if room is None:
            return None
        return room if 0 < place.born <= room else 0

    async def _record(self, place: str, position: int) -> None:
        await self._parts.engine.admit(self._caught_up(place, position))

    def _caught_up(self, place: str, position: int) -> Draft:
        payload = IntakeCaughtUp(surface=self._surface.name, place=place, position=position)
        return Draft.of(payload, self._surface.name, place, position, actor="relay", scope=self._scope(place))

    # -- live events ------------------------------------------------------------------------------------------------

    async def message(self, event: MessageEvent) -> None:
        async with self._turnstile.shared():
            await self._take(event, late=False)

    async def _take(self, event: MessageEvent, *, late: bool) -> None:
        place = await self._place(event.place)
        if place is None:
            return
        room = self._room(place)
        role = self._role(room, event.person)
        rules = self._parts.access.rooms.get(room)
        target = await self._ours(event.reply_to) if event.reply_to else None
        placed = self._parts.engine.view.of(Places).of(self._scope(event.place))
        said = Said(
            text=event.text,
            role=role,
            mentions_us=event.mentions_us,
            thread=place.thread,
            # What was said in a thread before we joined it was not said to us, whenever it is read.
            thread_joined=placed is not None and event.position >= placed.since,
            replies_to_us=target is not None and target.verb == PostSent.VERB,
            room_known=rules is not None,
            require_mention=rules is not None and rules.require_mention,
            brings=bool(event.quotes or event.files),
        )
        taken = take(said, self._words)
        if taken is not None:
            await self._let_in(event, place, role, taken, target, late=late, key=(event.message,))

    async def _let_in(
        self,
        event: MessageEvent,
        place: Place,
        role: Role,
        taken: Taken,
        target: Interaction | None,
        *,
        late: bool,
        key: tuple[str, ...],
    ) -> None:
        """Record it, unless a limit keeps it out."""
        room = self._room(place)
        if role == "owner":  # no limit is for the owner
            await self._admit(event, place, room, role, taken, target, late=late, key=key)
            return
        async with self._turnstile.one_by_one(event.person.id):
            if not await self._kept_out(event, room, role, taken):
                await self._admit(event, place, room, role, taken, target, late=late, key=key)

    async def _admit(
        self,
        event: MessageEvent,
        place: Place,
        room: str,
        role: Role,
        taken: Taken,
        target: Interaction | None,
        *,
        late: bool,
        key: tuple[str, ...],
    ) -> None:
        """Record what was said to us; with it, that the place is ours from here on, when that is new."""
        text = clean_text(event.text)
        cut, blob = await kept(self._parts, text)
        payload = ChannelMessage(
            surface=self._surface.name,
            place=event.place,
            room=room,
            message=event.message,
            position=event.position,
            author=event.person.id,
            name=clean_text(event.person.name),
            text=cut,
            blob=blob,
            size=len(text),
            addressed=taken.addressed,
            command=taken.command,
            reply_to=event.reply_to,
            target=target.id if target else None,
            late=late,
            sent_at=event.sent_at,
            quotes=tuple(quoted(quote) for quote in event.quotes[:MOST_QUOTES]),
            files=tuple(attached(file) for file in event.files[:MOST_FILES]),
        )
        scope = self._scope(event.place)
        drafts: list[Draft] = []
        known = self._parts.engine.view.of(Places).of(scope) is not None
        if self._parts.engine.view.of(CaughtUp).position(self._surface.name, event.place) is None:
            # A new thread, all of which is ours (an earlier message of it may have been missed), or a room that
            # access.json named since the start: from this message on nothing of it may be missed.
            begins = self._thread_begins(place)
            position = event.position - 1
            drafts.append(self._caught_up(event.place, position if begins is None else min(begins, position)))
        if not known:
            drafts.append(
                opened(
                    scope,
                    surface=self._surface.name,
                    place=place.place,
                    room=room,
                    thread=place.thread,
                    limit=self._surface.capabilities.limit,
                    title=clean_text(place.title)[:100],
                    since=event.position,
                )
            )
        drafts.append(
            Draft.of(
                payload,
                self._surface.name,
                event.place,
                *key,
                actor=f"person:{self._surface.name}:{event.person.id}",
                role=role,
                scope=scope,
                outside=[f"{self._surface.name}:{event.message}"],
            )
        )
        await self._parts.engine.admit(*drafts)

    async def _kept_out(self, event: MessageEvent, room: str, role: Role, taken: Taken) -> bool:
        """Whether a limit keeps the message out: then that is recorded, and stays so when the message comes again."""
        store = self._parts.engine.store
        name, scope = self._surface.name, self._scope(event.place)
        if await self._ours(event.message) is not None:
            return False  # taken in before: its key will tell
        person = f"{name}:{event.person.id}"
        if await store.by_outside(f"away:{name}:{event.message}"):
            return True
        asking = Asking(scope, room, person, role, taken.command, event.sent_at, self._parts.access.limits)
        away = self._turned_away(asking)
        if away is None:
            return False
        payload = IntakeTurnedAway(
            surface=name,
            place=event.place,
            room=room,
            message=event.message,
            author=event.person.id,
            name=clean_text(event.person.name),
            sent_at=event.sent_at,
            keeper=away.keeper,
            most=away.most,
            until=away.until,
        )
        await self._parts.engine.admit(
            Draft.of(
                payload,
                name,
                event.place,
                event.message,
                actor=f"person:{person}",
                role=role,
                scope=scope,
                outside=[f"away:{name}:{event.message}"],
            )
        )
        return True

    def _turned_away(self, asking: Asking) -> Away | None:
        keepers = (concept for concept in self._parts.engine.view.all() if isinstance(concept, Doorkeeper))
        return next((away for keeper in keepers if (away := keeper.turns_away(asking)) is not None), None)

    # -- commands that are filled in ---------------------------------------------------------------------------------

    def offered(self) -> Sequence[Command]:
        return self._filled_in.offered()

    def suggestions(
        self, place: Place, person: Person, name: str, option: str, typed: str
    ) -> Sequence[Suggestion]:
        return self._filled_in.suggestions(place, person, name, option, typed)

    def refuses(self, place: Place, person: Person, name: str, values: Mapping[str, Value]) -> str | None:
        return self._filled_in.refuses(place, person, name, values)

    async def command(self, event: CommandEvent) -> str:
        """It becomes the message that somebody would have typed, under the key of its own id."""
        async with self._turnstile.shared():
            line = self._filled_in.line(event)
            if isinstance(line, Refusal):
                return line.words
            self._places[event.place.place] = event.place
            said = MessageEvent(
                event.place.place, event.message, event.position, event.person, line.text, event.sent_at
            )
            role = self._role(self._room(event.place), event.person)
            taken = Taken("command", line.word)
            key = ("filled in", event.event)
            await self._let_in(said, event.place, role, taken, None, late=event.late, key=key)
            return self._parts.mask(texts_for_commands.command_used(event.person.name, line.text))

    async def edited(self, event: EditEvent) -> None:
        async with self._turnstile.shared():
            await self._changes.edited(event)

    async def deleted(self, place: str, message: str) -> None:
        async with self._turnstile.shared():
            await self._changes.deleted(place, message)

    async def reaction(self, event: ReactionEvent) -> None:
        async with self._turnstile.shared():
            await self._take_reaction(event)

    async def _take_reaction(self, event: ReactionEvent) -> None:
        place = await self._place(event.place)
        target = await self._ours(event.message)
        if place is None or target is None or event.person.bot:
            return
        room = self._room(place)
        role = self._role(room, event.person)
        if role in ("stranger", "webhook", "peer"):
            return
        found = await belonging(self._parts.engine.store, target)
        payload = ChannelReacted(
            surface=self._surface.name,
            place=event.place,
            room=room,
            message=event.message,
            person=event.person.id,
            name=clean_text(event.person.name),
            emoji=plain_emoji(event.emoji),
            set=event.set,
            target=target.id,
            target_verb=target.verb,
            turn=found.turn,
            approval=found.approval,
            sources=found.sources,
            woken_by=found.woken_by,
            turn_role=found.role,
            asker=found.asker,
        )
        await self._parts.engine.admit(
            Draft.of(
                payload,
                self._surface.name,
                event.place,
                event.message,
                event.person.id,
                payload.emoji,
                event.count,
                "set" if event.set else "taken back",
                actor=f"person:{self._surface.name}:{event.person.id}",
                role=role,
                scope=self._scope(event.place),
                caused_by=[target.id],
            )
        )

    async def choice(self, event: ChoiceEvent) -> str | None:
        async with self._turnstile.shared():
            place = await self._place(event.place)
            if place is None:
                return None
            room = self._room(place)
            return await chosen(self._parts, self._surface.name, event, room, self._role(room, event.person))

    async def gone(self, place: str) -> None:
        scope = self._scope(place)
        self._places.pop(place, None)
        if self._parts.engine.view.of(Places).of(scope) is None:
            return
        payload = PlaceLost(surface=self._surface.name, place=place)
        await self._parts.engine.admit(Draft.of(payload, scope, actor="relay", scope=scope))
        log.info("%s was deleted", scope)

    # -- looking up -------------------------------------------------------------------------------------------------

    async def _ours(self, message: str) -> Interaction | None:
        found = await self._parts.engine.store.by_outside(f"{self._surface.name}:{message}")
        return found[-1] if found else None

    async def _place(self, place: str) -> Place | None:
        if place not in self._places:
            found = await self._surface.place(place)
            if found is None:
                return None
            self._places[place] = found
        return self._places[place]

    def _room(self, place: Place) -> str:
        return room_id(self._surface.name, place)

    def _room_known(self, place: Place) -> bool:
        return self._room(place) in self._parts.access.rooms

    def _scope(self, place: str) -> str:
        return f"{self._surface.name}:{place}"

    def _role(self, room: str, person: Person) -> Role:
        return role_of(
            self._parts.access, room, self._surface.name, person.id, bot=person.bot, owner=person.owner
        )


def quoted(quote: Quote) -> QuotedText:
    """What a message brings along, as it stands in a payload."""
    data = clean_text(quote.text).encode()
    text = data.decode() if len(data) <= QUOTE_BYTES else data[:QUOTE_BYTES].decode(errors="ignore") + "…"
    return QuotedText(kind=quote.kind, who=clean_text(quote.who)[:200], text=text, at=quote.at)


def attached(file: HungFile) -> AttachedFile:
    """A file of a message, as it stands in a payload."""
    name = clean_text(file.name)[:300]
    return AttachedFile(id=clean_text(file.id)[:100], name=name, size=max(0, min(file.size, 2**52)))


def plain_emoji(emoji: str) -> str:
    """The emoji without variation selectors and skin tones, so that ✅ is ✅ on every phone."""
    kept = (c for c in emoji if c not in "\ufe0e\ufe0f" and not "\U0001f3fb" <= c <= "\U0001f3ff")
    return unicodedata.normalize("NFC", "".join(kept))[:40]

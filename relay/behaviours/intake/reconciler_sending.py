"""What programs send, taken in: a prompt as a message of the owner, or a post. Once for an idempotency key.

The key stands in the ledger, so a crash, a restart or a lost answer makes nothing twice. Sent again with another body
it is refused.
"""

from __future__ import annotations

import anyio

from relay import texts, texts_coming_in
from relay.behaviours.intake.concept import CaughtUp
from relay.behaviours.intake.filter import command_in
from relay.behaviours.intake.reconciler_changes import kept
from relay.behaviours.intake.sending import KeyReused, NotNow, Outcome, Send, Sent, TooLong, UnknownTarget
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.places.concept import Places
from relay.behaviours.places.verbs import opened
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.posting.imitation import MOST_ADDED, neutralised
from relay.behaviours.posting.verbs import PostDead, PostRequested
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import TurnEnded, TurnReplied, TurnStarted, TurnSteered
from relay.errors import SurfaceError
from relay.ledger.canonical import clean_text
from relay.ledger.interaction import Draft, Interaction
from relay.parts import Parts
from relay.surfaces.surface import DIRECT, Place, Surface, room_id

LOOK_UP_S = 10.0
MOST_TRIES = 3
"""As often as interrupted work is picked up by itself (see `continue_after_interruption`)."""
MOST_NAME = 40
MOST_POSTED = 20_000
"""Characters of a text that is posted as it is."""
PART = 10_000
"""UTF-16 units of one post: well within a payload, whatever the characters."""


class Sending:
    """See the module. The way in over HTTP knows it as its `Sender`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._words = frozenset(command.word for command in parts.commands)
        self._one = anyio.Lock()

    # -- taking in ----------------------------------------------------------------------------------------------------

    async def send(self, asked: Send) -> Sent:
        """Once for a key, however often it is called. Raises `UnknownTarget`, `KeyReused`, `TooLong`, `NotNow`,
        `StoreUnavailable`; nothing was recorded then."""
        asked = Send(asked.key, asked.to, clean_text(asked.text), sender_name(asked.name), asked.mode)
        async with self._one:  # two at once with one key: the second is compared with what the first became
            surface, place, room = await self._target(asked.to)
            scope = f"{surface.name}:{place.place}"
            drafts = await self._drafts(asked, surface, place, room, scope)
            stands = await self._parts.engine.store.by_outside(f"sent:{asked.key}")
            if stands:
                if not _same(stands, drafts):
                    raise KeyReused(texts_coming_in.SEND_KEY_REUSED, texts_coming_in.SEND_KEY_ADVICE)
                return Sent(stands[0].id, scope, repeated=True)
            before = await self._arriving(surface, place, room, scope, drafts)
            recorded = await self._parts.engine.admit(*before, *drafts)
            return Sent(recorded[len(before)].id, scope, repeated=False)

    async def _target(self, to: str) -> tuple[Surface, Place, str]:
        rooms = self._parts.access.rooms
        given = to.strip()
        if not given:
            if len(rooms) != 1:
                raise UnknownTarget(
                    texts_coming_in.SEND_TO_WHERE, texts_coming_in.send_targets(self._listed())
                )
            (given,) = rooms
        elif ":" not in given:
            named = [room for room, rules in rooms.items() if given.lstrip("#") == rules.label.lstrip("#")]
            if len(named) != 1:
                raise UnknownTarget(
                    texts_coming_in.send_unknown(given), texts_coming_in.send_targets(self._listed())
                )
            (given,) = named
        found = self._parts.surfaces.of(given)
        if found is None and (given in rooms and given != DIRECT):
            raise NotNow(texts_coming_in.surface_not_running(given.partition(":")[0]) + ".", kind="transient")
        place = await self._look_up(*found) if found is not None else None
        room = room_id(found[0].name, place) if found is not None and place is not None else ""
        if found is None or place is None or room not in rooms:
            raise UnknownTarget(
                texts_coming_in.send_unknown(given), texts_coming_in.send_targets(self._listed())
            )
        return found[0], place, room

    def _listed(self) -> list[str]:
        return [room for room in self._parts.access.rooms if room != DIRECT]

    async def _look_up(self, surface: Surface, word: str) -> Place | None:
        try:
            with anyio.fail_after(LOOK_UP_S):
                return await surface.place(word)
        except (SurfaceError, TimeoutError) as error:
            raise NotNow(
                texts_coming_in.send_not_now(surface.name), texts_coming_in.SEND_AGAIN, kind="transient"
            ) from error

    async def _drafts(
        self, asked: Send, surface: Surface, place: Place, room: str, scope: str
    ) -> list[Draft]:
        """What it becomes; the same for the same body."""
        if asked.mode == "post":
            if len(asked.text) > MOST_POSTED:
                raise TooLong(
                    texts_coming_in.send_post_long(len(asked.text), MOST_POSTED),
                    texts_coming_in.SEND_POST_SHORTER,
                )
            text = neutralised(texts_coming_in.sent_post(asked.name, asked.text))
            pieces = [
                piece.shown for piece in chunk(text, min(surface.capabilities.limit, PART) - MOST_ADDED)
            ]
            return [
                self._draft(PostRequested(kind="notice", text=piece), asked, scope, index)
                for index, piece in enumerate(pieces)
            ]
        cut, blob = await kept(self._parts, asked.text)
        payload = ChannelMessage(
            surface=surface.name,
            place=place.place,
            room=room,
            message=f"http:{asked.key}",
            position=0,
            author="http",
            name=asked.name,
            text=cut,
            blob=blob,
            size=len(asked.text),
            addressed="command" if command_in(asked.text, self._words) else "mention",
            command=command_in(asked.text, self._words),
            sent_at=0,
            via="http",
        )
        return [self._draft(payload, asked, scope)]

    def _draft(self, payload: ChannelMessage | PostRequested, asked: Send, scope: str, *index: int) -> Draft:
        return Draft.of(
            payload,
            "http",
            asked.key,
            *index,
            actor=f"http:{asked.name}",
            role="owner",
            scope=scope,
            outside=[f"sent:{asked.key}"],
        )

    async def _arriving(
        self, surface: Surface, place: Place, room: str, scope: str, drafts: list[Draft]
    ) -> list[Draft]:
        """What has to stand before it; and it is given the time and the position at which it came."""
        now = self._parts.clock.now_ms()
        view = self._parts.engine.view
        placed, caught_up = view.of(Places).of(scope), view.of(CaughtUp).position(surface.name, place.place)
        try:
            with anyio.fail_after(LOOK_UP_S):
                newest = await surface.newest(place.place)
        except (SurfaceError, TimeoutError) as error:
            if placed is None or caught_up is None:
                raise NotNow(
                    texts_coming_in.send_not_now(surface.name), texts_coming_in.SEND_AGAIN, kind="transient"
                ) from error
            newest = caught_up
        for index, draft in enumerate(drafts):
            if isinstance(draft.payload, ChannelMessage):
                came = draft.payload.model_copy(update={"position": newest, "sent_at": now})
                drafts[index] = Draft(
                    came, draft.key, draft.actor, draft.role, draft.scope, draft.caused_by, draft.outside
                )
        if placed is not None:
            return []
        # How far the place was taken in is the way in's to say: what people wrote there may not be read yet.
        return [
            opened(
                scope,
                surface=surface.name,
                place=place.place,
                room=room,
                thread=place.thread,
                limit=surface.capabilities.limit,
                title=clean_text(place.title)[:100],
                since=newest + 1,
            )
        ]

    # -- what became of it --------------------------------------------------------------------------------------------

    async def outcome(self, key: str, wait_s: float) -> Outcome | None:
        """What became of it, after waiting so long at most for its end; None for an unknown key."""
        engine = self._parts.engine
        found: Outcome | None = None
        with anyio.move_on_after(wait_s) as limit:
            while True:
                head = engine.head
                with anyio.CancelScope(shield=True):
                    found = await self._outcome(key)
                if found is None or found.state in ("done", "dropped"):
                    return found
                await engine.moved(head)
        assert limit.cancelled_caught
        return found

    async def _outcome(self, key: str) -> Outcome | None:
        store = self._parts.engine.store
        stands = await store.by_outside(f"sent:{key}")
        if not stands:
            return None
        first = stands[0]
        if self._ahead(stands):
            return Outcome("waiting", first.scope)
        if first.verb == PostRequested.VERB:
            return await self._posted(stands)
        if first.redacted:
            return Outcome("done", first.scope, "redacted")
        if first.read(ChannelMessage).command is not None:
            return Outcome("done", first.scope, "command")
        prompts = await store.by_outside(f"prompt:{first.id}")
        ahead = self._ahead(prompts)
        lane = self._parts.engine.view.of(Turns).lane(first.scope)
        waits = any(first.id in waiting.sources for waiting in lane.waiting)
        if not prompts or ahead or waits or any(prompt.id in lane.over for prompt in prompts):
            return Outcome("waiting", first.scope)
        took = await store.by_outside(f"took:{first.id}")
        if not took:
            return Outcome("dropped", first.scope, reason=texts_coming_in.SEND_DROPPED)
        turn = took[-1].id if took[-1].verb == TurnStarted.VERB else took[-1].read(TurnSteered).turn
        return await self._ended(first, turn)

    def _ahead(self, found: list[Interaction]) -> bool:
        """Whether the store holds them and the folds don't know them yet: what the folds say is not of them then."""
        return any(i.seq > self._parts.engine.head for i in found)

    async def _ended(self, first: Interaction, turn: str) -> Outcome:
        store = self._parts.engine.store
        ended = await store.by_outside(f"ended:{turn}")
        if not ended or ended[-1].redacted:
            return Outcome("running" if not ended else "done", first.scope, "" if not ended else "redacted")
        end = ended[-1].read(TurnEnded)
        if end.status == "interrupted" and end.resumable and end.tries < MOST_TRIES:
            return Outcome("running", first.scope)
        replies = [i.read(TurnReplied) for i in await store.by_outside(f"replied:{turn}") if not i.redacted]
        said = [self._parts.mask(reply.text) for reply in replies]
        files = [file.name for reply in replies for file in reply.files]
        return Outcome("done", first.scope, end.status, self._parts.mask(end.reason), said, files)

    async def _posted(self, stands: list[Interaction]) -> Outcome:
        scope = stands[0].scope
        owed = self._parts.engine.view.of(Outbox).state.where
        if any(post.id in owed for post in stands):
            return Outcome("waiting", scope)
        for post in stands:
            for dead in await self._parts.engine.store.by_outside(f"dead:{post.id}"):
                why = "" if dead.redacted else dead.read(PostDead).why
                return Outcome("done", scope, "failed", why)
        return Outcome("done", scope, "posted")


def sender_name(name: str) -> str:
    """What people see of a sender: one short line, and nobody whom the relay knows."""
    plain = texts.inline(clean_text(name), MOST_NAME).strip("*_~|<>@#[]() ")
    return "script" if plain.casefold() in ("", "owner", "relay") else plain


def _same(stands: list[Interaction], drafts: list[Draft]) -> bool:
    """Whether what stands under a key is what is sent now; a text that was redacted since is taken for the same."""
    if [(i.key, i.scope, i.actor) for i in stands] != [(d.key, d.scope, d.actor) for d in drafts]:
        return False
    for stood, draft in zip(stands, drafts, strict=True):
        if stood.redacted:
            continue
        wanted = draft.payload
        had = stood.read(type(wanted))
        if isinstance(had, ChannelMessage) and isinstance(wanted, ChannelMessage):
            wanted = wanted.model_copy(update={"position": had.position, "sent_at": had.sent_at})
        if had != wanted:
            return False
    return True

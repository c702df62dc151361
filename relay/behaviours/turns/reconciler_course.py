"""One running turn: its events, what reaches it from the ledger, its limits, and its end."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio

from relay import texts
from relay.agents.runtime import (
    ApprovalAsked,
    ApprovalWithdrawn,
    Notice,
    Session,
    Steered,
    TextDelta,
    ToolUpdate,
    Turn,
    TurnEnded,
    TurnEvent,
)
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.approvals.verbs import CARD_COMMAND
from relay.behaviours.config.concept import Configured
from relay.behaviours.places.concept import Places
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.imitation import neutralised
from relay.behaviours.posting.notices import limit_of
from relay.behaviours.posting.tables import fence_tables
from relay.behaviours.posting.verbs import PostRequested
from relay.behaviours.settings.concept import Settings
from relay.behaviours.turns import verbs
from relay.behaviours.turns.concept import Running, Turns, Waiting
from relay.behaviours.turns.holding import held_until, holders
from relay.behaviours.turns.reconciler_prompt import Prompt, Prompts
from relay.errors import RelayError, StoreUnavailable, SurfaceError
from relay.ledger.interaction import Draft
from relay.ledger.reconciler import Held
from relay.parts import Parts
from relay.surfaces.surface import LiveView
from watch_supervisor.plain_text import plain

MOST_REPLY = 200_000
MOST_NOTICE = 4_000
PART_OF_REPLY = 10_000
"""UTF-16 units of one `turn.replied`: well within a payload, whatever the characters."""
CANCEL_LIMIT_S = 15.0
CALL_LIMIT_S = 30.0
MOST_IN_A_TURN = 60
"""Prompts that one turn takes, steered ones included, so that its record stays a payload; the next turn takes more."""
SHOW_EVERY_S = 0.2
MOST_SHOWN = 20_000
"""Characters of the reply that the live view shows: its end."""

log = logging.getLogger("relay.turns")


@dataclass(slots=True)
class Course:
    """See the module. `session_broken` says that the session must not be used again."""

    parts: Parts
    held: Held
    scope: str
    running: Running
    session: Session
    prompts: Prompts
    session_broken: bool = False
    _text: list[str] = field(default_factory=list[str])
    _length: int = 0
    _doing: str = ""
    _dirty: bool = True
    _tools: dict[str, str] = field(default_factory=dict[str, str])
    _asked: dict[str, str] = field(default_factory=dict[str, str])
    """open request → digest of its command."""
    _unsteerable: set[str] = field(default_factory=set[str])
    _heard_at: float = 0.0
    _notices: int = 0
    _limit: str = ""
    _end: TurnEnded | None = None

    @property
    def turn_id(self) -> str:
        return self.running.turn

    async def run(self, prompt: str) -> None:
        """From start to the recorded end. Whatever the agent does, exactly one `turn.ended` is recorded."""
        self._heard_at = self.parts.clock.monotonic()
        try:
            with anyio.fail_after(CALL_LIMIT_S):
                turn = await self.session.start(self.turn_id, prompt)
            await self._follow(turn)
        except TimeoutError:
            self._broke(texts.AGENT_DID_NOT_START)
        except RelayError as error:
            self._broke(str(error))
        except (
            Exception
        ) as error:  # a defect of an adapter, or ours: without an end the thread would wait for ever
            log.exception("the turn %s broke", self.turn_id[:10])
            self._broke(_why(error))
        await self._record_end()
        await self._show(None)

    def _broke(self, why: str) -> None:
        self.session_broken = True
        self._end = self._end or TurnEnded("failed", why)

    async def _follow(self, turn: Turn) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_ledger, turn)
            tasks.start_soon(self._watch_limits, turn, tasks.cancel_scope)
            tasks.start_soon(self._keep_shown)
            try:
                async for event in turn.events():
                    self._heard_at = self.parts.clock.monotonic()
                    if isinstance(event, TurnEnded):
                        self._end = event
                        break
                    await self._take(event, turn)
            except RelayError as error:
                self._broke(str(error))
            tasks.cancel_scope.cancel()
        if self._end is None:
            self._broke(texts.AGENT_ENDED_MUTE)

    # -- what the agent does ----------------------------------------------------------------------------------------

    async def _take(self, event: TurnEvent, turn: Turn) -> None:
        self._dirty = True
        match event:
            case TextDelta(text):
                if self._length < MOST_REPLY:
                    self._text.append(text)
                self._length += len(text)
            case ToolUpdate():
                await self._tool(event)
            case ApprovalAsked():
                await self._ask(event, turn)
            case ApprovalWithdrawn(request):
                self._asked.pop(request, None)
            case Notice(text):
                self._notices += 1
                told = neutralised(self.parts.mask(plain(text[:MOST_NOTICE])))
                pieces = chunk(told, limit_of(self.held.view, self.scope))
                for index, piece in enumerate(pieces):
                    payload = PostRequested(kind="notice", text=piece.shown, turn=self.turn_id)
                    key = ("agent", self.turn_id, "notice", self._notices, index)
                    await self.held.admit(self._draft(payload, *key))
            case TurnEnded():
                self._end = event

    async def _tool(self, event: ToolUpdate) -> None:
        self._tell_of_writes(event)
        before = self._tools.get(event.call)
        self._doing = event.title[:200] if event.state == "running" else ""
        self._tools[event.call] = event.state
        if before is None:
            await self.held.admit(self._tool_asked(event.call, event.title))
        if event.state != "running" and before in (None, "running"):
            payload = verbs.ToolEnded(
                turn=self.turn_id, call=event.call, failed=event.state == "failed", detail=event.detail[:2000]
            )
            await self.held.admit(self._draft(payload, self.turn_id, event.call))

    def _tell_of_writes(self, event: ToolUpdate) -> None:
        """Before anything is awaited: the write may be done already."""
        rules = self.parts.access.rooms.get(self.running.room)
        if rules is None:
            return
        for write in event.writes:
            for told in self.parts.own_writes:
                told(self.scope, Path(rules.workspace), write.path, write.digest)

    def _tool_asked(self, call: str, title: str, ask: ApprovalAsked | None = None) -> Draft:
        command = ask.command if ask else ""
        payload = verbs.ToolAsked(
            turn=self.turn_id,
            call=call,
            title=title[:500],
            room=self.running.room,
            digest=hashlib.sha256(f"{title}\n{command}".encode()).hexdigest(),
            request=ask.request if ask else None,
            command=command,
            cwd=ask.cwd if ask else "",
            asker=self.running.agent,
        )
        return self._draft(payload, self.turn_id, call, "leave" if ask else "begun")

    async def _ask(self, event: ApprovalAsked, turn: Turn) -> None:
        if len(event.command) > CARD_COMMAND:
            await turn.answer(event.request, False, texts.COMMAND_TOO_LONG)
            return
        self._asked[event.request] = hashlib.sha256(event.command.encode()).hexdigest()
        self._doing = texts.waiting_for_leave(event.title)
        await self.held.admit(self._tool_asked(event.call, event.title, event))

    # -- what reaches it --------------------------------------------------------------------------------------------

    async def _watch_ledger(self, turn: Turn) -> None:
        stopping = False
        while True:
            looked_at = self.held.engine.head
            state = self.held.view.of(Turns).lane(self.scope).running
            if state is None or state.turn != self.turn_id:
                return
            if state.stop is not None and not stopping:
                stopping = True
                await self._cancel(turn, state.stop)
            await self._answer(turn)
            await self._steer(turn)
            await self.held.engine.moved(looked_at)

    async def _answer(self, turn: Turn) -> None:
        approvals = self.held.view.of(Approvals)
        for request, digest in list(self._asked.items()):
            decision = approvals.decision(self.turn_id, request)
            if decision is None:
                continue
            # What is allowed is these bytes: a request that changed since is not what the person saw.
            allowed = decision.outcome == "allowed" and decision.digest == digest
            # Its silence counts from the answer on: till now it was the person who was silent.
            self._heard_at = self.parts.clock.monotonic()
            self._asked.pop(request, None)
            reason = decision.reason or ("" if allowed else decision.outcome)
            with anyio.move_on_after(CALL_LIMIT_S):
                await turn.answer(request, allowed, reason)

    async def _steer(self, turn: Turn) -> None:
        view = self.held.view
        room = view.of(Configured).room(self.running.room)
        mode = view.of(Settings).busy(self.scope, room.busy if room else "queue")
        paused = view.of(Turns).pause_of(self.running.room) is not None
        if paused or not self.session.capabilities.steer:
            return
        lane = view.of(Turns).lane(self.scope)
        for waiting in list(lane.waiting):
            if lane.running is None or len(lane.running.prompts) >= MOST_IN_A_TURN:
                return
            if waiting.origin.kind != "message" or waiting.continues or waiting.prompt in self._unsteerable:
                continue
            if waiting.role != self._role or not (mode == "steer" or waiting.joins):
                continue
            end = held_until(holders(view), waiting.sources)
            if end is not None and end > self.parts.clock.now_ms():
                return  # its files are on their way; what came after it doesn't overtake it
            prompt = await self.prompts.for_steering(self.scope, waiting)
            # Not to be cut in two by the turn's end: what the agent took is recorded, or it would be asked again.
            with anyio.CancelScope(shield=True):
                await self._steer_one(turn, waiting, prompt)

    async def _steer_one(self, turn: Turn, waiting: Waiting, prompt: Prompt) -> None:
        result = Steered.TOO_LATE
        with anyio.move_on_after(CALL_LIMIT_S):
            result = await turn.steer(waiting.prompt, prompt.text)
        if result is not Steered.INJECTED:
            self._unsteerable.add(waiting.prompt)  # it stays in the lane, for the next turn
            return
        source = waiting.sources[0]
        payload = verbs.TurnSteered(
            turn=self.turn_id,
            prompt=waiting.prompt,
            source=source,
            revision=prompt.revisions.get(source, 0),
        )
        await self.held.admit(
            self._draft(
                payload,
                self.turn_id,
                waiting.prompt,
                caused_by=[waiting.prompt, self.turn_id],
                outside=[
                    *(f"took:{source}" for source in waiting.sources),
                    *(f"quotes:{message}" for message in prompt.quotes),
                ],
            )
        )

    @property
    def _role(self) -> str:
        return self.running.role

    async def _watch_limits(self, turn: Turn, whole: anyio.CancelScope) -> None:
        limits = self.parts.access.limits
        clock = self.parts.clock
        began = clock.monotonic()
        while True:
            now = clock.monotonic()
            # Waiting for a person's answer is not the agent's silence: the card has its own deadline.
            silent = 0.0 if self._asked else (now - self._heard_at) * 1000
            if silent >= limits.turn_silence:
                self._limit = texts.silence_limit(limits.turn_silence)
            elif (now - began) * 1000 >= limits.turn_total:
                self._limit = texts.total_limit(limits.turn_total)
            if self._limit:
                break
            left = min(limits.turn_silence - silent, limits.turn_total - (now - began) * 1000)
            await clock.sleep(max(0.01, min(left / 1000, 30.0)))
        await self._cancel(turn, self._limit)
        await clock.sleep(CANCEL_LIMIT_S)
        self.session_broken = True  # it did not end when asked: it is left, and its session is not used again
        self._end = TurnEnded("limited", self._limit)
        whole.cancel()

    async def _cancel(self, turn: Turn, reason: str) -> None:
        try:
            with anyio.move_on_after(CANCEL_LIMIT_S):
                await turn.cancel(reason)
        except RelayError as error:
            log.warning("the turn could not be cancelled: %s", error)

    # -- the end ----------------------------------------------------------------------------------------------------

    async def _record_end(self) -> None:
        assert self._end is not None
        state = self.held.view.of(Turns).lane(self.scope).running
        running = state if state is not None and state.turn == self.turn_id else self.running
        status: verbs.EndStatus = "limited" if self._limit else self._end.status
        reason = self._limit or self._end.reason
        if status == "cancelled" and running.stop is not None:
            reason = running.stop
        # Colours out first, then secrets, then the cut: no secret hides in an escape sequence or across a cut.
        text = self.parts.mask(plain("".join(self._text)).strip())
        if self._length > MOST_REPLY:
            text = text[:MOST_REPLY] + texts.REPLY_CUT
        text = fence_tables(text, limit_of(self.held.view, self.scope))
        pieces = [piece.shown for piece in chunk(text, PART_OF_REPLY)] if text else []
        if not pieces and running.files:
            pieces = ["📎"]
        drafts = [
            self._draft(
                verbs.TurnReplied(
                    turn=self.turn_id,
                    index=index,
                    text=piece,
                    files=tuple(running.files) if index == len(pieces) - 1 else (),
                    origins=tuple(running.origins),
                    last=index == len(pieces) - 1,
                ),
                self.turn_id,
                index,
                outside=[f"replied:{self.turn_id}"],
            )
            for index, piece in enumerate(pieces)
        ]
        # Replies and end are one transaction: a turn that is not ended has not replied, so going on repeats nothing.
        await insist(
            self.held,
            *drafts,
            ended(self.scope, running, status, reason, replies=len(pieces), usage=dict(self._end.usage)),
        )

    def _draft(
        self,
        payload: verbs.TurnReplied | verbs.TurnSteered | verbs.ToolAsked | verbs.ToolEnded | PostRequested,
        *key: str | int,
        caused_by: list[str] | None = None,
        outside: list[str] | None = None,
    ) -> Draft:
        return Draft.of(
            payload,
            *key,
            actor=f"agent:{self.running.agent}",
            role=self._role,
            scope=self.scope,
            caused_by=caused_by or [self.turn_id],
            outside=outside or [],
        )

    # -- the live view ----------------------------------------------------------------------------------------------

    async def _keep_shown(self) -> None:
        while True:
            if self._dirty:
                self._dirty = False
                await self._show(self._view())
            await self.parts.clock.sleep(SHOW_EVERY_S)

    def _view(self) -> LiveView:
        waiting = len(self.held.view.of(Turns).lane(self.scope).waiting)
        # Masked with room to spare before it is cut, so that no secret hides across the cut.
        text = self.parts.mask(plain("".join(self._text)[-2 * MOST_SHOWN :]))[-MOST_SHOWN:]
        return LiveView(self.turn_id, text, self.parts.mask(self._doing), self.running.started_at, waiting)

    async def _show(self, view: LiveView | None) -> None:
        placed = self.held.view.of(Places).of(self.scope)
        surface = self.parts.surfaces.by_name.get(placed.surface) if placed else None
        if placed is None or surface is None:
            return
        try:
            with anyio.move_on_after(2):
                await surface.show(placed.place, view)
        except SurfaceError as error:
            log.debug("the live view could not be shown: %s", error)


async def insist(held: Held, *drafts: Draft) -> None:
    """Record, however long the store refuses: a turn whose end is not recorded would hold its scope until a restart."""
    wait = 1.0
    while True:
        try:
            await held.admit(*drafts)
        except StoreUnavailable as error:
            log.warning("the end of a turn waits: %s", error)
            await held.clock.sleep(wait)
            wait = min(wait * 2, 30.0)
        else:
            return


def _why(error: Exception) -> str:
    """What broke, as far as it can be told in a line."""
    if isinstance(error, ExceptionGroup):
        return _why(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return str(error) if isinstance(error, RelayError) else texts.inner_fault(type(error).__name__)


def ended(
    scope: str,
    running: Running,
    status: verbs.EndStatus,
    reason: str,
    *,
    resumable: bool = False,
    replies: int | None = None,
    usage: dict[str, int] | None = None,
) -> Draft:
    """The one end of a turn."""
    payload = verbs.TurnEnded(
        turn=running.turn,
        status=status,
        reason=reason[:2000],
        usage=usage or {},
        replies=running.replies if replies is None else replies,
        room=running.room,
        prompts=tuple(running.prompts),
        sources=tuple(dict.fromkeys(running.sources)),
        origins=tuple(running.origins),
        resumable=resumable,
        tries=running.tries,
    )
    return Draft.of(
        payload,
        running.turn,
        actor=f"agent:{running.agent}",
        role=running.role,
        scope=scope,
        caused_by=[running.turn],
        outside=[f"ended:{running.turn}"],
    )

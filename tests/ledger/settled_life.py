"""Days of a relay in which everything that begins also ends: at the end of each nothing is owed, runs or waits.

Every verb that a concept steps on has its part in a day. Written straight as records, with no rules and no clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC

from relay.behaviours.approvals.verbs import ApprovalAsked, ApprovalClosed
from relay.behaviours.attachments.verbs import FileReceived, FileRefused
from relay.behaviours.config.verbs import ConfigLoaded, RoomRules
from relay.behaviours.corrections.verbs import CorrectionClosed, CorrectionOffered
from relay.behaviours.focus.verbs import FocusAdded, FocusRemoved
from relay.behaviours.intake.verbs import (
    AttachedFile,
    ChannelDeleted,
    ChannelEdited,
    ChannelMessage,
    IntakeCaughtUp,
    IntakeTurnedAway,
)
from relay.behaviours.places.verbs import PlaceOpened
from relay.behaviours.posting.verbs import (
    PostDead,
    PostDelayed,
    PostEdited,
    PostEditRequested,
    PostRequested,
    PostSending,
    PostSent,
    ReactionRequested,
    ReactionSet,
)
from relay.behaviours.queue.verbs import QueueAsked
from relay.behaviours.redaction.verbs import InteractionRedacted, InteractionScrubbed
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.status.verbs import AnswerRequested
from relay.behaviours.turns.verbs import (
    FileShared,
    Origin,
    SessionLost,
    SessionOpened,
    ToolAsked,
    ToolEnded,
    TurnEnded,
    TurnPrompted,
    TurnReplied,
    TurnStarted,
    TurnSteered,
    TurnStopAsked,
    TurnWithdrawn,
)
from relay.behaviours.watches.verbs import (
    WatchAdvanced,
    WatchArmed,
    WatchDisarmed,
    WatchExited,
    WatchFired,
    WatchHeldOn,
    WatchJudged,
    WatchRefused,
    WatchReleased,
    WatchRequested,
    WatchSnoozed,
    WatchStarted,
)
from relay.behaviours.workbench.verbs import ViewShown
from relay.ledger.interaction import Draft, Interaction, Payload, prepare
from watch_supervisor.spec import parse_line

SCOPES = tuple(f"web:main/t{n}" for n in range(5))
ROOM = "web:main"
START_MS = 1_790_000_000_000
MINUTE_MS = 60_000
SPEC = parse_line("notes --file notes.md", now_ms=START_MS, zone=UTC)


class SettledLife:
    """`day()` is one more day in one of the scopes; `take` is given each record, which nobody else keeps."""

    def __init__(self, take: Callable[[Interaction], None]) -> None:
        self.count = 0
        self.days = 0
        self._take = take
        self._boot_name = ""
        self._boot()

    def until(self, count: int) -> None:
        """Days until there are at least so many records."""
        while self.count < count:
            self.day()

    def _put(self, payload: Payload, *, cause: str = "", outside: Iterable[str] = ()) -> str:
        number = self.count
        drafted = Draft.of(
            payload,
            number,
            actor="rule:day",
            scope=self._scope,
            caused_by=[cause] if cause else (),
            outside=outside,
        )
        at = START_MS + number * MINUTE_MS
        made = prepare(drafted, at=at, salt=hashlib.sha256(str(number).encode()).digest()[:16])
        made.seq = self.count = number + 1
        self._take(made)
        return made.id

    @property
    def _scope(self) -> str:
        return SCOPES[self.days % len(SCOPES)]

    def _boot(self) -> None:
        self._boot_name = f"{self.days}-b"
        room = RoomRules(label="main", agent="scout")
        self._put(
            ConfigLoaded(
                boot=self._boot_name,
                count=0,
                digest="",
                zone="UTC",
                rooms={ROOM: room},
                people={"ada": {"web": "ada"}},
                approval_ms=60_000,
                queue=10,
                watches=20,
            )
        )

    def day(self) -> None:
        """One day, of about 50 records."""
        if self.days % 50 == 49:
            self._boot()
        self._put(PlaceOpened(surface="web", place=self._scope, room=ROOM, thread=True, limit=16_000))
        self._put(SettingChosen(name="busy", value="queue", by="Ada"))
        self._put(SettingChosen(name="paused", value="yes", by="Ada"))
        self._put(SettingChosen(name="paused", value="no", by="Ada"))
        message = self._message()
        self._turn(message)
        self._watch(message)
        self._answers(message)
        redacted = self._put(InteractionRedacted(target=message, by="Ada", rows=(message,), residues=("a",)))
        self._put(InteractionScrubbed(redacted=redacted, count=1))
        self._put(IntakeCaughtUp(surface="web", place=self._scope, position=self.count))
        self.days += 1

    def _message(self) -> str:
        name = f"m{self.count}"
        sent_at = START_MS + self.count * MINUTE_MS
        for keeper in ("rate_cap", "loop_guard"):
            self._put(
                IntakeTurnedAway(
                    surface="web",
                    place=self._scope,
                    room=ROOM,
                    message=f"{name}-{keeper}",
                    author="ada",
                    name="Ada",
                    sent_at=sent_at,
                    keeper=keeper,
                    most=10,
                )
            )
        reaction = self._put(ReactionRequested(message=name, emoji="👀"))
        self._put(ReactionSet(request=reaction))
        said = self._put(
            ChannelMessage(
                surface="web",
                place=self._scope,
                room=ROOM,
                message=name,
                position=self.count,
                files=tuple(AttachedFile(id=str(n), name="a.txt", size=9) for n in range(2)),
                author="ada",
                name="Ada",
                text="Could you look at why the nightly build went red, and say which commit did it? " * 3,
                size=240,
                addressed="room",
                sent_at=sent_at,
            ),
            outside=[f"web:{name}"],
        )
        self._put(
            FileReceived(
                source=said,
                index=0,
                message=name,
                name="a.txt",
                path="inbox/a.txt",
                digest="0" * 64,
                size=9,
                kind="text",
            )
        )
        self._put(FileRefused(source=said, index=1, message=name, name="a.txt", size=9, why="gone", most=9))
        return said

    def _turn(self, message: str) -> None:
        origin = Origin(kind="message", name="Ada", person="web:ada", message="m1")
        first, second, third = (
            self._put(TurnPrompted(room=ROOM, source=message, origin=origin), cause=message) for _ in range(3)
        )
        self._change(message)
        token = f"s{self.count}"
        self._put(SessionOpened(runtime="scripted", agent="scout", token=token, resumes=False))
        turn = self._put(
            TurnStarted(
                room=ROOM,
                agent="scout",
                runtime="scripted",
                takes=(first,),
                sources=(message,),
                session=token,
                nonce="n",
                steers=True,
                prompt="0" * 64,
            ),
            cause=first,
        )
        change = self._change(message)
        offered = self._put(
            CorrectionOffered(
                turn=turn,
                room=ROOM,
                change=change,
                source=message,
                message="m1",
                author="web:ada",
                name="Ada",
                deleted=True,
                joins=True,
            ),
            cause=change,
        )
        self._put(
            CorrectionClosed(
                offered=offered,
                turn=turn,
                outcome="left",
                by="Ada",
                room=ROOM,
                change=change,
                message="m1",
                author="web:ada",
                name="Ada",
            )
        )
        self._put(TurnSteered(turn=turn, prompt=second, source=message))
        self._put(TurnWithdrawn(prompt=third, why="dropped", by="Ada"))
        self._put(
            ToolAsked(
                turn=turn, call="c1", title="make build", room=ROOM, digest="d", request="r1", command="make"
            )
        )
        self._approval(turn, "r1", answered=True)
        self._put(ToolEnded(turn=turn, call="c1", failed=False))
        self._put(FileShared(turn=turn, name="report.txt", digest="0" * 64, size=9))
        self._put(FocusAdded(thing="file:report.txt"))
        self._put(TurnStopAsked(turn=turn, by="Ada"))
        reply = self._put(
            TurnReplied(turn=turn, index=0, text="It was 3f2a. " * 20, origins=(origin,), last=True)
        )
        self._post(reply, kind="answer", turn=turn)
        left_open = self._approval(turn, "r2", answered=False)
        self._put(
            TurnEnded(
                turn=turn,
                status="completed",
                replies=1,
                room=ROOM,
                prompts=(first, second),
                sources=(message,),
                origins=(origin,),
            )
        )
        # What the end of the turn leaves behind: its last card is withdrawn after it.
        self._put(
            ApprovalClosed(
                approval=left_open, turn=turn, request="r2", outcome="withdrawn", by="relay", digest="d"
            )
        )
        self._put(SessionLost(token=token, why="a new day"))
        self._put(FocusRemoved(thing="file:report.txt"))

    def _change(self, message: str) -> str:
        """The message is edited, then deleted; the deletion."""
        where = {"surface": "web", "place": self._scope, "message": "m1", "author": "ada", "name": "Ada"}
        edit = {
            "room": ROOM,
            "source": message,
            "revision": 1,
            "text": "or two",
            "size": 6,
            "sent_at": START_MS,
        }
        self._put(ChannelEdited.model_validate({**where, **edit}), cause=message)
        return self._put(ChannelDeleted.model_validate({**where, "target": message}), cause=message)

    def _approval(self, turn: str, request: str, *, answered: bool) -> str:
        asked = self._put(
            ApprovalAsked(
                turn=turn,
                request=request,
                room=ROOM,
                title="make build",
                command="make",
                cwd=".",
                digest="d",
                approvers=("owner",),
                asker="web:ada",
                deadline=START_MS,
            )
        )
        card = self._post(asked, kind="card", turn=turn, approval=asked)
        if answered:
            closed = ApprovalClosed(
                approval=asked, turn=turn, request=request, outcome="allowed", by="Olga", digest="d"
            )
            self._put(closed)
        edit = self._put(PostEditRequested(post=card, version=1, text="allowed", close_card=True))
        self._put(PostEdited(request=edit))
        return asked

    def _post(self, cause: str, *, kind: str, turn: str | None = None, approval: str | None = None) -> str:
        post = self._put(
            PostRequested.model_validate(
                {"kind": kind, "text": "It was 3f2a. " * 20, "turn": turn, "approval": approval}
            ),
            cause=cause,
        )
        self._put(PostSending(post=post))
        self._put(PostDelayed(post=post, attempt=1, not_before=START_MS, why="busy"))
        self._put(
            PostSent(post=post, place=self._scope, message=f"m{self.count}", turn=turn, approval=approval)
        )
        return post

    def _watch(self, message: str) -> None:
        refused = self._request()
        self._put(WatchJudged(request=refused, allowed=False, reasons=("no",)))
        self._put(WatchRefused(request=refused, name=SPEC.name, reason="no"))
        request = self._request()
        self._put(WatchJudged(request=request, allowed=True))
        armed = self._put(
            WatchArmed(
                request=request,
                spec=SPEC,
                room=ROOM,
                via="message",
                by="Ada",
                person="web:ada",
                confined=True,
            ),
            cause=request,
        )
        run = f"run{self.count}"
        self._put(WatchStarted(armed=armed, run=run, boot=self._boot_name, source_state={"digest": "a"}))
        self._put(
            WatchFired(
                armed=armed,
                run=run,
                number=1,
                name=SPEC.name,
                room=ROOM,
                by="Ada",
                person="web:ada",
                notify=True,
                why="it changed",
                text="+ a line\n" * 20,
                count=1,
                dropped=0,
                source_state={"digest": "b"},
                last=False,
            )
        )
        self._put(WatchAdvanced(armed=armed, run=run, source_state={"digest": "c"}))
        self._put(WatchSnoozed(armed=armed, name=SPEC.name, until=1, by="Ada"))
        self._put(WatchSnoozed(armed=armed, name=SPEC.name, until=None, by="Ada"))
        self._put(WatchHeldOn(armed=armed, name=SPEC.name, why="budget", until=1))
        self._put(
            WatchReleased(
                armed=armed,
                name=SPEC.name,
                room=ROOM,
                person="web:ada",
                notify=True,
                is_diff=True,
                why="budget",
                text="+ a line",
                fires=(),
                count=1,
            )
        )
        self._put(WatchDisarmed(armed=armed, name=SPEC.name, reason="asked", path="notes.md"))
        self._put(WatchExited(armed=armed, run=run))

    def _request(self) -> str:
        return self._put(WatchRequested(spec=SPEC, room=ROOM, via="message", by="Ada"))

    def _answers(self, message: str) -> None:
        asked = self._put(AnswerRequested(what="status"), cause=message)
        self._post(asked, kind="notice")
        self._post(self._put(QueueAsked(reply_to="m1"), cause=message), kind="notice")
        self._put(ViewShown(message="m1", count=0))
        dead = self._put(PostRequested(kind="notice", text="to a place that is gone"))
        self._put(PostDead(post=dead, why="the place is gone"))

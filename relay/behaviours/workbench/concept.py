"""Where each scope's workbench stands, and which scopes changed last."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.approvals.verbs import ApprovalAsked, ApprovalClosed
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.posting.verbs import PostDead, PostRequested, PostSent
from relay.behaviours.settings.verbs import SettingChosen
from relay.behaviours.turns.verbs import (
    ToolAsked,
    TurnEnded,
    TurnPrompted,
    TurnStarted,
    TurnSteered,
    TurnWithdrawn,
)
from relay.behaviours.watches.verbs import WatchArmed, WatchDisarmed, WatchFired
from relay.behaviours.workbench.verbs import ViewShown
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

MINUTE_MS = 60_000


@dataclass(slots=True)
class Shown:
    """A scope's message. `post` is set while it is owed, `message` when it stands."""

    post: str = ""
    message: str = ""
    known: bool = False
    """`view.shown` tells of it."""
    count: int = 0
    card: str = ""
    """The post that it is: what its buttons are known by."""
    pinned: bool = False
    why: str = ""
    """Why it isn't pinned."""
    dead: bool = False
    """It could not be posted in this boot."""


@dataclass(slots=True)
class Touch:
    """A change of what a workbench shows."""

    seq: int
    at: int
    slight: bool = False
    """It concerns what runs and waits: where nothing does, it need not be shown."""


@dataclass(slots=True)
class WorkbenchState:
    boot: str = ""
    unsettled_since: int = 0
    """What changed before that time was shown by an earlier boot."""
    shown: dict[str, Shown] = field(default_factory=dict[str, Shown])
    posts: dict[str, str] = field(default_factory=dict[str, str])
    """owed post → scope."""
    touched: dict[str, Touch] = field(default_factory=dict[str, Touch])
    """scope → its last change, the scope that changed last at the end."""


class Workbenches(Concept[WorkbenchState]):
    """See the module. Grows with the number of scopes ever used, never with what happens in them."""

    NAME = "workbenches"
    VERSION = 2
    State = WorkbenchState

    @on(ConfigLoaded)
    def begin_boot(self, i: Interaction, p: ConfigLoaded) -> None:
        if p.boot != self.state.boot:
            self.state.boot = p.boot
            last = max((touch.at for touch in self.state.touched.values()), default=0)
            self.state.unsettled_since = last - MINUTE_MS
            for shown in self.state.shown.values():
                shown.dead = False

    @on(TurnPrompted)
    @on(TurnStarted)
    @on(TurnSteered)
    @on(TurnWithdrawn)
    @on(TurnEnded)
    @on(ToolAsked)
    @on(WatchArmed)
    @on(WatchFired)
    @on(WatchDisarmed)
    @on(ApprovalAsked)
    @on(ApprovalClosed)
    def changed(self, i: Interaction, p: object) -> None:
        self._touch(i.scope, i)

    @on(SettingChosen)
    def chosen(self, i: Interaction, p: SettingChosen) -> None:
        if p.name == "paused":
            for scope in self.state.shown:
                self._touch(scope, i, slight=True)

    @on(PostRequested)
    def requested(self, i: Interaction, p: PostRequested) -> None:
        if p.view is not None:
            self.state.posts[i.id] = i.scope
            shown = self.state.shown.setdefault(i.scope, Shown())
            shown.post = shown.card = i.id

    @on(PostSent)
    def sent(self, i: Interaction, p: PostSent) -> None:
        scope = self.state.posts.pop(p.post, None)
        if scope is not None:
            shown = self.state.shown[scope]
            shown.post, shown.message = "", p.message
            self._touch(scope, i)

    @on(PostDead)
    def dead(self, i: Interaction, p: PostDead) -> None:
        scope = self.state.posts.pop(p.post, None)
        if scope is not None:
            self.state.shown[scope] = Shown(count=self.state.shown[scope].count + 1, dead=True)

    @on(ViewShown)
    def stands(self, i: Interaction, p: ViewShown) -> None:
        shown = self.state.shown.setdefault(i.scope, Shown())
        shown.message, shown.count, shown.known = p.message, p.count, bool(p.message)
        shown.post = ""
        if p.why != shown.why:
            self._touch(i.scope, i)  # it says so itself
        shown.pinned, shown.why = p.pinned, p.why
        if not p.message:
            shown.card = ""

    def _touch(self, scope: str, i: Interaction, *, slight: bool = False) -> None:
        self.state.touched.pop(scope, None)
        self.state.touched[scope] = Touch(i.seq, i.at, slight)

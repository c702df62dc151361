"""Which cards about a changed message are open, and which changes a turn that begins may have missed."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.corrections.verbs import CorrectionClosed, CorrectionOffered
from relay.behaviours.intake.verbs import ChannelDeleted, ChannelEdited
from relay.behaviours.turns.verbs import TurnEnded, TurnPrompted, TurnStarted, TurnWithdrawn
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction


@dataclass(slots=True)
class Changed:
    """What became of a message that waits or is worked on."""

    change: str
    revision: int
    deleted: bool
    message: str
    author: str
    name: str
    role: str


@dataclass(slots=True)
class OpenCorrection:
    offered: str
    scope: str
    turn: str
    change: str
    source: str
    room: str
    message: str
    author: str
    name: str
    role: str


@dataclass(slots=True)
class CorrectionsState:
    prompts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """prompt that waits or is worked on → its sources."""
    changed: dict[str, Changed] = field(default_factory=dict[str, Changed])
    """source of one of them → its last change."""
    running: dict[str, None] = field(default_factory=dict[str, None])
    """Scopes in which a turn runs."""
    held: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """scope → prompts that are over, and whose changes still count: one that was withdrawn while a turn ran (the agent
    may be given it in that moment), and those of a turn that a restart cut off (it goes on with them)."""
    open: dict[str, OpenCorrection] = field(default_factory=dict[str, OpenCorrection])


class Corrections(Concept[CorrectionsState]):
    """See the module. A prompt is forgotten when it is withdrawn or its turn has ended (or, where it is held, when the
    turn that runs has, or the next begins), a change with the last prompt of its message, a card when it is closed: the
    state grows with what waits and runs."""

    NAME = "corrections"
    VERSION = 2
    State = CorrectionsState

    @on(TurnPrompted)
    def prompted(self, i: Interaction, p: TurnPrompted) -> None:
        self.state.prompts[i.id] = list(p.sources) or [p.source]

    @on(TurnStarted)
    def started(self, i: Interaction, p: TurnStarted) -> None:
        self.state.running[i.scope] = None
        self._forget(self.state.held.pop(i.scope, []))

    @on(TurnWithdrawn)
    def withdrawn(self, i: Interaction, p: TurnWithdrawn) -> None:
        if p.why == "deleted" and i.scope in self.state.running:
            self.state.held.setdefault(i.scope, []).append(p.prompt)
        else:
            self._forget([p.prompt])

    @on(TurnEnded)
    def ended(self, i: Interaction, p: TurnEnded) -> None:
        self.state.running.pop(i.scope, None)
        over = [*self.state.held.pop(i.scope, []), *p.prompts]
        if p.status == "interrupted":
            self.state.held[i.scope] = over
        else:
            self._forget(over)

    def _forget(self, prompts: list[str]) -> None:
        gone = {source for prompt in prompts for source in self.state.prompts.pop(prompt, [])}
        if gone & self.state.changed.keys():
            for source in gone - {s for sources in self.state.prompts.values() for s in sources}:
                self.state.changed.pop(source, None)

    @on(ChannelEdited)
    def edited(self, i: Interaction, p: ChannelEdited) -> None:
        self._change(p.source, Changed(i.id, p.revision, False, p.message, _author(p), p.name, i.role))

    @on(ChannelDeleted)
    def deleted(self, i: Interaction, p: ChannelDeleted) -> None:
        self._change(p.target, Changed(i.id, 0, True, p.message, _author(p), p.name, i.role))

    def _change(self, source: str, changed: Changed) -> None:
        if any(source in sources for sources in self.state.prompts.values()):
            self.state.changed[source] = changed

    @on(CorrectionOffered)
    def offered(self, i: Interaction, p: CorrectionOffered) -> None:
        self.state.open[i.id] = OpenCorrection(
            i.id, i.scope, p.turn, p.change, p.source, p.room, p.message, p.author, p.name, i.role
        )

    @on(CorrectionClosed)
    def closed(self, i: Interaction, p: CorrectionClosed) -> None:
        self.state.open.pop(p.offered, None)

    def missed(self, source: str, revision: int) -> Changed | None:
        """The last change of that message, if whoever took it in that revision doesn't know of it."""
        changed = self.state.changed.get(source)
        return changed if changed is not None and (changed.deleted or changed.revision > revision) else None

    def of_turn(self, turn: str) -> list[OpenCorrection]:
        return [one for one in self.state.open.values() if one.turn == turn]


def _author(p: ChannelEdited | ChannelDeleted) -> str:
    return f"{p.surface}:{p.author}"

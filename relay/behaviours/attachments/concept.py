"""Which files of messages are still to be fetched."""

from __future__ import annotations

from dataclasses import dataclass, field

from relay.behaviours.attachments.verbs import FileReceived, FileRefused
from relay.behaviours.config.verbs import ConfigLoaded
from relay.behaviours.intake.verbs import ChannelMessage
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

HOLDS_MS = 240_000
"""How long a message's turn waits for its files at most: longer than they are tried to be fetched."""


@dataclass(slots=True)
class WantedFile:
    index: int
    id: str
    name: str
    size: int


@dataclass(slots=True)
class Pending:
    """A message with files that are not settled."""

    source: str
    scope: str
    surface: str
    place: str
    room: str
    message: str
    since: int
    files: list[WantedFile]

    def wanted(self, index: int) -> WantedFile | None:
        return next((file for file in self.files if file.index == index), None)


@dataclass(slots=True)
class AttachmentsState:
    pending: dict[str, Pending] = field(default_factory=dict[str, Pending])


class Attachments(Concept[AttachmentsState]):
    """source → its files that were neither received nor refused yet. A message is forgotten when its last file is
    settled, so the state grows with what is being fetched. It holds messages back (see `HoldsBack`)."""

    NAME = "attachments"
    State = AttachmentsState

    @on(ConfigLoaded)
    def loaded(self, i: Interaction, p: ConfigLoaded) -> None:
        """A boot, or a room that is named again: from here on its files are fetched (again)."""
        for pending in self.state.pending.values():
            pending.since = i.at

    @on(ChannelMessage)
    def came(self, i: Interaction, p: ChannelMessage) -> None:
        if p.files and p.command is None:
            files = [WantedFile(n, file.id, file.name, file.size) for n, file in enumerate(p.files)]
            self.state.pending[i.id] = Pending(
                i.id, i.scope, p.surface, p.place, p.room, p.message, i.at, files
            )

    @on(FileReceived)
    def received(self, i: Interaction, p: FileReceived) -> None:
        self._settled(p.source, p.index)

    @on(FileRefused)
    def refused(self, i: Interaction, p: FileRefused) -> None:
        self._settled(p.source, p.index)

    def _settled(self, source: str, index: int) -> None:
        pending = self.state.pending.get(source)
        if pending is not None:
            pending.files = [file for file in pending.files if file.index != index]
            if not pending.files:
                del self.state.pending[source]

    def holds_until(self, source: str) -> int | None:
        """See `HoldsBack`."""
        pending = self.state.pending.get(source)
        return None if pending is None else pending.since + HOLDS_MS

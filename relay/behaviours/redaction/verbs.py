"""The verbs of redaction."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload, Position


class InteractionRedacted(Payload):
    """From here on the texts of those records are not to be found any more, and who asked for it and when stands here.

    It is recorded before anything is taken out, so that a crash in between is made good. `residues` are the sha256 of
    what is left of each record: that, too, can be checked.
    """

    VERB: ClassVar[str] = "interaction.redacted"
    target: str
    """What was asked for: an interaction, or a message (`web:m17`); empty for what was too old."""
    by: str
    why: str = ""
    rows: tuple[str, ...]
    residues: tuple[str, ...]
    messages: tuple[str, ...] = ()
    """Where their texts stand as messages: `web:m17`. What another server keeps is not changed by this."""
    sessions: tuple[str, ...] = ()
    """Sessions of agents that were given them: `runtime/token`."""
    through: Position = 0
    """For what was too old: everything up to that place in the order was looked at."""


class InteractionScrubbed(Payload):
    """No file of the state folder holds what was redacted up to that record."""

    VERB: ClassVar[str] = "interaction.scrubbed"
    redacted: str
    count: int
    """How many redactions it completes."""

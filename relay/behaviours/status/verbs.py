"""The verb of answers that need a look at the relay or its history."""

from __future__ import annotations

from typing import ClassVar, Literal

from relay.ledger.interaction import Payload


class AnswerRequested(Payload):
    """`!status`, `!why` or `!help` was asked: its answer is looked up and posted."""

    VERB: ClassVar[str] = "status.asked"
    what: Literal["status", "why", "help"]
    target: str | None = None
    reply_to: str | None = None

"""The verb of the queue."""

from __future__ import annotations

from typing import ClassVar

from relay.ledger.interaction import Payload


class QueueAsked(Payload):
    """`!queue` was typed: what waits here is looked up and posted."""

    VERB: ClassVar[str] = "queue.asked"
    reply_to: str

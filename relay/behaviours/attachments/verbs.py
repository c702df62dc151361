"""The verbs of files that come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from relay.ledger.interaction import Payload

Why = Literal["too large", "secret name", "secret inside", "gone", "not fetched", "no folder"]


class FileReceived(Payload):
    """A file of a message lies in the workspace."""

    VERB: ClassVar[str] = "file.received"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": ""}
    source: str
    """The interaction of the message."""
    index: int
    """Which of the message's files, from 0."""
    message: str
    name: str
    """What its sender calls it."""
    path: str
    """Where it lies, from the workspace."""
    digest: str
    """sha256 of its bytes."""
    size: int
    kind: str
    """What its bytes are: `text`, `png`, … or `data`."""
    text: str | None = None
    """Digest of a blob with the beginning of a text file."""
    length: int = 0
    """Characters of all of a text file that is read whole; 0 when it is larger than what is kept of it."""

    def blobs(self) -> tuple[str, ...]:
        return (self.text,) if self.text else ()


class FileRefused(Payload):
    """A file of a message was not taken."""

    VERB: ClassVar[str] = "file.refused"
    source: str
    index: int
    message: str
    name: str
    size: int
    why: Why
    most: int
    """The largest that is taken, in bytes."""
    detail: str = ""

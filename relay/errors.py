"""The error table: what went wrong, what the person can do, and whether trying again can help.

Every error that a person may meet is one of these. `str(error)` is a sentence; `advice` says what to do next. The exit
code is what the `relay` command ends with.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal


class Exit(IntEnum):
    """Exit codes of the `relay` command."""

    FINE = 0
    FAILED = 1
    USAGE = 2
    CONFIG = 3
    LOCKED = 4
    NEWER_DATABASE = 5


class RelayError(Exception):
    """An error with advice. `kind` says whether a retry can help."""

    code: Exit = Exit.FAILED
    kind: Literal["permanent", "transient", "fatal"] = "permanent"

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice

    def told(self) -> str:
        """The sentence and its advice, as a person reads them."""
        return f"{self}\n{self.advice}" if self.advice else str(self)


class UsageError(RelayError):
    """The command line was off."""

    code = Exit.USAGE


class ConfigError(RelayError):
    """access.json has a mistake."""

    code = Exit.CONFIG


class StateLocked(RelayError):
    """Another relay holds this state folder."""

    code = Exit.LOCKED
    kind = "fatal"


class NewerDatabase(RelayError):
    """The ledger was written by a newer relay."""

    code = Exit.NEWER_DATABASE
    kind = "fatal"


class DamagedDatabase(RelayError):
    """The ledger file can't be read as one."""

    kind = "fatal"


class BadInteraction(RelayError):
    """A draft outside the ledger's domain: a float, an over-long payload, an unknown verb."""


class StoreUnavailable(RelayError):
    """The store can't write just now (full disk, I/O error). Nothing was changed. `full`: the disk is full."""

    kind = "transient"
    full = False


class Fenced(RelayError):
    """A write under a lease that somebody else holds by now. Nothing was written."""

    kind = "fatal"


class ConceptStopped(RelayError):
    """A fold raised on an interaction and stands still; what depends on it waits."""


class SurfaceError(RelayError):
    """A surface refused: permanent (the place is gone), or transient (try again after `retry_after_ms`)."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        kind: Literal["permanent", "transient", "fatal"] = "permanent",
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message, advice)
        self.kind = kind
        self.retry_after_ms = retry_after_ms


class AgentError(RelayError):
    """An agent's process or session failed."""


class WorkspaceUnusable(AgentError):
    """A room's folder is no folder, or can't be made or written, so no agent can work there."""

"""The port to a coding agent: open a session, start a turn, steer it, answer it, cancel it.

A turn's events end with exactly one `TurnEnded`. Before it, the adapter closes what it left open (tools, approvals)
itself. `steer` on a turn that has just ended answers `TooLate`, and the message belongs to the next turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Protocol

from relay.errors import AgentError
from relay.workspaces import Kept


class AgentGone(AgentError):
    """The session to resume is not known to the agent any more."""


TurnStatus = Literal["completed", "cancelled", "refused", "limited", "failed"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool of the relay answers: one text, and whether it went wrong."""

    text: str
    failed: bool = False


class Tools(Protocol):
    """The relay's own tools, as one session sees them. Without a running turn every call is refused."""

    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What a session is opened with. `resume` is the token of an earlier session of the scope."""

    scope: str
    workspace: Path
    state: Path
    """A folder in which the adapter may keep what it needs to resume."""
    tools: Tools
    model: str | None = None
    effort: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    resume: str | None = None
    kept: Kept = field(default_factory=Kept)
    """What the agent may not touch under any name."""


@dataclass(frozen=True, slots=True)
class SessionCapabilities:
    """What the agent can do in a session."""

    steer: bool = False
    resume: bool = False
    approvals: bool = False


class Steered(Enum):
    """What became of a steering message."""

    INJECTED = "injected"
    TOO_LATE = "too late"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUpdate:
    """The state of a tool call: an upsert by `call`."""

    call: str
    title: str
    state: Literal["running", "done", "failed"]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The agent wants leave: exactly `command`, in `cwd`."""

    request: str
    call: str
    title: str
    command: str
    cwd: str


@dataclass(frozen=True, slots=True)
class ApprovalWithdrawn:
    """The agent no longer needs an answer."""

    request: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the people, not part of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The last event of a turn."""

    status: TurnStatus
    reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])


TurnEvent = TextDelta | ToolUpdate | ApprovalAsked | ApprovalWithdrawn | Notice | TurnEnded


class Turn(Protocol):
    """One run of the agent."""

    def events(self) -> AsyncIterator[TurnEvent]:
        """What happens, in order; ends after `TurnEnded`. To be iterated once."""
        ...

    async def steer(self, message_id: str, prompt: str) -> Steered:
        """Put a framed message into the running turn. Bounded."""
        ...

    async def answer(self, request: str, allowed: bool, reason: str = "") -> None:
        """The decision on an approval. An unknown request is ignored."""
        ...

    async def cancel(self, reason: str) -> None:
        """Ask it to end. Idempotent, bounded; the events still end with `TurnEnded`."""
        ...


class Session(Protocol):
    """A conversation of one scope with an agent."""

    @property
    def token(self) -> str:
        """Opaque; opening with it as `resume` goes on with this session."""
        ...

    @property
    def capabilities(self) -> SessionCapabilities: ...

    async def start(self, turn_id: str, prompt: str) -> Turn:
        """Begin a turn. One at a time. Raises `AgentError` when the agent is gone."""
        ...

    async def close(self) -> None: ...


class Runtime(Protocol):
    """How sessions of one kind of agent are opened."""

    @property
    def name(self) -> str: ...

    async def open(self, spec: SessionSpec) -> Session:
        """Raises `AgentError`; `AgentGone` when `resume` is not known any more."""
        ...

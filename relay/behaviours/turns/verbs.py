"""The verbs of turns."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from relay.ledger.interaction import Payload, Position

EndStatus = Literal["completed", "cancelled", "refused", "limited", "failed", "interrupted"]


class Origin(BaseModel):
    """What a prompt came from: it travels forward, since rules can't walk history."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["message", "watch"]
    name: str
    """Who wrote, or the watch's name."""
    person: str = ""
    """Who is answered and may stop it: the author, or who armed the watch."""
    message: str | None = None
    """The message that the reply answers (the surface's id)."""


class SharedFile(BaseModel):
    """A file of a reply, kept as a blob."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    digest: str
    size: int


class TurnPrompted(Payload):
    """An item of the scope's lane. `source` is the interaction whose text it is."""

    VERB: ClassVar[str] = "turn.prompted"
    room: str
    source: str
    origin: Origin
    continues: str | None = None
    """The interrupted turn that this one goes on with."""
    sources: tuple[str, ...] = ()
    """For a continuation or a retry: all that the earlier turn had taken."""
    origins: tuple[Origin, ...] = ()
    """For a continuation or a retry: all whom it is for, `origin` among them, and the watches that woke it."""
    tries: int = 0
    """How often the same work was interrupted before."""
    joins: bool = False
    """It is to go into the running turn, whatever a message does there otherwise."""


class TurnStarted(Payload):
    """A turn takes prompts. Its id is the turn's id."""

    VERB: ClassVar[str] = "turn.started"
    room: str
    agent: str
    runtime: str
    takes: tuple[str, ...]
    sources: tuple[str, ...]
    session: str
    nonce: str
    steers: bool
    """Whether this agent takes messages into a running turn."""
    prompt: str
    """Digest of the framed prompt, which is kept as a blob."""
    revisions: tuple[int, ...] = ()
    """For each of `sources`, the revision of the message that the prompt holds; 0 is as it was written at first."""
    above: int = 0
    """How many messages from above, which were not said to the agent, the prompt holds."""
    seen: Position = 0
    """The position in the place up to which the agent was given what was said; 0 when nothing was looked at."""


class TurnSteered(Payload):
    """The running turn took this prompt."""

    VERB: ClassVar[str] = "turn.steered"
    turn: str
    prompt: str
    source: str
    revision: int = 0
    """As in `turn.started`."""


class TurnStopAsked(Payload):
    """Somebody who may wants the turn to end."""

    VERB: ClassVar[str] = "turn.stop_asked"
    turn: str
    by: str


class TurnWithdrawn(Payload):
    """A prompt left the lane without a turn."""

    VERB: ClassVar[str] = "turn.withdrawn"
    prompt: str
    why: Literal["queue full", "dropped", "deleted"]
    by: str
    message: str | None = None


class TurnReplied(Payload):
    """A part of the reply. `attribution` names the watches that woke the turn."""

    VERB: ClassVar[str] = "turn.replied"
    turn: str
    index: int
    text: str
    files: tuple[SharedFile, ...] = ()
    origins: tuple[Origin, ...]
    last: bool


class TurnEnded(Payload):
    """The end of a turn, told to people unless it completed."""

    VERB: ClassVar[str] = "turn.ended"
    turn: str
    status: EndStatus
    reason: str = ""
    usage: dict[str, int] = {}
    replies: int
    room: str
    prompts: tuple[str, ...]
    sources: tuple[str, ...]
    origins: tuple[Origin, ...]
    resumable: bool = False
    """Whether an interrupted turn can go on in its session."""
    tries: int = 0


class SessionOpened(Payload):
    """The scope's conversation with an agent."""

    VERB: ClassVar[str] = "session.opened"
    runtime: str
    agent: str
    token: str
    resumes: bool


class SessionLost(Payload):
    """The session can't be resumed; the next turn opens a new one."""

    VERB: ClassVar[str] = "session.lost"
    token: str
    why: str


class ToolAsked(Payload):
    """An agent began a tool call; with `request`, it wants leave for exactly `command`."""

    VERB: ClassVar[str] = "tool.asked"
    turn: str
    call: str
    title: str
    room: str
    digest: str
    """sha256 of the title and the command, as far as the agent tells them."""
    request: str | None = None
    command: str = ""
    cwd: str = ""
    asker: str = ""


class ToolEnded(Payload):
    """The call is over."""

    VERB: ClassVar[str] = "tool.ended"
    turn: str
    call: str
    failed: bool
    detail: str = ""


class FileShared(Payload):
    """The agent handed over a file of its workspace; it goes out with the reply."""

    VERB: ClassVar[str] = "file.shared"
    turn: str
    name: str
    digest: str
    size: int

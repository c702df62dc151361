"""The verbs of the outbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from relay.behaviours.turns.verbs import SharedFile
from relay.ledger.interaction import Draft, Interaction, Payload

Kind = Literal["notice", "card", "answer"]
"""In the order in which they go out of one place when several wait."""


class CardChoice(BaseModel):
    """A button of a card."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: str
    label: str


class PostRequested(Payload):
    """One message that is owed to the place of its scope."""

    VERB: ClassVar[str] = "post.requested"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": ""}
    kind: Kind
    text: str
    reply_to: str | None = None
    ping: tuple[str, ...] = ()
    files: tuple[SharedFile, ...] = ()
    turn: str | None = None
    approval: str | None = None
    choices: tuple[CardChoice, ...] = ()
    view: Literal["workbench"] | None = None
    """It is a message that is edited for as long as its scope is used."""


class PostSending(Payload):
    """The post is about to be tried for the first time (the interaction's `at` is t0)."""

    VERB: ClassVar[str] = "post.sending"
    post: str


class PostSent(Payload):
    """It stands there, as that message."""

    VERB: ClassVar[str] = "post.sent"
    post: str
    place: str
    message: str
    turn: str | None = None
    approval: str | None = None


class PostDelayed(Payload):
    """The surface put it off."""

    VERB: ClassVar[str] = "post.delayed"
    post: str
    attempt: int
    not_before: int
    why: str


class PostDead(Payload):
    """It can't be posted, and why. An answer to a thread is offered in the thread's room instead."""

    VERB: ClassVar[str] = "post.dead"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": ""}
    post: str
    why: str
    room: str = ""
    """The room that it is offered in; empty for none."""
    text: str = ""
    """What is offered there."""
    files: tuple[SharedFile, ...] = ()
    ping: tuple[str, ...] = ()
    turn: str | None = None


class ReactionRequested(Payload):
    """A reaction of ours is owed."""

    VERB: ClassVar[str] = "reaction.requested"
    message: str
    emoji: str
    add: bool = True


class ReactionSet(Payload):
    """It is set, or can't be (`failed` says why)."""

    VERB: ClassVar[str] = "reaction.set"
    request: str
    failed: str = ""


class PostEditRequested(Payload):
    """One of our messages is to read differently; `close_card` takes its buttons away."""

    VERB: ClassVar[str] = "post.edit_requested"
    TEXTS: ClassVar[Mapping[str, Any]] = {"text": ""}
    post: str
    version: int
    text: str
    close_card: bool = False


class PostEdited(Payload):
    """It does, or can't (`failed` says why)."""

    VERB: ClassVar[str] = "post.edited"
    request: str
    failed: str = ""


def notice(
    cause: Interaction, text: str, *, label: str, reply_to: str | None = None, turn: str | None = None
) -> Draft:
    """A line for the people of the cause's scope. `label` tells apart several notices of one cause."""
    return Draft.of(
        PostRequested(kind="notice", text=text, reply_to=reply_to, turn=turn),
        label,
        cause.id,
        "notice",
        0,
        actor="rule:notice",
        scope=cause.scope,
        caused_by=[cause.id],
    )

"""The pure decision whether a message is taken in, and how it was addressed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from relay.behaviours.intake.verbs import Addressed, Role


@dataclass(frozen=True, slots=True)
class Said:
    """What the filter looks at."""

    text: str
    role: Role
    mentions_us: bool
    thread: bool
    thread_joined: bool
    replies_to_us: bool
    room_known: bool
    require_mention: bool
    brings: bool = False
    """It brings a file, a forwarded or a quoted message along, so it need not have a text of its own."""


@dataclass(frozen=True, slots=True)
class Taken:
    """It is taken in."""

    addressed: Addressed
    command: str | None


def command_in(text: str, words: Collection[str]) -> str | None:
    """The command that a text begins with, if it is one of `words`."""
    first = text.lstrip().split(maxsplit=1)[:1]
    word = first[0].lower() if first else ""
    return word if word in words else None


def take(said: Said, words: Collection[str]) -> Taken | None:
    """How the message is taken in, or None: an unknown room, a stranger, or not said to us.

    A peer bot is heard only when it mentions us or replies to us. What is a command from a person is a plain text from
    a bot or a webhook: they stop and choose nothing.
    """
    if not said.room_known or said.role == "stranger":
        return None
    if not said.text.strip() and not said.brings:
        return None
    command = None if said.role in ("peer", "webhook") else command_in(said.text, words)
    if said.mentions_us:
        return Taken("mention", command)
    if said.replies_to_us:
        return Taken("reply", command)
    if said.thread and said.thread_joined and said.role != "peer":
        return Taken("thread", command)
    if not said.require_mention and said.role != "peer":
        return Taken("room", command)
    if command is not None and said.role == "owner":
        return Taken("command", command)
    return None

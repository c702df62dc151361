"""An interaction as it lives: made by a person, acknowledged by an app within seconds, its token good for minutes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fakes.discord.model import App, Channel, Json, Message, User


class Stage(Enum):
    WAITING = "waiting"
    THINKING = "thinking"
    ANSWERED = "answered"


@dataclass
class Interaction:
    id: int
    kind: int
    """2: slash command, 3: component, 4: autocomplete, 5: a form sent."""
    app: App
    user: User
    channel: Channel
    token: str
    made_at: float
    data: Json
    message: Message | None = None
    trigger: Interaction | None = None
    """The interaction that opened the form which was sent."""
    stage: Stage = Stage.WAITING
    original: Message | None = None
    choices: list[Json] | None = None
    modal: Json | None = None
    followups: list[Message] = field(default_factory=list[Message])

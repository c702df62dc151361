"""What a person sees of one message. Tests compare these, so it holds what is on the screen and no more."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.discord import components
from fakes.discord.model import LOADING, SPOKEN, Message
from fakes.discord.world import World


@dataclass(frozen=True)
class Seen:
    author: str
    text: str
    reactions: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Emoji: the names of those who put it on, in order."""
    files: tuple[str, ...] = ()
    edited: bool = False
    reply_to: str | None = None
    """The text above the message: what it answers; "" where that was deleted."""
    buttons: tuple[str, ...] = ()
    """The labels of what can be pressed now."""
    embeds: tuple[str, ...] = ()
    """Title and text of each."""
    thinking: bool = False
    system: bool = False
    """Discord's own words (pinned, thread opened, renamed), not a person's."""
    pinned: bool = False
    private: bool = False
    """Only one person sees it."""
    forwarded: tuple[str, ...] = ()
    id: int = field(default=0, compare=False)
    channel_id: int = field(default=0, compare=False)

    def __str__(self) -> str:
        marks = [
            *(f"[{name}]" for name in self.files),
            *(f"({label})" for label in self.buttons),
            *(f"{emoji}×{len(people)}" for emoji, people in self.reactions.items()),
            *(["(edited)"] if self.edited else []),
            *(["(thinking)"] if self.thinking else []),
        ]
        return " ".join([f"{self.author}: {self.text!r}", *marks])


def seen(world: World, one: Message) -> Seen:
    names = {user.id: user.name for user in world.users.values()}
    return Seen(
        one.spoken_by or one.author.name,
        one.content,
        {emoji: tuple(names[number] for number in people) for emoji, people in one.reactions.items()},
        tuple(file.filename for file in one.attachments),
        one.edited_at is not None,
        _answered(world, one),
        tuple(components.labels(one.components)),
        tuple(f"{embed.get('title') or ''} {embed.get('description') or ''}".strip() for embed in one.embeds),
        bool(one.flags & LOADING),
        one.kind not in SPOKEN,
        one.pinned,
        one.ephemeral_for is not None,
        tuple(str(snapshot["message"]["content"]) for snapshot in one.snapshots),
        one.id,
        one.channel_id,
    )


def _answered(world: World, one: Message) -> str | None:
    reference = one.reference
    if reference is None or reference.get("type", 0) == 1 or one.kind not in SPOKEN:
        return None
    channel = world.channels.get(int(reference["channel_id"]))
    target = channel.messages.get(int(reference["message_id"])) if channel else None
    return target.content if target else ""

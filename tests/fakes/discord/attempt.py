"""A command, click or form as the person who made it watches it: no answer yet, "thinking", answered, failed."""

from __future__ import annotations

from dataclasses import dataclass

from fakes.discord import interactions
from fakes.discord.interaction import Interaction, Stage
from fakes.discord.model import Json
from fakes.discord.seen import Seen, seen
from fakes.discord.world import World


@dataclass
class Attempt:
    """A command, click or form as the person who made it watches it."""

    world: World
    interaction: Interaction

    @property
    def failed(self) -> bool:
        """ "The application did not respond": no answer in 3 s, or "thinking" for 15 minutes."""
        return interactions.failed(self.world, self.interaction)

    @property
    def waiting(self) -> bool:
        return self.interaction.stage is Stage.WAITING and not self.failed

    @property
    def thinking(self) -> bool:
        return self.interaction.stage is Stage.THINKING and not self.failed

    @property
    def answered(self) -> bool:
        return self.interaction.stage is Stage.ANSWERED

    @property
    def reply(self) -> Seen | None:
        """The answer's message; also one that only this person sees."""
        found = self.interaction.original
        there = found is not None and found.id in self.interaction.channel.messages
        return seen(self.world, found) if found is not None and there and not self.thinking else None

    @property
    def followups(self) -> list[Seen]:
        return [seen(self.world, one) for one in self.interaction.followups]

    @property
    def choices(self) -> list[str]:
        """What autocomplete offers."""
        return [str(one["name"]) for one in self.interaction.choices or []]

    @property
    def form(self) -> Json | None:
        """The form that opened."""
        return self.interaction.modal

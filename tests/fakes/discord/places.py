"""Where people are: a Place is a channel, thread, forum post or direct messages; a Community is a guild.

What stands here is read by everybody, or done by an administrator or by Discord itself; people act in `people`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakes.discord import guilds, people, permissions, posting, threads
from fakes.discord.model import App, Channel, Guild, Kind, Message, Role, User
from fakes.discord.seen import Seen, seen
from fakes.discord.world import World

if TYPE_CHECKING:
    from fakes.discord.people import Person


@dataclass
class Place:
    world: World
    channel: Channel

    @property
    def id(self) -> int:
        return self.channel.id

    @property
    def name(self) -> str:
        return self.channel.name

    @property
    def gone(self) -> bool:
        return self.channel.id not in self.world.channels

    @property
    def archived(self) -> bool:
        return bool(self.channel.thread and self.channel.thread.archived)

    def seen(self, by: Person | None = None) -> list[Seen]:
        """What a person reads here, from top to bottom. Only `by` sees what was shown to that person alone."""
        ordered = sorted(self.channel.messages.values(), key=lambda one: one.id)
        mine = by.user.id if by else None
        return [seen(self.world, one) for one in ordered if one.ephemeral_for in (None, mine)]

    def texts(self, author: str | None = None) -> list[str]:
        """The texts alone, of everybody or of one author; without Discord's own messages."""
        return [one.text for one in self.seen() if not one.system and author in (None, one.author)]

    def shown(self) -> str:
        """The channel to read, for a failed test."""
        lines = [f"#{self.channel.name or 'direct messages'} ({self.channel.kind.name.lower()})"]
        return "\n  ".join([*lines, *(str(one) for one in self.seen())])

    def threads(self) -> list[Place]:
        """The threads or posts under this channel, oldest first."""
        known = [one for one in self.world.channels.values() if one.is_thread and one.parent_id == self.id]
        return [Place(self.world, one) for one in sorted(known, key=lambda one: one.id)]

    def typing(self, app: App, since: float = 0.0) -> bool:
        """Whether the bot has shown that it types here, after `since` (Discord's clock, seconds)."""
        return any(
            when >= since and who == app.user.id and where == self.id
            for when, who, where in self.world.typing
        )

    # What an administrator or Discord itself does here

    def delete(self) -> None:
        (threads.delete if self.channel.is_thread else guilds.delete_channel)(self.world, self.channel)

    def archive(self, *, locked: bool = False) -> None:
        threads.change(self.world, self.channel, archived=True, locked=locked)

    def lock(self) -> None:
        """Locked, but not archived."""
        threads.change(self.world, self.channel, locked=True)

    def unarchive(self) -> None:
        threads.change(self.world, self.channel, archived=False, locked=False)

    def forbid(self, whom: User | App | Role, bits: int = permissions.ALL) -> None:
        """Takes permissions away here, from a person, a bot or a role."""
        target = whom.user if isinstance(whom, App) else whom
        guilds.overwrite(self.world, self.channel, target, deny=bits)

    def allow(self, whom: User | App | Role, bits: int = 0) -> None:
        """Gives permissions here; with none, takes back what `forbid` and `allow` have set."""
        target = whom.user if isinstance(whom, App) else whom
        guilds.overwrite(self.world, self.channel, target, allow=bits)

    def preview(self, message: Message, title: str = "A page") -> None:
        """Discord adds a link's preview: an update in which nobody has changed the text."""
        message.embeds = [*message.embeds, {"type": "link", "title": title, "url": "https://example.com/"}]
        posting.told_changed(self.world, self.channel, message)

    def webhook_says(self, name: str, text: str) -> Message:
        """Another service writes here, under a name of its own."""
        guild = self.world.guilds[self.channel.guild_id or 0]
        owner = guild.members[guild.owner_id].user
        known = [
            one for one in self.world.webhooks.values() if one.channel_id == self.id and one.name == name
        ]
        hook = known[0] if known else guilds.add_webhook(self.world, owner, self.channel, name)
        draft = posting.Draft(text)
        return posting.post(
            self.world, hook.user, self.channel, draft, hook=hook, spoken_by=name, checked=False
        )


@dataclass
class Community:
    """A guild."""

    world: World
    guild: Guild

    @property
    def id(self) -> int:
        return self.guild.id

    @property
    def owner(self) -> Person:
        return people.Person(self.world, self.guild.members[self.guild.owner_id].user)

    @property
    def everybody(self) -> Role:
        return self.guild.roles[self.guild.id]

    def person(self, name: str, *roles: Role) -> Person:
        """Somebody new, a member."""
        user = self.world.new_user(name)
        guilds.add_member(self.world, self.guild, user, roles)
        return people.Person(self.world, user)

    def add(self, app: App, *roles: Role) -> None:
        """Invites a bot."""
        guilds.add_member(self.world, self.guild, app.user, roles)

    def remove(self, app: App) -> None:
        guilds.remove_member(self.world, self.guild, app.user)

    def text_channel(self, name: str, *, category: Place | None = None, topic: str | None = None) -> Place:
        return self._channel(Kind.TEXT, name, category, topic=topic)

    def category(self, name: str) -> Place:
        return self._channel(Kind.CATEGORY, name, None)

    def forum(self, name: str, *, category: Place | None = None, tags: tuple[str, ...] = ()) -> Place:
        return self._channel(Kind.FORUM, name, category, tags=tags)

    def _channel(self, kind: Kind, name: str, category: Place | None, **more: Any) -> Place:
        parent = category.channel if category else None
        return Place(
            self.world, guilds.add_channel(self.world, self.guild, kind, name, parent=parent, **more)
        )

    def role(self, name: str, bits: int = 0, *, mentionable: bool = False) -> Role:
        return guilds.add_role(self.world, self.guild, name, bits, mentionable=mentionable)

    def give(self, whom: User | App, *roles: Role) -> None:
        """These roles and no others."""
        user = whom.user if isinstance(whom, App) else whom
        guilds.set_roles(self.world, self.guild, user, {role.id for role in roles})

    def set_role(self, role: Role, bits: int) -> None:
        guilds.set_role(self.world, self.guild, role, bits)

    def set_available(self, available: bool) -> None:
        """Discord's own outage of this guild."""
        guilds.set_available(self.world, self.guild, available)

"""The tests' Discord as people use it: they write, edit, react, click, and get pinged.

Each act is checked as Discord would (`ApiError`), since people lack permissions too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fakes.discord import commands, components, guilds, interactions, permissions, posting, reacting, threads
from fakes.discord.attempt import Attempt
from fakes.discord.interaction import Interaction
from fakes.discord.model import App, Attachment, Channel, Json, Message, User
from fakes.discord.places import Place
from fakes.discord.seen import Seen, seen
from fakes.discord.world import World


@dataclass(frozen=True)
class File:
    """Something to upload. `kind` None: Discord names no content type."""

    name: str
    data: bytes
    kind: str | None = "text/plain; charset=utf-8"


@dataclass
class Person:
    world: World
    user: User

    @property
    def id(self) -> int:
        return self.user.id

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def mention(self) -> str:
        return f"<@{self.user.id}>"

    @property
    def pings(self) -> list[Seen]:
        """The messages that lit up this person's screen, in order; those deleted since are left out."""
        found: list[Seen] = []
        for who, where, which in self.world.pings:
            channel = self.world.channels.get(where)
            message = channel.messages.get(which) if channel else None
            if who == self.id and message is not None:
                found.append(seen(self.world, message))
        return found

    def say(
        self,
        place: Place,
        text: str = "",
        *,
        reply_to: Message | None = None,
        files: tuple[File, ...] | list[File] = (),
        ping: bool = True,
    ) -> Message:
        """Writes. `ping` False: a reply that doesn't ping its author."""
        reference: Json | None = {"message_id": str(reply_to.id)} if reply_to else None
        allowed: Json | None = (
            None if ping else {"parse": ["users", "roles", "everyone"], "replied_user": False}
        )
        return posting.post(
            self.world, self.user, place.channel, self._draft(text, files, reference, allowed)
        )

    def _draft(
        self, text: str, files: tuple[File, ...] | list[File], reference: Json | None, allowed: Json | None
    ) -> posting.Draft:
        held = [Attachment(self.world.ids.next(), one.name, one.data, one.kind) for one in files]
        return posting.Draft(text, held, reference=reference, allowed=allowed)

    def forward(self, message: Message, to: Place) -> Message:
        """Forwards: an empty message with a snapshot of the other one."""
        reference = {"type": 1, "message_id": str(message.id), "channel_id": str(message.channel_id)}
        return posting.post(self.world, self.user, to.channel, posting.Draft(reference=reference))

    def edit(self, message: Message, text: str) -> None:
        channel = self.world.channel(message.channel_id)
        posting.edit(self.world, self.user, channel, message, {"content": text}, [])

    def delete(self, message: Message) -> None:
        posting.delete(self.world, self.user, self.world.channel(message.channel_id), message)

    def react(self, message: Message | Seen, emoji: str) -> None:
        channel, one = self._find(message)
        reacting.add(self.world, self.user, channel, one, emoji)

    def unreact(self, message: Message | Seen, emoji: str) -> None:
        channel, one = self._find(message)
        reacting.take_off(self.world, self.user, channel, one, emoji, self.user)

    def pin(self, message: Message | Seen) -> None:
        channel, one = self._find(message)
        reacting.pin(self.world, self.user, channel, one, True)

    def _find(self, message: Message | Seen) -> tuple[Channel, Message]:
        channel = self.world.channel(message.channel_id)
        return channel, self.world.message(channel, message.id)

    def typing(self, place: Place) -> None:
        guilds.typing(self.world, self.user, place.channel)

    def open_thread(
        self, place: Place, name: str, *, on: Message | None = None, private: bool = False
    ) -> Place:
        made = threads.open_thread(self.world, self.user, place.channel, name, on=on, private=private)
        return Place(self.world, made)

    def forum_post(
        self,
        forum: Place,
        name: str,
        text: str | None,
        *,
        files: tuple[File, ...] = (),
        tags: tuple[str, ...] = (),
    ) -> Place:
        """Opens a post. `text` None: its first message isn't there yet (`first_message` brings it)."""
        draft = None if text is None else self._draft(text, files, None, None)
        numbers = [number for number, tag in forum.channel.tags.items() if tag in tags]
        made = threads.forum_post(self.world, self.user, forum.channel, name, draft, tags=numbers)
        return Place(self.world, made)

    def first_message(self, post: Place, text: str) -> Message:
        """The first message of a post that was opened without it."""
        return threads.first_message(self.world, self.user, post.channel, posting.Draft(text))

    def join(self, thread: Place) -> None:
        threads.join(self.world, self.user, thread.channel)

    def invite(self, whom: Person | App, thread: Place) -> None:
        """Adds somebody or a bot to a thread."""
        threads.join(self.world, whom.user, thread.channel, by=self.user)

    def rename(self, thread: Place, name: str) -> None:
        threads.edit(self.world, self.user, thread.channel, {"name": name})

    def direct(self, other: Person | App) -> Place:
        """The direct messages of the two."""
        return Place(self.world, guilds.direct(self.world, self.user, other.user))

    def dm(self, other: Person | App, text: str, *, files: tuple[File, ...] = ()) -> Message:
        return self.say(self.direct(other), text, files=files)

    # Commands, buttons, forms

    def slash(self, place: Place, app: App, name: str, /, **options: Any) -> Attempt:
        """Uses a command: `name` may have the names of its group before it, with spaces.

        Raises LookupError where the app has no such command: a person wouldn't find it.
        """
        return Attempt(self.world, self._command(place, app, name, options, None))

    def complete(self, place: Place, app: App, name: str, focused: str, /, **options: Any) -> Attempt:
        """Types in the option `focused` of a command and waits for what is offered."""
        return Attempt(self.world, self._command(place, app, name, options, focused))

    def _command(
        self, place: Place, app: App, name: str, options: dict[str, Any], focused: str | None
    ) -> Interaction:
        self.world.need(self.user, place.channel, permissions.USE_APPLICATION_COMMANDS)
        first, *inner = name.split()
        known = commands.named(app, place.channel.guild_id, first)
        if known is None:
            raise LookupError(f"{app.user.name} has no command /{first}.")
        level: list[Json] = known.get("options") or []
        path: list[Json] = []
        for part in inner:
            found = next((one for one in level if one["name"] == part and one["type"] in (1, 2)), None)
            if found is None:
                raise LookupError(f"/{first} has no {part}.")
            path.append(found)
            level = found.get("options") or []
        given: list[Json] = []
        for key, value in options.items():
            kind = next((one["type"] for one in level if one["name"] == key), None)
            if kind is None:
                raise LookupError(f"/{name} has no option {key}.")
            given.append(
                {"name": key, "type": kind, "value": value} | ({"focused": True} if key == focused else {})
            )
        for part in reversed(path):
            given = [{"name": part["name"], "type": part["type"], "options": given}]
        data: Json = {"id": known["id"], "name": first, "type": 1, "options": given}
        if "guild_id" in known:
            data["guild_id"] = known["guild_id"]
        kind = interactions.AUTOCOMPLETE if focused else interactions.COMMAND
        return interactions.begin(self.world, app, self.user, place.channel, kind, data)

    def click(self, message: Message | Seen, custom_id: str, *, values: tuple[str, ...] = ()) -> Attempt:
        """Presses a button (by custom id or label), or chooses `values` in a menu.

        Raises LookupError where there is no such thing to press.
        """
        channel, one = self._find(message)
        if not self.world.sees(self.user, channel):
            raise LookupError(f"{self.name} doesn't see #{channel.name}.")
        pressed = components.clickable(one.components, custom_id) or components.labelled(
            one.components, custom_id
        )
        if pressed is None:
            raise LookupError(f"Nothing to press here is called {custom_id!r}.")
        data: Json = {
            "custom_id": pressed["custom_id"],
            "component_type": pressed["type"],
            "id": pressed["id"],
        }
        if pressed["type"] in components.SELECTS:
            data["values"] = list(values)
        app = self.world.apps[one.author.id]
        return Attempt(
            self.world,
            interactions.begin(self.world, app, self.user, channel, interactions.COMPONENT, data, one),
        )

    def send_form(self, attempt: Attempt, **fields: str) -> Attempt:
        """Fills in the form that an attempt has opened, by the fields' custom ids, and sends it."""
        before, form = attempt.interaction, attempt.form
        if form is None:
            raise LookupError("No form has opened.")
        rows = components.filled(form["components"], fields)
        data: Json = {"custom_id": form["custom_id"], "components": rows}
        sent = interactions.begin(
            self.world, before.app, self.user, before.channel, interactions.FORM, data, before.message, before
        )
        return Attempt(self.world, sent)

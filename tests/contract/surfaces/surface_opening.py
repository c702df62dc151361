"""Each surface, opened over the same two rooms, with a way to speak and react in it as a person does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.chat_in_memory import ChatInMemory
from fakes.discord import DiscordServer, File, permissions
from fakes.discord.clock import made_at
from fakes.discord.model import Message

from relay.clock import SystemClock
from relay.config import Room, default
from relay.surfaces.discord.surface import DiscordSurface
from relay.surfaces.surface import Capabilities, MessageEvent, Person, Surface
from relay.surfaces.web.chat import ChatRoom, LocalChat
from relay.surfaces.web.surface import WebSurface

ADA = Person("ada", "Ada")


@dataclass(frozen=True, slots=True)
class Opened:
    """A surface and its people."""

    surface: Surface
    speak: Callable[[str, str], Awaitable[MessageEvent]]
    """(place, text)"""
    reactions: Callable[[str, str], Awaitable[list[str]]]
    """(place, message) → our own emoji on it, as people see them."""
    rewrite: Callable[[str, str, str], Awaitable[object]]
    """(place, message, text): who spoke edits it."""
    erase: Callable[[str, str], Awaitable[object]]
    """(place, message): who spoke deletes it."""
    main: str = "main"
    side: str = "side"
    unknown: str = "m999"
    """The id of no message."""
    attach: Callable[[str, str, bytes], Awaitable[str]] | None = None
    """(place, name, data): somebody posts that file; the message's id. None where nobody can."""


KINDS = ("web", "in memory", "discord")
LIVE = ("web", "discord")
"""The others bring nothing by themselves."""


@asynccontextmanager
async def opening(kind: str, tmp_path: Path) -> AsyncIterator[Opened]:
    """That kind of surface, over rooms `main` and `side`."""
    clock = SystemClock()
    if kind == "web":
        chat = await LocalChat.open(
            tmp_path / "page.db", [ChatRoom("main", "main"), ChatRoom("side", "side")], clock
        )

        async def seen(place: str, message: str) -> list[str]:
            (found,) = [m for m in await chat.messages(place) if m["id"] == message]
            return [r["emoji"] for r in found["reactions"] if any(p["id"] == "relay" for p in r["people"])]

        async def attach(place: str, name: str, data: bytes) -> str:
            file = await chat.uploads.keep(name, data)
            return (await chat.post_as(ADA, place, "look", files=[file.id])).message

        yield Opened(
            WebSurface(chat, clock),
            lambda place, text: chat.post_as(ADA, place, text),
            seen,
            lambda place, message, text: chat.edit_as(ADA, place, message, text),
            lambda place, message: chat.delete_as(ADA, place, message),
            attach=attach,
        )
        await chat.close()
        return
    if kind == "discord":
        async with on_discord(tmp_path) as opened:
            yield opened
        return
    memory = ChatInMemory(clock, ("main", "side"), capabilities=Capabilities(limit=2_000, pins=True))

    async def speak(place: str, text: str) -> MessageEvent:
        return memory.write(text, place, ADA)

    async def kept(place: str, message: str) -> list[str]:
        return [emoji for id, emoji in memory.our_reactions if id == message]

    async def rewrite(place: str, message: str, text: str) -> None:
        memory.rewrite(message, text)

    async def erase(place: str, message: str) -> None:
        memory.erase(message)

    yield Opened(memory, speak, kept, rewrite, erase)


@asynccontextmanager
async def on_discord(tmp_path: Path) -> AsyncIterator[Opened]:
    """Discord's adapter, over the tests' Discord."""
    async with DiscordServer() as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        guild.give(bot, guild.role("pinner", permissions.PIN_MESSAGES))
        main, side, ada = guild.text_channel("main"), guild.text_channel("side"), guild.person("ada")
        rooms = {f"discord:{place.id}": Room(agent="scout", workspace=tmp_path) for place in (main, side)}
        access = default(workspace=tmp_path).model_copy(update={"rooms": rooms})
        surface = DiscordSurface(
            bot.token,
            "RELAY_DISCORD_TOKEN",
            access=lambda: access,
            state=tmp_path,
            clock=SystemClock(),
            say=print,
            jitter=lambda: 0.0,
            connector=server.connector,
        )
        spoken: dict[str, Message] = {}
        threads = {str(main.id): main, str(side.id): side}

        async def speak(place: str, text: str) -> MessageEvent:
            said = ada.say(threads[place], text)
            spoken[str(said.id)] = said
            me = Person(str(ada.id), "Ada")
            return MessageEvent(place, str(said.id), said.id, me, text, round(made_at(said.id) * 1000))

        async def seen(place: str, message: str) -> list[str]:
            (found,) = [one for one in threads[place].seen() if str(one.id) == message]
            return [emoji for emoji, people in found.reactions.items() if "relay" in people]

        async def rewrite(place: str, message: str, text: str) -> None:
            ada.edit(spoken[message], text)

        async def erase(place: str, message: str) -> None:
            ada.delete(spoken[message])

        async def attach(place: str, name: str, data: bytes) -> str:
            said = ada.say(threads[place], "look", files=[File(name, data)])
            spoken[str(said.id)] = said
            return str(said.id)

        unknown = str(main.id + 1)
        yield Opened(surface, speak, seen, rewrite, erase, str(main.id), str(side.id), unknown, attach)
        await surface.close()

"""Each surface, opened over the same two rooms, with a way to speak and react in it as a person does."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fakes.chat_in_memory import ChatInMemory

from relay.clock import SystemClock
from relay.surfaces.surface import MessageEvent, Person, Surface
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


KINDS = ("web", "in memory")
LIVE = ("web",)
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

        yield Opened(
            WebSurface(chat, clock),
            lambda place, text: chat.post_as(ADA, place, text),
            seen,
            lambda place, message, text: chat.edit_as(ADA, place, message, text),
            lambda place, message: chat.delete_as(ADA, place, message),
        )
        await chat.close()
        return
    memory = ChatInMemory(clock, ("main", "side"))

    async def speak(place: str, text: str) -> MessageEvent:
        return memory.write(text, place, ADA)

    async def kept(place: str, message: str) -> list[str]:
        return [emoji for id, emoji in memory.reactions if id == message]

    async def rewrite(place: str, message: str, text: str) -> None:
        memory.rewrite(message, text)

    async def erase(place: str, message: str) -> None:
        memory.erase(message)

    yield Opened(memory, speak, kept, rewrite, erase)

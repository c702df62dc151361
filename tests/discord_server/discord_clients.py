"""The real discord.py, as the tests of the tests' Discord run it: it keeps what it hears."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import discord
from discord import app_commands
from fakes.discord import DiscordServer
from fakes.discord.model import App


def wanted() -> discord.Intents:
    """What a relay asks for, and no more."""
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    intents.guild_reactions = intents.dm_reactions = intents.message_content = True
    return intents


class Client(discord.Client):
    """`events` holds the names of what was dispatched, `messages` what on_message got."""

    def __init__(self, server: DiscordServer, **more: Any) -> None:
        more.setdefault("intents", wanted())
        super().__init__(connector=server.connector(), guild_ready_timeout=0.02, **more)
        self.messages: list[discord.Message] = []
        self.events: list[str] = []
        self.tree = app_commands.CommandTree(self)
        self.answer: Callable[[discord.Message], Awaitable[object]] | None = None

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No wait of 5 s before a second IDENTIFY."""

    async def on_message(self, message: discord.Message) -> None:
        self.messages.append(message)
        if self.answer is not None and self.user is not None and message.author.id != self.user.id:
            await self.answer(message)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        self.events.append(event)
        super().dispatch(event, *args, **kwargs)

    def heard(self, author: str | None = None) -> list[str]:
        """The texts of the messages that on_message got."""
        return [one.content for one in self.messages if author in (None, one.author.name)]


@asynccontextmanager
async def running(
    server: DiscordServer, app: App, client: Client | None = None, **more: Any
) -> AsyncIterator[Client]:
    """A client that is ready. What ends `start` before that is raised here."""
    client = client or Client(server, **more)
    start = asyncio.create_task(client.start(app.token))
    try:
        async with asyncio.timeout(10):
            while not client.is_ready():
                if start.done():
                    start.result()
                await asyncio.sleep(0.005)
        yield client
    finally:
        await client.close()
        with contextlib.suppress(asyncio.CancelledError, discord.DiscordException, OSError, KeyError):
            await start


async def ended(server: DiscordServer, app: App, **more: Any) -> BaseException:
    """What ends a client that doesn't come to be ready."""
    client = Client(server, **more)
    try:
        async with asyncio.timeout(10):
            await client.start(app.token)
    except Exception as error:
        return error
    finally:
        await client.close()
    raise AssertionError("It ended without an error.")

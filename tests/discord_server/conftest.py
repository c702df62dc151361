"""A Discord with a guild, a channel, a person and a bot, whose answers are held against Discord's own description."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from discord_clients import Client, running
from fakes.discord import Community, DiscordServer, Person, Place
from fakes.discord.model import App


@dataclass
class Scene:
    server: DiscordServer
    bot: App
    guild: Community
    room: Place
    ada: Person


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with DiscordServer(checked=True) as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        yield Scene(server, bot, guild, guild.text_channel("build"), guild.person("ada"))


@pytest.fixture
async def client(scene: Scene) -> AsyncIterator[Client]:
    async with running(scene.server, scene.bot) as ready:
        yield ready

"""A bot in a process of its own reaches the tests' Discord by the port and the CA's file alone."""

import os
import sys
from pathlib import Path

import anyio
import pytest

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]
BOT = """
import sys
import discord
from fakes.discord.connector import connector

port, ca, token = int(sys.argv[1]), sys.argv[2], sys.argv[3]

class Echo(discord.Client):
    async def on_message(self, message):
        if message.author != self.user:
            await message.channel.send(f"heard {message.content}")

async def main():
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    async with Echo(intents=intents, connector=connector(port, ca), guild_ready_timeout=0.02) as client:
        await client.start(token)

import asyncio
asyncio.run(main())
"""


async def test_another_process_is_served_and_its_end_is_noticed(scene) -> None:
    server = scene.server
    command = [sys.executable, "-c", BOT, str(server.port), str(server.ca), scene.bot.token]
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    async with await anyio.open_process(command, env=env, stdout=None, stderr=None) as process:
        await server.until(lambda: server.gateway.online(scene.bot), within=20)
        scene.ada.say(scene.room, "you")
        await server.until(lambda: scene.room.texts("relay") == ["heard you"])
        process.kill()
        await server.until(lambda: not server.gateway.online(scene.bot))

"""The least that discord.py can do: it answers what mentions it. For `discord.py` to compare with."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import discord

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fakes.discord.connector import connector


class Echo(discord.Client):
    async def on_message(self, message: discord.Message) -> None:
        if self.user in message.mentions:
            await message.channel.send(message.content.partition("say ")[2])


async def main() -> None:
    port, ca, token = sys.argv[1:]
    intents = discord.Intents(guilds=True, guild_messages=True, message_content=True)
    async with Echo(intents=intents, connector=connector(int(port), ca), guild_ready_timeout=0.02) as client:
        await client.start(token)


if __name__ == "__main__":
    asyncio.run(main())

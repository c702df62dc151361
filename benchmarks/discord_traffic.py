"""On the tests' Discord, in a process beside it, over TLS: the relay's answer beside a trivial bot's, and a flood.

Answer: from the message's frame on the gateway until the reply stands in the channel, in turn for a discord.py bot that
only echoes and for the relay with a warm scripted agent. Flood: 5,000 addressed messages a second in fifty channels,
until each is durable in the ledger; the baseline is the same flood heard by the echo bot's library alone.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from _measured import line, on_disk, percentile

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fakes.discord import Community, DiscordServer, Place
from fakes.discord import Person as Someone
from fakes.discord.model import App

HERE = Path(__file__).parent
ASKED = 200
ROOMS = 50
FLOOD = 5_000
RATE = 5_000
"""Messages a second."""
LIMIT_S = 120.0


@dataclass
class Town:
    server: DiscordServer
    bot: App
    guild: Community
    rooms: list[Place]
    olga: Someone
    folder: Path

    @asynccontextmanager
    async def running(self, *command: str) -> AsyncIterator[None]:
        """A bot in its own process, until it is on the gateway."""
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE.parent), "TZ": "UTC"}
        env |= {"RELAY_DISCORD_TOKEN": self.bot.token, "XDG_RUNTIME_DIR": str(self.folder)}
        async with await anyio.open_process(
            [sys.executable, *command], env=env, stdout=None, stderr=None
        ) as bot:
            try:
                await self.server.until(lambda: self.server.gateway.online(self.bot), within=30)
                yield
            finally:
                bot.terminate()
                with anyio.move_on_after(20):
                    await bot.wait()
        await self.server.until(lambda: not self.server.gateway.online(self.bot), within=30)

    def relay(self, state: str) -> list[str]:
        arguments = [str(self.server.port), str(self.server.ca), str(self.folder / "access.json")]
        return [str(HERE / "_relay_on_discord.py"), *arguments, str(self.folder / state)]

    def echo(self) -> list[str]:
        return [str(HERE / "_echo_bot.py"), str(self.server.port), str(self.server.ca), self.bot.token]

    async def answers(self) -> list[float]:
        """Seconds from each question to its answer, one at a time in one room."""
        times: list[float] = []
        room = self.rooms[0]
        for number in range(ASKED + 5):
            word = f"word {number} of {time.monotonic_ns()}."
            begun = time.perf_counter()
            self.olga.say(room, f"<@{self.bot.id}> say {word}")
            await self.server.until(
                lambda said=word: any(text.startswith(said) for text in room.texts("relay")[-3:]), within=30
            )
            times.append(time.perf_counter() - begun)
            await anyio.sleep(0.05)
        return times[5:]


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    async with DiscordServer(checked=False) as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        rooms = [guild.text_channel(f"room-{number}") for number in range(ROOMS)]
        olga = guild.person("olga")
        rules = {"agent": "scout", "workspace": "work", "require_mention": True, "busy": "queue"}
        access = {
            "version": 1,
            "surfaces": {"discord": {"token_env": "RELAY_DISCORD_TOKEN"}, "web": {"port": 0}},
            "owner": {"discord": str(olga.id)},
            "agents": {"scout": {"runtime": "scripted"}},
            "limits": {"queue": 1000},
            "rooms": {f"discord:{room.id}": rules for room in rooms},
        }
        (folder / "access.json").write_text(json.dumps(access))
        yield Town(server, bot, guild, rooms, olga, folder)


def durable(ledger: Path) -> int:
    with sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=5) as connection:
        ((count,),) = connection.execute(
            "SELECT count(*) FROM interaction WHERE verb = 'channel.message'"
        ).fetchall()
    connection.close()
    return count


async def flooded(place: Town, state: Path) -> tuple[float, float, float]:
    """Messages a second until all are durable; the event loop's lag meanwhile: p99 and most, in seconds."""
    await place.server.until(lambda: True)
    place.olga.say(place.rooms[0], f"<@{place.bot.id}> !pause all")
    await place.server.until(lambda: any("ause" in text for text in place.rooms[0].texts("relay")), within=30)
    (state / "late").unlink(missing_ok=True)
    await anyio.sleep(1)
    before = durable(state / "ledger.db")
    begun = time.perf_counter()
    (state / "late").unlink(missing_ok=True)
    for number in range(FLOOD):
        due = begun + number / RATE
        if number % 20 == 0:
            await anyio.sleep(max(0.0, due - time.perf_counter()))
        place.olga.say(place.rooms[number % ROOMS], f"<@{place.bot.id}> say {number}")
    sent = time.perf_counter() - begun
    while (count := durable(state / "ledger.db") - before) < FLOOD:
        if time.perf_counter() - begun > LIMIT_S:
            raise SystemExit(f"only {count} of {FLOOD} messages were durable after {LIMIT_S:.0f} s")
        await anyio.sleep(0.02)
    taken = time.perf_counter() - begun
    (state / "late").unlink(missing_ok=True)
    await anyio.sleep(0.3)
    p99, most = map(float, (state / "late").read_text().split())
    line(
        f"{FLOOD:,} messages durable", f"{FLOOD / taken:,.0f}/s", f"sent {FLOOD / sent:,.0f}/s", sent / taken
    )
    return FLOOD / taken, p99, most


async def main() -> None:
    with on_disk() as made:
        folder = made.resolve()
        async with town(folder) as place:
            async with place.running(*place.echo()):
                bare = await place.answers()
            async with place.running(*place.relay("state")):
                await anyio.sleep(1)
                ours = await place.answers()
                for part in (0.5, 0.95):
                    a, b = percentile(ours, part), percentile(bare, part)
                    line(
                        f"frame to answer, p{part * 100:.0f} (more: {a - b:.1f} ms)",
                        f"{a:.1f} ms",
                        f"echo {b:.1f} ms",
                        a / b,
                    )
                _, p99, most = await flooded(place, folder / "state")
                line(
                    "  loop lag meanwhile, p99 / most",
                    f"{p99 * 1000:.0f} / {most * 1000:.0f} ms",
                    "50 ms",
                    most / 0.05,
                )


if __name__ == "__main__":
    anyio.run(main)

"""The real relay as a process on the tests' Discord: started, killed with -9, started again, started twice."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.abc
import pytest
from fakes.discord import DiscordServer, Person, Place
from fakes.discord.model import App

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PATIENCE_S = 60.0


@dataclass
class Machine:
    folder: Path
    server: DiscordServer
    bot: App
    room: Place
    olga: Person

    def _command(self, state: str) -> list[str]:
        config = str(self.folder / "access.json")
        port, ca = str(self.server.port), str(self.server.ca)
        return [sys.executable, str(HERE / "launcher.py"), port, ca, config, str(self.folder / state)]

    def _env(self, token: str | None) -> dict[str, str]:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{HERE.parents[1]}:{HERE.parent}", "TZ": "UTC"}
        env["XDG_RUNTIME_DIR"] = str(self.folder)
        return env | ({"RELAY_DISCORD_TOKEN": token} if token else {})

    @asynccontextmanager
    async def relay(self) -> AsyncIterator[anyio.abc.Process]:
        """A relay that is connected; killed with -9 at the end."""
        before = self.server.gateway.heard.count("identify")
        process = await anyio.open_process(self._command("state"), env=self._env(self.bot.token), stderr=None)
        async with process:
            try:
                await self.server.until(
                    lambda: self.server.gateway.heard.count("identify") > before, within=PATIENCE_S
                )
                yield process
            finally:
                if process.returncode is None:
                    process.kill()

    async def ran(self, state: str, token: str | None, within: float = PATIENCE_S) -> tuple[int, str]:
        """A start that ends by itself: its exit code and what it said."""
        with anyio.fail_after(within):
            done = await anyio.run_process(self._command(state), env=self._env(token), check=False)
        return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    async with DiscordServer() as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        room, olga = guild.text_channel("build"), guild.person("olga")
        config = {
            "version": 1,
            "surfaces": {"discord": {"token_env": "RELAY_DISCORD_TOKEN"}, "web": {"port": 0}},
            "owner": {"discord": str(olga.id)},
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": {
                f"discord:{room.id}": {"agent": "scout", "workspace": "work"},
                "web:main": {"agent": "scout", "workspace": "work"},
            },
        }
        (tmp_path / "access.json").write_text(json.dumps(config))
        yield Machine(tmp_path, server, bot, room, olga)


async def test_killed_and_started_again_it_answers_everything_once(machine: Machine) -> None:
    server, room = machine.server, machine.room

    def texts() -> str:
        return "\n".join(room.texts("relay"))

    async with machine.relay():
        machine.olga.say(room, f"<@{machine.bot.id}> say first")
        await server.until(lambda: "first" in texts(), within=PATIENCE_S)
        machine.olga.say(room, f"<@{machine.bot.id}> slow 1\nsay second")
        await server.until(lambda: len(room.seen()) >= 3 and "👀" in room.seen()[2].reactions)
    machine.olga.say(room, f"<@{machine.bot.id}> say third")
    async with machine.relay() as process:
        await server.until(lambda: "third" in texts() and "second" in texts(), within=PATIENCE_S)
        assert [texts().count(word) for word in ("first", "second", "third")] == [1, 1, 1]
        code, said = await machine.ran("other-state", machine.bot.token)
        assert code == 4
        assert f"pid {process.pid}" in said
        assert machine.bot.token not in said
        machine.olga.say(room, f"<@{machine.bot.id}> say unharmed")
        await server.until(lambda: "unharmed" in texts(), within=PATIENCE_S)
        process.terminate()
        with anyio.fail_after(PATIENCE_S):
            assert await process.wait() == 0
    assert server.limits.invalid == []
    for kept in (machine.folder / "state").rglob("*"):
        if kept.is_file():
            assert machine.bot.token.encode() not in kept.read_bytes()


async def test_killed_as_its_workbench_is_posted_it_has_one_all_the_same(machine: Machine) -> None:
    server, room = machine.server, machine.room

    def texts() -> str:
        return "\n".join(room.texts("relay"))

    async with machine.relay():
        machine.olga.say(room, f"<@{machine.bot.id}> !watch notes --file notes.md")
        await server.until(lambda: "Watching «notes»" in texts(), within=PATIENCE_S)
        hold = server.faults.hold("POST", f"/channels/{room.id}/messages", after=True)
        await server.until(lambda: "📌" in texts(), within=PATIENCE_S)
    hold.open()
    async with machine.relay():
        (machine.folder / "work" / "notes.md").write_text("changed\n")
        await server.until(lambda: "· 1 fire" in texts(), within=PATIENCE_S)
        assert texts().count("📌") == 1


async def test_without_its_token_discord_is_not_started_and_that_is_said_once(machine: Machine) -> None:
    process = await anyio.open_process(machine._command("state"), env=machine._env(None), stderr=None)
    said = b""
    async with process:
        assert process.stdout is not None
        with anyio.fail_after(PATIENCE_S):
            while b"http://127.0.0.1" not in said:
                said += await process.stdout.receive()
        process.kill()
    assert said.decode().count("discord: not started (RELAY_DISCORD_TOKEN is not set") == 1
    assert machine.server.rest.calls == []

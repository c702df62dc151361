"""`relay doctor --discord`: each thing that can be missing is named, with where it is switched on. Nothing is changed,
no session is opened, no secret is printed."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.discord import Community, DiscordServer, Person, Place
from fakes.discord import permissions as bits
from fakes.discord.model import App
from fakes.living import FastClock

from relay.app import Options
from relay.doctor import Doctor
from relay.surfaces.discord.permissions import NEEDED, USEFUL
from relay.surfaces.discord.token_lock import lock_folder

pytestmark = pytest.mark.anyio

ALL_NEEDED = sum(one.bit for one in NEEDED)


@dataclass
class Practice:
    """A server with a bot and a room, and a doctor who looks at them."""

    folder: Path
    server: DiscordServer
    bot: App
    guild: Community
    room: Place
    olga: Person
    env: dict[str, str]
    rooms: list[str]
    owner: dict[str, str]
    clock: FastClock = field(default_factory=lambda: FastClock(1.0))
    said: list[str] = field(default_factory=list[str])
    slow: list[str] = field(default_factory=list[str])

    async def doctor(self) -> int:
        """The exit code; what was printed is in `said`."""
        config: dict[str, Any] = {
            "version": 1,
            "state": str(self.folder / "state"),
            "surfaces": {"discord": {"token_env": "BOT_TOKEN"}, "web": {"port": 0}},
            "owner": self.owner,
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": {f"discord:{id}": {"agent": "scout", "workspace": "work"} for id in self.rooms},
        }
        path = self.folder / "access.json"
        path.write_text(json.dumps(config))
        self.said.clear()
        options = Options(config=path, env=self.env, say=self.said.append, connector=self.server.connector)
        code = await Doctor(options, self.clock, self.slow.append).run(True)
        everything = "\n".join([*self.said, *self.slow])
        assert self.bot.token not in everything
        assert self.bot.token.rpartition(".")[2] not in everything
        assert self.server.gateway.heard.count("identify") == 0, "no session is opened"
        assert [c for c in self.server.rest.calls if c.method != "GET"] == [], "nothing is changed"
        return code

    def todo(self) -> str:
        """What is to be done, with the advice below it."""
        found: list[str] = []
        take = False
        for line in self.said[:-1]:
            take = line.startswith("TODO") or (take and line.startswith(" "))
            found += [line] if take else []
        return "\n".join(found)


@asynccontextmanager
async def practice(folder: Path) -> AsyncIterator[Practice]:
    async with DiscordServer() as server:
        bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[bot])
        room, olga = guild.text_channel("build"), guild.person("olga")
        env = {"BOT_TOKEN": bot.token, "XDG_RUNTIME_DIR": str(folder / "run"), "TZ": "UTC"}
        yield Practice(folder, server, bot, guild, room, olga, env, [str(room.id)], {"discord": str(olga.id)})


def has(text: str, *words: str) -> None:
    for word in words:
        assert word in text, text


async def test_where_nothing_is_missing_it_says_so_and_ends_with_0(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        assert await here.doctor() == 0, here.said
        told = "\n".join(here.said)
        has(
            told,
            "token: it is that of relay",
            "Message Content Intent is on",
            "gateway: it answers; 1000 of 1000",
            f"room discord:{here.room.id} (#build in Workshop): all permissions that it needs",
            f"owner {here.olga.id}: a member",
            "Nothing to do.",
        )
        assert "TODO" not in told


async def test_what_the_invitation_gives_is_enough(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.guild.give(here.bot, here.guild.role("relay", ALL_NEEDED))
        here.guild.set_role(here.guild.everybody, 0)
        assert await here.doctor() == 0, here.said
        (could,) = [line for line in here.said if "not needed, and not there" in line]
        has(could, *(one.name for one in USEFUL))


async def test_s13_an_intent_that_is_off_is_named_with_its_switch(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.bot.privileged = 0
        assert await here.doctor() == 1
        has(here.todo(), "Message Content Intent is off", "Privileged Gateway Intents: switch on")
        has("\n".join(here.said), "all permissions that it needs", "1 thing to do.")


@pytest.mark.parametrize("missing", NEEDED, ids=[one.name for one in NEEDED])
async def test_a_permission_that_no_role_gives_is_named_with_the_role(tmp_path: Path, missing: Any) -> None:
    async with practice(tmp_path) as here:
        here.guild.set_role(here.guild.everybody, bits.EVERYBODY & ~missing.bit)
        assert await here.doctor() == 1
        has(here.todo(), f"(#build in Workshop): the bot lacks {missing.name} ({missing.purpose})")
        has(here.todo(), f"Server Settings, Roles, relay, Permissions: switch on {missing.name}.")
        assert "Edit Channel" not in here.todo()
        assert here.todo().count("TODO") == 1, "and nothing else"


@pytest.mark.parametrize("missing", NEEDED, ids=[one.name for one in NEEDED])
async def test_a_permission_that_the_channel_takes_away_is_named_with_the_channel(
    tmp_path: Path, missing: Any
) -> None:
    async with practice(tmp_path) as here:
        here.room.forbid(here.guild.everybody, missing.bit)
        assert await here.doctor() == 1
        has(
            here.todo(), f"the bot lacks {missing.name}", f"#build), Permissions, relay: allow {missing.name}"
        )
        assert "Server Settings" not in here.todo()


Change = Callable[[Practice], object]
SUMS: list[tuple[str, Change, bool]] = [
    (
        "the bot itself may",
        lambda h: (h.room.forbid(h.guild.everybody), h.room.allow(h.bot, ALL_NEEDED)),
        True,
    ),
    ("a role may", lambda h: (h.room.forbid(h.guild.everybody), h.room.allow(_role(h), ALL_NEEDED)), True),
    (
        "a role may not, another may",
        lambda h: (h.room.forbid(_role(h)), h.room.allow(_role(h), ALL_NEEDED)),
        True,
    ),
    ("the bot itself may not", lambda h: (h.room.allow(_role(h), ALL_NEEDED), h.room.forbid(h.bot)), False),
    ("an administrator", lambda h: (h.room.forbid(h.guild.everybody), _role(h, bits.ADMINISTRATOR)), True),
]


def _role(here: Practice, permissions: int = 0) -> Any:
    made = here.guild.role("one more", permissions)
    here.guild.give(here.bot, made)
    return made


@pytest.mark.parametrize(("name", "change", "enough"), SUMS, ids=[name for name, _, _ in SUMS])
async def test_roles_and_the_channel_s_rules_add_up_as_discord_adds_them(
    tmp_path: Path, name: str, change: Change, enough: bool
) -> None:
    async with practice(tmp_path) as here:
        change(here)
        mine = here.server.world.bits(here.bot.user, here.room.channel)
        assert (mine & ALL_NEEDED == ALL_NEEDED) == enough, "the tests' Discord adds them up so, too"
        assert (await here.doctor() == 0) == enough, here.said


async def test_a_channel_that_is_unknown_or_of_another_server_is_named(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        other = here.server.guild("Elsewhere").text_channel("far away")
        here.rooms = ["200000000000000001", str(other.id), str(here.room.id)]
        assert await here.doctor() == 1
        for id in here.rooms[:2]:
            has(
                here.todo(),
                f"room discord:{id}: no channel of that id is in a server where the bot is (Workshop)",
            )
        has(here.todo(), "Copy Channel ID", "invite the bot")
        has("\n".join(here.said), f"room discord:{here.room.id} (#build in Workshop): all")


async def test_a_bot_in_no_server_and_a_room_that_is_none_are_named(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        thread = here.olga.open_thread(here.room, "Task")
        category = here.guild.category("stuff")
        here.rooms = [str(thread.id), str(category.id)]
        assert await here.doctor() == 1
        has(
            here.todo(),
            "is a thread",
            f"Name its channel in access.json: discord:{here.room.id}",
            "is a category",
        )
        here.guild.remove(here.bot)
        assert await here.doctor() == 1
        has(here.todo(), "(no server at all)")


async def test_no_rooms_no_owner_and_an_owner_of_another_server(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.owner = {"discord": "200000000000000001"}
        assert await here.doctor() == 1
        has(here.todo(), "the owner 200000000000000001 is no member of Workshop", "Copy User ID")
        here.owner = {}
        assert await here.doctor() == 1
        has(here.todo(), "names no owner for Discord")


async def test_a_token_that_is_missing_or_wrong_is_said_without_showing_it(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.bot.token_valid = False
        assert await here.doctor() == 1
        has(here.todo(), "refuses the bot's token", "Reset Token", "under BOT_TOKEN")
        assert len(here.server.limits.invalid) == 1, "it is asked once"
        del here.env["BOT_TOKEN"]
        assert await here.doctor() == 1
        has(here.todo(), "BOT_TOKEN is not set", "Put the bot's token into .env")


async def test_a_clock_that_is_off_is_said(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.clock.jumped_ms = 600_000
        assert await here.doctor() == 1
        has(here.todo(), "s ahead of Discord's", "timedatectl")
        here.clock.jumped_ms = -600_000
        assert await here.doctor() == 1
        has(here.todo(), "s behind Discord's")


async def test_a_gateway_or_a_network_that_is_away_is_said(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.server.gateway.faults.refuse_connections(1, status=503)
        assert await here.doctor() == 1
        has(here.todo(), "Discord's gateway can't be reached", "gateway.discord.gg")
        has("\n".join(here.said), "all permissions that it needs")
        async with here.server.outage():
            assert await here.doctor() == 1
            has(here.todo(), "discord.com can't be reached", "firewall")


async def test_too_few_sessions_left_are_said(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        here.bot.identifies += [here.server.clock.now()] * 950
        assert await here.doctor() == 1
        has(here.todo(), "the bot has 50 of 1000 sessions of this day left")


@pytest.mark.parametrize("mine", [False, True], ids=["another relay", "this relay"])
async def test_who_holds_the_token_is_named(tmp_path: Path, mine: bool) -> None:
    async with practice(tmp_path) as here:
        state = tmp_path / ("state" if mine else "other")
        code = (
            "import os, sys; from pathlib import Path; from relay.surfaces.discord.token_lock import TokenLock\n"
            "with TokenLock(Path(sys.argv[1]), os.environ['T'], Path(sys.argv[2])):\n"
            "    print('held', flush=True); sys.stdin.read()"
        )
        command = [sys.executable, "-c", code, str(lock_folder(here.env)), str(state)]
        env = {"T": here.bot.token, "PYTHONPATH": str(Path(__file__).parents[2])}
        async with await anyio.open_process(command, stdin=subprocess.PIPE, env=env) as holder:
            assert holder.stdout is not None
            assert await holder.stdout.receive() == b"held\n"
            assert await here.doctor() == (0 if mine else 1), here.said
            told = "\n".join(here.said)
            has(told, f"pid {holder.pid}", str(state))
            has(told, "used by the relay of this state folder" if mine else "another relay uses this bot")
            holder.kill()
            await holder.wait()
        assert await here.doctor() == 0, "a lock that was left behind is nobody's"


async def test_a_discord_that_is_slow_is_waited_for_audibly_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with practice(tmp_path) as here:
        monkeypatch.setattr("relay.doctor.DISCORD_WITHIN_S", 3.0)
        monkeypatch.setattr("relay.doctor.QUIET_FOR_S", 0.2)
        hold = here.server.faults.hold("GET", "/applications/@me")
        assert await here.doctor() == 1
        has(here.todo(), "it took longer than a minute", "discordstatus.com")
        has("\n".join(here.slow), "… still looking at Discord")
        hold.open()


async def test_odd_answers_of_another_server_don_t_end_it_with_a_trace(tmp_path: Path) -> None:
    async with practice(tmp_path) as here:
        for path in ("/applications/@me", "/gateway/bot", "/guilds/*", "/guilds/*/members/*", "/channels/*"):
            here.server.faults.clear()
            here.server.faults.reshape("GET", path, lambda _: {"flags": "x", "id": 7, "roles": [None, 3]})
            await here.doctor()
            assert here.said[-1].endswith("to do."), path

"""The connection: what ends it for good and what doesn't, how often sessions are opened, and one process to a token."""

import os
import re
import subprocess
import sys
from pathlib import Path

import anyio
import orjson
import pytest
from fakes.living import FastClock
from town import town

from relay.clock import SystemClock
from relay.errors import Exit, StateLocked
from relay.surfaces.discord.budget import DAY_MS, IdentifyBudget
from relay.surfaces.discord.client import intents
from relay.surfaces.discord.token_lock import TokenLock, fingerprint, lock_folder, process_start

pytestmark = pytest.mark.anyio

TOKEN = "test-token.1.secret"


async def test_s13_an_intent_that_is_off_is_said_once_with_what_to_switch_on(tmp_path: Path) -> None:
    async with town(tmp_path, start=False, speed=200) as here:
        here.bot.privileged = 0
        await here.start(wait=False)
        await here.server.until(lambda: here.said)
        await anyio.sleep(0.5)
        (sentence,) = here.said
        assert "switch on Message Content Intent" in sentence
        assert here.server.gateway.heard.count("identify") == 1, "it is not tried again"
        assert here.surface.trouble == sentence.removeprefix("discord: ")
        assert not here._over.is_set(), "the rest of the relay goes on"


async def test_a_wrong_token_is_said_once_and_never_shown(tmp_path: Path) -> None:
    async with town(tmp_path, start=False, speed=200) as here:
        good, here.bot.token_valid = here.bot.token, False
        await here.start(wait=False)
        await here.server.until(lambda: here.said)
        await anyio.sleep(0.3)
        (sentence,) = here.said
        assert "refused the bot's token" in sentence
        assert "RELAY_DISCORD_TOKEN" in sentence
        assert good not in sentence
        assert len(here.server.limits.invalid) == 1, "it is not tried again"


@pytest.mark.parametrize("code", [4004, 4010, 4011, 4012, 4013])
async def test_what_only_a_person_can_mend_ends_the_connection_with_a_sentence(
    tmp_path: Path, code: int
) -> None:
    async with town(tmp_path, speed=200) as here:
        here.server.gateway.close(code)
        await here.server.until(lambda: here.said)
        await anyio.sleep(0.1)
        assert len(here.said) == 1
        assert here.server.gateway.heard.count("identify") == 1


@pytest.mark.parametrize("code", [1000, 4000, 4001, 4009])
async def test_every_other_close_is_followed_by_a_new_connection(tmp_path: Path, code: int) -> None:
    async with town(tmp_path, speed=50) as here:
        here.server.gateway.close(code)
        here.ask("say after it")
        await here.answered("after it")
        assert here.said == []


@pytest.mark.parametrize("status", [None, 503])
async def test_a_gateway_that_refuses_the_first_connections_is_called_again(
    tmp_path: Path, status: int | None
) -> None:
    async with town(tmp_path, start=False, speed=50) as here:
        here.server.gateway.faults.refuse_connections(4, status=status)
        await here.start()
        here.ask("say at last")
        await here.answered("at last")


async def test_an_answer_owed_before_the_token_was_refused_is_given_when_it_is_mended(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("slow 5\nsay kept")
        await here.server.until(lambda: "👀" in here.room.seen()[0].reactions)
        here.bot.token_valid = False
        here.server.gateway.close(4004)
        await here.server.until(lambda: here.said)
        await here.kill()
        here.bot.token_valid = True
        await here.start()
        await here.answered("kept")


async def test_it_asks_for_these_intents_and_no_more() -> None:
    assert {name for name, on in intents() if on} == {
        "guilds",
        "guild_messages",
        "dm_messages",
        "guild_reactions",
        "dm_reactions",
        "message_content",
    }


async def test_every_session_is_counted_on_disk_and_a_loop_of_crashes_slows_down(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        for _ in range(2):
            async with here.away():
                pass
        times = orjson.loads((tmp_path / "state" / "discord-sessions.json").read_bytes())
        assert len(times) == here.server.gateway.heard.count("identify") == 3


def test_a_relay_that_crashes_at_once_all_day_opens_far_fewer_than_a_thousand_sessions(
    tmp_path: Path,
) -> None:
    class Day(SystemClock):
        now = 1_700_000_000_000

        def now_ms(self) -> int:
            return self.now

        async def sleep(self, seconds: float) -> None:
            self.now += int(seconds * 1000)

    async def crash_all_day() -> int:
        clock = Day()
        opened: list[int] = []
        end = clock.now + 2 * DAY_MS
        while clock.now < end:
            await IdentifyBudget(tmp_path / "sessions.json", clock).spend()
            opened.append(clock.now)
            clock.now += 100
        return max(sum(1 for t in opened if start <= t < start + DAY_MS) for start in opened)

    most = anyio.run(crash_all_day)
    assert 100 < most < 900


async def test_a_record_of_sessions_that_can_t_be_read_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    for broken in (b"", b"{", b'{"a": 1}', b'["x"]', b"null"):
        path.write_bytes(broken)
        await IdentifyBudget(path, FastClock()).spend()
        assert len(orjson.loads(path.read_bytes())) == 1


# ---- one process to a token


def test_d10_a_second_process_with_the_token_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from relay.surfaces.discord.token_lock import TokenLock\n"
        f"with TokenLock(Path(sys.argv[1]), {TOKEN!r}, Path('/state/of/the/first')):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StateLocked) as refused, TokenLock(tmp_path, TOKEN, tmp_path):
            pass
        told = refused.value.told()
        assert f"pid {holder.pid}" in told
        assert "/state/of/the/first" in told
        assert "secret" not in told
        assert refused.value.code == Exit.LOCKED
        with TokenLock(tmp_path, "another.token", tmp_path):
            pass
        holder.kill()
        holder.wait()
    with TokenLock(tmp_path, TOKEN, tmp_path):
        pass
    assert TOKEN not in "".join(path.read_text() for path in tmp_path.iterdir())


def test_d11_a_lock_that_was_left_with_our_own_pid_or_another_live_one_is_taken_over(tmp_path: Path) -> None:
    for pid in (os.getpid(), os.getppid()):
        path = tmp_path / f"discord-{fingerprint(TOKEN)}.lock"
        path.write_text(f"pid {pid}, start {process_start(pid)}, state /somewhere\n")
        with TokenLock(tmp_path, TOKEN, tmp_path / "mine"):
            assert path.read_text().startswith(f"pid {os.getpid()}, start ")


def test_the_folder_of_locks_is_the_user_s(tmp_path: Path) -> None:
    assert lock_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == tmp_path / "relay"
    assert lock_folder({"XDG_RUNTIME_DIR": "relative"}).name == f"relay-{os.getuid()}"


async def test_the_permissions_of_the_invitation_suffice(tmp_path: Path) -> None:
    (address,) = re.findall(
        r"permissions=(\d+)", (Path(__file__).parents[2] / "docs" / "discord.md").read_text()
    )
    async with town(tmp_path) as here:
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / "a.txt").write_text("a")
        thread = here.ada.open_thread(here.room, "Task")
        writes = here.guild.role("people", here.guild.everybody.permissions)
        for one in (here.olga, here.ada):
            here.guild.give(one.user, writes)
        here.guild.give(here.bot, here.guild.role("invited", int(address)))
        here.guild.set_role(here.guild.everybody, 0)
        here.ask("share a.txt\nask rm -rf build\nsay done", thread)
        here.olga.click(await here.card(thread), "✅ Allow once")
        assert (await here.answered("done", thread)).files == ("a.txt",)
        await here.quiet()
        assert "👀" in thread.seen()[0].reactions
        async with here.away():
            here.ask("say missed")
        await here.answered("missed")
        assert here.server.limits.invalid == []

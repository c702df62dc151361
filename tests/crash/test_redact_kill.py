"""`relay redact` as a process: beside a running relay, without one, killed with -9 at each step, and by a stranger."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import pytest
from behaviours.redaction.searched_house import MARK, holding, house
from fakes.living import ADA

from relay.redact import SOCKET, WayIn, short_path

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
PATIENCE_S = 60.0
DAY_MS = 24 * 3600 * 1000
FEW_STEPS = ("commit-interaction.redacted", "after-redact")
STEPS = ("before-drop", "after-drop", "before-redact", "after-redact", "before-scrub")
LATER_STEPS = ("after-taken", "before-renew", "after-renew", "before-scrub", "after-scrub")


async def lived(folder: Path, days_ago: int = 0) -> Path:
    """A state folder in which the mark stands in a message, its edit, its blob, its prompt and its reply."""
    async with house(folder, ledger="state/ledger.db") as town:
        town.clock.jumped_ms -= days_ago * DAY_MS
        said = await town.say("x" * 20_000 + MARK)
        await town.until_logged("turn.ended")
        await town.edit(said.message, f"say {MARK}")
        await town.until_logged("channel.edited")
        await town.say(f"say {MARK} again", reply_to=said.message)
        await town.until_logged("turn.ended", 2)
        await town.quiet()
        await town.stop()
    for file in folder.glob("page.db*"):
        shutil.move(file, folder / "state" / file.name)
    assert holding(folder, MARK)
    return folder / "state"


def command(*words: str) -> list[str]:
    return [sys.executable, str(HERE / "launcher.py"), *words]


def env(die: str = "") -> dict[str, str]:
    named = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE.parents[1]), "TZ": "UTC"}
    return named | ({"RELAY_TEST_DIE": die} if die else {})


async def ran(*words: str, die: str = "") -> tuple[int, str]:
    with anyio.fail_after(PATIENCE_S):
        done = await anyio.run_process(command(*words), env=env(die), check=False)
    return done.returncode, (done.stdout + done.stderr).decode()


@asynccontextmanager
async def up(folder: Path, die: str = "") -> AsyncIterator[anyio.abc.Process]:
    """A relay on the state folder; killed with -9 at the end."""
    access = {
        "version": 1,
        "agents": {"scout": {"runtime": "scripted"}},
        "rooms": {"web:main": {"label": "main", "agent": "scout", "workspace": str(folder / "work")}},
        "redaction": {"keep_days": 30},
    }
    (folder / "access.json").write_text(json.dumps(access))
    words = ("up", "--config", str(folder / "access.json"), "--state", str(folder / "state"), "--port", "0")
    process = await anyio.open_process(command(*words), env=env(die), stderr=None)
    async with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()


async def until(true: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_S):
        while True:
            if true():
                return
            await anyio.sleep(0.05)


async def until_gone(folder: Path) -> None:
    await until(lambda: not holding(folder, MARK))


async def until_it_listens(state: Path) -> None:
    def listens() -> bool:  # a relay that was killed leaves the file behind
        with short_path(state) as path, socket.socket(socket.AF_UNIX) as way:
            return way.connect_ex(path) == 0

    await until(listens)


async def verified(state: Path) -> None:
    code, said = await ran("verify", "--state", str(state))
    assert code == 0, said
    assert "Everything is as it was written." in said


async def redacted_both(state: Path) -> None:
    for id in ("web:m1", "web:m3"):
        code, said = await ran("redact", id, "--state", str(state))
        assert code == 0, said


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(FEW_STEPS, id="a few"),
        pytest.param(STEPS, id="taking out", marks=pytest.mark.soak),
        pytest.param(LATER_STEPS, id="scrubbing", marks=pytest.mark.soak),
    ],
)
async def test_killed_at_each_step_and_asked_again_nothing_is_left(tmp_path: Path, steps: tuple[str, ...]):
    state = await lived(tmp_path)
    died = 0
    for step in steps:
        code, said = await ran("redact", "web:m1", "--state", str(state), die=f"{step}:1")
        died += code == -9
        assert code in (0, -9), said
    assert died >= min(3, len(steps)), "it was killed where something was under way"
    await redacted_both(state)
    assert holding(tmp_path, MARK) == []
    await verified(state)


async def test_a_running_relay_does_it_and_goes_on_after_a_kill(tmp_path: Path):
    state = await lived(tmp_path)
    async with up(tmp_path, die="after-redact:1") as relay:
        await until_it_listens(state)
        code, said = await ran("redact", "web:m1", "--state", str(state))
        assert code == 4, said
        assert "can't be asked" in said
        with anyio.fail_after(PATIENCE_S):
            assert await relay.wait() == -9
    async with up(tmp_path):
        await until_it_listens(state)
        code, said = await ran("redact", "web:m3", "--state", str(state), "--why", "a slip")
        assert code == 0, said
        assert "are gone" in said or "holds no text" in said
        await until_gone(tmp_path)
        code, said = await ran("redact", "web:m1", "--state", str(state))
        assert (code, "holds no text any more" in said) == (0, True), said
        code, said = await ran("redact", "web:m99", "--state", str(state))
        assert (code, "nothing here is known" in said) == (1, True), said
        await verified(state)
    assert holding(tmp_path, MARK) == []


@pytest.mark.parametrize(
    "step",
    [
        "after-redact",
        pytest.param("commit-interaction.redacted", marks=pytest.mark.soak),
        pytest.param("before-drop", marks=pytest.mark.soak),
        pytest.param("after-drop", marks=pytest.mark.soak),
        pytest.param("before-scrub", marks=pytest.mark.soak),
    ],
)
async def test_a_sweep_that_is_killed_goes_on_at_the_next_start(tmp_path: Path, step: str):
    state = await lived(tmp_path, days_ago=40)
    async with up(tmp_path, die=f"{step}:1") as relay:
        with anyio.fail_after(PATIENCE_S):
            assert await relay.wait() == -9
    async with up(tmp_path):
        await until_gone(tmp_path)
    await verified(state)


async def test_a_ledger_of_another_folder_is_not_touched(tmp_path: Path):
    state = await lived(tmp_path)
    code, said = await ran("redact", "web:m1", "--state", str(tmp_path / "elsewhere"))
    assert (code, "there is no ledger" in said) == (1, True), said
    assert not (tmp_path / "elsewhere").exists()
    assert holding(tmp_path, MARK)
    await verified(state)


# -- who may -----------------------------------------------------------------------------------------------------------


async def test_another_user_of_the_machine_gets_no_answer_and_changes_nothing(tmp_path: Path):
    async with house(tmp_path) as town:
        said = await town.say(f"say {MARK}")
        await town.seen(MARK)
        await town.quiet()
        head = town.relay.parts.engine.head
        way_in = WayIn(town.relay.parts, peer_uid=lambda connection: 54_321)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(way_in.run)
            await until_it_listens(tmp_path / "state")
            assert stat.S_IMODE((tmp_path / "state" / SOCKET).stat().st_mode) == 0o600
            with short_path(tmp_path / "state") as path, anyio.fail_after(PATIENCE_S):
                async with await anyio.connect_unix(path) as stream:
                    with suppress(anyio.BrokenResourceError):  # it may hang up before it is spoken to
                        await stream.send(json.dumps({"id": said.message, "why": ""}).encode() + b"\n")
                    with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                        await stream.receive()
            tasks.cancel_scope.cancel()
        assert town.relay.parts.engine.head == head
        assert holding(tmp_path, MARK)


@pytest.mark.parametrize(
    "line",
    [b"\n", b"[]\n", b'{"id": "m1"}\n', b"\xff\xfe\n", b"x" * 9_000 + b"\n", b'{"id": {"a": 1}, "why": 3}\n'],
    ids=["empty", "a list", "half", "no text", "too long", "other types"],
)
async def test_a_broken_request_is_refused_and_the_next_one_is_answered(tmp_path: Path, line: bytes):
    async with house(tmp_path) as town, anyio.create_task_group() as tasks:
        head = town.relay.parts.engine.head
        tasks.start_soon(WayIn(town.relay.parts).run)
        await until_it_listens(tmp_path / "state")
        for sent in (line, b'{"id": "web:m77", "why": ""}\n'):
            with short_path(tmp_path / "state") as path, anyio.fail_after(PATIENCE_S):
                async with await anyio.connect_unix(path) as stream:
                    await stream.send(sent)
                    assert "error" in json.loads(await stream.receive())
        tasks.cancel_scope.cancel()
        assert town.relay.parts.engine.head == head


async def test_people_in_the_chat_can_not_redact(tmp_path: Path):
    async with house(tmp_path) as town:
        said = await town.say(f"say {MARK}")
        await town.seen(MARK)
        for text in (f"!redact {said.message}", f"relay redact web:{said.message}"):
            await town.say(text, by=ADA)
        await town.quiet()
        assert await town.log("interaction.") == []
        assert holding(tmp_path, MARK)

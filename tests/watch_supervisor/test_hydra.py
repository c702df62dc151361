"""Nothing of a command outlives its watch, its supervisor, or the death of whoever runs it: W8, and P6.

The hydra has six heads: a child, one that ignores TERM, one in a session of its own, a double fork, a double fork
with a clean environment, and one in a session of its own that ignores TERM and starts a new child for each that
dies.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from watch_supervisor.processes.guarded import Guarded
from watch_supervisor.processes.port import Order

pytestmark = pytest.mark.anyio
LONG = 60.0
HEADS = 6
HYDRA = """
sleep {mark} & touch up1
(trap '' TERM; touch up2; while :; do sleep {mark} & wait; done) &
setsid bash -c 'touch up3; exec sleep {mark}' &
( (touch up4; exec sleep {mark}) & )
env -i setsid /bin/bash -c '(trap "" TERM; : > up5; while :; do /bin/sleep {mark}; done) & exit'
setsid bash -c 'trap "" TERM HUP INT; touch up6; while :; do sleep {mark} & wait; done' &
"""


def living(mark: str) -> list[int]:
    """Processes that carry the mark in their arguments."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in line:
                found.append(int(name))
    return found


def named(name: str, parent: int | None = None) -> list[int]:
    """Processes of that name, below `parent` (or its children) where one is given."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and name_of(int(entry)) == name:
            above = parent_of(int(entry))
            if parent is None or parent in (above, parent_of(above)):
                found.append(int(entry))
    return found


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def wait_for(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < until, what
        time.sleep(0.05)


@pytest.fixture
def mark() -> Iterator[str]:
    mark = f"86400.{secrets.randbelow(10**12):012}"
    yield mark
    for pid in living(mark):
        os.kill(pid, signal.SIGKILL)


def heads(folder: Path) -> int:
    return sum((folder / f"up{number}").exists() for number in range(1, HEADS + 1))


async def roused(commands, mark: str) -> None:
    await commands.arm(commands.command(HYDRA.format(mark=mark) + f"\nexec sleep {mark}"))
    await commands.until(lambda: heads(commands.root) == HEADS and len(living(mark)) >= HEADS, LONG)


async def test_nothing_is_left_after_unwatch(commands, mark: str) -> None:
    await roused(commands, mark)
    await commands.supervisor.stop("run-1")
    assert living(mark) == []


async def test_a_command_may_leave_in_order(commands, mark: str) -> None:
    line = f"trap 'echo bye > bye; exit' TERM; touch up1; sleep {mark} & wait; sleep {mark}"
    await commands.arm(commands.command(line))
    await commands.until(lambda: heads(commands.root) == 1 and bool(living(mark)), LONG)
    await commands.supervisor.stop("run-1")
    assert living(mark) == []
    assert (commands.root / "bye").read_text() == "bye\n"


async def test_nothing_is_left_of_a_run_that_is_stopped_while_it_starts(commands, mark: str) -> None:
    for number in range(5):
        commands.supervisor.start(commands.command(f"sleep {mark}; true", run=f"run-{number}"))
    await anyio.sleep(0.02)
    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(commands.supervisor.stop, f"run-{number}")
    assert living(mark) == []


async def test_nothing_is_left_of_a_hydra_whose_shell_has_ended(commands, mark: str) -> None:
    commands.supervisor.start(commands.command(HYDRA.format(mark=mark), fire="exit"))
    await commands.until(lambda: bool(commands.ended), LONG)
    assert commands.fires[0].why.startswith("exited with code 0")
    assert living(mark) == []


async def test_two_hydras_end_apart(commands, mark: str) -> None:
    await roused(commands, mark)
    other = f"{mark}7"
    await commands.arm(commands.command(f"trap '' TERM; sleep {other}; sleep {other}", run="run-2"))
    await commands.until(lambda: len(living(other)) == 2, LONG)
    survivors = set(living(other))
    await commands.supervisor.stop("run-1")
    assert set(living(mark)) == survivors
    await commands.supervisor.stop("run-2")
    assert living(mark) == []


async def test_nothing_is_left_of_one_that_kills_its_warden(commands, mark: str) -> None:
    line = (
        HYDRA.format(mark=mark)
        + f"\nwhile [ ! -e go ]; do sleep 0.05; done; kill -9 $PPID; exec sleep {mark}"
    )
    await commands.arm(commands.command(line, fire="exit"))
    await commands.until(lambda: heads(commands.root) == HEADS, LONG)
    (commands.root / "go").touch()
    await commands.until(lambda: bool(commands.ended), LONG)
    assert commands.fires[0].why.startswith("was lost after")
    await commands.until(lambda: living(mark) == [], LONG)
    commands.supervisor.start(commands.command("echo next", run="run-2"))
    await commands.until(lambda: len(commands.ended) == 2, LONG)
    assert commands.fires[-1].text.startswith("next\n"), "the guard still runs commands"


async def test_a_guard_that_is_killed_is_replaced_and_its_commands_go_on(commands, mark: str) -> None:
    await roused(commands, mark)
    (guard,) = named("watch-guard", os.getpid())
    os.kill(guard, signal.SIGKILL)
    commands.supervisor.start(commands.command("echo next", run="run-2"))
    await commands.until(lambda: bool(commands.ended), LONG)
    assert (commands.ended[0].run, commands.fires[0].text.split("\n")[0]) == ("run-2", "next")
    assert living(mark) != []
    await commands.supervisor.stop("run-1")
    assert living(mark) == []


async def test_p9_what_an_earlier_life_left_is_ended_and_nothing_else_is(tmp_path: Path, mark: str) -> None:
    name = ("RELAY_WATCHES_OF", f"state-{mark}")
    env = {"PATH": os.environ["PATH"]}
    lines = [f"exec sleep {mark}1", f"trap '' TERM; while :; do sleep {mark}1; done"]
    left = [subprocess.Popen(["bash", "-c", line], env={**env, name[0]: name[1]}) for line in lines]  # noqa: ASYNC220
    other = subprocess.Popen(["sleep", f"{mark}2"], env={**env, name[0]: f"{name[1]}7"})  # noqa: ASYNC220
    try:
        wait_for(lambda: len(living(f"{mark}1")) >= 3, "they run")
        async with Guarded(mark=name) as spawner:
            assert living(f"{mark}1") == []
            assert living(f"{mark}2") == [other.pid]
            order = Order([shutil.which("sleep"), f"{mark}3"], tmp_path, env)
            child = await spawner.spawn(order)
            assert f"{name[0]}={name[1]}".encode() in Path(f"/proc/{child.pid}/environ").read_bytes().split(
                b"\0"
            )
            await child.end()
            os.close(child.stdout)
            os.close(child.stderr)
    finally:
        for each in (*left, other):
            each.kill()
            each.wait()


@pytest.mark.parametrize("how", ["a normal stop", "kill -9", "kill -9 of the guard too"])
def test_nothing_is_left_when_the_supervisor_ends(tmp_path: Path, mark: str, how: str) -> None:
    root = tmp_path / "workspace"
    host = subprocess.Popen(
        [
            sys.executable,
            str(Path(__file__).with_name("hydra_host.py")),
            HYDRA.format(mark=mark) + "\nwait",
            tmp_path,
        ],
        start_new_session=True,
    )
    try:
        wait_for(lambda: heads(root) == HEADS, "the hydra rises")
        guards = named("watch-guard", host.pid)
        assert len(guards) == 1
        if how.endswith("too"):
            os.kill(guards[0], signal.SIGKILL)
        os.kill(host.pid, signal.SIGINT if how == "a normal stop" else signal.SIGKILL)
        host.wait(LONG)
        if how == "a normal stop":
            gone = [pid for pid in living(mark) if pid != host.pid]
            assert gone == []
        wait_for(lambda: living(mark) == [], "the hydra ends")
        wait_for(lambda: name_of(guards[0]) != "watch-guard", "the guard ends")
    finally:
        host.kill()
        host.wait()


async def test_a_killed_run_is_not_waited_for_when_it_cannot_die(commands, mark: str) -> None:
    # A warden that is stopped can end nothing; whoever unwatches is told within seconds all the same.
    await commands.arm(commands.command(f"sleep {mark}; true"))
    await commands.until(lambda: bool(living(mark)) and bool(commands.advanced), LONG)
    wardens = [pid for pid in named("watch-warden") if os.getpid() == parent_of(parent_of(pid))]
    assert len(wardens) == 1
    os.kill(wardens[0], signal.SIGSTOP)
    with anyio.fail_after(LONG):
        await commands.supervisor.stop("run-1")
    assert commands.supervisor.running() == ()
    os.kill(wardens[0], signal.SIGCONT)
    await commands.until(lambda: living(mark) == [], LONG)

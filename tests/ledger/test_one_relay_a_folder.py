"""One relay to a state folder, and what the `relay` command says when it can't start on one."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay.errors import Exit, StateLocked
from relay.ledger.lock import StateLock
from relay.ledger.schema import VERSION

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20


def up(state: Path) -> subprocess.Popen[str]:
    """`relay up` on that folder, as a person starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "relay", "up", "--state", str(state), "--port", "0"],
        cwd=state.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refused(state: Path) -> tuple[int, str]:
    """The exit code of a start that must fail, and what it told the person."""
    process = up(state)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err
    assert out == ""
    return process.returncode, err


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    (tmp_path / "workspace").mkdir()  # else the start says that it made it
    return folder


@pytest.fixture
def running(state: Path) -> Iterator[subprocess.Popen[str]]:
    process = up(state)
    assert process.stdout is not None
    assert process.stdout.readline(), process.communicate()
    yield process
    process.kill()
    process.communicate(timeout=PATIENCE_S)


def test_a_second_relay_on_a_folder_is_refused_and_a_kill_lets_it_go(
    state: Path, running: subprocess.Popen[str]
):
    code, said = refused(state)
    assert code == Exit.LOCKED == 4
    assert f"pid {running.pid}" in said
    assert str(state) in said
    assert "--state DIR" in said
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=PATIENCE_S)
    with StateLock(state / "lock"):
        pass  # the lock went with the process


def test_a_newer_ledger_ends_the_start_with_5(state: Path):
    connection = sqlite3.connect(state / "ledger.db")
    connection.execute(f"PRAGMA user_version = {VERSION + 7}")
    connection.close()
    before = (state / "ledger.db").read_bytes()
    code, said = refused(state)
    assert code == Exit.NEWER_DATABASE == 5
    assert "newer relay" in said
    assert "Update this relay" in said
    assert (state / "ledger.db").read_bytes() == before


def test_a_damaged_ledger_ends_the_start_with_a_sentence(state: Path):
    (state / "ledger.db").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    before = (state / "ledger.db").read_bytes()
    code, said = refused(state)
    assert code == Exit.FAILED
    assert "ledger.db" in said
    assert "backup" in said
    assert (state / "ledger.db").read_bytes() == before


def test_the_lock_is_let_go_at_the_end(state: Path):
    with StateLock(state / "lock"), pytest.raises(StateLocked, match=f"pid {os.getpid()}"):
        StateLock(state / "lock").take()
    with StateLock(state / "lock"):
        pass


def test_a_child_of_the_relay_does_not_keep_its_lock(state: Path):
    """An agent's process may outlive a killed relay; the next relay must not wait for it."""
    lock = StateLock(state / "lock")
    lock.take()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    try:
        time.sleep(0.1)
        lock.release()
        with StateLock(state / "lock"):
            pass
    finally:
        child.kill()
        child.wait()

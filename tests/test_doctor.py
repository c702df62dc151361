"""`relay doctor`: what is missing on this machine is named, with what to do; 0 when nothing is, else 1."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from relay import doctor
from relay.app import Options
from relay.clock import SystemClock
from relay.ledger.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

SECRET = "hunter2-hunter2-hunter2"


class Patient:
    """A folder with an access.json and a state folder, and what the doctor said of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.state.mkdir(mode=0o700)
        self.config: dict[str, Any] = {
            "version": 1,
            "surfaces": {"web": {"port": 0}},
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": {"web:main": {"agent": "scout", "workspace": "work"}},
        }
        self.env = {"RELAY_HTTP_TOKEN": SECRET, "HOME": str(folder), "PATH": os.environ["PATH"]}
        self.said: list[str] = []

    async def see(self, **more: Any) -> int:
        self.said.clear()
        path = self.folder / "access.json"
        path.write_text(self.config if isinstance(self.config, str) else json.dumps(self.config, indent=1))
        options = Options(config=path, state=self.state, env=self.env, say=self.said.append)
        code = await doctor.Doctor(options, SystemClock()).run(False, **more)
        assert SECRET not in self.told
        assert sorted(one.name for one in self.folder.iterdir() if one.name == "work") == [], (
            "nothing is made"
        )
        return code

    @property
    def told(self) -> str:
        return "\n".join(self.said)


@pytest.fixture
def patient(tmp_path: Path) -> Patient:
    return Patient(tmp_path)


def has(text: str, *words: str) -> None:
    for word in words:
        assert word in text, text


async def test_where_nothing_is_missing_it_says_so(patient: Patient) -> None:
    assert await patient.see() == 0, patient.told
    has(patient.told, "1 room, 1 agent", "1 workspace: can be written", "MiB free", "Nothing to do.")


def test_the_command_ends_with_0_or_1_and_prints_no_secret(patient: Patient) -> None:
    path = patient.folder / "access.json"
    path.write_text(json.dumps(patient.config))
    command = [sys.executable, "-m", "relay", "doctor", "--config", str(path), "--state", str(patient.state)]
    env = {**patient.env, "PYTHONPATH": str(Path(__file__).parents[1])}
    fine = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert (fine.returncode, fine.stderr) == (0, ""), fine.stdout
    assert fine.stdout.endswith("Nothing to do.\n")
    path.write_text(json.dumps({**patient.config, "secret": SECRET}))
    wrong = subprocess.run(
        [*command, "--discord"], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert wrong.returncode == 1
    has(wrong.stdout, "TODO access.json:1: secret", "→ Every key is explained", "1 thing to do.")
    assert SECRET not in wrong.stdout + wrong.stderr


async def test_without_a_config_it_looks_at_what_would_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    options = Options(state=tmp_path / "new", port=0, env={"HOME": str(tmp_path)}, say=said.append)
    assert await doctor.Doctor(options, SystemClock()).run(False) == 0, said
    has("\n".join(said), "no access.json was named", "not there yet; the first start makes it")
    assert list(tmp_path.iterdir()) == [], "it makes nothing"


async def test_mistakes_in_access_json_are_told_with_their_lines(patient: Patient) -> None:
    patient.config["rooms"]["web:main"]["busy"] = "sometimes"
    assert await patient.see() == 1
    has(patient.told, "TODO access.json:", "busy")


async def test_a_secret_that_stands_in_the_wrong_place_is_not_repeated(patient: Patient) -> None:
    patient.config["rooms"]["web:main"]["workspace"] = f"access.json/{SECRET}"
    assert await patient.see() == 1
    has(patient.told, "[masked")


async def test_an_env_file_that_others_may_read_is_told(patient: Patient) -> None:
    path = patient.folder / ".env"
    path.write_text("RELAY_DISCORD_TOKEN=x\n")
    path.chmod(0o644)
    assert await patient.see() == 1
    has(patient.told, "has mode 0644", "chmod 600")


async def test_a_state_folder_that_others_may_read_or_that_is_none_is_told(patient: Patient) -> None:
    patient.state.chmod(0o755)
    assert await patient.see() == 1
    has(patient.told, "has mode 0755", "Run: chmod 700")
    patient.state.rmdir()
    patient.state.write_text("")
    assert await patient.see() == 1
    has(patient.told, "it is no folder", "--state DIR")


async def test_a_workspace_that_can_t_be_or_that_holds_the_state_is_told(patient: Patient) -> None:
    (patient.folder / "file").write_text("")
    patient.config["rooms"]["web:main"]["workspace"] = "file/inside"
    assert await patient.see() == 1
    has(patient.told, "room web:main", "can't be made", "rooms.web:main.workspace")
    patient.config["rooms"]["web:main"]["workspace"] = "."
    assert await patient.see() == 1
    has(patient.told, "and the agent may write in its workspace")


async def test_a_disk_that_is_nearly_full_is_told(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE_MIB", 1 << 40)
    assert await patient.see() == 1
    has(patient.told, "MiB left", "Free some space")


LIMITS = [("instances", 3, 512), ("watches", 10, 65_536)]


@pytest.mark.parametrize(("what", "value", "advised"), LIMITS, ids=[what for what, _, _ in LIMITS])
async def test_too_few_notices_of_the_kernel_are_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, what: str, value: int, advised: int
) -> None:
    limits = {"max_user_instances": 128, "max_user_watches": 100_000, f"max_user_{what}": value}
    monkeypatch.setattr(doctor, "_limit", limits.get)
    monkeypatch.setattr(doctor, "_gives_a_list", lambda: True)
    assert await patient.see() == 1
    has(
        patient.told, f"fs.inotify.max_user_{what} is {value}", f"sysctl fs.inotify.max_user_{what}={advised}"
    )


async def test_notices_that_others_hold_all_are_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_limit", lambda _: 100_000)
    monkeypatch.setattr(doctor, "_gives_a_list", lambda: False)
    assert await patient.see() == 1
    has(patient.told, "other programs hold them all")


async def test_a_port_that_another_program_has_is_told(patient: Patient) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = patient.config["surfaces"]["web"]["port"] = other.getsockname()[1]
        assert await patient.see() == 1
        has(patient.told, f"listens on 127.0.0.1:{port}", "surfaces.web.port")


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system doesn't list locks")
async def test_a_relay_that_runs_is_named_and_not_disturbed(patient: Patient) -> None:
    code = (
        "import sys; from pathlib import Path; from relay.ledger.lock import StateLock\n"
        "with StateLock(Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(patient.state / "lock")]
    env = {"PYTHONPATH": str(Path(__file__).parents[1])}
    async with await anyio.open_process(command, stdin=subprocess.PIPE, env=env) as holder:
        assert holder.stdout is not None
        assert await holder.stdout.receive() == b"held\n"
        patient.config["surfaces"]["web"]["port"] = 8700  # its own
        assert await patient.see() == 0, patient.told
        has(patient.told, f"a relay runs on it (pid {holder.pid})")
        holder.kill()
        await holder.wait()
    patient.config["surfaces"]["web"]["port"] = 0
    assert await patient.see() == 0
    assert "a relay runs" not in patient.told


# ---- what is kept


async def ledger(patient: Patient) -> Path:
    path = patient.state / "ledger.db"
    await (await SqliteStore.open(path)).close()
    return path


def many_rows(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
        db.execute("CREATE INDEX i ON t (x)")
        db.executemany("INSERT INTO t (x) VALUES (?)", ((f"{n:0200}",) for n in range(2_000)))
    db.close()


async def test_a_ledger_that_is_whole_is_said_to_be(patient: Patient) -> None:
    await ledger(patient)
    before = (patient.state / "ledger.db").read_bytes()
    assert await patient.see() == 0, patient.told
    has(patient.told, "ledger: in order")
    assert (patient.state / "ledger.db").read_bytes() == before


async def test_a_ledger_that_is_none_or_is_newer_is_told(patient: Patient) -> None:
    path = await ledger(patient)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    assert await patient.see() == 1
    has(patient.told, "newer")
    path.write_bytes(b"something else " * 100)
    assert await patient.see() == 1
    has(patient.told, "is not a whole ledger", "Restore it from a backup")


async def test_a_hole_inside_a_file_is_found(patient: Patient) -> None:
    path = patient.state / "page.db"
    many_rows(path)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(os.urandom(4096))
    assert await patient.see() == 1
    has(patient.told, "the page's messages", "is damaged", "restore it from a backup")


async def test_a_large_file_is_looked_at_for_some_seconds_and_that_is_said(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_rows(patient.state / "page.db")
    monkeypatch.setattr(doctor, "_STEPS", 10)
    monkeypatch.setattr(doctor, "DATABASE_WITHIN_S", 0.0)
    monkeypatch.setattr(doctor, "A_LOOK_WITHIN_S", 60.0)

    async def within(self: doctor.Doctor, _: float, look: Any) -> None:
        for one in look():
            self._tell(one)

    monkeypatch.setattr(doctor.Doctor, "_within", within)
    assert await patient.see() == 0, patient.told
    has(patient.told, "in order as far as a few seconds went")


async def test_a_folder_that_answers_nobody_is_told(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def never(*_: object) -> list[Any]:
        over.wait(60)
        return []

    monkeypatch.setattr(doctor, "A_LOOK_WITHIN_S", 2.0)
    monkeypatch.setattr(doctor, "QUIET_FOR_S", 0.1)
    monkeypatch.setattr(doctor.Doctor, "_disk", never)
    warned: list[str] = []
    path = patient.folder / "access.json"
    path.write_text(json.dumps(patient.config))
    options = Options(config=path, state=patient.state, env=patient.env, say=patient.said.append)
    try:
        assert await doctor.Doctor(options, SystemClock(), warned.append).run(False) == 1
    finally:
        over.set()
    has(patient.told, "no answer for a long time")
    assert any(line.startswith("… still looking at") for line in warned)

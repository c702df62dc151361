"""Playing scripts: the real command, a real relay below it, and what a person reads in the terminal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "examples" / "tour" / "tour.script"


def command(script: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "relay", "up", "--script", str(script), *options]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "PYTHONIOENCODING": "utf-8"}


def play(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    script = folder / "my.script"
    script.write_text(source, "utf-8")
    return subprocess.run(
        command(script, *options),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        encoding="utf-8",
        timeout=90,
    )


def processes(folder: Path) -> Iterator[int]:
    """Relays whose state lies in the folder."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--control" in words and any(str(folder).encode() in word for word in words):
            yield int(process.name)


def eventually(holds: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.05)
    return False


def started(folder: Path, source: str) -> subprocess.Popen[str]:
    script = folder / "my.script"
    script.write_text(source, "utf-8")
    with (folder / "out").open("w") as out:
        player = subprocess.Popen(
            command(script), cwd=folder, env=environment(folder), stdout=out, stderr=out
        )
    assert eventually(lambda: "You said: hello" in (folder / "out").read_text("utf-8"))
    assert list(processes(folder))
    return player


def test_a_script_that_holds_ends_with_0_and_leaves_nothing(tmp_path: Path) -> None:
    done = play(tmp_path, 'human ada\nada: hello\nsee "You said: hello"\ncount "hello" 1 for 200ms\n')
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d  main  ada: hello", line) for line in lines)
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d  main  scout: You said: hello", line) for line in lines)
    assert '✓ 3: see "You said: hello"' in lines
    assert lines[-1] == "2 passed, 0 failed"
    assert [path.name for path in tmp_path.iterdir()] == ["my.script"]
    assert not list(processes(tmp_path))


def test_a_script_that_does_not_hold_ends_with_1_says_why_and_keeps_its_folder(tmp_path: Path) -> None:
    done = play(tmp_path, 'you: hello\nsee "goodbye" within 1s\nreact 🛑 to "hello"\nsee "You said: hello"\n')
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    where = lines.index('✗ 2: see "goodbye" within 1s')
    assert "not seen in 1 s" in lines[where + 1]
    assert "    scout: You said: hello" in lines[where + 2 : where + 4]
    assert '✓ 4: see "You said: hello"' in lines
    assert lines[-1] == "1 passed, 1 failed"
    (kept,) = tmp_path.glob("relay-script-my-*")
    assert str(kept) in lines[-2]
    assert {"state", "access.json", "relay.log", "workspace"} <= {path.name for path in kept.iterdir()}


def test_mistakes_are_told_before_anything_is_started(tmp_path: Path) -> None:
    done = play(tmp_path, "you: hello\nsee hello\nbob: hi\n", "--state", str(tmp_path / "state"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "my.script:2: " in done.stderr
    assert "my.script:3: nobody knows bob yet" in done.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("source", [None, b"\xff\xfe", b"you: hello"])
def test_what_is_no_script_or_no_way_to_play_one_is_a_usage_error(
    tmp_path: Path, source: bytes | None
) -> None:
    script = tmp_path / "my.script"
    if source is not None:
        script.write_bytes(source)
    options = ["--port", "0"] if source == b"you: hello" else []
    done = subprocess.run(
        command(script, *options), cwd=tmp_path, env=environment(tmp_path), capture_output=True
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"relay: ")
    assert b"Traceback" not in done.stderr


def test_with_a_state_folder_each_play_has_a_fresh_one_in_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "ledger.db").write_bytes(b"a person's ledger")
    for _ in range(2):
        assert play(tmp_path, 'you: hello\nsee "hello"\n', "--state", str(state)).returncode == 0
    assert sorted(path.name for path in state.iterdir()) == ["ledger.db", "script-my-1", "script-my-2"]
    assert (state / "ledger.db").read_bytes() == b"a person's ledger"
    assert (state / "script-my-2" / "state" / "ledger.db").stat().st_size > 0


def test_people_write_while_the_relay_is_down_and_are_heard_when_it_is_back(tmp_path: Path) -> None:
    source = """
human ada
you: hello
see "You said: hello"
kill
ada: from the dark
not "You said: from" for 300ms
restart
see "You said: from the dark"
stop
restart
settle
count "You said: from the dark" 1
count "You said: hello" 1
"""
    done = play(tmp_path, source)
    assert done.returncode == 0, done.stdout
    assert "— the relay is killed (kill -9)" in done.stdout


def test_files_threads_rooms_and_guests(tmp_path: Path) -> None:
    source = """
guest mallory
room side
thread "Notes" as notes
in notes
write a/notes.md one
you: !watch notes --file a/notes.md --window 0s
see "Watching «notes»"
append a/notes.md
  two
  three
see "↳ triggered by watch «notes»"
count "+three" 1
rename a/notes.md b.md
see "«notes» deleted"
in side
mallory: let me in
not "in" for 300ms
you: tool write here.md x
see "wrote here.md"
delete here.md
delete here.md
"""
    done = play(tmp_path, source)
    lines = done.stdout.splitlines()
    assert lines[-1] == "6 passed, 1 failed", done.stdout
    assert "✗ 22: delete here.md" in lines


def test_names_and_files_of_any_alphabet_work_and_outlive_a_kill(tmp_path: Path) -> None:
    source = """
human zoë
write ノート.md one
you: !watch вахта --file ノート.md --window 0s
see "Watching «вахта»"
kill
append ノート.md two
restart
see "↳ triggered by watch «вахта»"
zoë: tool write ü.txt ß
see "wrote ü.txt"
"""
    done = play(tmp_path, source)
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_stops_reading_the_transcript_does_not_change_how_it_ends(tmp_path: Path) -> None:
    script = tmp_path / "my.script"
    script.write_text('you: hello\nsee "goodbye" within 500ms\n', "utf-8")
    with subprocess.Popen(
        command(script),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as player:
        assert player.stdout is not None
        player.stdout.close()
        assert player.wait(30) == 1
    assert not list(processes(tmp_path))


def test_a_config_of_its_own_says_rooms_and_people(tmp_path: Path) -> None:
    config = {
        "version": 1,
        "people": {"ada": {}},
        "agents": {"robin": {"runtime": "scripted"}},
        "rooms": {"web:lab": {"agent": "robin", "workspace": str(tmp_path / "lab"), "humans": ["ada"]}},
    }
    (tmp_path / "access.json").write_text(json.dumps(config))
    done = play(tmp_path, 'config access.json\nhuman ada\nin lab\nada: hello\nsee "hello" from robin\n')
    assert done.returncode == 0, done.stdout
    done = play(tmp_path, "config access.json\nin lab\nyou: a\nin main\nyou: b\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "my.script:5: the config has no room web:main" in done.stderr
    (tmp_path / "access.json").write_text("{")
    assert play(tmp_path, "config access.json\nyou: a\n").returncode == 3


def test_the_limit_ends_a_script(tmp_path: Path) -> None:
    done = play(tmp_path, "limit 500ms\nyou: hello\nwait 20s\n")
    assert done.returncode == 1
    assert "✗ 3: the script's limit of 0.5 s is over here" in done.stdout
    assert not list(processes(tmp_path))


def test_a_relay_that_ends_by_itself_is_told_at_once(tmp_path: Path) -> None:
    player = started(tmp_path, 'you: hello\nsee "You said: hello"\nsee "never" within 60s\nsee "never"\n')
    (pid,) = processes(tmp_path)
    os.kill(pid, signal.SIGKILL)
    assert player.wait(10) == 1
    said = (tmp_path / "out").read_text("utf-8")
    assert "the relay ended by itself" in said
    assert said.splitlines()[-1] == "1 passed, 1 failed"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_relay_outlives_its_player(tmp_path: Path, how: signal.Signals) -> None:
    player = started(tmp_path, "you: hello\nwait 60s\n")
    player.send_signal(how)
    assert player.wait(15) != 0
    assert eventually(lambda: not list(processes(tmp_path)))
    assert "Traceback" not in (tmp_path / "out").read_text("utf-8")


def test_the_control_socket_is_only_what_a_player_hands_over(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "relay", "up", "--control", "77", "--state", str(tmp_path / "state")],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert "Use --script FILE." in done.stderr


def test_the_tour_holds(tmp_path: Path) -> None:
    began = time.monotonic()
    done = subprocess.run(
        command(TOUR, "--state", str(tmp_path / "relay")),
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"\d+ passed, 0 failed", done.stdout.splitlines()[-1])
    assert time.monotonic() - began < 60


def test_a_config_brings_its_people_and_names_who_is_not_there(tmp_path: Path) -> None:
    rooms = {"web:main": {"agent": "scout", "workspace": "./w", "humans": ["ada"]}}
    config = {
        "version": 1,
        "agents": {"scout": {"runtime": "scripted"}},
        "people": {"ada": {}},
        "rooms": rooms,
    }
    (tmp_path / "access.json").write_text(json.dumps(config))
    good = tmp_path / "good.script"
    good.write_text('config access.json\nada: hello\nsee "You said: hello"\n')
    played = subprocess.run(
        [sys.executable, "-m", "relay", "up", "--script", str(good)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert played.returncode == 0, played.stdout + played.stderr
    bad = tmp_path / "bad.script"
    bad.write_text("config access.json\nbob: hello\n")
    refused = subprocess.run(
        [sys.executable, "-m", "relay", "up", "--script", str(bad)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 2
    assert "nobody knows bob" in refused.stderr

"""`relay up` as it is used: a process, an address, a page; stopped, killed, started again."""

import json
import resource
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import httpx
from newcomer import ran, started


def config(folder: Path, **room: Any) -> Path:
    path = folder / "access.json"
    text = {
        "version": 1,
        "agents": {"scout": {"runtime": "scripted", "env": ["MY_KEY"]}},
        "rooms": {"web:main": {"agent": "scout", "workspace": "work", **room}},
    }
    path.write_text(json.dumps(text, indent=1))
    return path


def test_a_message_is_answered_can_be_explained_and_is_still_there_after_a_restart(tmp_path: Path) -> None:
    with started(tmp_path) as relay:
        assert relay.said.startswith(
            f"Made the workspace {tmp_path}/workspace for web:main.\nThe page is open at"
        )
        assert "Ctrl-C stops the relay; nothing is lost." in relay.said
        with relay.events() as events:
            assert next(events)["kind"] == "hello"
            asked = relay.post("tool write notes.md hello\nsay hello")
            for event in events:
                if event["kind"] == "message" and event["message"]["ours"]:
                    break
            assert event["message"]["text"] == "wrote notes.md\nhello"
            assert event["message"]["reply_to"] == asked
        assert (tmp_path / "workspace" / "notes.md").read_text() == "hello\n"
        log = ran("log", "--state", tmp_path / "state", "--verb", "turn.", cwd=tmp_path)
        assert log.returncode == 0
        verbs = ["turn.prompted", "turn.started", "turn.replied", "turn.ended"]
        assert [line.split()[4] for line in log.stdout.splitlines()] == verbs
        why = ran("why", f"web:{event['message']['id']}", "--state", tmp_path / "state", cwd=tmp_path)
        assert why.returncode == 0
        assert "say hello" in why.stdout
        relay.post("!watch notes --file notes.md")
        relay.seen("Watching «notes»")
        before = relay.texts()
        assert relay.stop() == 0
        assert relay.stopped_after < 3
    assert (tmp_path / "relay.log").read_text() == ""
    (tmp_path / "workspace" / "notes.md").write_text("changed meanwhile\n")
    with started(tmp_path) as relay:
        assert relay.texts()[: len(before)] == before
        assert "+changed meanwhile" in relay.seen("↳ triggered by watch «notes»")["text"]
        assert relay.stop(signal.SIGINT) == 0


def test_a_killed_relay_answers_what_was_said_when_it_is_started_again(tmp_path: Path) -> None:
    with started(tmp_path) as relay:
        # What may be done twice: no agent can know of a step that it died in whether it was done.
        relay.post("tool write log.txt x\nslow 1\nsay done")
        relay.stop(signal.SIGKILL)
    with started(tmp_path) as relay:
        relay.seen("done")
        assert (tmp_path / "workspace" / "log.txt").read_text() == "x\n"
        answers = sum("done" in m["text"] for m in relay.messages() if m["ours"])
        assert answers == 1


def test_a_second_relay_on_the_same_state_and_whoever_has_no_key_are_refused(tmp_path: Path) -> None:
    with started(tmp_path) as relay:
        address = str(relay.page.base_url)
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "token=x"}):
            assert httpx.get(f"{address}api/state", headers=headers, trust_env=False).status_code == 401
        assert relay.page.get("/api/state", headers={"Host": "evil.example"}).status_code == 421
        second = ran("up", "--state", tmp_path / "state", "--port", "0", cwd=tmp_path)
        assert second.returncode == 4
        assert second.stderr.startswith("relay: ")
        assert str(relay.process.pid) in second.stderr
        assert "Traceback" not in second.stderr
        assert "http://" not in second.stdout
        relay.post("say still here")
        relay.seen("still here")


def test_a_wrong_config_is_told_with_its_line_and_nothing_starts(tmp_path: Path) -> None:
    path = config(tmp_path, bussy="steer")
    done = ran("up", "--config", path, "--state", tmp_path / "state", cwd=tmp_path)
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "bussy" in text)
    assert done.returncode == 3
    assert f"access.json:{line}: " in done.stderr
    assert "bussy" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state").exists()


def test_a_missing_config_is_told_with_what_to_do(tmp_path: Path) -> None:
    done = ran("up", "--config", tmp_path / "none.json", "--state", tmp_path / "state", cwd=tmp_path)
    assert done.returncode == 3
    assert "There is no file" in done.stderr


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "ledger.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 999")
    database.execute("CREATE TABLE from_the_future(x)")
    database.commit()
    database.close()
    before = path.read_bytes()
    done = ran("up", "--state", tmp_path / "state", "--port", "0", cwd=tmp_path)
    assert done.returncode == 5
    assert done.stderr.startswith("relay: ")
    assert "Traceback" not in done.stderr
    assert path.read_bytes() == before


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    done = ran("up", "--bogus", cwd=tmp_path)
    assert done.returncode == 2
    assert "--bogus" in done.stderr


def test_help_is_quick(tmp_path: Path) -> None:
    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    done = ran("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "up" in done.stdout
    assert spent() - before < 0.5


def test_a_changed_config_is_taken_up_while_it_runs_and_a_broken_one_is_not(tmp_path: Path) -> None:
    path = config(tmp_path)
    with started(tmp_path, "--config", path) as relay:
        path.write_text('{ "version": 1, ')
        for times in range(1, 60):
            relay.post("!status")
            if "last good copy" in relay.seen("Nothing is running here.", times)["text"]:
                break
            time.sleep(0.3)
        told = relay.seen("the last good copy stays in force")
        assert "access.json:1" in told["text"]
        relay.post("say as before")
        relay.seen("as before")
        config(tmp_path, watches=[{"name": "notes", "file": "notes.md"}])
        relay.seen("Watching «notes»: file notes.md · on change.")
        count = sum("Nothing is running here." in text for text in relay.texts())
        relay.post("!status")
        told = relay.seen("Nothing is running here.", count + 1)
        assert "mistake" not in told["text"]
        assert "«notes»" in told["text"]


def test_s4_s5_the_value_of_a_variable_that_access_json_names_is_in_no_chat_no_record_and_no_log(
    tmp_path: Path,
) -> None:
    secret = "xyzzy-plugh-2718281828"
    path = config(tmp_path)
    with started(tmp_path, "--config", path, "--log", "debug", MY_KEY=secret) as relay:
        relay.post("tool read key.txt")
        relay.seen("No such file")
        (tmp_path / "work" / "key.txt").write_text(f"MY_KEY={secret}\n")
        relay.post("tool read key.txt")
        assert secret not in relay.seen("key.txt: MY_KEY=")["text"]
        relay.post("!why", reply_to=relay.seen("key.txt: MY_KEY=")["id"])
        relay.seen("**turn.replied**")
        assert secret not in str(relay.texts())
        assert relay.stop() == 0
    for kept in [tmp_path / "relay.log", *(tmp_path / "state").rglob("*")]:
        if "agents" in kept.parts:
            continue  # what the agent itself has read is in its own memory
        assert not kept.is_file() or secret.encode() not in kept.read_bytes(), kept
    lines = (tmp_path / "relay.log").read_text().splitlines()
    assert lines
    assert all(json.loads(line) for line in lines)

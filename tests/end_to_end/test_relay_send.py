"""`relay send` as a script uses it: a process of its own, beside a relay that may be killed or not be there at all."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from newcomer import command, environment, started

from relay import cli

PATIENCE_S = 120.0
TOKEN = "a-token-from-the-environment-0123456789"


def send(
    folder: Path, *arguments: str, text: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("send", "--state", folder / "state", *arguments),
        cwd=folder,
        env=environment(**env),
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


class Script:
    """The same without the cost of a process for each call."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def send(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, and what was printed on both outputs."""
        self._capsys.readouterr()
        try:
            code = cli.main(["send", "--state", str(self.folder / "state"), *arguments])
        except SystemExit as exit:  # argparse's own
            code = int(exit.code or 0)
        return (code, *self._capsys.readouterr())


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RELAY_HTTP_TOKEN", raising=False)
    return Script(tmp_path, capsys)


def test_a_script_s_hour(tmp_path: Path, script: Script) -> None:
    code, _, told = script.send("say hello")
    assert code == 1
    assert "no relay is running with the state folder" in told
    assert "relay up" in told
    with started(tmp_path) as relay:
        waited = send(tmp_path, "--to", "web:main", "--as", "ci", "--wait", "--key", "k1", "say it is red")
        assert (waited.returncode, waited.stdout, waited.stderr) == (0, "it is red\n", "")
        relay.seen("📨 **ci** (a program) sends:\n> say it is red")
        again = script.send("--as", "ci", "--key", "k1", "say it is red")
        assert again == (0, "sent before to web:main, key k1\n", "")
        code, _, told = script.send("--as", "ci", "--key", "k1", "say something else")
        assert code == 1
        assert told.startswith("relay: this key was used before, for something else\nUse a new key")
        piped = send(tmp_path, "--wait", "--json", "-", text="say piped\n")
        answer = json.loads(piped.stdout)
        assert (piped.returncode, answer["status"], answer["texts"]) == (0, "completed", ["piped"])
        failed = script.send("--wait", "fail on purpose")
        assert failed == (1, "", "relay: the turn ended as failed: on purpose.\n")
        code, _, told = script.send("--wait", "--timeout", "1s", "--key", "k2", "slow 600")
        assert code == 1
        assert "it goes on. The same command with --key k2 waits for it again." in told
        assert script.send("--post", "--wait", "all is well") == (0, "", "")
        relay.seen("📨 **script** (a program): all is well")
        code, _, told = script.send("--to", "web:nowhere", "say hello")
        assert code == 1
        assert "there is no room or thread 'web:nowhere'\nRooms: web:main." in told
        assert relay.texts().count("it is red") == 1
        plate = tmp_path / "state" / "http.json"
        assert plate.stat().st_mode & 0o777 == 0o600
        token = json.loads(plate.read_text())["token"]
        assert len(token) > 30
        assert token not in (tmp_path / "relay.log").read_text() + relay.said
        os.chmod(plate, 0o644)
        code, _, told = script.send("say hello")
        assert code == 3
        assert "not this user's alone" in told
        relay.stop()
    assert not plate.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--key", "two words", "x"], "--key takes"),
        (["--timeout", "soon", "x"], "--timeout"),
        ([" "], "the text is empty"),
        (["x" * 1_000_001], "more than 1,000,000 bytes"),
        (["--evil", "x"], "--evil"),
    ],
    ids=["key", "timeout", "empty", "long", "unknown"],
)
def test_usage_is_told_with_its_own_exit_code(script: Script, arguments: list[str], told: str) -> None:
    code, _, printed = script.send(*arguments)
    assert code == 2
    assert told in printed


def test_help_says_what_a_script_must_know_and_takes_no_token(script: Script) -> None:
    code, printed, _ = script.send("--help")
    assert code == 0
    assert "exit codes:" in printed
    assert "--token" not in printed, "a token on a command line is seen by everybody on the machine"


def test_a_relay_that_is_killed_meanwhile_sends_and_answers_once(tmp_path: Path) -> None:
    with started(tmp_path) as relay:
        waiting = subprocess.Popen(
            command("send", "--state", tmp_path / "state", "--wait", "--key", "k1", "slow 1\nsay done"),
            cwd=tmp_path,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            relay.seen("📨")
            relay.stop(signal.SIGKILL)
            assert (tmp_path / "state" / "http.json").exists(), "a killed relay leaves its plate behind"
            left = send(tmp_path, "say hello")
            assert left.returncode == 1
            assert "no relay is running" in left.stderr
            with started(tmp_path) as second:
                out, err = waiting.communicate(timeout=PATIENCE_S)
                assert (waiting.returncode, out) == (0, "done\n"), err
                second.seen("done")
                assert second.texts().count("done") == 1
                assert len([text for text in second.texts() if text.startswith("📨")]) == 1
        finally:
            waiting.kill()
            waiting.wait(PATIENCE_S)


def test_a_token_of_the_configuration_is_in_no_file_and_a_weak_one_is_refused(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(tmp_path, RELAY_HTTP_TOKEN=TOKEN) as relay:
        assert TOKEN not in (tmp_path / "state" / "http.json").read_text()
        code, _, told = script.send("say hello")
        assert code == 3
        assert "RELAY_HTTP_TOKEN" in told
        (tmp_path / ".env").write_text(f"RELAY_HTTP_TOKEN={TOKEN}\n")
        os.chmod(tmp_path / ".env", 0o600)
        assert script.send("--wait", "say hello") == (0, "hello\n", "")
        monkeypatch.setenv("RELAY_HTTP_TOKEN", "x" * 20)
        code, _, told = script.send("say hello")
        assert code == 1
        assert "the token is missing or wrong" in told
        relay.stop()
    with started(tmp_path, RELAY_HTTP_TOKEN="short") as relay:
        assert "RELAY_HTTP_TOKEN is no good as a token" in relay.said
        code, _, told = script.send("say hello")
        assert code == 1
        assert "takes nothing from programs just now" in told
        relay.stop()

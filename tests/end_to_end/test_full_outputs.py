"""An output that takes nothing more is told in a sentence, without a trace."""

import subprocess
from pathlib import Path

from newcomer import PATIENCE_S, command, environment, ran, started


def written_to(output: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    with open(output, "w") as out:
        return subprocess.run(
            command(*arguments),
            cwd=cwd,
            env=environment(),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        )


def test_a_list_that_can_t_be_written_is_told_in_one_sentence_and_a_closed_pipe_not_at_all(
    tmp_path: Path,
) -> None:
    with started(tmp_path) as newcomer:
        newcomer.stop()
    for arguments in (["log"], ["log", "--json", "-n", "1"]):
        full = written_to("/dev/full", *arguments, "--state", "state", cwd=tmp_path)
        assert full.returncode == 1
        assert full.stderr == (
            "relay: the answer could not be written (No space left on device). "
            "Nothing was changed; write it elsewhere.\n"
        )
    into = subprocess.Popen(
        command("log", "--state", "state"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert into.stdout
    into.stdout.close()
    assert into.stderr
    assert into.stderr.read() == b""
    assert into.wait(PATIENCE_S) == 0
    into.stderr.close()
    assert ran("log", "--state", "state", cwd=tmp_path).returncode == 0

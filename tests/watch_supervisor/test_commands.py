"""A command's lines and its end wake once each, in order, and never from a run that is over."""

import os
import time
from pathlib import Path

import anyio
import pytest

from watch_supervisor.processes import command
from watch_supervisor.processes.command import Shell, environment, late_filters

pytestmark = pytest.mark.anyio
LONG = 60.0


@pytest.fixture
async def slow(make_stand, commands):
    """A supervisor whose seconds take a hundred: nothing here is told before the command has ended."""
    stand = make_stand(clock=type(commands.clock)(0.01), spawner=commands.supervisor._rig.spawner)
    async with stand.running():
        yield stand


async def ended(stand, number: int = 1):
    await stand.until(lambda: len(stand.ended) >= number, LONG)
    return stand.ended[number - 1]


async def fire(stand, number: int = 1):
    await stand.until(lambda: len(stand.fires) >= number, LONG)
    return stand.fires[number - 1]


async def test_a_job_s_exit_wakes_once_with_its_last_lines_and_then_the_status(commands) -> None:
    commands.supervisor.start(
        commands.command("echo one; echo oops >&2; echo two; exit 3", fire="exit", once=True)
    )
    end = await ended(commands)
    (only,) = commands.fires
    lines = only.text.split("\n")
    assert lines[:-1] == ["one", "two", "stderr:", "oops"]
    assert lines[-1].startswith("exited with code 3 after ")
    assert only.why == lines[-1]
    assert (only.number, only.last, end.reason) == (1, True, "done")
    assert commands.supervisor.running() == ()


async def test_p2_lines_and_exit_together_are_one_wake_lines_first(slow) -> None:
    slow.supervisor.start(slow.command("seq 3", window_ms=5_000))
    await ended(slow)
    (only,) = slow.fires
    assert only.text.split("\n")[:3] == ["1", "2", "3"]
    assert only.text.split("\n")[3].startswith("exited with code 0 after ")
    assert (only.count, only.last) == (3, True)


async def test_w10_a_signal_and_stderr_are_told_too(commands) -> None:
    commands.supervisor.start(commands.command("echo bad >&2; kill -9 $$", fire="exit", once=True))
    await ended(commands)
    assert commands.fires[0].text.startswith("bad\nwas ended by SIGKILL after ")


async def test_w1_equal_lines_fire_again(commands) -> None:
    go = commands.root / "go"
    line = f"for i in 1 2 3; do echo ping; while [ ! -e {go}$i ]; do sleep 0.05; done; done"
    commands.supervisor.start(commands.command(line))
    for number in (1, 2, 3):
        assert (await fire(commands, number)).text.split("\n")[0] == "ping"
        (commands.root / f"go{number}").touch()
    assert [each.number for each in commands.fires[:3]] == [1, 2, 3]


async def test_lines_within_the_window_become_one_fire_with_first_last_and_count(commands) -> None:
    go = commands.root / "go"
    line = f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; seq 10000"
    commands.supervisor.start(commands.command(line, window_ms=3_600_000))
    assert (await fire(commands)).text == "first"
    go.touch()
    second = await fire(commands, 2)
    *lines, status = second.text.split("\n")
    assert (second.count, lines[0], lines[-1]) == (10_000, "1", "10000")
    assert second.dropped == 10_000 - (len(lines) - 1)
    assert f"… ({second.dropped} lines left out) …" in lines
    assert status.startswith("exited with code 0")


async def test_within_a_window_there_is_one_fire_however_many_lines_come(commands) -> None:
    commands.supervisor.start(
        commands.command("i=0; while :; do echo $((i++)); sleep 0.01; done", window_ms=3_600_000)
    )
    await fire(commands)
    await commands.until(lambda: int(commands.supervisor.output("run-1").stdout[-1]) > 100, LONG)
    assert [each.number for each in commands.fires] == [1]


async def test_change_fires_against_what_escalated_last(commands) -> None:
    commands.supervisor.start(commands.command("printf 'a\\na\\n\\na\\nb\\nb\\na\\n'; echo a", fire="change"))
    await ended(commands)
    assert commands.fires[0].text.split("\n")[:3] == ["a", "b", "a"]


async def test_change_survives_a_restart(commands) -> None:
    state = None
    commands.supervisor.start(commands.command("echo a; sleep 1000", fire="change"))
    state = (await fire(commands)).state
    await commands.supervisor.stop("run-1")
    again = commands.command("echo a; echo b; sleep 1000", run="run-2", fire="change", state=state, fires=1)
    commands.supervisor.start(again)
    assert (await fire(commands, 2)).text == "b"


async def test_match_sees_both_streams_and_coloured_words(slow) -> None:
    line = r"echo fine; printf '\033[31mER\033[1mROR\033[0m one\n' >&2; echo ERROR two"
    slow.supervisor.start(slow.command(line, match="^ERROR"))
    await ended(slow)
    assert sorted(slow.fires[0].text.split("\n")[:-1]) == ["ERROR two", "stderr: ERROR one"]


async def test_a_prompt_without_a_newline_is_told_after_a_second(commands) -> None:
    commands.supervisor.start(commands.command("printf 'Password: '; sleep 1000"))
    assert (await fire(commands)).text == "Password: "


async def test_a_progress_bar_is_its_last_state(slow) -> None:
    slow.supervisor.start(
        slow.command(r"for i in $(seq 0 100); do printf '\r%d%%' $i; done; printf '\rdone\n'")
    )
    await ended(slow)
    assert slow.fires[0].text.startswith("done\nexited with code 0")


async def test_once_ends_the_command_with_its_first_fire(commands) -> None:
    commands.supervisor.start(
        commands.command(f"echo $$ > {commands.root}/pid; echo hi; sleep 1000", once=True)
    )
    end = await ended(commands)
    assert (end.reason, commands.fires[0].last) == ("done", True)
    assert not Path(f"/proc/{(commands.root / 'pid').read_text().strip()}").exists()


async def test_w5_a_cancelled_job_fires_nothing(commands) -> None:
    await commands.arm(commands.command("echo $$; sleep 1000", fire="exit", once=True))
    await commands.until(lambda: bool(commands.supervisor.output("run-1").stdout), LONG)
    await commands.supervisor.stop("run-1")
    commands.supervisor.start(commands.command("sleep 1000", run="run-2", fire="exit", ttl_ms=300))
    assert (await ended(commands)).reason == "ttl"
    assert commands.fires == []


async def test_w4_a_replaced_run_says_nothing_more_and_its_end_ends_nothing(commands) -> None:
    await commands.arm(
        commands.command("trap 'echo stale; exit' TERM; echo on; while :; do sleep 0.05; done")
    )
    await fire(commands)
    commands.supervisor.start(commands.command("echo new; sleep 1000", run="run-2"))
    await commands.supervisor.stop("run-1")
    assert (await fire(commands, 2)).text == "new"
    assert [(each.run, each.text) for each in commands.fires] == [("run-1", "on"), ("run-2", "new")]
    assert (commands.ended, commands.supervisor.running()) == ([], ("run-2",))


async def test_w6_a_job_that_had_begun_is_never_run_again(commands) -> None:
    ran = commands.root / "ran"
    job = commands.command(f"echo x >> {ran}", fire="exit", state={"life": "starting"})
    commands.supervisor.start(job)
    end = await ended(commands)
    assert end.reason == "lost"
    assert "isn't run a second time" in end.detail
    assert not ran.exists()
    assert commands.fires == []


async def test_the_start_is_recorded_before_the_command_runs(commands) -> None:
    ran = commands.root / "ran"
    seen: list[bool] = []
    before = commands._on_started

    async def started(run: str, state: object) -> None:
        await anyio.sleep(0.3)
        seen.append(ran.exists())
        await before(run, state)

    commands.supervisor._on_started = started
    commands.supervisor.start(commands.command(f"touch {ran}", fire="exit"))
    await ended(commands)
    assert (seen, ran.exists()) == ([False], True)
    assert commands.started["run-1"]["life"] == "starting"
    assert commands.advanced[0][1]["life"] == "running"
    assert commands.advanced[0][1]["pid"] > 1


async def test_ttl_and_most_fires_end_it(commands) -> None:
    commands.supervisor.start(commands.command("while :; do echo x; sleep 0.05; done", max_fires=2))
    assert (await ended(commands)).reason == "max-fires"
    assert [each.last for each in commands.fires] == [False, True]
    commands.supervisor.start(commands.command("sleep 1000", run="run-2", ttl_ms=200))
    assert (await ended(commands, 2)).reason == "ttl"


async def test_a_command_that_cannot_run_says_why(commands) -> None:
    commands.root.rmdir()
    commands.supervisor.start(commands.command("true"))
    end = await ended(commands)
    assert end.reason == "failed"
    assert end.detail.startswith("The command can't be started: No such file or directory")


async def test_without_a_spawner_a_command_fails_and_says_so(stand) -> None:
    async with stand.running():
        for number, every in ((1, None), (2, 1)):
            stand.supervisor.start(stand.command("true", run=f"run-{number}", every=every))
            assert (await ended(stand, number)).detail == "Commands can't be run here."


async def test_restarts_only_as_its_policy_says(make_stand, commands) -> None:
    stand = make_stand(clock=type(commands.clock)(10), spawner=commands.supervisor._rig.spawner)
    async with stand.running():
        line = "echo n >> runs; [ $(wc -l < runs) -lt 3 ] && exit 1; exit 0"
        stand.supervisor.start(stand.command(line, match="never", restart="on-failure"))
        await ended(stand)
        assert (stand.root / "runs").read_text() == "n\n" * 3
        text = stand.fires[0].text.split("\n")
        assert [line.startswith("[exited with code 1") for line in text] == [True, True, False]
        assert text[2].startswith("exited with code 0")


async def test_a_command_that_only_dies_is_given_up(make_stand, commands) -> None:
    clock = type(commands.clock)(100)
    clock.now_ms = lambda: time.time_ns() // 1_000_000  # lives are as long as they are, pauses short
    stand = make_stand(clock=clock, spawner=commands.supervisor._rig.spawner)
    async with stand.running():
        stand.supervisor.start(stand.command("echo n >> runs; exit 1", match="never", restart="always"))
        end = await ended(stand)
        assert (stand.root / "runs").read_text() == "n\n" * 8
        assert "it has ended 8 times within a minute" in end.detail


async def test_s5_no_token_reaches_a_child(commands) -> None:
    commands.supervisor.start(commands.command("env; cat /proc/self/environ | tr '\\0' '\\n'", fire="exit"))
    await ended(commands)
    text = commands.fires[0].text
    assert "PYTHONUNBUFFERED=1" in text
    assert "not-for-children" not in text
    assert "RELAY_DISCORD_TOKEN" not in text


async def test_a_child_has_no_input_a_session_of_its_own_and_no_start_files(commands) -> None:
    (commands.root / ".bashrc").write_text("echo from bashrc\n")
    line = "read -r x || echo no input; ps -o sid= -p $$ | tr -d ' '; echo $$; ls /proc/self/fd | wc -l"
    commands.supervisor.start(commands.command(line, fire="exit"))
    await ended(commands)
    told, sid, pid, fds, _ = commands.fires[0].text.split("\n")
    assert (told, sid) == ("no input", pid)
    assert int(fds) == 4, "stdin, stdout, stderr, and the folder that ls reads"


@pytest.mark.parametrize(
    "line", ["python3 -c 'import time; print(\"early\"); time.sleep(1000)'", "tail -n1 -f log"]
)
async def test_lines_come_while_the_command_runs(commands, line: str) -> None:
    (commands.root / "log").write_text("early\n")
    commands.supervisor.start(commands.command(line))
    assert (await fire(commands)).text == "early"


async def test_what_it_prints_can_be_read_meanwhile(commands) -> None:
    line = r"for i in $(seq 300); do echo $i; done; printf '\033[1mnow\033[0m'; echo err >&2; sleep 1000"
    await commands.arm(commands.command(line, fire="exit"))
    output = commands.supervisor.output
    await commands.until(
        lambda: output("run-1").stdout[-1:] == ["now"] and output("run-1").stderr == ["err"], LONG
    )
    assert len(output("run-1").stdout) == 200
    assert output("run-1").stdout[0] == "102"
    assert output("run-1").pid == commands.advanced[0][1]["pid"]
    assert output("run-9") is None


async def test_what_a_job_leaves_behind_is_ended_with_it(commands) -> None:
    line = f"sleep 1000 & echo $! > {commands.root}/pid; echo started"
    commands.supervisor.start(commands.command(line, fire="exit"))
    await ended(commands)
    assert commands.fires[0].text.startswith("started\nexited with code 0")
    assert not Path(f"/proc/{(commands.root / 'pid').read_text().strip()}").exists()


async def test_w7_after_so_many_fires_an_hour_it_is_silent_with_one_notice(make_stand, commands) -> None:
    clock = type(commands.clock)(1)
    stand = make_stand(clock=clock, spawner=commands.supervisor._rig.spawner, fires_an_hour=3)
    async with stand.running():
        stand.supervisor.start(stand.command("i=0; while :; do echo $((i++)); sleep 0.02; done"))
        await stand.until(lambda: bool(stand.throttled), LONG)
        await stand.until(lambda: int(stand.supervisor.output("run-1").stdout[-1]) > 60, LONG)
        assert (len(stand.fires), len(stand.throttled)) == (3, 1)
        assert stand.throttled[0].limit == 3
        assert 3_500_000 < stand.throttled[0].until - clock.now_ms() <= 3_600_000
        before = len(stand.fires)
        stand.supervisor.go_on("run-1")
        told = await fire(stand, before + 1)
        assert told.count > 20, "what came in the silence was collected"


def test_the_environment_is_a_list_of_what_may_pass() -> None:
    of_relay = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "ANTHROPIC_API_KEY": "k", "BASH_ENV": "x"}
    of_relay |= {"LD_PRELOAD": "x", "PROMPT_COMMAND": "x", "BASH_FUNC_ls%%": "() { x; }", "PYTHONPATH": "x"}
    kept = environment(of_relay)
    assert kept == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "PYTHONUNBUFFERED": "1"}


def test_a_command_is_an_argument_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "echo 'a  b'\n\techo \"$x\" — *"
    assert Shell(os.environ["PATH"]).arguments(line)[-4:] == ["--norc", "--noprofile", "-c", line]
    monkeypatch.setattr(command.shutil, "which", lambda *_, **__: None)
    with pytest.raises(FileNotFoundError, match="no bash"):
        Shell().arguments(line)


def test_filters_that_hold_lines_back_are_named() -> None:
    assert late_filters("tail -f x | grep ERROR | cut -c1-9") == [
        "`grep --line-buffered`",
        "`stdbuf -oL cut`",
    ]
    assert late_filters("tail -f x | grep --line-buffered E | sed -u s/a/b/ | stdbuf -oL tr a b") == []
    assert late_filters("grep x file") == []

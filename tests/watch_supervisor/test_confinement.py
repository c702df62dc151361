"""What holds a command in: it writes in its workspace, signals its own, and isn't run where that can't be had."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from watch_supervisor.processes import guard, guarded
from watch_supervisor.processes.confinement import NONE, Confinement, available
from watch_supervisor.processes.port import SpawnFailed

pytestmark = pytest.mark.anyio
LONG = 60.0

needs_landlock = pytest.mark.skipif(available().kind != "landlock", reason="this kernel has no Landlock")


@pytest.fixture
async def confined(make_stand, commands):
    """A supervisor whose commands are held in; for temporary files they have a folder of their own."""
    stand = make_stand(
        spawner=commands.supervisor._rig.spawner,
        environ={**os.environ, "TMPDIR": str(commands.root.parent / "tmp")},
        confinement=available(),
    )
    (commands.root.parent / "tmp").mkdir()
    async with stand.running():
        yield stand


async def told(stand, line: str) -> list[str]:
    """The lines of a job, and how it ended."""
    before = len(stand.fires)
    stand.supervisor.start(stand.command(line, run=f"run-{before}", fire="exit"))
    await stand.until(lambda: len(stand.fires) > before, LONG)
    return stand.fires[before].text.split("\n")


@needs_landlock
async def test_it_writes_in_its_workspace_and_for_temporary_files_only(confined) -> None:
    outside = confined.root.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    line = f"""
        echo x > inside && mkdir -p a/b && mv inside a/b/c && rm -r a && ln -s x y && echo workspace
        f=$(mktemp) && cat > $f <<< "from here" && echo temporary
        echo x > /dev/null && echo x > /dev/stdout && echo x > /dev/stderr
        for try in "echo x > {outside}/new" "echo x > {outside}/file" "rm {outside}/file" "mkdir {outside}/d" \
            "ln {outside}/file stolen" "mv {outside}/file ." "truncate -s0 {outside}/file" "echo x >> ~/.bashrc"; do
            bash -c "$try" 2> /dev/null && echo "broke out: $try"
        done
        cat {outside}/file
    """
    found = await told(confined, line)
    assert found[:4] == ["workspace", "temporary", "x", "kept"]
    assert not any("broke out" in each for each in found)
    assert (outside / "file").read_text() == "kept"
    assert [each.name for each in outside.iterdir()] == ["file"]


@needs_landlock
async def test_a_symlink_in_the_workspace_leads_no_write_out(confined) -> None:
    outside = confined.root.parent / "outside"
    outside.write_text("kept")
    found = await told(confined, f"ln -s {outside} link; echo x > link; (cd ..; echo x > new); exit 0")
    assert outside.read_text() == "kept"
    assert not (confined.root.parent / "new").exists()
    assert "Permission denied" in "\n".join(found)


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process that has nothing to do with any command."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]) as other:
        yield other.pid
        assert other.poll() is None
        other.kill()


@needs_landlock
async def test_it_ends_neither_the_relay_nor_its_warden_nor_another_process(confined, bystander: int) -> None:
    line = (
        f"for pid in $PPID {os.getpid()} {bystander}; do kill -9 $pid && echo killed $pid; done; "
        "sleep 1000 & kill -9 $! && echo own; exit 0"
    )
    found = await told(confined, line)
    assert found[0] == "own"
    assert not any(each.startswith("killed") for each in found)
    assert found[-1].startswith("exited with code 0")


@needs_landlock
async def test_a_confined_hydra_still_ends(confined) -> None:
    line = "for i in 1 2 3; do setsid bash -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 1; done' & done; wait"
    await confined.arm(confined.command(line))
    pids = confined.root / "pids"
    await confined.until(lambda: pids.exists() and len(pids.read_text().split()) == 3, LONG)
    await confined.supervisor.stop("run-1")
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.read_text().split())


async def test_where_it_cannot_be_held_in_it_is_not_run(
    commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel of this test refuses: in the guard, the call's number is another one's."""
    script = tmp_path / "guard.py"
    source = Path(guard.__file__).read_text()
    assert "CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444" in source
    script.write_text(source.replace("RESTRICT_SELF = 444", "RESTRICT_SELF = 9_999"))
    ran = commands.root / "ran"
    order = commands.supervisor._rig.order(f"touch {ran}", commands.root)
    held = type(order)(order.argv, order.cwd, order.environment, (str(commands.root),))
    monkeypatch.setattr(guarded, "__file__", str(tmp_path / "guarded.py"))
    async with guarded.Guarded() as spawner:
        with pytest.raises(SpawnFailed, match="Function not implemented"):
            await spawner.spawn(held)
    assert not ran.exists()


def test_what_there_is_is_said() -> None:
    found = available()
    assert isinstance(found, Confinement)
    assert found.kind in ("landlock", "none")
    assert "whatever the relay's user can" in NONE.sentence
    assert NONE.writable(Path("/w"), {}) is None
    if found.kind == "landlock":
        writable = found.writable(Path("/w"), {"TMPDIR": "/t"})
        assert writable is not None
        assert writable[:2] == ("/w", "/t")
        assert "/dev/null" in writable

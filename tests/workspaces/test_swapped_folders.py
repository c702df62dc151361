"""Nobody leaves a workspace by a link, not even by one that comes while a path is being walked."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay.agents.scripted.files import FileRefused, append, read_text, write
from relay.workspaces import IsKept, Kept, LeadsOut, open_inside

pytestmark = pytest.mark.anyio
NOTHING = Kept()
# Swaps a folder and a link without a moment in which either is missing: RENAME_EXCHANGE, renameat2(2).
SWAPPER = """
import ctypes, os, sys
one, other = (os.fsencode(path) for path in sys.argv[1:])
swap = ctypes.CDLL(None, use_errno=True).renameat2
if swap(-100, one, -100, other, 2):
    sys.exit(os.strerror(ctypes.get_errno()))
print("swapping", flush=True)
while True:
    swap(-100, one, -100, other, 2)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / "real").mkdir(parents=True)
    (tmp_path / "work" / "real" / "secret.txt").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("OUTSIDE\n")
    return tmp_path / "work"


@pytest.fixture
def swapping(work: Path) -> Iterator[None]:
    """`work/sub` is by turns a folder of the workspace and a link out of it."""
    (work / "real").rename(work / "sub")
    (work / "link").symlink_to("../outside")
    command = [sys.executable, "-c", SWAPPER, str(work / "sub"), str(work / "link")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as swapper:
        assert swapper.stdout
        if swapper.stdout.readline() != "swapping\n":
            assert swapper.stderr
            pytest.skip(f"this file system can't swap names: {swapper.stderr.read()}")
        yield
        swapper.send_signal(signal.SIGKILL)


@pytest.mark.usefixtures("swapping")
async def test_while_a_folder_is_swapped_for_a_link_nothing_outside_is_read_or_written(work: Path) -> None:
    told: set[str] = set()
    for number in range(400):
        try:
            told.add(await read_text(work, "sub/secret.txt", NOTHING))
            await write(work, f"sub/new-{number}.txt", "PWN", NOTHING)
            await append(work, f"sub/deep-{number}/er/new.txt", "PWN", NOTHING)
        except FileRefused as error:
            told.add(str(error).partition("-")[0])
    assert "inside\n" in told, "now and then it is the folder"
    assert "OUTSIDE\n" not in told
    assert os.listdir(work.parent / "outside") == ["secret.txt"]


def content(work: Path, path: str, kept: Kept = NOTHING) -> str:
    opened = open_inside(work, path, os.O_RDONLY, kept=kept)
    with open(opened.handle) as file:
        return f"{opened.path}: {file.read()}"


@pytest.mark.parametrize("path", ["in/secret.txt", "up/in/secret.txt", "whole/secret.txt", "leaf.txt"])
def test_links_that_stay_inside_are_followed(work: Path, path: str) -> None:
    (work / "in").symlink_to("real")
    (work / "up").symlink_to("real/..")
    (work / "whole").symlink_to(work / "real")
    (work / "leaf.txt").symlink_to("./real/../real/secret.txt")
    assert content(work, path) == "real/secret.txt: inside\n"
    assert content(work, str(work / path)) == "real/secret.txt: inside\n"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt",
        "real/../../outside/secret.txt",
        "out/secret.txt",
        "whole/secret.txt",
        "leaf.txt",
    ]
    + ["far/x", "", ".", "..", "/", "/etc/hostname", "nul\0l", "\ud800", "back/work/real/secret.txt"],
    ids=ascii,
)
def test_what_leads_out_is_refused_and_nothing_is_made(work: Path, path: str) -> None:
    (work / "out").symlink_to("../outside")
    (work / "whole").symlink_to(work.parent / "outside")
    (work / "leaf.txt").symlink_to("../outside/secret.txt")
    (work / "far").symlink_to("/tmp")
    (work / "back").symlink_to("..")
    before = sorted(os.listdir(work)), sorted(os.listdir(work.parent))
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
        with pytest.raises(LeadsOut):
            open_inside(work, path, flags, kept=NOTHING, make_folders=bool(flags))
    assert (sorted(os.listdir(work)), sorted(os.listdir(work.parent))) == before
    assert (work.parent / "outside" / "secret.txt").read_text() == "OUTSIDE\n"


def test_a_circle_of_links_ends(work: Path) -> None:
    (work / "a").symlink_to("b/x")
    (work / "b").symlink_to("a/y")
    with pytest.raises(OSError, match="Too many levels"):
        content(work, "a/z")


def test_what_is_no_file_is_refused_without_waiting(work: Path) -> None:
    os.mkfifo(work / "pipe")
    for path in ("pipe", "real"):
        with pytest.raises(OSError, match="it is not a file"):
            content(work, path)
    with pytest.raises(OSError, match="Not a directory"):
        content(work, "real/secret.txt/deeper")


@pytest.mark.parametrize("name", ["access.json", ".env", "state/ledger.db"])
async def test_a_hard_link_to_a_file_of_the_relay_is_neither_read_nor_written(
    tmp_path: Path, work: Path, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("TOKEN=x")
    kept = Kept((tmp_path / "access.json", tmp_path / ".env"), (tmp_path / "state",))
    os.link(file, work / "innocent.md")
    with pytest.raises(IsKept):
        content(work, "innocent.md", kept)
    for act in (write, append):
        with pytest.raises(FileRefused, match="a file of the relay's own under another name"):
            await act(work, "innocent.md", "PWN", kept)
    assert file.read_text() == "TOKEN=x"
    os.link(work / "real" / "secret.txt", work / "twice.txt")
    assert content(work, "twice.txt", kept) == "twice.txt: inside\n"

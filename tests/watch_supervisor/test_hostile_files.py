"""No file, name or symlink makes the supervisor hang, read what it may not, or put out what steers a terminal."""

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from watch_supervisor.content import look
from watch_supervisor.places import resolve

pytestmark = pytest.mark.anyio


async def end_of(stand, run) -> str:
    stand.supervisor.start(run)
    await stand.until(lambda: bool(stand.ended))
    assert stand.ended[0].reason == "failed"
    return stand.ended[0].detail


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_long_loop(path: Path) -> None:
    path.symlink_to("other")
    (path.parent / "other").symlink_to(path.name)


def make_socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (make_fifo, "notes.md is a named pipe, not a file with content."),
        (make_folder, "notes.md is a folder; name a file in it."),
        (make_loop, "notes.md is a symlink that leads in a circle."),
        (make_long_loop, "notes.md is a symlink that leads in a circle."),
        (make_socket, "notes.md is a socket, not a file with content."),
    ],
)
async def test_what_is_no_file_ends_the_run_with_a_sentence(stand, make, sentence: str) -> None:
    make(stand.root / "notes.md")
    async with stand.running():
        assert await end_of(stand, stand.file()) == sentence


async def test_a_device_is_never_opened(stand) -> None:
    async with stand.running():
        detail = await end_of(stand, stand.file("/dev/tty", confined=False))
        assert detail == "/dev/tty is a device, not a file with content."


async def test_a_file_that_becomes_a_pipe_ends_the_run(stand) -> None:
    file = stand.root / "notes.md"
    file.write_text("x\n")
    async with stand.running():
        await stand.arm(stand.file())
        file.unlink()
        os.mkfifo(file)
        await stand.until(lambda: bool(stand.ended))
        assert "named pipe" in stand.ended[0].detail


async def test_a_name_that_is_too_long_ends_the_run(stand) -> None:
    async with stand.running():
        assert "can't be read" in await end_of(stand, stand.file("x" * 300))


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "server.PEM", ".ssh/config", ".git/config", "access.json"]
)
async def test_files_for_credentials_are_not_read(stand, name: str) -> None:
    path = stand.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("secret\n")
    async with stand.running():
        assert "credentials" in await end_of(stand, stand.file(name))
    assert list(stand.snapshots.folder.iterdir()) == []


@pytest.mark.parametrize("path", ["../outside", "link", "/etc/passwd", "folder/../../outside", "up/outside"])
async def test_a_confined_run_reads_nothing_outside_the_workspace(stand, path: str) -> None:
    outside = stand.root.parent / "outside"
    outside.write_text("secret\n")
    (stand.root / "folder").mkdir()
    (stand.root / "link").symlink_to(outside)
    (stand.root / "up").symlink_to("..")
    async with stand.running():
        assert "out of the workspace" in await end_of(stand, stand.file(path))
    assert list(stand.snapshots.folder.iterdir()) == []


async def test_an_approved_path_outside_is_read_when_not_confined(stand) -> None:
    outside = stand.root.parent / "outside"
    outside.write_text("a\n")
    async with stand.running():
        await stand.arm(stand.file(str(outside), confined=False))
        outside.write_text("b\n")
        assert "-a\n+b" in (await stand.fire()).text


async def test_a_symlink_swapped_to_the_outside_ends_the_run_unread(stand) -> None:
    outside = stand.root.parent / "outside"
    outside.write_text("secret\n")
    (stand.root / "target").write_text("fine\n")
    link = stand.root / "notes.md"
    link.symlink_to("target")
    async with stand.running():
        await stand.arm(stand.file())
        fresh = stand.root / "fresh"
        fresh.symlink_to(outside)
        fresh.replace(link)
        await stand.until(lambda: bool(stand.ended))
        assert stand.ended[0].detail == "notes.md leads out of the workspace, so it isn't read."
        assert stand.fires == []


async def test_a_symlink_to_credentials_inside_ends_the_run_unread(stand) -> None:
    (stand.root / ".env").write_text("TOKEN=1\n")
    (stand.root / "notes.md").symlink_to(".env")
    async with stand.running():
        assert "credentials" in await end_of(stand, stand.file())


def test_a_race_of_swapped_folders_never_reads_the_outside(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    for folder, text in ((root / "real", "fine"), (outside, "secret")):
        folder.mkdir(parents=True)
        (folder / "notes.md").write_text(text)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in (root / "real", outside):
                fresh = root / "fresh"
                fresh.symlink_to(target)
                fresh.replace(root / "way")

    thread = threading.Thread(target=swap)
    (root / "way").symlink_to(root / "real")
    thread.start()
    try:
        found = {
            (seen.kind, seen.data)
            for seen in (look(root, "way/notes.md", confined=True) for _ in range(1_500))
        }
    finally:
        done.set()
        thread.join()
    assert not any(b"secret" in data for _, data in found)
    assert ("text", b"fine") in found


def test_a_race_of_a_folder_renamed_for_a_link_never_reads_the_outside(tmp_path: Path) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    for folder, text in ((root / "way", "fine"), (outside, "secret")):
        folder.mkdir(parents=True)
        (folder / "notes.md").write_text(text)
    (root / "link").symlink_to(outside)
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (root / "way").rename(root / "aside")
            (root / "link").rename(root / "way")
            (root / "way").rename(root / "link")
            (root / "aside").rename(root / "way")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        found = {
            (seen.kind, seen.data)
            for seen in (look(root, "way/notes.md", confined=True) for _ in range(1_500))
        }
    finally:
        done.set()
        thread.join()
    assert not any(b"secret" in data for _, data in found)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to become another user")
def test_without_permission_the_reason_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("x")
    (tmp_path / "notes.md").chmod(0)
    tmp_path.chmod(0o755)
    code = (
        "import os, sys; from pathlib import Path; from watch_supervisor.content import look\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY); os.fchdir(fd); os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "seen = look(Path('.'), 'notes.md', confined=False); print(seen.kind, seen.detail)"
    )
    for folder in list(tmp_path.parents)[:-2]:
        if folder.name.startswith("pytest"):
            folder.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stdout.strip() == "refused notes.md can't be read: I have no permission to read it.", (
        done.stderr
    )


async def test_a_binary_file_is_reported_without_a_diff(stand) -> None:
    file = stand.root / "data.bin"
    file.write_bytes(b"\0one")
    async with stand.running():
        await stand.arm(stand.file("data.bin"))
        file.write_bytes(b"\0three")
        text = (await stand.fire()).text
        assert text.startswith("data.bin: 6 bytes (before: 4 bytes), sha256 ")
        assert text.endswith("There is no diff for a file that isn't UTF-8 text.")
        file.write_text("now text\n")
        assert "no diff" in (await stand.fire(2)).text
        file.write_text("now more text\n")
        assert "-now text\n+now more text" in (await stand.fire(3)).text
    assert len(list(stand.snapshots.folder.iterdir())) == 2


async def test_a_file_over_four_mebibytes_is_reported_without_a_diff(stand) -> None:
    file = stand.root / "big.txt"
    file.write_text("line\n" * 1_000_000)
    async with stand.running():
        await stand.arm(stand.file("big.txt"))
        with file.open("a") as out:
            out.write("one more\n")
        assert "There is no diff for a file larger than 4 MiB." in (await stand.fire()).text


async def test_a_pattern_on_a_file_over_four_mebibytes_is_refused_in_words(stand) -> None:
    (stand.root / "big.log").write_text("line\n" * 1_000_000)
    async with stand.running():
        assert "watch it without a pattern" in await end_of(stand, stand.file("big.log", match="ERROR"))


async def test_a_large_change_is_capped_and_says_what_is_missing(stand) -> None:
    file = stand.root / "notes.md"
    file.write_text("")
    async with stand.running():
        await stand.arm(stand.file())
        file.write_text("".join(f"line {number} {'é' * 20}\n" for number in range(20_000)))
        fire = await stand.fire()
        assert len(fire.text.encode()) <= 24 * 1024
        assert fire.dropped > 19_000
        assert f"({fire.dropped} lines left out)" in fire.text
        assert fire.text.endswith(f"+line 19999 {'é' * 20}")


async def test_escapes_and_controls_are_stripped_and_crlf_is_a_line_end(stand) -> None:
    file = stand.root / "notes.md"
    file.write_bytes(b"one\r\ntwo\r\n")
    async with stand.running():
        await stand.arm(stand.file())
        file.write_bytes("one\r\n\x1b]0;title\x07\x1b[31mred\x1b[0m\x08 \u202eevil\r\n".encode())
        assert (await stand.fire()).text.endswith("@@ -1,2 +1,2 @@\n one\n-two\n+red evil")
        file.write_bytes("one\n\x1b]0;title\x07\x1b[31mred\x1b[0m\x08 \u202eevil\n".encode())
        assert "only line ends or invisible characters changed" in (await stand.fire(2)).text


async def test_a_snapshot_that_is_gone_costs_the_diff_and_not_the_fire(stand) -> None:
    file = stand.root / "notes.md"
    file.write_text("one\n")
    async with stand.running():
        await stand.arm(stand.file())
        shutil.rmtree(stand.snapshots.folder)
        stand.snapshots.folder.mkdir()
        file.write_text("two\n")
        assert "isn't kept any more" in (await stand.fire()).text


async def test_strange_names_are_watched_and_shown_clean(stand) -> None:
    name = "a\x1b[31m b\u202e—ü"
    file = stand.root / name
    file.write_text("one\n")
    async with stand.running():
        await stand.arm(stand.file(name))
        file.write_text("two\n")
        assert (await stand.fire()).text.startswith("--- a b—ü\n")


async def test_a_state_that_is_not_ours_counts_as_an_absent_file(stand) -> None:
    (stand.root / "notes.md").write_text("one\n")
    async with stand.running():
        await stand.arm(stand.file(state={"sha256": 5, "x": []}))
        assert (await stand.fire()).why == "created"


async def test_an_event_storm_elsewhere_in_the_folder_wakes_nobody(stand) -> None:
    (stand.root / "notes.md").write_text("one\n")
    async with stand.running():
        await stand.arm(stand.file())
        for number in range(500):
            (stand.root / f"noise-{number % 50}").write_text(str(number))
        await anyio.sleep(0.2)
        assert stand.fires == []
        (stand.root / "notes.md").write_text("two\n")
        await stand.fire()


def test_resolve_tells_where_a_path_lies(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "out").symlink_to("/etc")
    (root / "in").symlink_to("sub")
    (root / "loop").symlink_to("loop")
    assert resolve(root, "in/x.md").path == root / "sub" / "x.md"
    assert resolve(root, "in/x.md").inside
    assert not resolve(root, "out/passwd").inside
    assert not resolve(root, "..").inside
    assert not resolve(root, ".").inside
    assert not resolve(tmp_path / "w", str(root / "x")).inside
    assert not resolve(root, "loop").inside
    assert resolve(root, "loop").protected
    assert resolve(root, "~/x").path == Path(os.path.realpath(Path.home())) / "x"


@pytest.mark.parametrize(
    "name",
    [
        ".env",
        ".ENV.prod",
        "a.pem",
        "b.KEY",
        "id_rsa",
        "id_rsa.pub",
        "ID_ED25519",
        ".netrc",
        ".npmrc",
        ".pypirc",
    ]
    + [
        "credentials",
        "credentials.json",
        ".ssh/x",
        "a/.aws/config",
        ".GnuPG/x",
        ".kube/config",
        ".git/hooks/x",
    ]
    + ["access.json", "sub/Access.JSON", ".git", "service-account-1.json", "app.env"],
)
def test_names_for_credentials_are_protected(tmp_path: Path, name: str) -> None:
    assert resolve(tmp_path, name).protected


@pytest.mark.parametrize(
    "name", ["notes.md", "environment.md", "keys.md", "git/x", "ssh/x", ".github/x", "a.envy"]
)
def test_ordinary_names_are_not_protected(tmp_path: Path, name: str) -> None:
    assert not resolve(tmp_path, name).protected


def test_a_workspace_under_a_protected_name_is_still_usable(tmp_path: Path) -> None:
    root = tmp_path / ".git" / "ws"
    root.mkdir(parents=True)
    assert not resolve(root, "notes.md").protected

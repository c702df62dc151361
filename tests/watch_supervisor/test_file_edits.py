"""Every kind of edit that a file can get is seen, by the event and not by the backstop."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from fakes.edits import (
    BEFORE,
    EDITS,
    TOOLS,
    append,
    git_checkout,
    rename_over,
    rewrite_same_size,
    truncate,
)

pytestmark = pytest.mark.anyio


async def assert_seen(stand, file: Path, edit: Callable[[Path], None]) -> None:
    file.write_text(BEFORE)
    if edit is git_checkout:
        edit(file)  # the first time it makes the repository
    await stand.arm(stand.file())
    edit(file)
    fire = await stand.fire()
    assert (fire.why, fire.number) == ("changed", 1)
    assert fire.text.startswith("--- notes.md\n+++ notes.md\n@@ ")
    # The next edit, after whatever the first did to the file's name, is seen as well.
    with file.open("a") as out:
        out.write("later\n")
    assert "+later" in (await stand.fire(2)).text


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
async def test_an_edit_is_seen_and_so_is_the_next_one(stand, edit: Callable[[Path], None]) -> None:
    async with stand.running():
        await assert_seen(stand, stand.root / "notes.md", edit)


@pytest.mark.parametrize(("tool", "edit"), TOOLS, ids=[edit.__name__ for _, edit in TOOLS])
async def test_an_edit_by_a_real_tool_is_seen(stand, tool: str, edit: Callable[[Path], None]) -> None:
    if shutil.which(tool) is None:
        pytest.skip(
            f"{tool} isn't installed: `make editors` installs it; its system calls are tested all the same"
        )
    async with stand.running():
        await assert_seen(stand, stand.root / "notes.md", edit)


async def test_a_file_that_comes_later_is_seen(stand) -> None:
    async with stand.running():
        await stand.arm(stand.file())
        assert stand.started["run-1"] == {"sha256": None, "kind": "missing", "size": 0}
        (stand.root / "notes.md").write_text("hello\n")
        fire = await stand.fire()
        assert fire.why == "created"
        assert "+hello" in fire.text


async def test_a_file_in_folders_that_come_later_is_seen(stand) -> None:
    async with stand.running():
        await stand.arm(stand.file("a/b/notes.md"))
        (stand.root / "a" / "b").mkdir(parents=True)
        (stand.root / "a" / "b" / "notes.md").write_text("hello\n")
        assert (await stand.fire()).why == "created"


async def test_a_deleted_file_is_reported_and_its_return_too(stand) -> None:
    file = stand.root / "notes.md"
    file.write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.file())
        file.unlink()
        fire = await stand.fire()
        assert (fire.why, fire.text) == ("deleted", "notes.md was deleted (14 bytes).")
        file.write_text(BEFORE)
        assert (await stand.fire(2)).why == "created"


async def test_an_edit_of_a_symlinks_target_is_seen(stand) -> None:
    (stand.root / "far").mkdir()
    target = stand.root / "far" / "target.md"
    target.write_text(BEFORE)
    (stand.root / "notes.md").symlink_to("far/target.md")
    async with stand.running():
        await stand.arm(stand.file())
        append(target)
        assert "+four" in (await stand.fire()).text
        rename_over(target)
        assert "-two" in (await stand.fire(2)).text


async def test_a_retargeted_symlink_is_seen_and_the_new_target_too(stand) -> None:
    for name in ("first", "second"):
        (stand.root / name).mkdir()
        (stand.root / name / "t").write_text(f"{name}\n")
    link = stand.root / "notes.md"
    link.symlink_to("first/t")
    async with stand.running():
        await stand.arm(stand.file())
        fresh = stand.root / "fresh"
        fresh.symlink_to("second/t")
        fresh.replace(link)
        assert "+second" in (await stand.fire()).text
        append(stand.root / "second" / "t")
        assert "+four" in (await stand.fire(2)).text


async def test_a_retargeted_folder_link_on_the_way_is_seen(stand) -> None:
    for name in ("v1", "v2"):
        (stand.root / name).mkdir()
        (stand.root / name / "notes.md").write_text(f"{name}\n")
    current = stand.root / "current"
    current.symlink_to("v1")
    async with stand.running():
        await stand.arm(stand.file("current/notes.md"))
        fresh = stand.root / "fresh"
        fresh.symlink_to("v2")
        fresh.replace(current)
        assert "+v2" in (await stand.fire()).text
        append(stand.root / "v2" / "notes.md")
        assert "+four" in (await stand.fire(2)).text


@pytest.mark.parametrize("folder", ["a/b", "a", "."])
async def test_a_folder_moved_away_and_back_is_followed(stand, folder: str) -> None:
    (stand.root / "a" / "b").mkdir(parents=True)
    file = stand.root / "a" / "b" / "notes.md"
    file.write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.file("a/b/notes.md"))
        moved = (stand.root / folder).resolve()
        away = moved.parent / "away"
        moved.rename(away)
        assert (await stand.fire()).why == "deleted"
        away.rename(moved)
        assert (await stand.fire(2)).why == "created"
        append(file)
        assert "+four" in (await stand.fire(3)).text


async def test_a_folder_deleted_and_made_anew_is_followed(stand) -> None:
    folder = stand.root / "a"
    folder.mkdir()
    (folder / "notes.md").write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.file("a/notes.md"))
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "notes.md").write_text("new\n")
        assert "+new" in (await stand.fire()).text
        append(folder / "notes.md")
        assert "+four" in (await stand.fire(2)).text


async def test_what_ends_as_it_was_fires_nothing(stand) -> None:
    file = stand.root / "notes.md"
    file.write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.file())
        file.touch()
        file.write_text(BEFORE)
        file.chmod(0o600)
        file.rename(stand.root / "x")
        (stand.root / "x").rename(file)
        await anyio.sleep(0.6)
        assert stand.fires == []


async def test_a_write_through_a_memory_map_is_seen_by_the_backstop(fast_stand) -> None:
    import mmap

    file = fast_stand.root / "notes.md"
    file.write_text(BEFORE)
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as view:
        async with fast_stand.running():
            await fast_stand.arm(fast_stand.file())
            await anyio.sleep(0.2)
            view[0:3] = b"ONE"
            view.flush()
            assert "+ONE" in (await fast_stand.fire()).text


async def test_a_write_through_another_hard_link_is_seen_by_the_backstop(fast_stand) -> None:
    file = fast_stand.root / "notes.md"
    file.write_text(BEFORE)
    other = fast_stand.root.parent / "elsewhere"
    os.link(file, other)
    async with fast_stand.running():
        await fast_stand.arm(fast_stand.file())
        append(other)
        assert "+four" in (await fast_stand.fire()).text


async def test_without_inotify_edits_are_still_seen(fast_stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("watch_supervisor.folders.open_inotify", lambda: None)
    file = fast_stand.root / "notes.md"
    file.write_text(BEFORE)
    async with fast_stand.running():
        await fast_stand.arm(fast_stand.file())
        for number, edit in enumerate((append, rename_over, truncate, rewrite_same_size), start=1):
            edit(file)
            await fast_stand.fire(number)


async def test_after_an_overflow_everything_is_looked_at_again(
    stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    from watch_supervisor.inotify import Q_OVERFLOW, Event, Inotify

    file = stand.root / "notes.md"
    file.write_text(BEFORE)
    real = Inotify.read
    monkeypatch.setattr(Inotify, "read", lambda self: [Event(-1, Q_OVERFLOW, "")] if real(self) else [])
    async with stand.running():
        await stand.arm(stand.file())
        append(file)
        assert "+four" in (await stand.fire()).text

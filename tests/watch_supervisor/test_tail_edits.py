"""What a tail tells of every kind of edit: the lines that are new, and no line that was there before.

What is renamed away and written anew can't be told from a rotated log, so all of the new file is new.
"""

import os
import shutil

import pytest
from fakes import edits
from fakes.edits import BEFORE, EDITS, TOOLS, Edit
from fakes.logs import PATIENCE

pytestmark = pytest.mark.anyio

WHOLE = ["one", "2", "three"]
ANEW = {edits.move_away_and_write_anew, edits.as_emacs_does}
TOLD: dict[Edit, list[str]] = {
    edits.append: ["four"],
    edits.rewrite_same_size: ["ONE"],
    edits.rewrite_same_size_and_mtime: ["ONE"],
    edits.truncate: [],
    edits.shorten: ["one"],
    edits.write_shorter: ["one"],
    edits.rewrite_middle: ["TWO"],
    edits.write_in_small_steps: [str(number) for number in range(50)],
    edits.shell_redirect: ["four"],
    edits.dd_in_place: ["TWO"],
}
"""Of those that aren't here `2` is told, which took the place of `two`; of those in `ANEW` all of it."""


def told(stand) -> list[str]:
    return [line for line in stand.lines() if line != "later"]


async def seen(stand, edit: Edit) -> list[str]:
    """What is told of an edit, up to a line that is added after it was noticed."""
    file = stand.root / "notes.md"
    file.write_text(BEFORE)
    if edit is edits.git_checkout:
        edit(file)  # the first time it makes the repository
    await stand.arm(stand.tail("notes.md"))
    follower = stand.supervisor._lives["run-1"].file._follower
    edit(file)
    await stand.until(lambda: follower.seen == file.stat().st_size and not follower.waits, PATIENCE)
    with file.open("a") as out:
        out.write("later\n")
    await stand.until(lambda: "later" in stand.lines(), PATIENCE)
    return told(stand)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
async def test_an_edit_tells_its_new_lines_and_the_next_one_too(stand, edit: Edit) -> None:
    async with stand.running():
        assert await seen(stand, edit) == (WHOLE if edit in ANEW else TOLD.get(edit, ["2"]))


@pytest.mark.parametrize(("tool", "edit"), TOOLS, ids=[edit.__name__ for _, edit in TOOLS])
async def test_an_edit_by_a_real_tool_tells_its_new_lines(stand, tool: str, edit: Edit) -> None:
    if shutil.which(tool) is None:
        pytest.skip(
            f"{tool} isn't installed: `make editors` installs it; its system calls are tested all the same"
        )
    async with stand.running():
        lines = await seen(stand, edit)
        # A tool may stop in the middle of its edit for as long as the machine likes: then all of it is told.
        assert lines in (TOLD.get(edit, ["2"]), WHOLE)


@pytest.mark.parametrize("how", ["emptied", "deleted", "renamed over"])
async def test_an_edit_in_two_steps_is_taken_as_one(hand_stand, how: str) -> None:
    """Time stands still between the steps, so the tail has seen the middle."""
    stand = hand_stand
    file = stand.root / "notes.md"
    file.write_text(BEFORE)
    async with stand.running():
        await stand.arm(stand.tail("notes.md"))
        follower = stand.supervisor._lives["run-1"].file._follower
        if how == "emptied":
            os.truncate(file, 0)
        elif how == "deleted":
            file.unlink()
        else:
            fresh = file.with_name("fresh")
            fresh.write_text("")
            fresh.rename(file)
        await stand.until(lambda: follower.waits, PATIENCE)
        file.write_text(edits.AFTER)
        await stand.clock.turn(0.2, step=0.2)
        await stand.until(lambda: follower.seen == len(edits.AFTER), PATIENCE)
        await stand.clock.turn(0.25, step=0.25)
        await stand.until(lambda: bool(stand.fires), PATIENCE)
        assert stand.lines() == ["2"]

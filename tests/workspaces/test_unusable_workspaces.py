"""A workspace that can't be one is refused at the start, and told in its room when it becomes so later."""

import os
from pathlib import Path

import pytest
from fakes.living import Living, living

from relay import app
from relay.clock import SystemClock
from relay.errors import ConfigError, WorkspaceUnusable
from relay.workspaces import Kept, ready

pytestmark = pytest.mark.anyio


def settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.chdir(folder)
    app.settle(app.Options(state=folder / "state", say=said.append, env={}), SystemClock())
    return said


def test_a_missing_workspace_is_made_and_the_start_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settled(tmp_path, monkeypatch) == [f"Made the workspace {tmp_path}/workspace for web:main."]
    assert (tmp_path / "workspace").is_dir()
    assert settled(tmp_path, monkeypatch) == []


@pytest.mark.parametrize("blocking", ["a file", "a link to nothing", "a link to itself"])
def test_a_workspace_that_is_no_folder_stops_the_start_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocking: str
) -> None:
    if blocking == "a file":
        (tmp_path / "workspace").write_text("")
    else:
        (tmp_path / "workspace").symlink_to("nowhere" if blocking == "a link to nothing" else "workspace")
    with pytest.raises(ConfigError, match="is not a folder: a file or a broken link is in its way") as error:
        settled(tmp_path, monkeypatch)
    assert str(error.value).startswith(f"rooms.web:main.workspace: the workspace {tmp_path}/workspace ")
    assert "name another folder in access.json" in error.value.advice


def test_a_workspace_that_can_t_be_made_is_refused_with_why(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceUnusable, match="the workspace /proc/nowhere/x can't be made or reached"):
        ready(Path("/proc/nowhere/x"))
    with pytest.raises(WorkspaceUnusable, match="File name too long"):
        ready(tmp_path / ("x" * 300))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_workspace_that_may_not_be_written_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir(mode=0o500)
    with pytest.raises(ConfigError, match="may not be written"):
        settled(tmp_path, monkeypatch)


async def test_a_workspace_that_became_a_file_is_told_in_the_room(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.write_text("in the way")
        await relay.say("hello")
        answer = await relay.seen("is not a folder: a file or a broken link is in its way.")
        assert f"the workspace {relay.work}" in answer["text"]
        assert "Move it away" in answer["text"]
        await relay.say("!watch notes --file notes.md")
        await relay.seen("«notes» is not armed: the workspace")
        assert not relay.relay.parts.trouble()
        relay.work.unlink()
        await relay.say("hello again")
        await relay.seen("You said: hello again")


@pytest.fixture
async def relay(tmp_path: Path):
    async with living(tmp_path) as relay:
        config = relay.folder / "access.json"
        config.write_text("{}")
        relay.relay.parts.kept = Kept((config,), (relay.folder / "state",))
        relay.work.mkdir(exist_ok=True)
        yield relay


async def test_a_hard_link_to_access_json_is_not_watched(relay: Living) -> None:
    os.link(relay.folder / "access.json", relay.work / "notes.md")
    await relay.say("!watch notes --file notes.md")
    await relay.seen("«notes» is not armed: that is a file of the relay's own under another name")


async def test_a_watched_file_that_becomes_access_json_s_hard_link_is_told_without_its_content(
    relay: Living,
) -> None:
    (relay.work / "notes.md").write_text("one\n")
    await relay.say("!watch notes --file notes.md")
    await relay.seen("Watching «notes»")
    await relay.quiet()
    (relay.folder / "access.json").write_text('{"owner": "PRIVATE"}\n')
    os.link(relay.folder / "access.json", relay.work / "other")
    os.replace(relay.work / "other", relay.work / "notes.md")
    await relay.seen("«notes» is off: it can't go on: that is a file of the relay's own under another name")
    assert not [post for post in await relay.log() if "PRIVATE" in str(post)]


@pytest.mark.parametrize("made", ["!watch w --file PATH", "share PATH", "tool write PATH x"])
async def test_a_name_that_is_too_long_is_told_as_that(relay: Living, made: str) -> None:
    await relay.say(made.replace("PATH", "n" * 300))
    answer = await relay.seen("ile name too long")
    assert "secret" not in answer["text"]

"""The agent's tools: what they hand over and what they refuse, and that they have authority only while a turn runs."""

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.living import Living, living

from relay.agents.runtime import ToolResult, Tools
from relay.tools.sharing import LARGEST_SHARED, MOST_SHARED

pytestmark = pytest.mark.anyio
NO_TURN = "no turn is running here, so this tool has no authority"


def desk(relay: Living, scope: str = "web:main", room: str = "web:main") -> Tools:
    return relay.relay.parts.make_tools(scope, room)


async def test_without_a_running_turn_every_tool_is_refused_and_nothing_is_recorded(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("tool write a.txt x")
        await relay.seen("wrote a.txt")
        await relay.quiet()
        before = len(await relay.log())
        calls: list[tuple[str, dict[str, Any]]] = [
            ("watch", {"name": "notes", "file": "notes.md"}),
            ("unwatch", {"name": "notes"}),
            ("watch_list", {}),
            ("share", {"path": "a.txt"}),
            ("no_such_tool", {}),
        ]
        for name, arguments in calls:
            assert await desk(relay).call(name, arguments, "c1") == ToolResult(NO_TURN, failed=True)
        assert len(await relay.log()) == before


async def test_the_authority_is_that_of_the_scope_s_own_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 3000", "side")
        await relay.turn_runs("web:side")
        assert (await desk(relay).call("watch_list", {}, "c1")).text == NO_TURN
        assert (
            "Nothing is watched here."
            in (await desk(relay, "web:side", "web:side").call("watch_list", {}, "c1")).text
        )


@pytest.fixture
async def running(tmp_path: Path):
    async with living(tmp_path) as relay:
        await relay.say("slow 3000")
        await relay.turn_runs()
        yield relay


async def share(relay: Living, path: Any) -> ToolResult:
    with anyio.fail_after(5):
        return await desk(relay).call("share", {"path": path}, f"call {path!r}")


async def test_a_shared_file_comes_with_the_reply_as_it_was_when_shared(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say(
            "tool write out/plot.txt first\nshare out/plot.txt\ntool write out/plot.txt second\nsay here"
        )
        answer = await relay.seen("sharing plot.txt (6 bytes) with the reply")
        ((file,),) = [answer["files"]]
        assert (file["name"], file["size"]) == ("plot.txt", 6)
        assert await relay.relay.parts.blobs.get(file["digest"]) == b"first\n"


async def test_a_file_is_shared_even_when_nothing_is_said(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("slow 14")
        await relay.turn_runs()
        (relay.work / "a.txt").write_text("x")
        await share(relay, "a.txt")
        assert [f["name"] for f in (await relay.seen("📎"))["files"]] == ["a.txt"]


async def test_a_shared_file_survives_a_restart_in_the_middle_of_its_turn(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("tool write a.txt kept\nshare a.txt\nslow 14\nsay here")
        await relay.until_logged("file.shared")
        await relay.clock.sleep(1)
        await relay.restart(kill=True)
        answer = await relay.seen("here")
        assert "sharing a.txt" in answer["text"]
        assert [f["name"] for f in answer["files"]] == ["a.txt"]


@pytest.mark.parametrize(
    "path", ["../elsewhere.txt", "/etc/hostname", "", "nul\x00l", "..", ".", "link.txt", "up/x.txt"]
)
async def test_what_is_not_a_file_of_the_workspace_is_not_shared(running: Living, path: str) -> None:
    relay = running
    (relay.folder / "elsewhere.txt").write_text("secret")
    (relay.folder / "x.txt").write_text("secret")
    (relay.work / "link.txt").symlink_to(relay.folder / "elsewhere.txt")
    (relay.work / "up").symlink_to(relay.folder)
    result = await share(relay, path)
    assert result.failed
    assert "can't be shared" in result.text
    assert not await relay.log("file.shared")


@pytest.mark.parametrize(
    "path", [".env", "id_rsa", "deep/server.key", ".git/config", "access.json", "plain.txt"]
)
async def test_files_that_hold_secrets_are_not_shared(running: Living, path: str) -> None:
    relay = running
    for name in (".env", "id_rsa", "deep/server.key", ".git/config", "access.json"):
        (relay.work / name).parent.mkdir(exist_ok=True)
        (relay.work / name).write_text("secret")
    (relay.work / "plain.txt").symlink_to(".env")
    result = await share(relay, path)
    assert result.failed
    assert "hold secrets, so they can't be shared" in result.text


async def test_what_can_t_be_read_as_a_file_is_not_shared_and_nothing_waits(running: Living) -> None:
    relay = running
    (relay.work / "folder").mkdir()
    os.mkfifo(relay.work / "pipe")
    for path, why in (
        ("folder", "it is not a file"),
        ("pipe", "it is not a file"),
        ("missing", "No such file"),
    ):
        result = await share(relay, path)
        assert result.failed
        assert why in result.text


async def test_s7_a_file_over_the_limit_is_refused_and_the_text_is_delivered(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        for name, size in (("big.bin", LARGEST_SHARED + 1), ("fits.bin", LARGEST_SHARED)):
            (relay.work / name).touch()
            os.truncate(relay.work / name, size)
        await relay.say("share big.bin\nshare fits.bin\nsay the text")
        answer = await relay.seen("the text")
        assert "big.bin can't be shared: it is larger than 25 MB" in answer["text"]
        assert [f["name"] for f in answer["files"]] == ["fits.bin"]


async def test_a_file_that_holds_a_private_key_is_not_shared_whatever_its_name(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "notes.txt").write_text("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n")
        await relay.say("share notes.txt\nsay done")
        answer = await relay.seen("a private key stands in notes.txt, so it can't be shared")
        assert answer["files"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "Say what to watch"),
        ({"name": "x"}, "Say what to watch"),
        ({"name": 5, "file": "a.md"}, "needs a value"),
        ({"name": "x", "file": ["a.md"]}, "needs a value"),
        ({"name": "x", "file": "a.md", "evil": 1}, "isn't an option of a watch"),
        ({"name": "x\ny", "file": "a.md"}, ""),
        ({"name": "x", "file": "\ud800"}, ""),
    ],
)
async def test_whatever_an_agent_passes_the_answer_says_what_was_wrong(
    running: Living, arguments: dict[str, Any], told: str
) -> None:
    result = await desk(running).call("watch", arguments, "c1")
    assert result.failed
    assert told in result.text
    assert not await running.log("watch.requested")


async def test_more_files_than_a_reply_holds_are_refused(running: Living) -> None:
    for number in range(MOST_SHARED + 1):
        (running.work / f"{number}.txt").write_text("x")
        result = await share(running, f"{number}.txt")
        assert result.failed == (number == MOST_SHARED)
    assert "which is the most" in result.text
    await running.say("!stop")
    assert len((await running.seen("📎"))["files"]) == MOST_SHARED


async def test_an_unknown_tool_is_answered_with_those_there_are(running: Living) -> None:
    result = await desk(running).call("rm", {}, "c1")
    assert result == ToolResult(
        "there is no tool 'rm'; there are share, watch, unwatch, watch_list", failed=True
    )


@pytest.mark.parametrize("name", ["unwatch", "share"])
@pytest.mark.parametrize("value", [None, 5, [], {"a": 1}, "\ud800"])
async def test_arguments_of_another_kind_are_answered_too(running: Living, name: str, value: Any) -> None:
    result = await desk(running).call(name, {"name": value, "path": value}, "c1")
    assert result.failed


async def test_the_same_call_twice_is_one_watch(running: Living) -> None:
    for _ in range(2):
        assert not (await desk(running).call("watch", {"name": "n", "file": "n.md"}, "c1")).failed
    assert len(await running.log("watch.requested")) == 1
    assert len(await running.log("watch.armed")) == 1

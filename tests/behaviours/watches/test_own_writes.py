"""What the agent writes itself doesn't wake it; what others write does, and so do the same words from them."""

from pathlib import Path

import pytest
from fakes.living import Living, living

pytestmark = pytest.mark.anyio


async def arm(relay: Living, line: str, name: str, place: str = "main") -> None:
    await relay.say(f"!watch {name} {line} --window 0s", place)
    await relay.watching(name, f"web:{place}")


async def test_the_agents_own_write_does_not_wake_it_and_the_next_one_by_a_person_does(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "notes.md").write_text("milk\n")
        await arm(relay, "--file notes.md", "notes")
        await relay.say("tool write notes.md milk\\nbread")
        await relay.seen("wrote notes.md")
        await relay.until_logged("watch.advanced")
        await relay.quiet()
        assert not await relay.log("watch.fired")
        (relay.work / "notes.md").write_text("milk\nbread\nbutter\n")
        answer = await relay.seen("↳ triggered by watch «notes»")
        assert "+butter" in answer["text"]
        assert "+bread" not in answer["text"]


async def test_the_agents_own_lines_in_a_log_are_not_told(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "app.log").write_text("start\n")
        await arm(relay, "--tail app.log", "log")
        await relay.say("tool append app.log by the agent")
        await relay.seen("appended to app.log")
        await relay.until_logged("watch.advanced")
        with (relay.work / "app.log").open("a") as out:
            out.write("by a person\n")
        answer = await relay.seen("↳ triggered by watch «log»")
        assert "by a person" in answer["text"]
        assert "by the agent" not in answer["text"]
        await relay.restart()
        await relay.watching("log")
        await relay.quiet()
        assert len(await relay.log("watch.fired")) == 1


async def test_another_threads_agent_is_woken_by_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        thread = await relay.thread()
        await arm(relay, "--file notes.md", "notes", thread)
        await relay.say("tool write notes.md for the other thread")
        await relay.seen("↳ triggered by watch «notes»", thread)


async def test_the_same_text_by_a_person_afterwards_fires(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "notes.md").write_text("A\n")
        await arm(relay, "--file notes.md", "notes")
        await relay.say("tool write notes.md B")
        await relay.until_logged("watch.advanced")
        for number, text in enumerate(("A\n", "B\n"), 1):
            (relay.work / "notes.md").write_text(text)
            await relay.until_logged("watch.fired", number)

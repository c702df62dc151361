"""`!help`, `!status` and `!why` tell what is so."""

import ast
import re
from pathlib import Path

import pytest
from fakes.living import ADA, living

import relay.behaviours
from relay.behaviours import discover

pytestmark = pytest.mark.anyio


def words_in_rules() -> set[str]:
    """Every `!word` that a behaviour's rules compare a command with, found by reading them."""
    found: set[str] = set()
    for path in Path(relay.behaviours.__path__[0]).glob("*/synchronizations*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Command":
                assert isinstance(node.args[0], ast.Constant)
                found.add(str(node.args[0].value))
    return found


async def test_help_lists_exactly_the_commands_that_exist(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!help")
        told = (await relay.seen("Commands:"))["text"]
        listed = re.findall(r"^- `(!\w+)", told, re.MULTILINE)
        assert sorted(listed) == sorted(words_in_rules())
        assert sorted(listed) == sorted(c.word for b in discover() for c in b.commands)
        assert len(listed) == len(set(listed))
        for word in listed:
            await relay.say(word)
        await relay.until_logged("channel.message", len(listed) + 1)
        await relay.quiet()
        assert not await relay.log("turn.prompted"), "each of them is read as a command"
        answered = {m["reply_to"] for m in await relay.messages() if m["ours"]}
        assert len(answered) == len(listed) + 1, "and each is answered"


async def test_a_command_is_known_in_any_case_and_a_word_that_is_none_is_a_message(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("  !HELP")
        await relay.seen("Commands:")
        await relay.say("!helpme now")
        await relay.seen("You said: !helpme now")


async def test_status_tells_what_runs_waits_and_is_watched(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("!status")
        await relay.seen("Nothing is running here.")
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.say("slow 3000")
        await relay.turn_runs()
        await relay.say("later")
        await relay.until_logged("tool.asked")
        await relay.say("!status", by=ADA)
        told = (await relay.seen("scout has been working for "))["text"]
        assert "now: slow 3000 s" in told
        assert "1 message waiting" in told
        assert "- «notes» · file notes.md · on change · 0 fires · by Olga" in told
        assert "Follows: file:notes.md" in told


async def test_why_tells_the_chain_of_a_reply_down_to_the_message(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say hello")
        answer = await relay.seen("hello")
        await relay.say("!why", reply_to=answer["id"])
        told = (await relay.seen("**post.sent**"))["text"]
        verbs = re.findall(r"\*\*([a-z_.]+)\*\*", told)
        assert verbs == [
            "post.sent",
            "post.requested",
            "turn.replied",
            "turn.started",
            "turn.prompted",
            "channel.message",
        ]
        assert "Olga: say hello" in told
        (prompted,) = await relay.log("turn.prompted")
        await relay.say(f"!why {prompted.id[:8]}")
        told = (await relay.seen("**turn.prompted** asks for a turn", times=2))["text"]
        assert told.startswith(f"- `{prompted.id[:8]}`")
        assert "**channel.message** Olga: say hello" in told


async def test_why_of_a_fire_leads_to_who_armed_the_watch(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("x\n")
        answer = await relay.seen("↳ triggered by watch «notes»")
        await relay.say("!why", reply_to=answer["id"])
        told = (await relay.seen("**watch.fired** «notes» fired (1)"))["text"]
        assert "**watch.armed** «notes» armed by Olga" in told
        assert "**channel.message** Olga: !watch notes --file notes.md" in told


@pytest.mark.parametrize("asked", ["!why ffff0000", "!why m999", "!why %", "!why '; drop table--"])
async def test_why_of_something_unknown_says_so(tmp_path: Path, asked: str) -> None:
    async with living(tmp_path) as relay:
        await relay.say(asked)
        await relay.seen("I don't know that message or id.")


async def test_why_of_nothing_says_how_to_ask(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!why")
        await relay.seen("Reply with `!why` to a message of mine")


async def test_a_text_in_a_chain_can_t_break_out_of_its_line(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say x\n- `deadbeef` **turn.started** forged\n```")
        answer = await relay.seen("x")
        await relay.say("!why", reply_to=answer["id"])
        told = (await relay.seen("**post.sent**"))["text"]
        assert len(told.splitlines()) == 6
        assert "`deadbeef`" not in told

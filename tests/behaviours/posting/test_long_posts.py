"""Whatever its length, what is said stands whole in the place: cut by the place's limit, tables as code."""

from pathlib import Path

import pytest
from fakes.living import OWNER, Living, living
from fakes.narrow import Narrow
from fakes.puppet import Puppet

from relay.agents.runtime import Notice, TextDelta, TurnEnded
from relay.behaviours.posting.chunks import chunk
from relay.behaviours.posting.tables import fence_tables

pytestmark = pytest.mark.anyio
TABLE = "| name | value |\n|---|:---:|\n" + "\n".join(f"| row {n} | `{n * n}` |" for n in range(100))


async def watched(relay: Living, count: int) -> None:
    for number in range(count):
        await relay.say(f"!watch the-watch-of-number-{number} --file folder/file-{number}.md")
    await relay.until_logged("watch.armed", count)


async def test_a_long_list_a_long_chain_and_the_help_come_in_parts_that_fit(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow(limit=300, pins=False)) as relay:
        await watched(relay, 12)
        asked = await relay.say("!watches")
        await relay.seen("- «the-watch-of-number-11»")
        await relay.say("!status")
        await relay.seen("Follows: ")
        await relay.say("!help")
        await relay.seen("Reactions: 🛑 stop")
        answer = await relay.say("say " + "word " * 200)
        await relay.quiet()
        await relay.say("!why", reply_to=answer.message)
        await relay.seen("**channel.message**")
        await relay.quiet()
        ours = [m for m in await relay.messages() if m["ours"]]
        assert all(len(m["text"]) <= 300 for m in ours)
        listed = [m for m in ours if m["reply_to"] == asked.message]
        assert len(listed) == 1, "the first part replies"
        everything = "\n".join(m["text"] for m in ours)
        assert all(f"- «the-watch-of-number-{n}» · file" in everything for n in range(12))
        assert not await relay.log("post.dead")


async def test_what_a_watch_posts_is_cut_and_its_difference_stays_code(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow(limit=400, pins=False)) as relay:
        await relay.say("!watch notes --file notes.md --notify")
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("".join(f"line number {n} of the notes\n" for n in range(60)))
        await relay.seen("+line number 59")
        await relay.quiet()
        parts = [m["text"] for m in await relay.messages() if m["ours"] and "line number" in m["text"]]
        assert len(parts) > 3
        assert all(len(part) <= 400 and part.count("```") == 2 for part in parts)


async def test_what_an_agent_remarks_is_cut_as_well(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(
        tmp_path, surface=Narrow(limit=400, pins=False), runtimes=lambda _: {"scripted": puppet}
    ) as relay:
        await relay.say("go")
        (await puppet.turn()).play(Notice("remark " * 300), TextDelta("done"), TurnEnded("completed"))
        await relay.seen("done")
        await relay.quiet()
        assert "".join(await relay.ours()).count("remark") == 300
        assert not await relay.log("post.dead")


async def test_a_long_command_is_shown_whole_and_its_card_s_outcome_still_fits(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow(limit=2_000)) as relay:
        command = " ".join(f"--option-{n}=value" for n in range(180))
        await relay.say(f"ask make {command}")
        card = await relay.card()
        await relay.click(card, "deny", reason="r" * 900)
        told = await relay.seen("❌ Denied by Olga: rrr")
        assert told["id"] == card["id"]
        await relay.seen("not allowed")
        shown = " ".join(m["text"] for m in await relay.messages() if m["ours"] and "--option" in m["text"])
        assert all(f"--option-{n}=value" in shown for n in range(180))
        cards = [m for m in await relay.messages() if m["card"]]
        assert len(cards) == 1, "only the last part bears the buttons"


async def test_f11_a_card_after_sixty_tools_stands_last_and_whole(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow(pins=False)) as relay:
        tools = "\n".join(f"tool write f{n}.txt x" for n in range(60))
        await relay.say(f"{tools}\nask make the thing")
        card = await relay.card()
        assert (await relay.messages())[-1]["id"] == card["id"]
        assert "make the thing" in card["text"]


async def test_f12_a_table_that_fits_no_message_is_shown_as_code_and_no_row_is_lost(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, surface=Narrow(pins=False), runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("go")
        text = f"Here it is:\n\n{TABLE}\n\nThat was it."
        (await puppet.turn()).play(TextDelta(text), TurnEnded("completed"))
        await relay.seen("That was it.")
        posts = await relay.ours()
        assert len(posts) > 1
        assert all(post.count("```") == 2 for post in posts)
        rows = [line for post in posts for line in post.split("\n") if line.startswith("| row")]
        assert rows == TABLE.split("\n")[2:]


def test_f12_a_short_table_and_one_in_a_fence_stay_as_they_are() -> None:
    short = "a | b\n--|--\n1 | 2"
    assert fence_tables(short, 2_000) == short
    fenced = f"```\n{TABLE}\n```"
    assert fence_tables(fenced, 2_000) == fenced
    assert fence_tables(f"~~~md\n{TABLE}\n~~~\n{TABLE}", 2_000).endswith(f"~~~\n```\n{TABLE}\n```")


def test_f12_what_only_looks_like_a_table_is_left_alone() -> None:
    text = "\n".join(["a | b | c"] * 300)
    assert fence_tables(text, 2_000) == text


def test_f12_a_fence_in_a_cell_can_t_end_the_fence_around_it() -> None:
    table = TABLE + "\n| ```` | x |"
    shown = fence_tables(table, 2_000)
    assert shown.startswith("`````\n")
    for piece in chunk(shown, 2_000):
        lines = piece.shown.split("\n")
        assert lines[0] == lines[-1] == "`````"


async def test_who_asked_is_called_once_when_a_turn_fails_after_it_spoke(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say so far\nfail badly", by=OWNER)
        await relay.seen("The agent failed")
        await relay.seen("so far")
        await relay.quiet()
        called = [m["text"] for m in await relay.messages() if m["ping"]]
        assert called == ["so far"]
        await relay.say("fail at once")
        await relay.seen("The agent failed", times=2)
        await relay.quiet()
        assert len([m for m in await relay.messages() if m["ping"]]) == 2


@pytest.mark.parametrize("text", ["@everyone", "@here", "<@owner>", "<@&7>", "@owner", "@Olga look"])
async def test_what_an_agent_writes_calls_nobody(tmp_path: Path, text: str) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("go", by=OWNER)
        (await puppet.turn()).play(Notice(text), TextDelta(f"{text}."), TurnEnded("completed"))
        await relay.seen(f"{text}.")
        pings = {m["text"]: m["ping"] for m in await relay.messages() if m["ours"]}
        assert pings == {text: [], f"{text}.": ["web:owner"]}

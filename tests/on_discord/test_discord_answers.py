"""Answers on Discord, whatever their length and form: whole, in order, once, and in one place."""

import itertools
import re
from pathlib import Path

import pytest
from town import town

pytestmark = pytest.mark.anyio
DAY_MS = 86_400_000
SEND = ("POST", "/channels/*/messages")
FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def file(folder: Path, name: str, text: str) -> str:
    """A directive that says what stands in a new file of the workspace."""
    (folder / "work").mkdir(exist_ok=True)
    (folder / "work" / name).write_text(text)
    return f"tool read {name}"


def balanced(text: str) -> bool:
    """Whether each fence that opens in the message is closed in it, by one of its kind and length."""
    opened = ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if mark and not opened:
            opened = mark[1]
        elif mark and mark[1][0] == opened[0] and len(mark[1]) >= len(opened) and not line.strip(" `~"):
            opened = ""
    return not opened


async def test_d4_an_answer_stands_in_one_place_also_where_a_thread_begins_at_its_message(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, limits={"approval": DAY_MS}) as here:
        said = here.ask("ask go on\nsay for the room", by=here.ada)
        card = await here.card()
        thread = here.ada.open_thread(here.room, "About that", on=said)
        here.ask("say for the thread", thread, here.ada)
        await here.answered("for the thread", thread)
        here.olga.click(card, "❌ Deny")
        await here.answered("for the room")
        await here.quiet()
        assert [len(here.ours()), len(here.ours(thread))] == [2, 1], "the card and the answer; the answer"
        assert here.room.threads() == [thread]


async def test_d8_a_long_answer_that_was_cut_off_in_the_middle_is_whole_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        words = "\n".join(f"word{number:04d} says what it has to say" for number in range(100))
        for _ in range(2):
            here.server.faults.cut(*SEND, after=True)
        here.ask("\n".join([file(tmp_path, "long.txt", words)] * 3))
        await here.server.until(lambda: len(here.ours()) >= 2)
        hold = here.server.faults.hold(*SEND, after=True)
        await hold.reached.wait()
        await here.kill()
        hold.open()
        here.server.clock.advance(3_600)
        await here.start()
        await here.server.until(lambda: sum(t.count("word0099") for t in here.ours()) == 3)
        await here.quiet()
        found = re.findall(r"word\d+", "\n".join(here.ours()))
        assert found == [f"word{number:04d}" for number in range(100)] * 3


async def test_d13_an_answer_that_is_streamed_beyond_one_message_says_nothing_twice(tmp_path: Path) -> None:
    async with town(tmp_path, speed=20) as here:
        words = [f"word{number:03d}" for number in range(400)]
        here.ask(f"stream {' '.join(words[:200])}")
        await here.server.until(lambda: "👀" in here.room.seen()[0].reactions)
        here.ask(f"stream {' '.join(words[200:])}")
        await here.answered("word399")
        await here.quiet()
        await here.server.until(lambda: not any(t.startswith("⏳") for t in here.room.texts("relay")))
        assert re.findall(r"word\d+", "\n".join(here.room.texts("relay"))) == words


async def test_r6_a_stream_of_words_is_few_edits_of_one_status(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask(f"stream {' '.join(f'word{number:03d}' for number in range(200))}\nslow 600")
        seen: set[int] = set()

        def newest() -> bool:
            standing = [one for one in here.room.seen() if one.text.startswith("⏳")]
            seen.update(one.id for one in standing)
            return any("word199" in one.text for one in standing)

        await here.server.until(newest)
        here.ask("!stop")
        await here.answered("🛑 Stopped (Olga)")
        await here.quiet()
        (status,) = seen
        at = [call.at for call in here.server.rest.calls if call.path.endswith(f"/messages/{status}")]
        assert at
        assert all(after - before >= 1.4 / here.clock.speed for before, after in itertools.pairwise(at[:-1]))


@pytest.mark.parametrize("mark", ["```py", "~~~~py", "`````md"])
async def test_f2_f3_f5_code_over_many_messages_is_whole_in_each_and_cut_at_its_lines(
    tmp_path: Path, mark: str
) -> None:
    async with town(tmp_path) as here:
        lines = [
            f"value_{number:03d} = compute({number}, '" + "x" * (number % 37) + "')" for number in range(75)
        ]
        inner = ["```", "~~~"] if len(FENCE.match(mark)[1]) > 3 else []
        body = [*lines[:40], *inner, *lines[40:]]
        text = "\n".join([mark, *body, mark.rstrip("pymd")])
        here.ask(f"say It is:\n{file(tmp_path, 'code.txt', f'{chr(10)}{text}{chr(10)}')}")
        await here.answered("value_074")
        await here.quiet()
        parts = here.ours()
        assert len(parts) > 1
        assert all(balanced(part) for part in parts)
        assert re.findall(r"^value_.*$", "\n".join(parts), re.MULTILINE) == lines
        assert all(call.status != 400 for call in here.server.rest.calls)


async def test_f6_an_answer_of_5000_characters_is_there_to_its_last_one(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        letters = "".join(f"{number:05d}-" for number in range(660))
        here.ask("\n".join([file(tmp_path, "one.txt", letters), "tool read one.txt"]))
        await here.server.until(lambda: "".join(here.ours()).count("00659-") == 2)
        await here.quiet()
        assert re.findall(r"\d{5}-", "".join(here.ours())) == re.findall(r"\d{5}-", letters) * 2


async def test_f8_f9_a_fence_and_colours_in_a_tool_s_output_stay_inside(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        notes = tmp_path / "work" / "notes.md"
        notes.parent.mkdir(exist_ok=True)
        notes.write_text("one\n")
        here.ask("!watch notes --file notes.md --notify")
        await here.answered("Watching «notes»")
        await here.quiet()
        notes.write_text("one\n```\n@everyone\n```\n\x1b[1;31mred\x1b[0m\n")
        fired = await here.answered("@everyone")
        assert balanced(fired.text)
        assert fired.text.count("````") == 2
        assert "+red" in fired.text
        assert "\x1b" not in fired.text
        here.ask(file(tmp_path, "ansi.txt", "\x1b[32mgreen\x1b[0m\x07"))
        assert "ansi.txt: green" in (await here.answered("ansi.txt")).text
        assert not any("\x1b" in text or "\x07" in text for text in here.ours())


async def test_f11_a_question_after_sixty_tools_stands_last_and_whole(tmp_path: Path) -> None:
    async with town(tmp_path, speed=20, limits={"approval": DAY_MS}) as here:
        command = f"deploy --to {'production-' * 30}now"
        here.ask("\n".join([f"tool write f{number}.txt x" for number in range(60)] + [f"ask {command}"]))
        card = await here.card()
        assert command in card.text
        assert [one for one in here.room.seen() if not one.text.startswith(("📌", "⏳"))][-1].id == card.id
        here.olga.click(card, "❌ Deny")
        answer = await here.answered("not allowed")
        assert command in answer.text


async def test_f12_a_table_of_many_rows_comes_as_code_with_every_row(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        rows = [f"| row {number:03d} | {'cell ' * 3}|" for number in range(100)]
        table = "\n".join(["", "| name | what |", "|---|---|", *rows])
        here.ask(file(tmp_path, "table.txt", table))
        await here.answered("row 099")
        await here.quiet()
        parts = here.ours()
        assert re.findall(r"row \d{3}", "\n".join(parts)) == [f"row {number:03d}" for number in range(100)]
        assert all(balanced(part) and part.count("```") == 2 for part in parts)


async def test_l2_f15_a_turn_with_nothing_to_say_is_over_and_posts_nothing(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("silent")
        await here.server.until(lambda: here.room.seen()[0].reactions.get("👌") == ("relay",))
        here.ask("say   \nsay\nsilent")
        await here.server.until(lambda: here.room.seen()[1].reactions.get("👌") == ("relay",))
        async with here.away():
            pass
        await here.quiet()
        assert len(await here.log("turn.started")) == 2
        assert here.room.texts("relay") == []
        assert all(call.status != 400 for call in here.server.rest.calls)


async def test_r2_no_thread_is_ever_renamed(tmp_path: Path) -> None:
    """What a turn does stands in a message. A thread's name is people's, and Discord lets a bot change it twice in ten
    minutes."""
    async with town(tmp_path) as here:
        thread = here.ada.open_thread(here.room, "Task")
        for number in range(3):
            here.ask(f"slow 3\nsay done {number}", thread, here.ada)
            await here.answered(f"done {number}", thread)
        await here.quiet()
        assert thread.name == "Task"
        assert not [
            call for call in here.server.rest.calls if call.method == "PATCH" and "name" in (call.body or {})
        ]

"""Text cut for a surface: everything arrives, nothing is too long, every fence is whole."""

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relay.behaviours.posting.chunks import SMALLEST_LIMIT, Chunk, chunk, join, utf16_len


def open_fence(text: str) -> str | None:
    """The fence that is open at the end of `text`, by CommonMark's rules; written without the cutter's own code."""
    fence: str | None = None
    for line in re.split(r"\r\n|\r|\n", text):
        stripped = line.lstrip(" ")
        if len(line) - len(stripped) > 3 or not stripped.startswith(("```", "~~~")):
            continue
        mark = stripped[0]
        run = len(stripped) - len(stripped.lstrip(mark))
        rest = stripped[run:]
        if fence is None:
            if mark == "~" or "`" not in rest:
                fence = mark * run
        elif mark == fence[0] and run >= len(fence) and not rest.strip(" \t"):
            fence = None
    return fence


def check(text: str, limit: int) -> list[Chunk]:
    chunks = chunk(text, limit)
    assert join(chunks) == text or not text.strip()
    for each in chunks:
        assert len(each.shown.encode("utf-16-le", "surrogatepass")) // 2 <= limit
        assert each.shown.strip(), each
        assert each.payload
        assert open_fence(each.shown) is None, each.shown
    return chunks


PIECES = st.sampled_from(
    [
        "```", "````", "~~~", "~~~~~", "`", "~", "```py", "~~~ `x`", "   ```", "    ```", "```a```", "`" * 70,
        "~" * 300, "\n", "\n\n", "\r\n", "\r", " ", "  ", "\t", " " * 50, "\n" * 90, " \n \n", "word", "x" * 90,
        "lorem ipsum ", "é", "e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "\U0001d11e", "\ud800", "\u200b",
        "\u00a0", "\u2028", "\x1c", "> ", "- ",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=30)), max_size=60).map("".join)


@given(TEXTS, st.integers(SMALLEST_LIMIT, 4000))
@example("`" * 5000, 2000)
@example("a" + "`" * 5000, 40)
@example("```\n" + "`" * 5000 + "\n```", 2000)
@example("```" + "x" * 2500 + "\ncode\n```\nafter", 2000)
@example("```a```" + "x" * 3000, 2000)
@example("```\n```" + " " * 10 + "x" * 3000 + "\n```", 2000)
@example("~~~ " + "~" * 3000 + "\ncode", 2000)
@example(" " * 3000 + "```", 2000)
@example("```\r\n" + " " * 5000 + "\r\n```", 40)
@example("```" + "x" * 30 + "\n~~~~\n```", 40)
def test_every_text_arrives_whole_in_order_within_the_limit_and_balanced(text: str, limit: int) -> None:
    check(text, limit)


@given(TEXTS)
@example("```" + "x" * 27 + "\n```\nmore text than fits into one")
def test_every_text_arrives_at_the_smallest_limit_too(text: str) -> None:
    check(text, SMALLEST_LIMIT)


@given(st.text(alphabet="`~ \n\rax\t", max_size=400), st.integers(SMALLEST_LIMIT, 90))
def test_no_arrangement_of_marks_and_white_space_unbalances_a_chunk(text: str, limit: int) -> None:
    check(text, limit)


def test_f2_code_is_cut_at_newlines_only_when_its_lines_fit() -> None:
    code = "".join(f"    value_{n} = compute(first={n}, second='{n * n}')\n" for n in range(300))
    text = f"Here it is:\n\n```python\n{code}```\nDone."
    chunks = check(text, 2000)
    assert len(chunks) > 5
    assert all(each.payload.endswith("\n") for each in chunks[:-1])
    assert all(each.shown.startswith("```python\n") for each in chunks[1:])
    assert all(each.shown.endswith("\n```") for each in chunks[:-1])


@pytest.mark.parametrize("size", range(1980, 2005))
def test_f3_the_closer_counts_against_the_limit(size: int) -> None:
    check("```\n" + "x" * size + "\n" + "y" * 100 + "\n```", 2000)
    check("```\n" + "x" * size, 2000)


def test_an_opener_longer_than_the_limit_ends_and_is_reopened_bare() -> None:
    chunks = check("```" + "x" * 2500 + "\ncode\n```\nafter", 2000)
    assert len(chunks) == 2
    assert chunks[1].shown.startswith("```\nx")
    assert chunks[1].shown.endswith("code\n```\nafter")


def test_a_long_opener_that_fits_is_reopened_bare() -> None:
    chunks = check("```" + "x" * 600 + "\n" + "code line\n" * 400 + "```", 2000)
    assert all(each.shown.startswith("```\ncode line\n") for each in chunks[1:])


@pytest.mark.parametrize(
    ("opener", "closer"),
    [("~~~ text", "~~~"), ("````md", "````"), ("~~~~~~", "~~~~~~"), ("  ```js", "  ```")],
)
def test_f5_a_fence_is_reopened_with_its_marker_length_and_language(opener: str, closer: str) -> None:
    inner = "```\nnot the end\n```\n" if opener[0] != " " else "plain\n"
    text = f"{opener}\n{inner}" + "some line of text\n" * 300 + f"{closer}\nafter"
    chunks = check(text, 2000)
    assert len(chunks) > 2
    assert all(each.shown.startswith(opener + "\n") for each in chunks)
    assert all(each.shown.endswith("\n" + closer) for each in chunks[:-1])
    assert chunks[-1].shown.endswith("\nafter")


def test_f6_a_final_of_5000_characters_is_shown_in_full() -> None:
    text = " ".join(f"word{n}" for n in range(700))[:5000]
    chunks = check(text, 2000)
    assert " ".join(each.shown for each in chunks).split() == text.split()


def test_a_fence_of_300_lines_shows_every_line_once() -> None:
    code = [f"line {n}" for n in range(300)]
    chunks = check("~~~\n" + "\n".join(code) + "\n~~~", 300)
    shown = [line for each in chunks for line in each.shown.split("\n") if line != "~~~"]
    assert shown == code


def test_an_indented_block_keeps_its_indentation_at_the_start_of_a_chunk() -> None:
    chunks = check("    indented line of code\n" * 300, 2000)
    assert len(chunks) > 3
    assert all(each.shown.startswith("    indented") for each in chunks)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \r\n", "\n" * 300_000, "\u2003\x1c"])
def test_f15_empty_or_blank_text_gives_no_chunk(text: str) -> None:
    assert chunk(text) == []


def test_s2_a_mention_in_the_text_arrives_as_it_was_written() -> None:
    assert chunk("@everyone <@&1>") == [Chunk("@everyone <@&1>", "@everyone <@&1>")]


def test_a_text_that_fits_is_one_chunk_shown_as_it_is() -> None:
    text = "One.\n\n```py\nx = 1\n```\nTwo."
    assert chunk(text) == [Chunk(text, text)]


def test_a_fence_that_the_text_never_closes_is_closed_in_the_last_chunk() -> None:
    assert [each.shown for each in chunk("```py\nx = 1")] == ["```py\nx = 1\n```"]


def test_a_paragraph_is_cut_before_a_line_and_a_line_before_a_word() -> None:
    paragraph = "first line of words\nsecond line of words"
    assert [c.shown for c in check("\n\n".join([paragraph] * 3), 60)] == [paragraph] * 3
    assert [c.shown for c in check("\n".join(["a line of a few words"] * 3), 60)] == [
        "a line of a few words\na line of a few words",
        "a line of a few words",
    ]
    assert [c.shown for c in check("some words " * 6, 40)] == [
        "some words some words some words some",
        "words some words some words",
    ]


def test_a_block_is_not_opened_at_the_end_of_a_chunk_only_to_be_closed_at_once() -> None:
    chunks = check("t" * 1990 + "\n```\ncode\n```", 2000)
    assert [each.shown for each in chunks] == ["t" * 1990, "```\ncode\n```"]


def test_white_space_at_a_cut_is_kept_in_the_payload_and_not_shown() -> None:
    chunks = check("a" + "\n" * 5000 + "b" + " " * 5000 + "c", 2000)
    assert [each.shown for each in chunks] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "cluster", ["👩‍👩‍👧‍👦", "e\u0301\u0323", "👍🏽", "❤\ufe0f", "🇩🇪", "\U0001d11e", "\r\n"]
)
@pytest.mark.parametrize("offset", range(4))
def test_a_hard_cut_keeps_a_character_and_its_marks_together(cluster: str, offset: int) -> None:
    chunks = check("x" * offset + cluster * 100, 60)
    assert len(chunks) > 2 or cluster == "\r\n"
    assert all(each.payload.removeprefix("x" * offset).replace(cluster, "") == "" for each in chunks)


def test_the_limit_counts_utf_16_units() -> None:
    assert utf16_len("a😀é") == 4
    assert [utf16_len(each.shown) for each in check("😀" * 2000, 2000)] == [2000, 2000]


def test_a_limit_too_small_is_refused_and_says_the_least() -> None:
    with pytest.raises(ValueError, match="40"):
        chunk("text", 39)


def steps(action: Callable[[], object]) -> int:
    """How many lines and characters' loops Python ran: a count, so that a slow machine changes nothing."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


SHAPES = {
    "prose": "Some words in a line.\n\nAnd more.\n",
    "one line": "x",
    "words": "word ",
    "many fences": "```\n```\n",
    "openers": "```py\n~~~\n",
    "backticks": "`",
    "marks": "e\u0301",
    "blank lines in a fence": "```\n\n\n\n\n\n\n\n\n\n\n",
    "wide indents": " " * 500 + "x\n",
    "white space": "a" + " " * 400,
    "returns": "\r",
    "small paragraphs, long lines": "a\n\n" + "b" * 1999 + "\n",
    "astral": "😀",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_takes_twice_the_steps(shape: str) -> None:
    unit = SHAPES[shape]
    small, large = (unit * (size // len(unit)) + "end" for size in (20_000, 40_000))
    few, many = (steps(lambda text=text: chunk(text, 500)) for text in (small, large))
    assert many <= 2.3 * few + 2_000


@pytest.mark.parametrize("shape", SHAPES)
def test_300_kilobytes_of_anything_arrive(shape: str) -> None:
    unit = SHAPES[shape]
    check(unit * (300_000 // len(unit)) + "end", 2000)

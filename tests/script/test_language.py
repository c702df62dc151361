"""Reading scripts: every form, every mistake with its line and the right form, and nothing but that for any text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.script.language import FORMS, read
from relay.script.steps import (
    LAST,
    Change,
    Choose,
    Count,
    File,
    OpenThread,
    Process,
    React,
    Say,
    ScriptMistakes,
    Seen,
    SeenReaction,
    Settle,
    Unseen,
    Wait,
    Working,
)

EXAMPLES = Path(__file__).parents[2] / "examples"


def acts(source: str) -> list[object]:
    return [step.act for step in read(source).steps]


@pytest.mark.parametrize(
    ("line", "act"),
    [
        ("you: hello", Say("you", "hello", None)),
        ("you : hello", Say("you", "hello", None)),
        ("you: !watch a --file b:c", Say("you", "!watch a --file b:c", None)),
        ('you to "a \\"b\\"": why', Say("you", "why", 'a "b"')),
        ("you to “curly”: why", Say("you", "why", "curly")),
        ("you to last: !why", Say("you", "!why", LAST)),
        ("react 🛑 to last", React("🛑", LAST, "you")),
        ('choose allow on "x" because "so"', Choose("allow", "x", "you", "so")),
        ('thread "Fix: it" as fix', OpenThread("Fix: it", "fix")),
        ("write notes.md milk and bread", File("write", "notes.md", "milk and bread\n")),
        ('write "my notes.md" milk', File("write", "my notes.md", "milk\n")),
        ("write empty.md", File("write", "empty.md", "")),
        ("append a/b.md more", File("append", "a/b.md", "more\n")),
        ("delete notes.md", File("delete", "notes.md", "")),
        ('delete "some text"', Change("some text", None)),
        ("delete last", Change("", None)),
        ('edit "some text" to "new text"', Change("some text", "new text")),
        ("rename a.md b.md", File("rename", "a.md", "b.md")),
        ('see "done"', Seen("done", None, 10.0)),
        ('see "done" from you within 500ms', Seen("done", "you", 0.5)),
        ("see 👀 on last", SeenReaction("👀", LAST, 10.0)),
        ('not "done" for 1.5s', Unseen("done", None, 1.5)),
        ('count "done" 1', Count("done", 1, None, 1.0, 10.0)),
        ("working", Working("", 10.0)),
        ('working "slow" within 1m', Working("slow", 60.0)),
        ("settle", Settle(10.0)),
        ("wait 2s", Wait(2.0)),
        ("kill", Process("kill")),
        ("restart", Process("restart")),
    ],
)
def test_each_form_is_read(line: str, act: object) -> None:
    assert acts(line) == [act]


def test_indented_lines_belong_to_the_line_above_and_keep_their_shape() -> None:
    source = "you: first\n  slow 1\n    deeper\n\n  # no comment\n\n# a comment\nwrite a.md\n\tx\n"
    assert acts(source) == [
        Say("you", "first\nslow 1\n  deeper\n\n# no comment", None),
        File("write", "a.md", "x\n"),
    ]


def test_each_step_knows_its_line_and_place() -> None:
    source = (
        'human ada\nroom side\nada: a\nin side\nada: b\nthread "T" as t\nin t\nada: c\nin main/t4\nada: d'
    )
    assert [(s.line, s.place) for s in read(source).steps if isinstance(s.act, Say)] == [
        (3, "main"),
        (5, "side"),
        (8, "t"),
        (10, "main/t4"),
    ]


@pytest.mark.parametrize(
    ("source", "line", "problem"),
    [
        ("", 1, "nothing happens"),
        ("# only this", 1, "nothing happens"),
        ("you: a\nbob: hi", 2, "human bob"),
        ("scout: hi", 1, "speaks for itself"),
        ("hello", 1, "you: hello"),
        ("you:", 1, "no text"),
        ("  you: hello", 1, "indented"),
        ("wait", 1, "wait 2s"),
        ("wait soon", 1, "500ms, 2s or 1m"),
        ("wait 2h", 1, "500ms, 2s or 1m"),
        ("wait 100m", 1, "an hour"),
        ("wait 2s now", 1, "'now' doesn't belong there"),
        ("see done", 1, "see 👀 on last"),
        ('see ""', 1, "empty"),
        ('see "done', 1, "isn't closed"),
        ('see "a" within 1s within 2s', 1, "twice"),
        ('count "a" many', 1, "no number"),
        ("react x to last", 1, "no emoji"),
        ("react 🛑 last", 1, "`to` is missing"),
        ("write ../a x", 1, "file of the workspace"),
        ("write /etc/passwd x", 1, "file of the workspace"),
        ("delete", 1, "a path is missing"),
        ("kill\nkill", 2, "line 1 ended"),
        ('stop\nworking "x"', 2, "restart"),
        ("in nowhere", 1, "there are: main"),
        ("human you", 1, "can't be a name"),
        ("human see", 1, "can't be a name"),
        ("room café", 1, "from a to z"),
        ("human ada\nhuman ada", 2, "named above"),
        ("limit 1s\nlimit 2s", 2, "limit"),
        ("kill\n  now", 1, "no indented lines"),
        ('you to "a" hi', 1, "a colon is missing"),
        ("you to a: hi", 1, "nothing a script knows"),
        ('you to "": hi', 1, "some of its text"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_right_form(source: str, line: int, problem: str) -> None:
    with pytest.raises(ScriptMistakes) as caught:
        read(source, "my.script")
    assert [mistake.line for mistake in caught.value.mistakes] == [line]
    assert problem in str(caught.value)
    assert f"my.script:{line}: " in str(caught.value)


def test_all_mistakes_are_told_together_in_order() -> None:
    with pytest.raises(ScriptMistakes) as caught:
        read("wait\nyou: fine\n\n  hm\nnope\nkill now\nbob: hi")
    assert [mistake.line for mistake in caught.value.mistakes] == [1, 5, 6, 7]


def test_every_form_that_is_told_is_itself_right() -> None:
    head = "human ada\nroom other\n"
    for word, forms in FORMS.items():
        for form in forms.split(", or: "):
            shown = form.split(", or ")[0]
            source = {"human": shown, "room": shown}.get(word, head + shown)
            read(f"{source}\nyou: so that something happens" if word not in ("kill", "stop") else source)


def test_the_examples_can_be_read() -> None:
    scripts = sorted(EXAMPLES.rglob("*.script"))
    assert scripts
    for script in scripts:
        assert read(script.read_text("utf-8"), script.name).steps


def lines() -> st.SearchStrategy[str]:
    words = [
        *FORMS,
        "you:",
        "ada:",
        "to",
        "last",
        "on",
        "as",
        "within",
        "for",
        "2s",
        '"a"',
        '"',
        "👀",
        "\\",
        "a.md",
        "fix",
        "1",
    ]
    line = st.lists(st.sampled_from(words) | st.text(max_size=6), max_size=7).map(" ".join)
    return st.lists(
        st.sampled_from(["", "  ", "# "]).flatmap(lambda head: line.map(lambda rest: head + rest)), max_size=8
    ).map("\n".join)


def judged(source: str) -> None:
    try:
        script, mistakes = read(source), ()
    except ScriptMistakes as error:
        script, mistakes = None, tuple(error.mistakes)
    assert (script is not None and script.steps) or mistakes
    assert all(1 <= mistake.line <= max(1, len(source.splitlines())) for mistake in mistakes)


@given(lines())
def test_words_of_the_language_in_any_order_are_a_script_or_its_mistakes(source: str) -> None:
    judged(source)


@given(st.text())
def test_any_text_is_a_script_or_its_mistakes_are_told(source: str) -> None:
    judged(source)

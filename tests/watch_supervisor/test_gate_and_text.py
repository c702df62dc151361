"""The gate's decisions, and diffs and text that stay small, clean and quick whatever comes."""

import difflib
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watch_supervisor import diffs
from watch_supervisor.diffs import unified_diff
from watch_supervisor.gate import Gate, Value, added_lines
from watch_supervisor.plain_text import LONGEST_BYTES, capped, plain, plain_lines
from watch_supervisor.spec import WatchSpec


def gate(match: str | None = None) -> Gate:
    return Gate(
        WatchSpec(name="n", source="file", path="a", match=match, fire="match" if match else "change")
    )


def test_on_change_only_a_difference_escalates() -> None:
    assert gate().judge(Value("a"), Value("a")) is None
    assert gate().judge(Value("a"), Value("b")) == "changed"
    assert gate().judge(Value(None), Value("b")) == "created"
    assert gate().judge(Value("a"), Value(None)) == "deleted"


def test_on_a_match_only_an_added_line_escalates() -> None:
    judge = gate("ERR.R").judge
    assert judge(Value("a", ["ok"]), Value("b", ["ok", "ERROR x"])) == "matched ERR.R"
    assert judge(Value("a", ["ERROR x"]), Value("b", ["ERROR x", "ok"])) is None
    assert judge(Value("a", ["ERROR x"]), Value("b", ["ok", "ERROR x"])) is None
    assert judge(Value("a", ["ERROR x"]), Value("b", ["ERROR x", "ERROR x"])) == "matched ERR.R"
    assert judge(Value("a", ["ERROR x", "ok"]), Value("b", ["ok"])) is None
    assert judge(Value("a", ["ERROR x"]), Value(None)) is None
    assert judge(Value("a"), Value("a", ["ERROR"])) is None


def test_a_hostile_pattern_takes_no_time() -> None:
    began = time.monotonic()
    assert gate("(a+)+$").judge(Value("a"), Value("b", ["a" * 100_000 + "b"])) is None
    assert gate("(.*)*=.*z").judge(Value("a"), Value("b", ["a" * 100_000])) is None
    assert time.monotonic() - began < 1


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@given(LINES, LINES)
def test_added_lines_are_those_that_are_there_more_often(before: list[str], after: list[str]) -> None:
    added = list(added_lines(before, after))
    for line in set(after):
        assert added.count(line) == max(0, after.count(line) - before.count(line))


@given(LINES, LINES, LINES, LINES)
def test_a_diff_can_be_applied_with_patch(
    a: list[str], b: list[str], head: list[str], tail: list[str]
) -> None:
    before, after = head + a + tail, head + b + tail
    if before == after:
        return
    lines = unified_diff(before, after, "n")
    assert lines[:2] == ["--- n", "+++ n"]
    assert applied(before, lines[2:]) == after


def applied(before: list[str], hunks: list[str]) -> list[str]:
    result: list[str] = []
    at = 0
    for line in hunks:
        if line.startswith("@@ "):
            first, _, count = line.split(" ")[1][1:].partition(",")
            start = int(first) - (0 if count == "0" else 1)
            result += before[at:start]
            at = start
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert before[at] == line[1:]
            at += 1
            if line.startswith(" "):
                result.append(line[1:])
    return result + before[at:]


def test_a_large_diff_is_made_by_git_and_says_the_same() -> None:
    before = [f"line {number}" for number in range(12_000)]
    after = [f"LINE {number}" if number % 1_000 == 0 else f"line {number}" for number in range(12_000)]
    lines = unified_diff(before, after, "big")
    assert (
        applied(before, [line.split(" @@ ")[0] if line.startswith("@@") else line for line in lines[2:]])
        == after
    )


def test_without_git_a_large_diff_is_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffs.shutil, "which", lambda _: None)
    before = [f"{number}" for number in range(6_000)]
    after = [f"x{number}" for number in range(6_000)]
    assert "(6000 lines added, 6000 removed; too many" in unified_diff(before, after, "big")[2]


def test_a_git_that_hangs_or_fails_costs_only_the_diff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(diffs.shutil, "which", lambda _: str(fake))
    assert "too many for a diff" in unified_diff(["a"] * 6_000, ["b"] * 6_001, "x")[2]
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([str(fake)], check=True)


@pytest.mark.parametrize("kinds", [60, 100, 2_500])
def test_texts_made_to_slow_difflib_down_stay_quick(kinds: int) -> None:
    # Every second line is equal, from a few kinds: by itself difflib takes many seconds for this.
    before = [
        "A",
        *(str(number // 2 % kinds) if number % 2 else f"a{number}" for number in range(4_990)),
        "Z",
    ]
    after = ["B", *(str(number // 2 % kinds) if number % 2 else f"b{number}" for number in range(4_990)), "Y"]
    began = time.monotonic()
    unified_diff(before, after, "slow")
    assert time.monotonic() - began < 2.5


@given(st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=3_000), max_size=40))
def test_capped_text_fits_and_counts_what_is_missing(lines: list[str]) -> None:
    text, dropped = capped(lines)
    assert len(text.encode()) <= LONGEST_BYTES
    assert 0 <= dropped <= len(lines)
    if dropped == 0:
        assert text == "\n".join(lines)


def test_capped_keeps_both_ends() -> None:
    text, dropped = capped([f"line {number}" for number in range(10_000)])
    kept = text.split("\n")
    assert (kept[0], kept[-1]) == ("line 0", "line 9999")
    assert dropped == 10_000 - (len(kept) - 1)


@given(st.text(st.characters()))
def test_plain_text_steers_nothing(text: str) -> None:
    clean = plain(text)
    assert not any(c < " " and c not in "\n\t" for c in clean)
    assert "\x7f" not in clean
    clean.encode()


@given(st.binary())
def test_any_bytes_become_lines(data: bytes) -> None:
    for line in plain_lines(data):
        assert not any(c < " " and c != "\t" for c in line)
        line.encode()


def test_escape_sequences_go_and_their_text_stays() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bx\x9b") == "red link x"
    assert plain("a\x1b]unclosed\nb") == "a\nb"


def test_difflib_and_ours_agree_on_a_small_change() -> None:
    before, after = list("abcdefgh"), list("abcdXfgh")
    theirs = list(difflib.unified_diff(before, after, "n", "n", lineterm=""))
    assert unified_diff(before, after, "n") == theirs

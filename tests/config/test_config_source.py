"""Texts and files that are no config: each is told with its line, and nothing but a ConfigError comes out."""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.config import (
    Loaded,
    load,
)
from relay.config_source import DEEPEST, LONGEST_NUMBER, SourceMistake, scan
from relay.errors import ConfigError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "access.example.json"
NOW = 1_790_000_000_000


def read(path: Path) -> Loaded:
    return load(path, runtimes=("scripted",), now_ms=NOW, zone=UTC)


# ---- what is no JSON, or no file


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "empty"),
        ("  \n", 1, "empty"),
        ('{\n"a": 1,\n}', 2, "one too many"),
        ('{\n"a": 1\n"b": 2}', 3, "a comma or } is missing"),
        ('{\n// why\n"a": 1}', 2, "no comments"),
        ('{\n# why\n"a": 1}', 2, "no comments"),
        ('{\n"a": 1, /* why */ "b": 2}', 2, "no comments"),
        ("{\n'a': 1}", 2, "double quotes"),
        ("{\n“a”: 1}", 2, "straight double quotes"),
        ('{"a":\nNaN}', 2, "NaN"),
        ('{"a":\n-Infinity}', 2, "-Infinity"),
        ('{"a":\n1e999}', 2, "too large"),
        ('{"a":\n' + "9" * 5_000 + "}", 2, "characters"),
        ('{"a":\n10m}', 2, '"10m"'),
        ('{"a":\n01}', 2, "no number"),
        ('{"a":\nTrue}', 2, "written true"),
        ('{"a":\nsteer}', 2, '"steer"'),
        ('{"a":\n"x\ny"}', 2, "never closed"),
        ('{"a":\n"x', 2, "never closed"),
        ('{"a":\n"\\q"}', 2, "backslash"),
        ('{"a":\n"\\ud800"}', 2, "half a character"),
        ('{"a":\n"\t"}', 2, "control character"),
        ('{"a":\n{', 2, "this { is never closed"),
        ("{}\n{}", 2, "after the end"),
        ('{"a"\n1}', 2, "colon"),
        ('{"a":\n\u00a01}', 2, "invisible character (U+00A0)"),
        ("[" * 100_000, 1, "nested"),
        ('{"a":' * 100_000, 1, "nested"),
    ],
)
def test_text_that_is_no_json_is_told_with_its_line(
    text: str, line: int, words: str, refused: Callable[[object], str]
) -> None:
    told = refused(text)
    assert told.startswith(f"access.json:{line}: ")
    assert words in told
    assert len(told) < 300


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "byte order mark"),
        (b'{\n"a": "\xff"}', "access.json:2: this is not UTF-8"),
        (b"\x00" * 50, "invisible character"),
        (b" " * 50_000_000, "larger than 1 MiB"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    data: bytes, words: str, refused: Callable[[object], str]
) -> None:
    assert words in refused(data)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink("loop", tmp_path / "loop")
    for name, words in [
        ("none", "There is no file"),
        (".", "is no file"),
        ("pipe", "is no file"),
        ("loop", "can't be read"),
        ("x" * 300, "can't be read"),
        ("a\0b", "can't be read"),
    ]:
        with pytest.raises(ConfigError, match=words):
            read(tmp_path / name)
    with pytest.raises(ConfigError, match="is no file"):
        read(Path("/dev/zero"))


def test_a_refused_folder_leaves_no_open_file_behind(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(ConfigError):
            read(tmp_path)
    assert len(os.listdir("/dev/fd")) == before


# ---- the scanner against the standard library's reader

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


@given(values, st.sampled_from([None, 0, 2]), st.booleans())
def test_the_scanner_reads_what_json_reads(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    source = scan(text)
    assert source.value == json.loads(text)
    assert source.twice == ()
    for where, line in source.lines.items():
        if isinstance(where[-1], str):
            assert json.dumps(where[-1], ensure_ascii=ascii_only) in text.split("\n")[line - 1]


def deep(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((deep(one) for one in value.values()), default=0)
    return 1 + max((deep(one) for one in value), default=0) if isinstance(value, list) else 0


@given(
    st.text(st.sampled_from('{}[]:,"\\ \n01-.eEtruefalsn/#u9NaI\ud800'), max_size=40) | st.text(max_size=40)
)
def test_the_scanner_takes_no_more_than_json_and_fails_with_nothing_else(text: str) -> None:
    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        wanted = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(SourceMistake):
            scan(text)
        return
    try:
        source = scan(text)
    except SourceMistake as mistake:
        stricter = ("half a character", "too large", "nested", f"more than {LONGEST_NUMBER}")
        assert any(words in str(mistake) for words in stricter)  # noqa: PT017
        return
    # Of a key that stands twice, json keeps the last and the scanner the first, and says so.
    assert source.value == wanted or source.twice


def test_the_deepest_text_is_read_and_one_deeper_refused() -> None:
    assert deep(scan("[" * DEEPEST + "]" * DEEPEST).value) == DEEPEST
    with pytest.raises(SourceMistake):
        scan("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))


def test_the_deepest_text_is_read_on_a_short_stack() -> None:
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 3 * DEEPEST + 40)
    try:
        with pytest.raises(SourceMistake):
            scan("[" * 10_000)
    finally:
        sys.setrecursionlimit(before)


# ---- whatever the file holds, nothing but ConfigError

TEXT = EXAMPLE.read_text("utf-8")
SCRAPS = [
    "",
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1",
    "-1",
    "1.5",
    "true",
    '"x"',
    "[]",
    "{}",
    "\n",
    "\0",
    "é",
    "9" * 50,
]


@given(st.data())
def test_a_mutated_text_gives_a_config_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(SCRAPS)) + text[end:]
    outcome(tmp_path_factory.getbasetemp() / "mutated.json", text.encode())


def places(value: object, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [where, *(found for key, inner in pairs for found in places(inner, (*where, key)))]


@given(st.data())
def test_a_mutated_tree_gives_a_config_or_mistakes_with_true_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    tree = json.loads(TEXT)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.sampled_from(places(tree)[1:]))
        around = tree
        for key in where[:-1]:
            around = around[key]
        match data.draw(st.sampled_from(["replace", "drop", "rename"])):
            case "replace":
                around[where[-1]] = data.draw(values)
            case "rename" if isinstance(around, dict):
                around[data.draw(texts)] = around.pop(where[-1])
            case _:
                del around[where[-1]]
        if len(places(tree)) == 1:
            break
    outcome(tmp_path_factory.getbasetemp() / "mutated.json", json.dumps(tree, indent=1).encode())


@given(st.binary(max_size=200))
def test_any_bytes_give_a_config_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    assert isinstance(outcome(tmp_path_factory.getbasetemp() / "mutated.json", data), ConfigError)


def outcome(path: Path, data: bytes) -> Loaded | ConfigError:
    path.write_bytes(data)
    try:
        return read(path)
    except ConfigError as error:
        lines = str(error).split("\n")
        assert 1 <= len(lines) <= 11
        for told in lines:
            assert len(told) < 1_500
            assert told.isprintable()
            if not told.startswith("…"):
                assert 1 <= int(told.split(":")[1]) <= data.count(b"\n") + 1
        return error

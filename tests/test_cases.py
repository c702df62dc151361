"""docs/cases.md is true: every reported fault of the tables it covers stands there, and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
LIST = TESTS.parent / "docs" / "cases.md"
REPORTED = TESTS / "data" / "relay-cases.md"
COVERED = "DLFRCMS"
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.*)$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows(path: Path) -> dict[str, list[str]]:
    """Number → its cells."""
    found: dict[str, list[str]] = {}
    for number, rest in ROW.findall(path.read_text("utf-8")):
        assert number not in found, f"{number} stands twice in {path.name}"
        found[number] = [cell.strip() for cell in rest.rstrip().rstrip("|").split(" | ")]
    return found


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


def test_every_reported_fault_is_in_the_list_in_the_same_order() -> None:
    wanted = [number for number in rows(REPORTED) if number[0] in COVERED]
    assert len(wanted) > 50
    assert list(rows(LIST)) == wanted


@pytest.mark.parametrize("number", sorted(rows(LIST)))
def test_each_has_a_test_that_exists_or_says_what_it_waits_for(number: str) -> None:
    right, tests = rows(LIST)[number]
    assert right
    named = NAMED.findall(tests)
    if not named:
        assert re.fullmatch(r"not yet: [\w ]+, issue \d", tests)
    for path, name in named:
        assert (TESTS / path).is_file(), path
        assert name in names_in(path), f"{path} has no {name}"
    assert len(named) == tests.count("::"), "a name that can't be read"


def test_a_test_that_is_named_by_a_number_is_in_the_list() -> None:
    """A row may be held by more tests than it lists, but by none that thinks it is another's."""
    known = rows(LIST)
    for path in TESTS.rglob("test_*.py"):
        for name in names_in(str(path.relative_to(TESTS))):
            numbers = re.match(r"test_((?:[dlfrcms]\d{1,2}_)+)", name)
            for number in numbers[1].upper().split("_")[:-1] if numbers else ():
                assert number in known, f"{path.name}::{name}"

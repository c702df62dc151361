"""One catalogue of commands: each can be typed, is in the help and the handbook, and can be filled in as a slash
command that Discord takes; and what is filled in is exactly what would have been typed."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fakes.discord.conformity import SPEC
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from relay.behaviours import Command, discover
from relay.behaviours.commands import Option, Suggestion, fitting, quoted
from relay.surfaces.discord import slash
from watch_supervisor.typed_line import words

COMMANDS = tuple(command for behaviour in discover() for command in behaviour.commands)
HANDBOOK = (Path(__file__).parents[2] / "docs" / "using.md").read_text("utf-8")
each_command = pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])


def test_no_word_is_taken_twice() -> None:
    names = [command.name for command in COMMANDS]
    assert len(names) == len(set(names))


@each_command
def test_it_stands_in_the_handbook(command: Command) -> None:
    assert re.search(rf"`{command.word}\b", HANDBOOK), f"docs/using.md says nothing of {command.word}"


@each_command
def test_whatever_can_be_typed_after_it_can_be_filled_in(command: Command) -> None:
    takes_more = command.usage.strip() != command.word
    assert bool(command.to_fill_in) == takes_more
    assert command.usage.startswith(command.word)


@each_command
def test_only_the_last_of_its_options_is_the_rest_of_a_line(command: Command) -> None:
    loose = [o for o in command.to_fill_in if o.kind == "text" and not o.quoted and not o.choices]
    assert loose in ([], list(command.to_fill_in[-1:]))
    for option in command.to_fill_in:
        assert not (option.choices and option.suggests), "Discord takes one or the other"


@each_command
def test_with_nothing_filled_in_it_is_the_bare_word(command: Command) -> None:
    assert command.line({}) == command.word


@pytest.fixture(scope="module")
def described() -> Draft202012Validator:
    """Discord's own description of what it is told of commands."""
    known: dict[str, Any] = json.loads(SPEC.read_text("utf-8"))
    resource = Resource(contents=known, specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource("urn:discord", resource)
    way = "paths/~1applications~1%7Bapplication_id%7D~1commands/put/requestBody/content/application~1json/schema"
    return Draft202012Validator({"$ref": f"urn:discord#/{way}"}, registry=registry)


def test_the_set_is_what_discord_describes(described: Draft202012Validator) -> None:
    wanted = slash.definitions(COMMANDS)
    assert [error.message for error in described.iter_errors(wanted)] == []
    broken = [{**wanted[0], "description": "x" * 101}]
    assert list(described.iter_errors(broken)), "the description sees what is wrong"


def test_a_new_command_can_be_filled_in_without_a_word_about_how(described: Draft202012Validator) -> None:
    new = Command("!snooze", "!snooze NAME [1h]", "a very long text " * 20)
    (made,) = slash.definitions([new])
    assert list(described.iter_errors([made])) == []
    assert [option["name"] for option in made["options"]] == ["line"]
    assert new.line({"line": "notes  2h"}) == "!snooze notes 2h"


def test_required_options_come_first() -> None:
    options = (Option("a", "a"), Option("b", "b", required=True))
    (made,) = slash.definitions([Command("!x", "!x B [A]", "x", options=options)])
    assert [option["name"] for option in made["options"]] == ["b", "a"]


@given(st.text(max_size=60))
def test_what_is_put_in_quotes_is_read_back_as_one_word(text: str) -> None:
    option = Option("file", "x", before="--file", quoted=True)
    line = option.typed(text)
    clean = " ".join(text.replace("\r", " ").replace("\0", "").split())
    if not clean:
        assert line == ""
        return
    assert line is not None
    found = words(line)
    assert [word.option for word in found] == ["file", None]
    assert found[1].text == clean
    assert "\n" not in line


@given(st.text(alphabet="ab \"'\\`-=—“”", max_size=30), st.text(alphabet="ab \"'\\`-=—“”", max_size=30))
def test_two_values_stay_two(one: str, other: str) -> None:
    clean = [" ".join(text.split()) for text in (one, other)]
    line = " ".join(f"--x {quoted(text)}" for text in clean)
    assert [word.text for word in words(line)][1::2] == clean


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"n": 3}, "!x drop 3"),
        ({"on": True}, "!x --on"),
        ({"on": False}, "!x"),
        ({"text": "  "}, "!x"),
        ({"text": "a\n!stop all"}, "!x a !stop all"),
        ({"n": True}, None),
        ({"n": "3"}, None),
        ({"on": "yes"}, None),
        ({"text": 3}, None),
        ({"text": True}, None),
        ({"other": "x"}, None),
    ],
    ids=str,
)
def test_an_option_takes_its_own_kind_and_no_other_is_known(values: dict[str, Any], line: str | None) -> None:
    options = (
        Option("n", "n", "number", before="drop"),
        Option("on", "on", "switch", before="--on"),
        Option("text", "text"),
    )
    assert Command("!x", "!x …", "x", options=options).line(values) == line


def test_what_begins_so_is_offered_first_and_never_more_than_discord_shows() -> None:
    known = [Suggestion(f"w{n}", f"w{n} · file") for n in range(40)] + [
        Suggestion("notes", "notes · by Wanda")
    ]
    assert len(fitting(known, "")) == 25
    assert [one.value for one in fitting(known, "NO")] == ["notes"]
    assert [one.value for one in fitting(known, "wanda")] == ["notes"]
    assert [one.value for one in fitting(known, "39")] == ["w39"]
    assert fitting(known, "w3")[0].value == "w3"


def test_odd_data_of_another_server_is_read_without_harm() -> None:
    for data in ({}, {"name": 3, "options": "x"}, {"name": "x", "options": [{"name": 1}, 7, None]}):
        name, values = slash.filled_in(data)
        assert isinstance(name, str)
        assert Command("!x", "!x A", "x").line(values) in ("!x", None)
        assert slash.being_typed(data) == ("", "")
        assert slash.choices([Suggestion("a", "a")], data) == [{"name": "a", "value": "a"}]
    assert slash.choices([Suggestion("", "a"), Suggestion("x" * 101, "a"), Suggestion("a", " ")], {}) == []

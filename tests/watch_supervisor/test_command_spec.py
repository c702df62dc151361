"""A command is read byte for byte, its options strictly; where commands can't be run it is refused as a whole."""

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from watch_supervisor.spec import SpecError, WatchSpec, describe, from_fields, parse_line, render

NOW = 1_800_000_000_000


def read(line: str) -> WatchSpec:
    return parse_line(line, now_ms=NOW, zone=UTC, commands=True)


def refused(line: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read(line)
    return caught.value


def test_the_forms_of_the_design_are_read() -> None:
    wandb = read("wandb --every 30s --match 'done' --once -- wandb status run-7 --json")
    assert (
        wandb.name,
        wandb.source,
        wandb.every_ms,
        wandb.fire,
        wandb.match,
        wandb.once,
        wandb.window_ms,
    ) == (*("wandb", "poll", 30_000, "match", "done", True, 0),)
    assert wandb.command == "wandb status run-7 --json"
    build = read("build --exit -- ./train.sh")
    assert (build.source, build.fire, build.once, build.window_ms, build.command) == (
        *("process", "exit", True, 0, "./train.sh"),
    )
    log = read("log --restart on-failure -- tail -F error.log")
    assert (log.source, log.fire, log.once, log.window_ms, log.restart) == (
        *("process", "each-line", False, 5_000, "on-failure"),
    )
    assert read("disk --every 10m -- df -h /").fire == "change"
    assert read("wandb every=30s ttl=2h max=5 once -- x").every_ms == 30_000
    assert read("gpu --every 1m --match 'util (\\d+)' --below 20 -- nvidia-smi").below == "20"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("b -- echo 'a  b'   --exit  \"it's", "echo 'a  b'   --exit  \"it's"),
        ("b -- a -- b", "a -- b"),
        ("b — ./train.sh — x", "./train.sh — x"),
        ("b -- for i in 1 2\n\tdo echo $i\ndone", "for i in 1 2\n\tdo echo $i\ndone"),
        ("b --   x  ", "x"),
        ("b -- echo “quoted” “open", "echo “quoted” “open"),
    ],
    ids=["quotes", "dashes", "phone", "lines", "blanks", "curly"],
)
def test_what_follows_the_dashes_is_the_command_byte_for_byte(line: str, command: str) -> None:
    assert read(line).command == command


def test_a_long_dash_in_a_reminder_stays_a_dash() -> None:
    assert read("--in 2h tea — then rest").text == "tea — then rest"
    assert refused("--in 2h tea -- then rest").option == "command"


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("-- x", "name"),
        ("b --", "command"),
        ("b --exit", "command"),
        ("b --every 30s", "command"),
        ("b --every -- x", "every"),
        ("b --every 0s -- x", "every"),
        ("b --every often -- x", "every"),
        ("b --every 30s --exit -- x", "exit"),
        ("b --every 30s --restart always -- x", "restart"),
        ("b --every 30s --fire exit -- x", "fire"),
        ("b --exit --match x -- y", "match"),
        ("b --exit --max 3 -- y", "max"),
        ("b --exit --window 3s -- y", "window"),
        ("b --exit --once=no -- y", "once"),
        ("b --exit --restart always -- y", "restart"),
        ("b --fire exit --restart always -- y", "restart"),
        ("b --restart sometimes -- y", "restart"),
        ("b --fire sometimes -- y", "fire"),
        ("b --fire match -- y", "match"),
        ("b --fire change --match x -- y", "fire"),
        ("b --match (?=x) -- y", "match"),
        ("b --text x -- y", "text"),
        ("b --file a -- y", "command"),
        ("b --file a --restart always", "restart"),
        ("b --tail a --every 3s", "every"),
        ("b --in 2h --exit", "exit"),
        ("b --keep -- y", "keep"),
        ("b --net none -- y", "net"),
        ("b -- echo \x1b[2J", "command"),
        ("b -- a\rb", "command"),
        ("b -- " + "x" * 8_001, None),
    ],
)
def test_what_cannot_be_armed_is_refused_by_name(line: str, option: str | None) -> None:
    error = refused(line)
    assert error.option == option
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    "line",
    ["w --every 30s -- x", "b --exit -- x", "b -- x", "b — x", "b --restart always -- x", "w every=3s x"],
)
def test_where_commands_cannot_be_run_they_are_refused_as_not_there_yet(line: str) -> None:
    with pytest.raises(SpecError, match="isn't something this relay can watch with yet") as caught:
        parse_line(line, now_ms=NOW, zone=UTC)
    assert "train.sh" not in str(caught.value), "no form is shown that would be refused too"
    with pytest.raises(SpecError, match="isn't something this relay can watch with yet"):
        from_fields({"name": "x", "command": "df", "every": "10m"}, now_ms=NOW, zone=UTC)


def test_fields_read_as_the_line_does() -> None:
    fields = {"name": "disk", "every": "10m", "command": "df -h /", "fire": "change", "once": None}
    spec = from_fields(fields, now_ms=NOW, zone=UTC, commands=True)
    assert spec == read("disk --every 10m -- df -h /")
    exit = from_fields({"name": "b", "exit": True, "command": "./x"}, now_ms=NOW, zone=UTC, commands=True)
    assert exit == read("b --exit -- ./x")
    assert read("b --fire exit -- ./x") == exit
    with pytest.raises(SpecError, match="8000 characters"):
        from_fields({"name": "b", "command": "x" * 8_001}, now_ms=NOW, zone=UTC, commands=True)
    with pytest.raises(SpecError, match="command is missing"):
        from_fields({"name": "b", "command": ["x"]}, now_ms=NOW, zone=UTC, commands=True)


def test_descriptions_are_one_short_line() -> None:
    assert describe(read("b --exit -- ./train.sh")) == "command ./train.sh · on its exit"
    assert describe(read("w --every 30s --match done --once -- wandb status")) == (
        "every 30 s: wandb status · on match done · once"
    )
    assert describe(read("l --restart always --ttl 2h --notify -- tail -F x")) == (
        "command tail -F x · each line · started again · for 2 h · notice only"
    )
    assert "\n" not in describe(read("b -- a\nb"))


COMMANDS = (
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40)
    .map(str.strip)
    .filter(bool)
)


@given(
    COMMANDS,
    st.sampled_from(
        ["--exit", "--every 30s", '--every 1h --match "a b" --below 3', "--match E", "--fire change"]
    ),
    st.sampled_from(["", "--ttl 2h", "--notify", "--hours 08:00-20:00 --tz Europe/Berlin", "--once"]),
)
def test_what_is_rendered_is_read_as_the_same(command: str, source: str, more: str) -> None:
    spec = read(f"b {source} {more} -- {command}")
    assert spec.command == command
    assert read(render(spec)) == spec


def test_a_spec_made_by_hand_is_checked() -> None:
    assert WatchSpec(name="n", source="process", command="x").fire == "each-line"
    assert WatchSpec(name="n", source="poll", command="x", every_ms=1_000).fire == "change"
    for wrong in (
        {"source": "process"},
        {"source": "poll", "command": "x"},
        {"source": "process", "command": "x", "every_ms": 1},
        {"source": "file", "path": "a", "command": "x"},
    ):
        with pytest.raises(ValidationError):
            WatchSpec(name="n", **wrong)  # type: ignore[arg-type]

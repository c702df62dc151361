"""access.json: what it is read as, and that every mistake in it is told with its line, its place and the right form."""

import json
import re
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from relay.config import (
    Access,
    Agent,
    Loaded,
    Room,
    default,
    load,
    schema_text,
    state_folder,
)
from relay.config_model import Part

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "access.example.json"
NOW = 1_790_000_000_000


def read(path: Path) -> Loaded:
    return load(path, runtimes=("scripted",), now_ms=NOW, zone=UTC)


def small(**room: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "agents": {"scout": {"runtime": "scripted"}},
        "rooms": {"web:main": {"agent": "scout", "workspace": "w", **room}},
    }


# ---- what is right


def test_the_example_loads_and_says_what_the_documents_say() -> None:
    access = read(EXAMPLE).access
    assert access.limits.turn_silence == 600_000
    assert access.limits.held_watch == 86_400_000
    assert access.limits.agents_memory == 3 << 30
    room = access.room("discord:200000000000000001")
    assert room is not None
    assert room.workspace == Path.home() / "repos" / "project-x"
    assert room.profile.tiers.human.preset == "strict"
    assert room.watches[0] == {"name": "notes", "file": "notes_and_todo.md"}
    assert access.room("web:other") is None


def test_the_defaults_are_those_of_the_example(write: Callable[[object], Path]) -> None:
    given, least = read(EXAMPLE).access, read(write(small())).access
    for part in ("limits", "budgets", "http", "notebooks", "redaction"):
        assert getattr(given, part) == getattr(least, part)
    assert least.surfaces.web.port == 8700
    assert least.surfaces.discord is None


def test_a_room_takes_from_its_place_what_it_leaves_out(write: Callable[[object], Path]) -> None:
    value = small()
    value["surfaces"] = {"discord": {}}
    value["rooms"]["discord:5"] = {"agent": "scout", "workspace": "/w"}
    value["rooms"]["dm:"] = {"agent": "scout", "workspace": "/w", "require_mention": True}
    rooms = read(write(value)).access.rooms
    assert [(room.label, room.require_mention) for room in rooms.values()] == [
        ("main", False),
        ("5", True),
        ("dm", True),
    ]


def test_a_relative_folder_starts_at_the_files_folder(
    write: Callable[[object], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write({**small(), "state": "../state"})
    monkeypatch.chdir(tmp_path)
    for named in (path, Path("access.json")):
        access = read(named).access
        assert access.rooms["web:main"].workspace == tmp_path / "w"
        assert access.state == tmp_path.parent / "state"


def test_without_a_file_there_is_the_page_and_the_scripted_agent(tmp_path: Path) -> None:
    access = default(workspace=tmp_path)
    assert list(access.rooms) == ["web:main"]
    assert access.rooms["web:main"].workspace == tmp_path
    assert access.agents["scout"].runtime == "scripted"
    assert default(workspace=Path("workspace")).rooms["web:main"].workspace.is_absolute()


def test_what_was_loaded_cannot_be_changed() -> None:
    access = read(EXAMPLE).access
    with pytest.raises(ValidationError):
        access.version = 1


def test_a_file_written_from_a_model_loads_as_that_model(write: Callable[[object], Path]) -> None:
    access = read(EXAMPLE).access
    assert read(write(access.model_dump(mode="json"))).access == access


def test_the_digest_is_that_of_the_bytes(write: Callable[[object], Path]) -> None:
    first = read(write(json.dumps(small())))
    second = read(write(json.dumps(small()) + "\n"))
    assert first.access == second.access
    assert first.digest != second.digest
    assert len(first.digest) == 64


def test_the_record_lies_where_the_user_keeps_state() -> None:
    access, home = default(workspace=Path("/w")), Path("/home/ada")
    assert state_folder(access, {}, home) == home / ".local/state/relay"
    assert state_folder(access, {"XDG_STATE_HOME": "/s"}, home) == Path("/s/relay")
    assert state_folder(access, {"XDG_STATE_HOME": "relative"}, home) == home / ".local/state/relay"
    assert state_folder(access.model_copy(update={"state": Path("/r")}), {}, home) == Path("/r")


# ---- what is wrong, and how it is told


def test_a_mistake_names_file_line_place_and_the_right_form(refused: Callable[[object], str]) -> None:
    text = json.dumps(small(busy="stear"), indent=1)
    line = 1 + text[: text.index('"busy"')].count("\n")
    assert refused(text) == (
        f'access.json:{line}: rooms.web:main.busy: "stear" is not one of steer, queue, interrupt; did you mean "steer"?'
    )


def with_part(**part: Any) -> dict[str, Any]:
    return {**small(), **part}


WRONG = [
    (
        small(watches=[{"name": "a", "every": "10m", "command": "df"}]),
        "rooms.web:main.watches[0].every: ",
        "yet",
    ),
    (small(watches=[{"name": "a", "command": "df"}]), "rooms.web:main.watches[0].command: ", "yet"),
    (small(watches=[{"name": "a", "file": "f", "ttl": 5}]), "rooms.web:main.watches[0].ttl: ", "unit"),
    (small(watches=[{"name": "a", "file": "f"}, {"name": "a", "in": "1h"}]), "watches[1].name: ", "already"),
    (small(watches=[{"name": "e\u0301", "file": "f"}]), "watches[0].name: ", "combining"),
    (small(watches=[{"in": "1h"}]), "rooms.web:main.watches[0]: ", "needs a name"),
    (small(watches=[{"name": "a", "file": "f", "match": "("}]), "rooms.web:main.watches[0]", "match"),
    (small(watches=["a"]), "rooms.web:main.watches[0]: ", "an object in { }, not a text"),
    (small(agent="scut"), "rooms.web:main.agent: ", 'did you mean "scout"?'),
    (small(humans=["ada"]), "rooms.web:main.humans[0]: ", "not in people"),
    (small(humans=["owner"]), "rooms.web:main.humans[0]: ", "take this out"),
    (small(approvers=["owner", "owner"]), "rooms.web:main.approvers[1]: ", "twice"),
    (small(peers=["x"]), "rooms.web:main.peers[0]: ", "not in peers"),
    (small(workspace=""), "rooms.web:main.workspace: ", "a folder"),
    (small(workspace="a\nb"), "rooms.web:main.workspace: ", "line break"),
    (small(workspace="~nobody-of-that-name/x"), "rooms.web:main.workspace: ", "home folder"),
    (small(label="a\nb"), "rooms.web:main.label: ", "line break"),
    (small(require_mention="yes"), "rooms.web:main.require_mention: ", "true or false"),
    (small(profile={"preset": "free"}), "rooms.web:main.profile.preset: ", "ask-per-edit"),
    (small(profile={"allow": ["Bash(npm test"]}), "rooms.web:main.profile.allow[0]: ", "Bash(npm test*)"),
    (small(profile={"tiers": {"owner": {}}}), "profile.tiers.owner: ", "known are human, peer, notebook"),
    (small(bussy="queue"), "rooms.web:main.bussy: ", 'did you mean "busy"?'),
    (with_part(version=2), "version: ", "write 1"),
    (with_part(version=True), "version: ", "write 1"),
    (with_part(version=1.0), "version: ", "write 1"),
    (with_part(rooms={}), "rooms: ", "must name a room"),
    (with_part(rooms={"irc:x": {"agent": "scout", "workspace": "w"}}), "rooms.irc:x: ", "is not a room"),
    (with_part(rooms={"discord:1": {"agent": "scout", "workspace": "w"}}), "rooms.discord:1: ", "surfaces"),
    (with_part(rooms={"web:main": {"agent": "scout"}}), "rooms.web:main.workspace: ", "is missing; write"),
    (with_part(agents={"scout": {"runtime": "claude"}}), "agents.scout.runtime: ", "there is: scripted"),
    (with_part(limits={"queue": 2.0}), "limits.queue: ", "whole number from 1 to 1000, not 2.0"),
    (with_part(limits={"queue": True}), "limits.queue: ", "not true"),
    (with_part(limits={"queue": "20"}), "limits.queue: ", "whole number"),
    (with_part(limits={"turn_silence": 600}), "limits.turn_silence: ", '"10m"'),
    (with_part(limits={"turn_silence": "10"}), "limits.turn_silence: ", '"10m"'),
    (with_part(limits={"turn_silence": "2d"}), "limits.turn_silence: ", "from 1s to 1d"),
    (with_part(limits={"turn_silence": "2h", "turn_total": "1h"}), "limits.turn_total: ", "shorter"),
    (with_part(limits={"agents_memory": "3GB"}), "limits.agents_memory: ", '"3GiB"'),
    (with_part(limits={"agents_memory": "1KiB"}), "limits.agents_memory: ", "from 64MiB"),
    (with_part(budgets={"day": {"usd": -1}}), "budgets.day.usd: ", "from 0"),
    (with_part(budgets={"thread": {}}), "budgets.thread.turns_per_hour: ", "is missing"),
    (with_part(owner={"discord": 100000000000000001}), "owner.discord: ", "in quotes"),
    (with_part(owner={"discord": "ada"}), "owner.discord: ", "digits in quotes"),
    (with_part(owner={"slack": "1"}), "owner.slack: ", "there are discord and web"),
    (with_part(people={"ada": {"role": "owner"}}), "people.ada.role: ", "human"),
    (with_part(people={"a b": {}}), "people.a b: ", "one word"),
    (with_part(people={"a\nb": {}}), "people.a b: ", "one word"),
    (with_part(people={"owner": {}}), "people.owner: ", "another name"),
    (with_part(people={"a": {"discord": "1"}}, owner={"discord": "1"}), "people.a.discord: ", "id of owner"),
    (with_part(people={"a": {}}, peers={"a": {}}), "peers.a: ", "another name"),
    (with_part(surfaces={"web": {"port": 70000}}), "surfaces.web.port: ", "65535"),
    (with_part(surfaces=[]), "surfaces: ", "an object in { }, not a list"),
    (with_part(notebooks={"servers": {"a": {"url": "ftp://x"}}}), "notebooks.servers.a.url: ", '"auto"'),
    ([], "", "must be an object in { }, not a list"),
    ("null", "", "not null"),
]


@pytest.mark.parametrize(("value", "place", "words"), WRONG)
def test_a_wrong_value_is_told_with_its_place(
    value: object, place: str, words: str, refused: Callable[[object], str]
) -> None:
    told = refused(value)
    assert place in told
    assert words in told
    assert len(told.splitlines()) == 1


def test_who_is_a_bot_never_approves(refused: Callable[[object], str]) -> None:
    told = refused(
        {**small(approvers=["b"], humans=["b"], peers=["ada"]), "peers": {"b": {}}, "people": {"ada": {}}}
    )
    assert told.count("\n") == 2
    assert "bots never approve" in told
    assert "bots stand in peers" in told
    assert "people stand in humans" in told


@pytest.mark.parametrize(
    "value",
    [
        with_part(surfaces={"discord": {"token_env": "MTk4.Cl2FMQ.s3cr3t"}}),
        with_part(surfaces={"discord": {"token": "MTk4.Cl2FMQ.s3cr3t"}}),
        with_part(agents={"scout": {"runtime": "scripted", "env": ["sk-s3cr3t"]}}),
        with_part(agents={"scout": {"runtime": "scripted", "api_key": "sk-s3cr3t"}}),
        with_part(notebooks={"servers": {"a": {"url": "http://h:1/?token=s3cr3t"}}}),
        with_part(notebooks={"servers": {"a": {"url": "http://me:s3cr3t@h:1/"}}}),
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(
    value: object, refused: Callable[[object], str]
) -> None:
    assert "s3cr3t" not in refused(value)


def test_all_mistakes_come_at_once_in_the_order_of_the_file(refused: Callable[[object], str]) -> None:
    value = small(busy="x", agent="who", watches=[{"name": "a", "exit": True}])
    value["limits"] = {"queue": 0}
    lines = refused(value).splitlines()
    places = [line.split(": ")[1] for line in lines]
    assert places == [
        "rooms.web:main.agent",
        "rooms.web:main.busy",
        "rooms.web:main.watches[0].exit",
        "limits.queue",
    ]
    numbers = [int(line.split(":")[1]) for line in lines]
    assert numbers == sorted(numbers)


def test_of_many_mistakes_ten_are_told_and_the_rest_counted(refused: Callable[[object], str]) -> None:
    lines = refused({**small(), **{f"key-{n}": n for n in range(25)}}).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "… and 15 more."


def test_a_key_that_stands_twice_is_told_with_both_lines(refused: Callable[[object], str]) -> None:
    text = '{"version": 1,\n"agents": {"scout": {"runtime": "scripted"}},\n"rooms": {\n'
    room = '"web:main": {"agent": "scout", "workspace": "w"}'
    told = refused(f"{text}{room},\n{room}}}}}")
    assert told.startswith("access.json:5: rooms.web:main: stands here a second time; the first is in line 4")


def test_a_moment_that_has_passed_does_not_keep_the_relay_from_starting(
    write: Callable[[object], Path],
) -> None:
    watches = [{"name": "a", "at": "2020-02-03T09:30"}, {"name": "b", "at": "09:30"}]
    loaded = read(write(small(watches=watches)))
    assert len(loaded.access.rooms["web:main"].watches) == 2
    assert len(loaded.said) == 1
    assert "rooms.web:main.watches[0]" in loaded.said[0]


def test_a_moment_that_is_none_is_still_a_mistake(refused: Callable[[object], str]) -> None:
    assert "watches[0].at: " in refused(small(watches=[{"name": "a", "at": "25:99"}]))


# ---- the documents


def test_the_schema_in_the_documents_is_current() -> None:
    assert (ROOT / "docs" / "access.schema.json").read_text("utf-8") == schema_text()


def test_the_schema_shows_defaults_as_the_file_holds_them() -> None:
    limits = json.loads(schema_text())["$defs"]["Limits"]["properties"]
    assert limits["turn_silence"]["default"] == "10m"
    assert limits["agents_memory"]["default"] == "3GiB"


def test_every_key_is_in_the_operators_document() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    code = " ".join(re.findall("`[^`\n]+`", text))
    missing = [
        f"{part.__name__}.{key}"
        for part in Part.__subclasses__()
        for key in part.model_fields
        if re.search(rf"\b{key}\b", code) is None
    ]
    assert missing == []


def test_the_limits_in_the_operators_document_are_true() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    schema = json.loads(schema_text())["$defs"]["Limits"]["properties"]
    for key, field in schema.items():
        low, high = field.get("examples") or (field["minimum"], field["maximum"])
        default_text = f'"{field["default"]}"' if isinstance(field["default"], str) else str(field["default"])
        default_text = default_text.replace('"1d"', '"24h"')
        assert f"| `{key}` | `{default_text}` | {low} | {high} |".replace("`", "") in text.replace("`", "")


def test_the_smallest_file_in_the_operators_document_loads(write: Callable[[object], Path]) -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    first = text.split("```json\n")[1].split("```")[0]
    assert read(write(first)).access.rooms["web:main"].agent == "scout"
    watches = json.loads("{" + text.split("```json\n")[2].split("```")[0] + "}")
    assert len(read(write(small(**watches))).access.rooms["web:main"].watches) == 7


def test_in_code_times_are_milliseconds() -> None:
    room = Room(agent="scout", workspace=Path("/w"))
    access = Access.model_validate(
        {
            "version": 1,
            "agents": {"scout": Agent(runtime="scripted")},
            "rooms": {"web:main": room},
            "limits": {"turn_silence": 50},
        }
    )
    assert access.limits.turn_silence == 50


def test_the_owner_s_direct_messages_have_a_strict_room_where_none_is_named(
    write: Callable[[object], Path],
) -> None:
    value = small()
    assert "dm:" not in read(write(value)).access.rooms
    value["owner"] = {"discord": "100000000000000001"}
    assert "dm:" not in read(write(value)).access.rooms, "there is no Discord"
    value["surfaces"] = {"discord": {}}
    value["rooms"]["discord:200000000000000001"] = {"agent": "scout", "workspace": "x"}
    rooms = read(write(value)).access.rooms
    assert rooms["dm:"].profile.preset == "strict"
    assert rooms["dm:"].workspace == rooms["discord:200000000000000001"].workspace
    assert not rooms["dm:"].require_mention
    value["rooms"]["dm:"] = {"agent": "scout", "workspace": "y", "profile": {"preset": "auto"}}
    assert read(write(value)).access.rooms["dm:"].profile.preset == "auto"


def test_what_has_no_effect_yet_says_so_when_it_is_set(write: Callable[[object], Path]) -> None:
    limits, budgets = {"agents_memory": "1GiB", "agent_idle": "1m"}, {"day": {"usd": 5}}
    room = small(wake_on_changes=True, notebooks=["*.ipynb"])
    said = read(write({**room, "limits": limits, "budgets": budgets})).said
    assert [line.rpartition(": ")[0] for line in said] == [
        "budgets.day.usd",
        "limits.agents_memory",
        "limits.agent_idle",
        "rooms.web:main.wake_on_changes",
        "rooms.web:main.notebooks",
    ]
    assert read(write(small())).said == ()

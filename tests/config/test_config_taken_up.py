"""A change that is taken up while the relay runs, the file of secrets beside it, and who somebody is in a room."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.config import (
    Access,
    ConfigWatch,
    Loaded,
    env_of,
    load,
    role_of,
)
from relay.errors import ConfigError

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


# ---- taken up while the relay runs


def put(path: Path, text: str, at_ms: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(at_ms * 1_000_000, at_ms * 1_000_000))


def watch(path: Path, clock: Any) -> ConfigWatch:
    return ConfigWatch(path, runtimes=("scripted",), zone=UTC, clock=clock, last=read(path))


def test_a_change_is_taken_up_once(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(small()))
    look = watch(path, clock)
    assert look.poll() is None
    path.write_text(json.dumps(small(busy="queue")))
    found = look.poll()
    assert isinstance(found, Loaded)
    assert found.access.rooms["web:main"].busy == "queue"
    assert look.poll() is None


def test_a_touched_file_is_no_change(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(small()))
    look = watch(path, clock)
    for at_ms in (NOW - 10_000, NOW - 20_000):
        put(path, json.dumps(small()), at_ms)
        assert look.poll() is None


def test_a_broken_file_is_told_once_and_its_repair_too(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    good = json.dumps(small())
    path.write_text(good)
    look = watch(path, clock)
    path.write_text(good[:-3])
    assert look.poll() is None  # an editor may be in the middle of writing
    assert isinstance(look.poll(), ConfigError)
    assert look.poll() is None
    path.unlink()
    assert look.poll() is None
    assert isinstance(look.poll(), ConfigError)
    path.write_text(good)
    again = look.poll()
    assert isinstance(again, Loaded)
    assert look.poll() is None


def test_a_half_written_file_is_never_told(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    good = json.dumps(small())
    path.write_text(good)
    look = watch(path, clock)
    for half in ("", good[:10], good[:40]):
        path.write_text(half)
        assert look.poll() is None
    path.write_text(good)
    assert look.poll() is None


def test_a_missing_file_is_told(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(small()))
    look = watch(path, clock)
    path.unlink()
    told = [look.poll() for _ in range(4)]
    assert [isinstance(one, ConfigError) for one in told] == [False, True, False, False]


def test_a_second_write_with_the_same_time_and_size_is_seen(tmp_path: Path, clock: Any) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(small(label="one")))
    clock.ms = path.stat().st_mtime_ns // 1_000_000
    look = watch(path, clock)
    assert look.poll() is None
    path.write_text(json.dumps(small(label="two")))
    put(path, json.dumps(small(label="two")), clock.ms)
    assert isinstance(look.poll(), Loaded)


def test_an_old_unchanged_file_is_not_read_again(
    tmp_path: Path, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(small()))
    look = watch(path, clock)
    clock.ms = path.stat().st_ctime_ns // 1_000_000 + 60_000
    assert look.poll() is None
    monkeypatch.setattr("relay.config.load", lambda *_, **__: pytest.fail("it was read again"))
    assert [look.poll() for _ in range(100)] == [None] * 100


# ---- the file of secrets


def env_file(folder: Path, text: str | bytes, mode: int = 0o600) -> None:
    path = folder / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)


def test_an_owner_only_env_fills_what_is_not_set(tmp_path: Path) -> None:
    env_file(tmp_path, "A=1\nexport B='x y'\n# no\nC=$A\nD=\n")
    assert env_of(tmp_path, {"A": "0", "D": ""}) == ({"A": "0", "B": "x y", "C": "$A", "D": ""}, None)
    (tmp_path / ".env").chmod(0o400)
    assert env_of(tmp_path, {})[0]["A"] == "1"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o700, 0o777, 0o620])
def test_an_env_that_others_may_read_is_left_alone_and_said(tmp_path: Path, mode: int) -> None:
    env_file(tmp_path, "A=s3cr3t\n", mode)
    env, said = env_of(tmp_path, {"B": "1"})
    assert env == {"B": "1"}
    assert said is not None
    assert "chmod 600" in said
    assert "s3cr3t" not in said


def test_no_env_is_nothing_to_say(tmp_path: Path) -> None:
    base = {"B": "1"}
    env, said = env_of(tmp_path, base)
    assert (env, said) == (base, None)
    assert env is not base


def test_an_odd_env_gives_what_it_can_and_says_the_rest(tmp_path: Path) -> None:
    env_file(tmp_path, "A=1\nthis is no line\nB=2\nC=\0s3cr3t\n")
    env, said = env_of(tmp_path, {})
    assert env == {"A": "1", "B": "2"}
    assert said is not None
    assert "line 2, 4" in said
    assert "s3cr3t" not in said
    for data in (b"A=\xff", b"A=" + b"x" * 300_000):
        env_file(tmp_path, data)
        env, said = env_of(tmp_path, {})
        assert env == {}
        assert said


def test_an_env_that_is_no_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    assert env_of(tmp_path, {})[0] == {}
    (tmp_path / ".env").rmdir()
    os.mkfifo(tmp_path / ".env", 0o600)
    env, said = env_of(tmp_path, {})
    assert env == {}
    assert said is not None
    assert "no file" in said


@given(st.binary(max_size=100) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_env_file_is_survived(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    env_file(tmp_path_factory.getbasetemp(), data)
    env, _ = env_of(tmp_path_factory.getbasetemp(), {"A": "1"})
    assert env["A"] == "1"
    assert not any("\0" in name + value for name, value in env.items())


@contextmanager
def without_privilege() -> Iterator[None]:
    """Root reads every file; as nobody else does."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_an_unreadable_file_is_told_with_what_to_run(write: Callable[[object], Path], tmp_path: Path) -> None:
    path = write(small())
    path.chmod(0)
    env_file(tmp_path, "A=1\n", 0)
    with without_privilege():
        with pytest.raises(ConfigError, match="may not be read") as caught:
            read(path)
        env, said = env_of(tmp_path, {})
    assert "chmod" in caught.value.advice
    assert env == {}
    assert said is not None
    assert "can't be read" in said


# ---- who somebody is


@pytest.fixture
def access(write: Callable[[object], Path]) -> Access:
    value = small(humans=["ada", "bob"], peers=["b"], webhooks=["77"])
    value["owner"] = {"discord": "1"}
    value["people"] = {"ada": {"discord": "2"}, "bob": {"web": "b-7"}, "eve": {"discord": "3"}}
    value["peers"] = {"b": {"discord": "4"}, "c": {"discord": "5"}}
    value["surfaces"] = {"discord": {}}
    value["rooms"]["discord:9"] = {**value["rooms"]["web:main"]}
    value["rooms"]["dm:"] = {"agent": "scout", "workspace": "w", "humans": ["ada"], "peers": ["b"]}
    return read(write(value)).access


@pytest.mark.parametrize(
    ("room", "surface", "person", "bot", "owner", "role"),
    [
        ("discord:9", "discord", "1", False, False, "owner"),
        ("discord:9", "discord", "2", False, False, "human"),
        ("discord:9", "discord", "3", False, False, "stranger"),  # known, but not of this room
        ("discord:9", "discord", "4", True, False, "peer"),
        ("discord:9", "discord", "4", False, False, "peer"),
        ("discord:9", "discord", "5", True, False, "stranger"),
        ("discord:9", "discord", "77", True, False, "webhook"),
        ("discord:9", "discord", "78", True, False, "stranger"),
        ("discord:9", "discord", "1", True, False, "stranger"),  # a bot is never the owner
        ("discord:9", "discord", "1", True, True, "stranger"),
        ("discord:9", "discord", "2", True, False, "stranger"),  # nor a person
        ("discord:9", "discord", "ada", False, False, "stranger"),  # a name is no id on Discord
        ("discord:9", "discord", "", False, False, "stranger"),
        ("discord:0", "discord", "2", False, False, "stranger"),  # no such room
        ("discord:0", "discord", "1", False, False, "owner"),
        ("web:main", "web", "page", False, True, "owner"),
        ("web:main", "web", "1", False, False, "stranger"),  # the owner's Discord id says nothing here
        ("web:main", "web", "ada", False, False, "human"),
        ("web:main", "web", "b-7", False, False, "human"),
        ("web:main", "web", "bob", False, False, "stranger"),  # has an id of his own there
        ("web:main", "web", "b", True, False, "peer"),
        ("web:main", "web", "77", True, False, "stranger"),
        ("web:main", "web", "owner", False, False, "stranger"),
        ("dm:", "discord", "1", False, False, "owner"),
        ("dm:", "discord", "2", False, False, "stranger"),
        ("dm:", "discord", "4", True, False, "stranger"),
    ],
)
def test_who_somebody_is_follows_the_table(
    access: Access, room: str, surface: str, person: str, bot: bool, owner: bool, role: str
) -> None:
    assert role_of(access, room, surface, person, bot=bot, owner=owner) == role


def test_ids_are_given_by_surface(access: Access) -> None:
    assert {name: one.ids() for name, one in access.people.items()} == {
        "ada": {"discord": "2"},
        "bob": {"web": "b-7"},
        "eve": {"discord": "3"},
    }

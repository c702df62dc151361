"""What the tests of access.json share: a file to write, what a mistake in it is told as, and a clock that stands."""

import json
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from relay.config import Loaded, load
from relay.errors import ConfigError, Exit

NOW = 1_790_000_000_000


class StandingClock:
    """A clock that says what it was told."""

    def __init__(self) -> None:
        self.ms = NOW

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


def small(**room: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "agents": {"scout": {"runtime": "scripted"}},
        "rooms": {"web:main": {"agent": "scout", "workspace": "w", **room}},
    }


def read(path: Path) -> Loaded:
    return load(path, runtimes=("scripted",), now_ms=NOW, zone=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[object], Path]:
    def put(value: object) -> Path:
        path = tmp_path / "access.json"
        if isinstance(value, bytes):
            path.write_bytes(value)
        else:
            path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1), "utf-8")
        return path

    return put


@pytest.fixture
def refused(write: Callable[[object], Path]) -> Callable[[object], str]:
    def told(value: object) -> str:
        path = write(value)
        with pytest.raises(ConfigError) as caught:
            read(path)
        assert caught.value.code is Exit.CONFIG
        assert caught.value.advice
        return str(caught.value)

    return told


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()

"""Where programs on this machine find the running relay: a file in the state folder, for its owner's eyes alone.

It holds the port and, unless the configuration names a token of its own, a token that is made anew at each start. It is
written when the server listens and goes with it; what a relay that was killed has left behind is told by the lock.
"""

from __future__ import annotations

import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from relay.errors import ConfigError, RelayError
from relay.ledger.lock import holder

NAME = "http.json"
MOST_BYTES = 4_096


class NotRunning(RelayError):
    """No relay that takes something from programs runs there just now."""


@dataclass(frozen=True, slots=True)
class Doorplate:
    """`token` is empty when it stands in the environment variable `token_env`. `pid` is the relay's."""

    pid: int
    port: int
    token: str
    token_env: str


def put_up(state: Path, plate: Doorplate) -> None:
    """Readable by nobody else at any moment. Raises OSError."""
    path, part = state / NAME, state / f"{NAME}.part"
    part.unlink(missing_ok=True)
    body = orjson.dumps(asdict(plate))
    with open(
        os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb"
    ) as file:
        file.write(body)
    os.rename(part, path)


def take_down(state: Path) -> None:
    """Fine when it isn't there."""
    (state / NAME).unlink(missing_ok=True)


def read(state: Path) -> Doorplate:
    """The running relay's. Raises `NotRunning`, `ConfigError` for a file that can't be trusted."""
    pid = holder(state / "lock")
    if pid is None:
        raise NotRunning(
            f"no relay is running with the state folder {state}.",
            "Start it with `relay up`, or name its folder with --config or --state.",
        )
    path = state / NAME
    not_taking = NotRunning(
        f"the relay with the state folder {state} takes nothing from programs just now.",
        "It is starting, or it plays a script, or its token is no good: it says so where it runs.",
    )
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise not_taking from None
    except OSError as error:
        raise ConfigError(
            f"{path} can't be read ({error.strerror}).", "Run this as the relay's own user."
        ) from error
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            raise ConfigError(
                f"{path} is not this user's alone, so its token is not used.",
                "Restart the relay: it writes it anew.",
            )
        data = file.read(MOST_BYTES)
    try:
        body = orjson.loads(data)
        plate = Doorplate(int(body["pid"]), int(body["port"]), str(body["token"]), str(body["token_env"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} can't be understood.", "Restart the relay: it writes it anew.") from error
    if plate.pid != pid:  # left by one that was killed: somebody else may listen at that port by now
        raise not_taking
    return plate

"""What a program sends, and what becomes of it: the words between the ways in and who takes it in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from relay.errors import RelayError, SurfaceError

Mode = Literal["prompt", "post"]
State = Literal["waiting", "running", "done", "dropped"]


class UnknownTarget(RelayError):
    """There is no such room or thread, or none was named."""


class KeyReused(RelayError):
    """The idempotency key stands for something else already."""


class TooLong(RelayError):
    """A text over the limit of what is sent so."""


class NotNow(SurfaceError):
    """It could not be recorded just now; sent again with the same key it is."""


@dataclass(frozen=True, slots=True)
class Send:
    """What a program sends. `to` is a room or thread (`web:main`, `discord:2000…`), a room's label, or empty for the
    one room that there is. `name` is what people see of the sender."""

    key: str
    to: str
    text: str
    name: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class Sent:
    """It is recorded. `repeated`: it was before, under the same key."""

    id: str
    scope: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it. `status` is how its turn ended (`completed`, `failed`, …), `posted` or `command`."""

    state: State
    scope: str
    status: str = ""
    reason: str = ""
    texts: Sequence[str] = ()
    """The reply, in its parts."""
    files: Sequence[str] = ()
    """Names of the files that came with the reply."""

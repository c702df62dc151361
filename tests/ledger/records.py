"""Drafts and records to write into a ledger, and a clock that moves when it is told to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import ClassVar

import anyio
import anyio.lowlevel

from relay.ledger.interaction import Draft, Interaction, Payload, prepare
from relay.ledger.store import Group

EPOCH_MS = 1_790_000_000_000


class Said(Payload):
    """Somebody said something."""

    VERB: ClassVar[str] = "test.said"
    text: str
    number: int = 0


def draft(
    name: str,
    text: str = "hello",
    number: int = 0,
    *,
    scope: str = "web:main",
    outside: Iterable[str] = (),
    **more: str,
) -> Draft:
    """A draft whose key is `test.said/NAME`."""
    return Draft.of(
        Said(text=text, number=number), name, actor=more.get("actor", "ada"), scope=scope, outside=outside
    )


def record(
    name: str,
    text: str = "hello",
    *,
    outside: Iterable[str] = (),
    causes: Iterable[str] = (),
    at: int = EPOCH_MS,
) -> Interaction:
    """A record of that key, as the engine hands it to a store."""
    made = Draft.of(Said(text=text), name, actor="ada", scope="web:main", caused_by=causes, outside=outside)
    return prepare(made, at=at, salt=hashlib.sha256(f"{name}\0{text}".encode()).digest()[:16])


def alone(*names: str, fence: int | None = None) -> list[Group]:
    """A group for each name."""
    return [Group((record(name),), fence) for name in names]


def together(*names: str, fence: int | None = None) -> Group:
    """One group of all the names."""
    return Group(tuple(record(name) for name in names), fence)


def facts(interaction: Interaction) -> tuple[object, ...]:
    """Everything that a store must give back as it was."""
    i = interaction
    said = (i.verb, i.key, i.actor, i.role, i.scope, i.caused_by, i.version, i.digest, i.at, i.salt, i.raw)
    return (i.seq, i.id, *said)


class HandClock:
    """Stands still until `advance` moves it; who sleeps wakes when his time has come."""

    def __init__(self, now_ms: int = EPOCH_MS) -> None:
        self._start = now_ms
        self._passed = 0.0
        self._moved = anyio.Event()

    def now_ms(self) -> int:
        return self._start + round(self._passed * 1000)

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        until = self._passed + seconds
        await anyio.lowlevel.checkpoint()
        while self._passed < until - 1e-9:
            await self._moved.wait()

    async def advance(self, seconds: float) -> None:
        """Let the time pass, and everybody who wakes act on it."""
        self._passed += seconds
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
        await settle()


class QuickClock:
    """Waits a hundredth of what is asked, so that what is tried again each second is tried again at once."""

    def now_ms(self) -> int:
        return EPOCH_MS

    def monotonic(self) -> float:
        return anyio.current_time() * 100

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds / 100)


async def settle() -> None:
    """Let every task run until it waits for something that is not ready."""
    for _ in range(60):
        await anyio.lowlevel.checkpoint()

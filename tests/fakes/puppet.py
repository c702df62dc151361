"""An agent whose every move a test makes: for what the scripted agent never does (refuse, hang, say a megabyte)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio

from relay.agents.runtime import (
    SessionCapabilities,
    SessionSpec,
    Steered,
    TurnEnded,
    TurnEvent,
)


@dataclass
class PuppetTurn:
    """A turn: `play` its events; what the relay does to it is kept."""

    prompt: str
    obeys: bool
    steered_as: Steered
    steered: list[str] = field(default_factory=list[str])
    answers: list[tuple[str, bool, str]] = field(default_factory=list[tuple[str, bool, str]])
    cancelled: str | None = None

    def __post_init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[TurnEvent](10_000)

    def play(self, *events: TurnEvent) -> None:
        for event in events:
            self._send.send_nowait(event)

    async def events(self) -> AsyncIterator[TurnEvent]:
        async with self._receive:
            async for event in self._receive:
                yield event
                if isinstance(event, TurnEnded):
                    return

    async def steer(self, message_id: str, prompt: str) -> Steered:
        self.steered.append(prompt)
        return self.steered_as

    async def answer(self, request: str, allowed: bool, reason: str = "") -> None:
        self.answers.append((request, allowed, reason))

    async def cancel(self, reason: str) -> None:
        first, self.cancelled = self.cancelled is None, reason
        if self.obeys and first:
            self.play(TurnEnded("cancelled", reason))


@dataclass
class Puppet:
    """The runtime, its one session and all turns. `obeys`: a cancelled turn ends."""

    name: str = "scripted"
    obeys: bool = True
    steered_as: Steered = Steered.INJECTED
    capabilities: SessionCapabilities = field(
        default_factory=lambda: SessionCapabilities(steer=True, resume=True)
    )
    turns: list[PuppetTurn] = field(default_factory=list[PuppetTurn])
    opened: list[SessionSpec] = field(default_factory=list[SessionSpec])
    closed: int = 0
    token: str = "puppet-1"

    async def open(self, spec: SessionSpec) -> Puppet:
        self.opened.append(spec)
        return self

    async def start(self, turn_id: str, prompt: str) -> PuppetTurn:
        self.turns.append(PuppetTurn(prompt, self.obeys, self.steered_as))
        return self.turns[-1]

    async def close(self) -> None:
        self.closed += 1

    async def turn(self, number: int = 1) -> PuppetTurn:
        """Wait for the turn of that number."""
        for _ in range(2_000):
            if len(self.turns) >= number:
                break
            await anyio.sleep(0.005)
        return self.turns[number - 1]

"""The desk at which an agent's tool calls come in, for one scope. Authority is that of the turn that runs now.

A tool asks the ledger as everyone does: it admits a request, and waits for what the rules make of it. Without a running
turn every call is refused. What the tools do stands in the other modules of this room.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relay import texts_for_agents
from relay.agents.runtime import ToolResult
from relay.behaviours.turns.concept import Running, Turns
from relay.ledger.blobs import Blobs
from relay.ledger.engine import Engine
from relay.ledger.interaction import Draft, Payload
from relay.workspaces import Kept


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, in the turn that runs. `id` is the agent's own name of it."""

    arguments: Mapping[str, Any]
    id: str
    running: Running

    def text(self, name: str) -> str:
        """The argument as text; empty when it is missing."""
        return str(self.arguments.get(name, ""))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by its name. `use` never raises for what an agent passes: the answer says what was wrong."""

    name: str
    use: Callable[[Desk, Call], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Desk:
    """See the module. `workspace` is the room's folder."""

    engine: Engine
    blobs: Blobs
    scope: str
    room: str
    workspace: Path
    tools: Sequence[Tool]
    kept: Kept = field(default_factory=Kept)

    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
        """Never raises for what an agent passes."""
        running = self.engine.view.of(Turns).lane(self.scope).running
        if running is None:
            return ToolResult(texts_for_agents.TOOL_WITHOUT_TURN, failed=True)
        for tool in self.tools:
            if tool.name == name:
                return await tool.use(self, Call(arguments, call_id, running))
        return ToolResult(
            texts_for_agents.tool_unknown(name, [tool.name for tool in self.tools]), failed=True
        )

    def draft(self, payload: Payload, call: Call, *key: str) -> Draft:
        """What the agent wants recorded, in its turn."""
        return Draft.of(
            payload,
            *key,
            actor=f"agent:{call.running.agent}",
            role="agent",
            scope=self.scope,
            caused_by=[call.running.turn],
        )

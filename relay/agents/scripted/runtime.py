"""The scripted runtime: sessions, and turns that do one step after the other.

A turn has no task of its own: iterating its events is what runs it. It takes steering messages as more steps until the
moment it decides to end; from then on a message is too late, and belongs to the next turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import anyio

from relay.agents.runtime import (
    AgentGone,
    ApprovalAsked,
    ApprovalWithdrawn,
    SessionCapabilities,
    SessionSpec,
    Steered,
    TextDelta,
    ToolUpdate,
    TurnEnded,
    TurnEvent,
)
from relay.agents.scripted.directives import Step, fields, read
from relay.agents.scripted.files import FileRefused, append, read_text, write
from relay.agents.scripted.journal import Journal
from relay.clock import Clock
from relay.errors import AgentError
from relay.perception.framing import NotFramed

LONGEST_SLOW_S = 3600.0
WORD_PAUSE_S = 0.03


class ScriptedRuntime:
    """Opens scripted sessions. `entropy` gives random bytes for their tokens."""

    name = "scripted"

    def __init__(self, clock: Clock, entropy: Callable[[int], bytes]) -> None:
        self._clock = clock
        self._entropy = entropy

    async def open(self, spec: SessionSpec) -> ScriptedSession:
        if spec.resume is not None and not Journal.known(spec.state, spec.resume):
            raise AgentGone("the scripted agent does not know that session")
        token = spec.resume or f"scripted-{self._entropy(8).hex()}"
        journal = Journal(spec.state, token)
        if spec.resume is None:
            journal.begin()
        return ScriptedSession(spec, token, journal, self._clock)


@dataclass(slots=True)
class ScriptedSession:
    """See `Session`."""

    spec: SessionSpec
    token: str
    journal: Journal
    clock: Clock
    capabilities: SessionCapabilities = field(
        default_factory=lambda: SessionCapabilities(steer=True, resume=True, approvals=True)
    )

    async def start(self, turn_id: str, prompt: str) -> ScriptedTurn:
        try:
            task = read(prompt)
        except NotFramed as error:
            raise AgentError(f"the scripted agent can't read this prompt: {error}") from error
        if task.continues:
            done = self.journal.read()
        else:
            self.journal.begin()
            done = {}
        return ScriptedTurn(self, turn_id, deque(task.steps), done)

    async def close(self) -> None:
        return


@dataclass(slots=True)
class ScriptedTurn:
    """See `Turn`."""

    session: ScriptedSession
    turn_id: str
    steps: deque[Step]
    done: dict[tuple[str, int], str]
    _stop: anyio.Event = field(default_factory=anyio.Event)
    _reason: str = ""
    _closed: bool = False
    _calls: int = 0
    _said: bool = False
    _source: str = ""
    _asked: str | None = None
    _decided: anyio.Event = field(default_factory=anyio.Event)
    _decision: tuple[bool, str] = (False, "")

    async def steer(self, message_id: str, prompt: str) -> Steered:
        if self._closed or self._stop.is_set():
            return Steered.TOO_LATE
        try:
            self.steps.extend(read(prompt).steps)
        except NotFramed as error:
            raise AgentError(f"the scripted agent can't read this message: {error}") from error
        return Steered.INJECTED

    async def answer(self, request: str, allowed: bool, reason: str = "") -> None:
        if request == self._asked and not self._decided.is_set():  # the first answer stands
            self._decision = (allowed, reason)
            self._decided.set()

    async def cancel(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._stop.set()

    async def events(self) -> AsyncIterator[TurnEvent]:
        while True:
            if self._stop.is_set():
                self._closed = True
                yield TurnEnded("cancelled", self._reason)
                return
            if not self.steps:
                self._closed = True
                yield TurnEnded("completed", usage={"steps": len(self.done)})
                return
            step = self.steps.popleft()
            if step.word == "fail":
                self._closed = True
                yield TurnEnded("failed", step.rest or "the script says so")
                return
            if step.word == "die":
                self._closed = True
                raise AgentError("the agent's process died")
            before = self.done.get((step.source, step.number))
            if before is not None:  # done before a restart: said again, not done again
                for event in self._say(step, before):
                    yield event
                continue
            text = ""
            async for event in self._do(step):
                if isinstance(event, str):
                    text += event
                    for said in self._say(step, event):
                        yield said
                else:
                    yield event
            if not self._stop.is_set():
                self.done[step.source, step.number] = text
                self.session.journal.done(step.source, step.number, text)

    def _say(self, step: Step, text: str) -> list[TurnEvent]:
        if not text:
            return []
        gap = ""
        key = f"{step.source}#{step.number}"
        if self._said and key != self._source:
            gap = "\n"
        self._source, self._said = key, True
        return [TextDelta(gap + text)]

    async def _do(self, step: Step) -> AsyncIterator[TurnEvent | str]:
        """What a step yields: text as `str`, else events."""
        match step.word:
            case "say":
                yield step.rest
            case "stream":
                for word in step.rest.split(" "):
                    if self._stop.is_set():
                        return
                    yield word + " "
                    await self._pause(WORD_PAUSE_S)
            case "slow":
                async for event in self._slow(step.rest):
                    yield event
            case "tool":
                async for event in self._tool(step.rest):
                    yield event
            case "ask":
                async for event in self._ask(step.rest):
                    yield event
            case "watch" | "unwatch" | "watches" | "share":
                async for event in self._relay_tool(step):
                    yield event
            case _:  # silent
                return

    async def _pause(self, seconds: float) -> None:
        """Wait, or until the turn is to stop."""
        async with anyio.create_task_group() as tasks:

            async def stopped() -> None:
                await self._stop.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(stopped)
            await self.session.clock.sleep(seconds)
            tasks.cancel_scope.cancel()

    def _call(self) -> str:
        self._calls += 1
        return f"call-{self._calls}-{len(self.done)}"

    async def _slow(self, rest: str) -> AsyncIterator[TurnEvent | str]:
        try:
            seconds = min(float(rest), LONGEST_SLOW_S)
        except ValueError:
            yield f"(slow needs a number of seconds, not {rest!r})"
            return
        call = self._call()
        yield ToolUpdate(call, f"slow {rest} s", "running")
        await self._pause(max(0.0, seconds))
        yield ToolUpdate(call, f"slow {rest} s", "done")

    async def _tool(self, rest: str) -> AsyncIterator[TurnEvent | str]:
        verb, _, rest = rest.partition(" ")
        path, _, text = rest.partition(" ")
        call = self._call()
        title = f"{verb} {path}"
        yield ToolUpdate(call, title, "running")
        workspace, kept = self.session.spec.workspace, self.session.spec.kept
        try:
            match verb:
                case "write":
                    await write(workspace, path, text, kept)
                    told = f"wrote {path}"
                case "append":
                    await append(workspace, path, text, kept)
                    told = f"appended to {path}"
                case "read":
                    told = f"{path}: {await read_text(workspace, path, kept)}"
                case _:
                    raise FileRefused(f"the scripted agent has no tool {verb!r}: write, append, read")
        except FileRefused as error:
            yield ToolUpdate(call, title, "failed", str(error))
            yield f"({error})"
            return
        yield ToolUpdate(call, title, "done")
        yield told

    async def _ask(self, command: str) -> AsyncIterator[TurnEvent | str]:
        call = self._call()
        request = f"{self.turn_id[:12]}-{call}"
        self._asked, self._decided = request, anyio.Event()
        yield ApprovalAsked(request, call, "run a command", command, str(self.session.spec.workspace))
        async with anyio.create_task_group() as tasks:

            async def stopped() -> None:
                await self._stop.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(stopped)
            await self._decided.wait()
            tasks.cancel_scope.cancel()
        self._asked = None
        if not self._decided.is_set():
            yield ApprovalWithdrawn(request)
            return
        allowed, reason = self._decision
        yield f"allowed: {command}" if allowed else f"not allowed ({reason or 'denied'}): {command}"

    async def _relay_tool(self, step: Step) -> AsyncIterator[TurnEvent | str]:
        names = {"watch": "watch", "unwatch": "unwatch", "watches": "watch_list", "share": "share"}
        name = names[step.word]
        call = self._call()
        title = f"{name} {step.rest}".strip()
        yield ToolUpdate(call, title, "running")
        try:
            if step.word == "watch":
                arguments = fields(step.rest)
            elif step.word == "unwatch":
                arguments = {"name": step.rest}
            elif step.word == "share":
                arguments = {"path": step.rest}
            else:
                arguments = {}
        except ValueError as error:
            yield ToolUpdate(call, title, "failed", str(error))
            yield f"({error})"
            return
        result = await self.session.spec.tools.call(name, arguments, call)
        yield ToolUpdate(call, title, "failed" if result.failed else "done", result.text)
        yield f"({result.text})" if result.failed else result.text

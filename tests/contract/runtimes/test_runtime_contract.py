"""What the relay relies on in any agent."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.living import FastClock

from relay.agents.runtime import (
    AgentGone,
    ApprovalAsked,
    ApprovalWithdrawn,
    Runtime,
    Session,
    SessionSpec,
    Steered,
    TextDelta,
    ToolResult,
    ToolUpdate,
    Turn,
    TurnEnded,
    TurnEvent,
)
from relay.agents.scripted.runtime import ScriptedRuntime
from relay.errors import AgentError
from relay.perception.framing import Part, frame

pytestmark = pytest.mark.anyio
NONCE = "0123456789abcdef"


class NoTools:
    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
        return ToolResult(f"{name} {dict(arguments)}")


@pytest.fixture(params=["scripted"])
def runtime(request: pytest.FixtureRequest) -> Runtime:
    """Each runtime that obeys the directives of the scripted agent."""
    counted = iter(range(1_000_000))
    return ScriptedRuntime(FastClock(10), lambda size: next(counted).to_bytes(size, "big"))


def prompt(text: str, kind: Any = "message", source: str = "m1") -> str:
    return frame([Part(kind, "Ada", "human", source, 1_800_000_000_000, text)], nonce=NONCE, scope="web:main")


@asynccontextmanager
async def session(runtime: Runtime, folder: Path, resume: str | None = None) -> AsyncIterator[Session]:
    (folder / "work").mkdir(exist_ok=True)
    (folder / "agents").mkdir(exist_ok=True)
    spec = SessionSpec("web:main", folder / "work", folder / "agents", NoTools(), resume=resume)
    opened = await runtime.open(spec)
    try:
        yield opened
    finally:
        await opened.close()


async def all_of(turn: Turn) -> list[TurnEvent]:
    with anyio.fail_after(10):
        return [event async for event in turn.events()]


def said(events: list[TurnEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("say hello", "completed"),
        ("silent", "completed"),
        ("fail no", "failed"),
        ("tool read missing.txt", "completed"),
        ("stream a b c", "completed"),
        ("nothing that it knows", "completed"),
    ],
)
async def test_the_events_end_with_exactly_one_end(
    runtime: Runtime, tmp_path: Path, text: str, status: str
) -> None:
    async with session(runtime, tmp_path) as opened:
        events = await all_of(await opened.start("t1", prompt(text)))
        assert [e for e in events if isinstance(e, TurnEnded)] == [events[-1]]
        assert isinstance(events[-1], TurnEnded)
        assert events[-1].status == status


async def test_every_tool_that_began_is_over_before_the_end(runtime: Runtime, tmp_path: Path) -> None:
    async with session(runtime, tmp_path) as opened:
        turn = await opened.start("t1", prompt("tool write a.txt x\ntool read b.txt\nslow 3000"))
        events: list[TurnEvent] = []
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                events.extend(await all_of(turn))

            tasks.start_soon(follow)
            await anyio.sleep(0.1)
            await turn.cancel("enough")
        states: dict[str, str] = {e.call: e.state for e in events if isinstance(e, ToolUpdate)}
        assert len(states) == 3
        assert "running" not in states.values()


async def test_turns_follow_one_another_in_a_session(runtime: Runtime, tmp_path: Path) -> None:
    async with session(runtime, tmp_path) as opened:
        for number in range(3):
            assert (
                said(await all_of(await opened.start(f"t{number}", prompt(f"say {number}")))) == f"{number}"
            )


async def test_what_steers_is_injected_while_the_turn_runs_and_too_late_after_it(
    runtime: Runtime, tmp_path: Path
) -> None:
    async with session(runtime, tmp_path) as opened:
        if not opened.capabilities.steer:
            pytest.skip("this agent can't be steered")
        turn = await opened.start("t1", prompt("say first\nslow 2"))
        results: list[Steered] = []
        text = ""
        async for event in turn.events():
            if isinstance(event, TextDelta):
                text += event.text
            if isinstance(event, ToolUpdate) and event.state == "running":
                results.append(await turn.steer("p2", prompt("say second", "steer", "m2")))
        assert text == "first\nsecond"
        results.append(await turn.steer("p3", prompt("say third", "steer", "m3")))
        assert results == [Steered.INJECTED, Steered.TOO_LATE]


async def test_whatever_was_injected_was_heard(runtime: Runtime, tmp_path: Path) -> None:
    """At every moment of a turn: what it says it took is in what it says, and what was too late isn't."""
    async with session(runtime, tmp_path) as opened:
        for at in range(12):
            turn = await opened.start(f"t{at}", prompt("say a\ntool read x\nsay b\ntool read y\nsay c"))
            answer = Steered.TOO_LATE
            events: list[TurnEvent] = []
            async for event in turn.events():
                if len(events) == at:
                    answer = await turn.steer("p2", prompt("say steered", "steer", "m2"))
                events.append(event)
            assert ("steered" in said(events)) == (answer is Steered.INJECTED)


@pytest.mark.parametrize("text", ["slow 3000", "stream " + "word " * 3000, "ask make", "say a\nslow 3000"])
async def test_a_cancelled_turn_ends_soon_however_often_it_is_asked(
    runtime: Runtime, tmp_path: Path, text: str
) -> None:
    async with session(runtime, tmp_path) as opened:
        turn = await opened.start("t1", prompt(text))
        events: list[TurnEvent] = []
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                events.extend(await all_of(turn))

            tasks.start_soon(follow)
            await anyio.sleep(0.05)
            with anyio.fail_after(2):
                await turn.cancel("enough")
                await turn.cancel("again")
        assert events[-1] == TurnEnded("cancelled", "enough")
        asked = {e.request for e in events if isinstance(e, ApprovalAsked)}
        assert asked == {e.request for e in events if isinstance(e, ApprovalWithdrawn)}
        await turn.cancel("after the end")
        assert await turn.steer("p2", prompt("say x", "steer")) is Steered.TOO_LATE
        assert said(await all_of(await opened.start("t2", prompt("say next")))) == "next"


@pytest.mark.parametrize(("allowed", "told"), [(True, "allowed: make"), (False, "not allowed (no): make")])
async def test_an_answer_reaches_the_request_it_is_for_and_no_other(
    runtime: Runtime, tmp_path: Path, allowed: bool, told: str
) -> None:
    async with session(runtime, tmp_path) as opened:
        if not opened.capabilities.approvals:
            pytest.skip("this agent can't ask")
        turn = await opened.start("t1", prompt("ask make"))
        events: list[TurnEvent] = []
        async for event in turn.events():
            events.append(event)
            if isinstance(event, ApprovalAsked):
                assert event.command == "make"
                assert event.cwd == str(tmp_path / "work")
                await turn.answer("another request", not allowed, "wrong")
                await turn.answer(event.request, allowed, "no")
                await turn.answer(event.request, not allowed, "a second answer comes too late")
        assert said(events) == told
        await turn.answer("after the end", True)


async def test_a_session_is_resumed_by_its_token_and_goes_on_without_doing_anything_twice(
    runtime: Runtime, tmp_path: Path
) -> None:
    text = "tool append log.txt x\nslow 3000\ntool append log.txt y"
    async with session(runtime, tmp_path) as opened:
        token = opened.token
        turn = await opened.start("t1", prompt(text))
        async for event in turn.events():
            if isinstance(event, ToolUpdate) and event.title.startswith("slow"):
                break  # as good as a kill: nobody follows it any more
    again = frame(
        [
            Part("continuation", "relay", "system", "t1", 1_800_000_001_000, "Go on where you were."),
            Part("message", "Ada", "human", "m1", 1_800_000_000_000, text.replace("3000", "0")),
        ],
        nonce=NONCE,
        scope="web:main",
    )
    async with session(runtime, tmp_path, resume=token) as opened:
        assert opened.token == token
        await all_of(await opened.start("t2", again))
    assert (tmp_path / "work" / "log.txt").read_text() == "x\ny\n"


@pytest.mark.parametrize(
    "token", ["scripted-0000000000000099", "", "../../etc/passwd", "x" * 5_000, "a\x00b"]
)
async def test_a_token_that_it_does_not_know_is_told(runtime: Runtime, tmp_path: Path, token: str) -> None:
    with pytest.raises(AgentGone):
        async with session(runtime, tmp_path, resume=token):
            pass


async def test_sessions_do_not_share_what_they_did(runtime: Runtime, tmp_path: Path) -> None:
    async with session(runtime, tmp_path) as one, session(runtime, tmp_path) as two:
        assert one.token != two.token
        assert said(await all_of(await one.start("t1", prompt("say one")))) == "one"
        assert said(await all_of(await two.start("t1", prompt("say two")))) == "two"


async def test_closing_twice_is_fine_and_a_prompt_that_is_none_is_an_error_of_the_agent(
    runtime: Runtime, tmp_path: Path
) -> None:
    async with session(runtime, tmp_path) as opened:
        with pytest.raises(AgentError):
            await all_of(await opened.start("t1", "not a prompt"))
        await opened.close()


async def test_it_dies_as_an_error_of_the_agent(runtime: Runtime, tmp_path: Path) -> None:
    async with session(runtime, tmp_path) as opened:
        turn = await opened.start("t1", prompt("say a\ndie"))
        with pytest.raises(AgentError, match="died"):
            await all_of(turn)

"""What the gateway told waits in order within its place; places don't wait for each other; a gap scan waits for all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from relay.clock import SystemClock
from relay.errors import SurfaceError
from relay.surfaces.discord.inbox import AT_ONCE, Inbox

pytestmark = pytest.mark.anyio

PATIENCE_S = 30


class Desk:
    """Where it is brought. A message waits at its gate, if it has one."""

    def __init__(self, room: int = 1_000) -> None:
        self.began: list[str] = []
        self.brought: list[str] = []
        self.scanned = anyio.Event()
        self.gates: dict[str, anyio.Event] = {}
        self.inbox = Inbox(SystemClock(), self._scan, room=room)
        self._moved = anyio.Event()

    async def _scan(self) -> None:
        self.brought.append("scan")
        self.scanned.set()

    def tell(self, name: str, place: str = "room", *, kept: bool = False) -> None:
        async def bring() -> None:
            self.began.append(name)
            self._moved.set()
            if name in self.gates:
                await self.gates[name].wait()
            if name == "bad":
                raise SurfaceError("never")
            self.brought.append(name)
            self._moved.set()

        self.inbox.put(name, bring, place=place, kept=kept)

    def hold(self, name: str) -> anyio.Event:
        return self.gates.setdefault(name, anyio.Event())

    async def until(self, *names: str) -> None:
        """Wait until those were brought."""
        with anyio.fail_after(PATIENCE_S):
            while not set(names) <= set(self.brought):
                self._moved = anyio.Event()
                await self._moved.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.inbox.run)
            yield
            tasks.cancel_scope.cancel()


async def test_a_refusal_holds_up_only_itself_and_a_full_inbox_ends_in_a_scan() -> None:
    desk = Desk(room=2)
    for name in ("bad", "one", "two", "three"):
        desk.tell(name)
    desk.tell("click", kept=True)
    async with desk.running():
        with anyio.fail_after(PATIENCE_S):
            await desk.scanned.wait()
    assert desk.brought == ["one", "click", "scan"]


async def test_one_place_s_message_that_takes_long_holds_up_no_other_place() -> None:
    desk = Desk()
    gate = desk.hold("slow")
    desk.tell("slow", "a")
    desk.tell("behind it", "a")
    desk.tell("elsewhere", "b")
    async with desk.running():
        await desk.until("elsewhere")
        assert desk.began == ["slow", "elsewhere"]
        gate.set()
        await desk.until("behind it")
    assert desk.brought == ["elsewhere", "slow", "behind it"]


async def test_a_scan_waits_for_what_was_heard_before_and_what_comes_after_waits_for_it() -> None:
    desk = Desk()
    gate = desk.hold("before")
    desk.tell("before", "a")
    desk.inbox.look_for_gaps()
    desk.tell("after", "b")
    async with desk.running():
        await anyio.wait_all_tasks_blocked()
        assert desk.brought == []
        gate.set()
        await desk.until("after")
    assert desk.brought == ["before", "scan", "after"]


async def test_only_so_many_are_brought_at_once() -> None:
    desk = Desk()
    names = [str(number) for number in range(AT_ONCE + 10)]
    gates = [desk.hold(name) for name in names]
    for name in names:
        desk.tell(name, f"place {name}")
    async with desk.running():
        await anyio.wait_all_tasks_blocked()
        assert desk.began == names[:AT_ONCE]
        for gate in gates:
            gate.set()
        await desk.until(*names)
    assert desk.inbox.trouble == ""

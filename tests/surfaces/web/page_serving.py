"""A real chat in a real file, a real server on a real port, and facts that stand still."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx

from relay.clock import SystemClock
from relay.surfaces.web.chat import ChatRoom, LocalChat
from relay.surfaces.web.connections import HEAD_PATIENCE
from relay.surfaces.web.facts import TurnFact, WatchFact, WhyLine
from relay.surfaces.web.server import PageServer

TOKEN = "the-key-of-these-tests-0123456789"
ROOMS = (ChatRoom("main", "main", "scout"), ChatRoom("side", "Side room"))


class QuickClock(SystemClock):
    """Wall time moves by hand, and waits are short."""

    def __init__(self) -> None:
        self.wall = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.wall

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(min(seconds, 0.02))


class StillFacts:
    """Facts a test can set and move."""

    def __init__(self) -> None:
        self.revision = 0
        self.changed = anyio.Event()
        self.armed: list[WatchFact] = []
        self.files: dict[str, bytes] = {}

    def move(self) -> None:
        self.revision += 1
        self.changed.set()
        self.changed = anyio.Event()

    def watches(self) -> Sequence[WatchFact]:
        return self.armed

    def turns(self) -> Sequence[TurnFact]:
        return []

    def trouble(self) -> Sequence[str]:
        return ["look here"]

    async def why(self, id: str) -> Sequence[WhyLine]:
        return [WhyLine("f" * 64, "post.sent", 1, "relay", f"about {id}", 0)]

    async def moved(self, since: int) -> int:
        while self.revision <= since:
            await self.changed.wait()
        return self.revision

    async def blob(self, digest: str) -> bytes | None:
        return self.files.get(digest)


@dataclass
class Served:
    """A page that is being served."""

    chat: LocalChat
    facts: StillFacts
    server: PageServer
    client: httpx.AsyncClient
    stop: Callable[[], Awaitable[None]]

    async def post(self, text: str, place: str = "main", **more: object) -> httpx.Response:
        return await self.client.post("/api/post", json={"place": place, "text": text, **more})


@asynccontextmanager
async def serving(chat: LocalChat, *, patience: float = HEAD_PATIENCE) -> AsyncIterator[Served]:
    facts = StillFacts()
    server = PageServer(chat, facts, token=TOKEN, clock=SystemClock(), patience=patience)
    ended = anyio.Event()
    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await server.run()
            ended.set()

        async def stop() -> None:
            scope.cancel()
            with anyio.fail_after(5):
                await ended.wait()

        tasks.start_soon(run)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        # No proxy of the machine stands between a test and its own port.
        async with httpx.AsyncClient(base_url=server.address, headers=headers, trust_env=False) as client:
            yield Served(chat, facts, server, client, stop)
        await stop()


async def until(condition: Callable[[], object]) -> None:
    """Wait until it holds, at most five seconds."""
    for _ in range(500):
        if condition():
            return
        await anyio.sleep(0.01)
    raise TimeoutError("what was waited for didn't come")

"""The page over a relay that is in trouble, for what the whole relay can't be brought to show on demand.

The chat, the surface and the server are the real ones; behind them stands someone who refuses, can't write, and hands
over hostile texts in every field. Run as a process: `faulty_relay.py STATE PORT`; it prints the link of the page.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from relay.clock import SystemClock
from relay.errors import StoreUnavailable, SurfaceError
from relay.surfaces.surface import (
    Choice,
    ChoiceEvent,
    MessageEvent,
    OutgoingPost,
    Person,
    Place,
    ReactionEvent,
    SeenFile,
)
from relay.surfaces.web.chat import ChatRoom, LocalChat
from relay.surfaces.web.facts import TurnFact, WatchFact, WhyLine
from relay.surfaces.web.server import PageServer
from relay.surfaces.web.surface import WebSurface

EVIL = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'


class HostileFacts:
    """Facts of which every text is hostile, once it was asked for them."""

    def __init__(self) -> None:
        self.revision = 1
        self.changed = anyio.Event()

    def show(self) -> None:
        self.revision = 2
        self.changed.set()

    def watches(self) -> Sequence[WatchFact]:
        return [WatchFact("web:" + EVIL, EVIL, EVIL, EVIL, 1, None, EVIL)] if self.revision > 1 else []

    def turns(self) -> Sequence[TurnFact]:
        return [TurnFact("web:" + EVIL, EVIL, EVIL, 0, 0)] if self.revision > 1 else []

    def trouble(self) -> Sequence[str]:
        return [EVIL] if self.revision > 1 else []

    async def why(self, id: str) -> Sequence[WhyLine]:
        return [WhyLine("a" * 64, EVIL, 0, EVIL, EVIL, 99)]

    async def moved(self, since: int) -> int:
        while self.revision <= since:
            await self.changed.wait()
        return self.revision

    async def blob(self, digest: str) -> bytes | None:
        return None


class Responder:
    """Answers what a person writes, by the first word."""

    def __init__(self, chat: LocalChat, surface: WebSurface, facts: HostileFacts) -> None:
        self.chat, self.surface, self.facts = chat, surface, facts
        self.broken = 2

    async def message(self, event: MessageEvent) -> None:
        word = event.text.split()[0].lower()
        if word == "refuse":
            raise SurfaceError("such a message can't be taken.", "Write another one.")
        if word == "full" and self.broken:
            self.broken -= 1
            await anyio.sleep(0.5)
            raise StoreUnavailable("the disk is full.", "Free some space.")
        if word == "evil":
            await self.evil(event.place)
        elif word != "quiet":
            await self.surface.post(
                event.place, OutgoingPost(f"You said: {event.text}"), f"answer {event.message}"
            )

    async def evil(self, place: str) -> None:
        mallory = Person("mallory", EVIL)
        await self.chat.post_as(mallory, place, f"quiet {EVIL} **{EVIL}** `{EVIL}`")
        await self.chat.open_thread_as(mallory, "main", EVIL)
        self.facts.show()
        text = f"↳ {EVIL}\n[click](javascript:alert(1)) [ok](https://example.org/a) {EVIL}\n```{EVIL}\n{EVIL}\n```"
        file = SeenFile(f"../../{EVIL}.html", "0" * 64, 1)
        post = OutgoingPost(text, files=(file,), card="k", choices=(Choice("x", EVIL),))
        await self.surface.post(place, post, "evil")

    async def reaction(self, event: ReactionEvent) -> None:
        """Nobody reacts here."""

    async def choice(self, event: ChoiceEvent) -> str:
        """The card stays open."""
        return EVIL

    async def ready(self, places: Sequence[Place]) -> None:
        """Nothing to catch up: what was not delivered comes again by itself."""


async def main(state: Path, port: int) -> None:
    clock = SystemClock()
    rooms = (ChatRoom("main", "main", "scout"), ChatRoom("side", EVIL))
    chat = await LocalChat.open(state / "page.db", rooms, clock)
    facts = HostileFacts()
    surface = WebSurface(chat, clock)
    server = PageServer(chat, facts, token="key-of-the-tests-0123456789", clock=clock, port=port)
    print(server.url, flush=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        tasks.start_soon(surface.run, Responder(chat, surface, facts))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))

"""A whole page without the rest of the relay: the real chat, surface and server, and someone who answers by the book.

Run as a process: `scripted_relay.py STATE PORT TOKEN`. It prints the link of the page as its first line. What a person
writes decides what happens; see `Responder.message`.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from relay.clock import SystemClock
from relay.surfaces.surface import (
    Choice,
    ChoiceEvent,
    LiveView,
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
DIFF = "```diff\n--- notes.md\n+++ notes.md\n@@ -1,2 +1,2 @@\n-old line\n+new line\n same\n```"
NOTE = b"a shared file\n"


class ScriptedFacts:
    """Facts that stand still until they are told to move."""

    def __init__(self, clock: SystemClock) -> None:
        self.clock = clock
        self.revision = 1
        self.changed = anyio.Event()
        self.armed: list[WatchFact] = []
        self.running: list[TurnFact] = []
        self.troubles: list[str] = []

    def move(self) -> None:
        self.revision += 1
        self.changed.set()
        self.changed = anyio.Event()

    def watches(self) -> Sequence[WatchFact]:
        return self.armed

    def turns(self) -> Sequence[TurnFact]:
        return self.running

    def trouble(self) -> Sequence[str]:
        return self.troubles

    async def why(self, id: str) -> Sequence[WhyLine]:
        now = self.clock.now_ms()
        return [
            WhyLine("a" * 64, "post.sent", now, "relay", f"posted {id}", 0),
            WhyLine("b" * 64, "turn.replied", now - 1000, "scout", EVIL, 1),
            WhyLine("c" * 64, "channel.message", now - 5000, "you", "what you asked", 2),
        ]

    async def moved(self, since: int) -> int:
        while self.revision <= since:
            await self.changed.wait()
        return self.revision

    async def blob(self, digest: str) -> bytes | None:
        return NOTE if digest == hashlib.sha256(NOTE).hexdigest() else None


class Responder:
    """Answers what a person writes, by the first word."""

    def __init__(
        self, chat: LocalChat, surface: WebSurface, facts: ScriptedFacts, clock: SystemClock
    ) -> None:
        self.chat, self.surface, self.facts, self.clock = chat, surface, facts, clock

    async def say(self, event: MessageEvent, post: OutgoingPost) -> str:
        return await self.surface.post(event.place, post, f"answer {event.message}")

    async def message(self, event: MessageEvent) -> None:
        await self.surface.react(event.place, event.message, "👀", add=True)
        word = event.text.split()[0].lower()
        if word == "quiet":
            return
        if word == "work":
            await self.work(event)
        elif word == "card":
            choices = (Choice("allow", "Allow"), Choice("deny", "Deny"))
            await self.say(event, OutgoingPost("May I run `rm -r build`?", card="k1", choices=choices))
        elif word == "fire":
            await self.say(event, OutgoingPost(f"↳ triggered by watch «notes»\nThe file changed:\n{DIFF}"))
        elif word == "file":
            file = SeenFile("../../note.txt", hashlib.sha256(NOTE).hexdigest(), len(NOTE))
            await self.say(event, OutgoingPost("Here it is.", files=(file,)))
        elif word == "watch":
            due = self.clock.now_ms() + 90_000
            self.facts.armed.append(
                WatchFact("web:main", "notes", "file notes.md, on change", "watching", 2, due, "+new")
            )
            self.facts.troubles.append("The disk is nearly full.")
            self.facts.move()
        elif word == "evil":
            await self.chat.post_as(Person("mallory", EVIL), event.place, f"quiet {EVIL} **{EVIL}** `{EVIL}`")
            await self.chat.open_thread_as(Person("mallory", EVIL), "main", EVIL)
            self.facts.armed.append(WatchFact("web:" + EVIL, EVIL, EVIL, EVIL, 1, None, EVIL))
            self.facts.troubles.append(EVIL)
            self.facts.move()
            links = f"[click](javascript:alert(1)) [ok](https://example.org/a) {EVIL}\n```{EVIL}\n{EVIL}\n```"
            await self.say(event, OutgoingPost(links, card="k2", choices=(Choice("x", EVIL),)))
        else:
            await self.say(event, OutgoingPost(f"You said: {event.text}", reply_to=event.message))

    async def work(self, event: MessageEvent) -> None:
        started = self.clock.now_ms()
        for step in ("reading notes.md", "writing the answer"):
            self.facts.running = [TurnFact(f"web:{event.place}", "running", step, started, 1)]
            self.facts.move()
            view = LiveView("t1", f"so far: **{step}**", step, started, 1)
            await self.surface.show(event.place, view)
            await self.clock.sleep(1.2)
        await self.say(event, OutgoingPost("The work is done."))
        await self.surface.show(event.place, None)
        self.facts.running = []
        self.facts.move()

    async def reaction(self, event: ReactionEvent) -> None:
        if event.set:
            post = OutgoingPost(f"{event.person.name} set {event.emoji}")
            await self.surface.post(event.place, post, f"reacted {event.message} {event.emoji} {event.count}")

    async def choice(self, event: ChoiceEvent) -> None:
        text = f"Decided: {event.value}. {event.reason}".strip()
        await self.surface.edit(event.place, event.message, text, close_card=True)

    async def ready(self, places: Sequence[Place]) -> None:
        """Nothing to catch up: what was not delivered comes again by itself."""


async def main(state: Path, port: int, token: str) -> None:
    clock = SystemClock()
    rooms = (ChatRoom("main", "main", "scout"), ChatRoom("side", EVIL))
    chat = await LocalChat.open(state / "page.db", rooms, clock)
    facts = ScriptedFacts(clock)
    surface = WebSurface(chat, clock)
    server = PageServer(chat, facts, token=token, clock=clock, port=port)
    print(server.url, flush=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        tasks.start_soon(surface.run, Responder(chat, surface, facts, clock))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])

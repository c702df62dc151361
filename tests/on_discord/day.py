"""A day on the tests' Discord with faults on, played by the real relay as a process of its own.

`make day` prints it as people see it. Discord loses events and answers, refuses RESUMEs, asks for long pauses and goes
away; the relay is stopped over lunch and killed with -9. Waiting takes a tenth of the time. What each line says:

    09:30  #build     olga: …        somebody wrote; ↩ what it answers
           #build     ~ olga: …      a message reads differently now
           #build     ✗ olga: …      a message was deleted
           #build     👀 relay on …  a reaction
    ⚡ …                             what goes wrong, and what nobody in the chat sees
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    _TESTS = Path(__file__).parents[1]
    sys.path[:0] = [str(_TESTS), str(_TESTS.parent)]

import anyio
import anyio.abc
from fakes.discord import DiscordServer, Person, Place, Seen
from fakes.discord.model import Message
from fakes.discord.people import File
from fakes.discord.world import Event

from relay.clock import SystemClock

LAUNCHER = Path(__file__).parents[1] / "crash" / "discord_launcher.py"
PATIENCE_S = 60.0
MESSAGES = "/channels/*/messages"
BEGINS_AT_MIN = 9 * 60
A_MINUTE_S = 0.25
"""Of the machine's time to a minute of the day that is told."""


class Day:
    """See the module. `show` is given each line."""

    def __init__(self, folder: Path, server: DiscordServer, show: Callable[[str], None]) -> None:
        self.server = server
        self._folder = folder
        self._show = show
        self._clock = SystemClock()
        self._began = self._clock.monotonic()
        self._process: anyio.abc.Process | None = None
        self.bot = server.bot("relay")
        guild = server.guild("Workshop", bots=[self.bot])
        self.build, self.ops = guild.text_channel("build"), guild.text_channel("ops")
        self.ideas = guild.forum("ideas")
        self.olga, self.ada, self.ben, self.zoe = (guild.person(n) for n in ("olga", "ada", "ben", "zoe"))
        self._was: dict[int, str] = {}
        self._configure()
        server.world.listeners.append(self._told)

    def _configure(self) -> None:
        room = {"agent": "scout", "humans": ["ada", "ben"]}
        access = {
            "version": 1,
            "surfaces": {"discord": {"token_env": "RELAY_DISCORD_TOKEN"}},
            "owner": {"discord": str(self.olga.id)},
            "people": {"ada": {"discord": str(self.ada.id)}, "ben": {"discord": str(self.ben.id)}},
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": {
                f"discord:{self.build.id}": {**room, "workspace": "build", "require_mention": True},
                f"discord:{self.ops.id}": {
                    **room,
                    "workspace": "ops",
                    "require_mention": False,
                    "busy": "queue",
                },
                f"discord:{self.ideas.id}": {**room, "workspace": "ideas", "require_mention": False},
                "dm:": {"agent": "scout", "workspace": "dm", "require_mention": False},
            },
        }
        (self._folder / "access.json").write_text(json.dumps(access))
        for name in ("build", "ops", "ideas", "dm"):
            (self._folder / name).mkdir(exist_ok=True)

    # -- the relay ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        identified = self.server.gateway.heard.count("identify")
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{LAUNCHER.parents[2]}:{LAUNCHER.parents[1]}",
            "TZ": "UTC",
            "XDG_RUNTIME_DIR": str(self._folder),
            "RELAY_DISCORD_TOKEN": self.bot.token,
        }
        config, state = str(self._folder / "access.json"), str(self._folder / "state")
        with (self._folder / "relay.log").open("ab") as log:
            self._process = await anyio.open_process(
                [sys.executable, str(LAUNCHER), str(self.server.port), str(self.server.ca), config, state],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
            )
        await self.until(
            lambda: self.server.gateway.heard.count("identify") > identified, "the relay is there"
        )

    async def end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    process.send_signal(how)
                with anyio.move_on_after(30):
                    await process.wait()
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    # -- telling ------------------------------------------------------------------------------------------------------

    def trouble(self, what: str) -> None:
        """What people in the chat don't see."""
        self._show(f"{self._time()}  ⚡ {what}")

    def _time(self) -> str:
        minutes = BEGINS_AT_MIN + int((self._clock.monotonic() - self._began) / A_MINUTE_S)
        return f"{minutes // 60 % 24:02}:{minutes % 60:02}"

    def _told(self, event: Event) -> None:
        data, world = event.data, self.server.world
        channel = world.channels.get(event.channel_id or 0)
        if channel is None:
            return
        message = channel.messages.get(int(data.get("message_id") or data.get("id") or 0))
        where = self._where(channel.id)
        if event.name == "MESSAGE_CREATE" and message is not None:
            self._was[message.id] = self._line(message)
            self._print(where, self._line(message))
        elif event.name == "MESSAGE_UPDATE" and message is not None:
            line = self._line(message)
            if line != self._was.get(message.id):
                self._was[message.id] = line
                self._print(where, f"~ {line}")
        elif event.name == "MESSAGE_DELETE":
            self._print(where, f"✗ {self._was.get(int(data['id']), 'a message')[:60]}")
        elif event.name in ("MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE") and message is not None:
            who = world.users[int(data["user_id"])].name
            mark = data["emoji"]["name"] + ("" if event.name.endswith("ADD") else " taken back by")
            self._print(where, f"{mark} {who} on «{self._words(message.content)[:40]}»".replace("\n", " "))

    def _where(self, channel: int) -> str:
        found = self.server.world.channels[channel]
        parent = self.server.world.channels.get(found.parent_id or 0)
        name = found.name or "direct"
        return f"#{parent.name} › {name}" if found.is_thread and parent is not None else f"#{name}"

    def _line(self, message: Message) -> str:
        if message.kind not in (0, 19):
            return f"({message.kind.name.lower().replace('_', ' ')} by {message.author.name})"
        answers = ""
        if message.reference and message.kind == 19:
            channel = self.server.world.channels[int(message.reference["channel_id"])]
            target = channel.messages.get(int(message.reference["message_id"]))
            words = self._words(target.content) if target is not None else "(deleted)"
            answers = f" ↩ «{words[:30]}»".replace("\n", " ")
        files = "".join(f" 📎{file.filename}" for file in message.attachments)
        labels = [str(b.get("label")) for row in message.components for b in row.get("components") or []]
        buttons = "".join(f" [{label}]" for label in labels)
        return f"{message.author.name}{answers}: {self._words(message.content)}{files}{buttons}"

    def _words(self, text: str) -> str:
        names = {str(user.id): user.name for user in self.server.world.users.values()}
        text = re.sub(r"<@!?(\d+)>", lambda m: "@" + names.get(m[1], "somebody"), text)
        return re.sub(r"<t:\d+:R>", "a moment ago", text)

    def _print(self, where: str, line: str) -> None:
        first, *rest = line.split("\n")
        head = f"{self._time()}  {where:18} "
        self._show(head + first)
        for more in rest:
            self._show(" " * len(head) + more)

    # -- acting and seeing --------------------------------------------------------------------------------------------

    def say(self, who: Person, place: Place, text: str, **more: Any) -> Message:
        return who.say(place, text, **more)

    def ask(self, who: Person, place: Place, text: str) -> Message:
        return who.say(place, f"<@{self.bot.id}> {text}")

    async def until(self, so: Callable[[], object], what: str) -> None:
        await self.server.until(so, within=PATIENCE_S, saying=what)

    async def seen(self, place: Place, text: str) -> None:
        """Wait until the bot has said it there."""
        await self.until(lambda: any(text in t for t in place.texts("relay")), f"{text!r} of the bot")

    async def taken(self, message: Message) -> None:
        """Wait until the bot shows that it has the message."""
        await self.until(lambda: {"👀", "📥"} & set(message.reactions), f"a receipt for {message.content!r}")

    def write(self, path: str, text: str) -> None:
        with (self._folder / path).open("a") as file:
            file.write(text)

    # -- the day ------------------------------------------------------------------------------------------------------

    async def play(self) -> None:
        try:
            self.trouble("the relay is started for the first time")
            await self.start()
            await self._morning()
            await self._a_bad_connection()
            await self._lunch()
            await self._killed()
            await self._evening()
        finally:
            await self.end(signal.SIGKILL)

    async def _morning(self) -> None:
        self.say(self.zoe, self.build, "Is anybody there?")
        self.ask(self.zoe, self.build, "say hello, stranger")
        self.ask(self.olga, self.build, "say Good morning. Nothing broke over night.")
        await self.seen(self.build, "Good morning")
        release = self.release = self.ada.open_thread(self.build, "Release 4")
        first = self.ask(self.ada, release, "slow 40\nsay The release notes are drafted.")
        await self.taken(first)
        self.say(self.ada, release, "say The version is 4.2, as you said meanwhile.")
        await self.seen(release, "4.2")
        self.say(self.olga, release, "!watch notes --file notes.md")
        await self.seen(release, "Watching «notes»")
        await anyio.sleep(0.5)
        self.write("build/notes.md", "- faster start\n")
        await self.seen(release, "faster start")
        self.ask(self.ada, self.build, "ask ./deploy staging\nsay That was the deployment.")

        def cards() -> list[Seen]:
            return [one for one in self.build.seen() if one.buttons and not one.text.startswith("📌")]

        await self.until(cards, "a card")
        card = cards()[0]
        self.trouble("zoe presses Allow, and only she is told that it isn't hers to decide")
        refused = self.zoe.click(card, card.buttons[0])
        await self.until(lambda: refused.followups, "what zoe is told")
        self._show(f"{'':7}(to zoe alone) {refused.followups[0].text}")
        self.olga.click(card, card.buttons[0])
        await self.seen(self.build, "That was the deployment")
        # The queue, an edit and a deletion while it waits.
        running = self.say(self.ben, self.ops, "slow 60\nsay Disks checked.")
        await self.taken(running)
        for text in ("say Backup is fine.", "say Certifcates are fine.", "say Never mind this one."):
            waits = self.say(self.ben, self.ops, text)
            await self.taken(waits)
            if "Certif" in text:
                edited = waits
        self.ben.edit(edited, "say Certificates are fine.")
        self.ben.delete(waits)
        self.say(self.ben, self.ops, "!queue")
        await self.seen(self.ops, "Certificates are fine.")
        post = self.ben.forum_post(self.ideas, "Dark mode", "say An idea with a title of its own.")
        await self.seen(post, "of its own")

    async def _a_bad_connection(self) -> None:
        faults, gateway = self.server.faults, self.server.gateway
        self.trouble("the connection is cut and its RESUME refused, as ada writes")
        gateway.faults.refuse_resumes(3)
        gateway.cut()
        self.ask(self.ada, self.build, "say Answered although the event never came.")
        await self.seen(self.build, "never came")
        self.trouble("the next event is lost, and the one after it comes twice")
        gateway.faults.drop("MESSAGE_CREATE", fits=lambda data: "lost" in data["content"])
        self.say(self.ben, self.ops, "say The lost one.")
        gateway.faults.double(
            "MESSAGE_CREATE", same_number=True, fits=lambda data: "twice" in data["content"]
        )
        self.say(self.ben, self.ops, "say Said once, heard twice.")
        await self.seen(self.ops, "heard twice")
        self.trouble("the answer to a post is lost: it stands, and the relay isn't told so")
        faults.cut("POST", MESSAGES, after=True, fits=lambda call: "Stands once" in str(call.body))
        self.ask(self.olga, self.build, "say Stands once.")
        await self.seen(self.build, "Stands once")
        self.trouble("Discord asks for a pause of 45 s")
        faults.too_many("POST", MESSAGES, 45.0)
        self.ask(self.olga, self.build, "say After the pause.")
        await self.seen(self.build, "After the pause")
        self.trouble("all of Discord is away for the relay; people go on writing")
        async with self.server.outage():
            self.ask(self.ada, self.build, "say First after the outage.")
            self.ask(self.ada, self.release, "say In the thread after the outage.")
            await anyio.sleep(1.5)
        await self.seen(self.build, "First after")
        await self.seen(self.release, "thread after")

    async def _lunch(self) -> None:
        self.say(self.olga, self.ops, '!watch standup --in 12s "Stand-up in the kitchen"')
        await self.seen(self.ops, "Watching «standup»")
        self.trouble("lunch: the relay is stopped cleanly; people write, a file changes, a timer comes due")
        await self.end(signal.SIGTERM)
        self.ask(self.ada, self.build, "say Kept over lunch.")
        gone = self.ask(self.ben, self.build, "say Taken back over lunch.")
        self.ben.delete(gone)
        late = self.ben.open_thread(self.build, "Opened over lunch")
        self.ask(self.ben, late, "say A thread that nobody had heard of.")
        self.write("build/notes.md", "- fewer crashes\n")
        self.say(self.olga, self.ops, "!watches")
        await anyio.sleep(12)
        self.trouble("the relay is started again")
        await self.start()
        await self.seen(self.build, "Kept over lunch")
        await self.seen(late, "nobody had heard of")
        await self.seen(self.release, "fewer crashes")
        await self.seen(self.ops, "Stand-up in the kitchen")

    async def _killed(self) -> None:
        asked = self.ask(
            self.olga, self.build, "tool append log.txt begun\nslow 100\nsay The long work is done."
        )
        await self.until(lambda: any(t.startswith("⏳") for t in self.build.texts("relay")), "a status")
        self.trouble("kill -9, in the middle of that")
        await self.end(signal.SIGKILL)
        self.ask(self.ada, self.build, "say Said to nobody.")
        self.server.world.nonces.clear()
        self.trouble("the relay is started again")
        await self.start()
        await self.seen(self.build, "The long work is done")
        await self.seen(self.build, "Said to nobody")
        assert asked.reactions

    async def _evening(self) -> None:
        endless = self.ask(self.ada, self.build, "slow 3000\nsay This is never said.")
        await self.until(lambda: any(t.startswith("⏳") for t in self.build.texts("relay")), "a status")
        self.ada.react(endless, "🛑")
        await self.seen(self.build, "Stopped (Ada)")
        spec = File("plan.txt", b"one\ntwo\n")
        self.olga.dm(
            self.bot, "tool write plan.txt three steps\nshare plan.txt\nsay Here is the plan.", files=(spec,)
        )
        await self.seen(self.olga.direct(self.bot), "Here is the plan")
        self.say(self.olga, self.ops, "!watches")
        self.say(self.olga, self.ops, "!status")
        await anyio.sleep(1.5)
        self.trouble("the day is over, and the relay is stopped cleanly")
        await self.end(signal.SIGTERM)


ONCE = (
    "Good morning", "release notes are drafted", "version is 4.2", "That was the deployment", "Disks checked",
    "Backup is fine", "Certificates are fine", "with a title of its own", "event never came", "The lost one",
    "heard twice", "Stands once", "After the pause", "First after the outage", "In the thread after the outage",
    "Kept over lunch", "nobody had heard of", "fewer crashes", "due: Stand-up", "The long work is done",
    "Said to nobody", "Here is the plan",
)  # fmt: skip
NEVER = ("hello, stranger", "Never mind", "Taken back", "This is never said", "Certifcates")


async def play(folder: Path, show: Callable[[str], None]) -> list[str]:
    """Play it; what is wrong in the end."""
    async with DiscordServer() as server:
        day = Day(folder, server, show)
        await day.play()
        said = [
            message.content
            for channel in server.world.channels.values()
            for message in channel.messages.values()
            if message.author.id == day.bot.user.id
        ]
    all_said = "\n".join(text for text in said if not text.startswith("📥"))  # but for what `!queue` lists
    wrong = [f"{text!r} was said {n} times" for text in ONCE if (n := all_said.count(text)) != 1]
    wrong += [f"{text!r} was said" for text in NEVER if text in all_said]
    return wrong + [f"left: {text!r}" for text in said if text.startswith("⏳")]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        wrong = anyio.run(play, Path(folder), lambda line: print(line, flush=True))
    print("\n".join(wrong) or f"\nEach of {len(ONCE)} answers stands once; nothing else was said.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

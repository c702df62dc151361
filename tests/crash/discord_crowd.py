"""People on the tests' Discord, files and timers that keep a relay busy while it is killed again and again.

The tests' Discord lives through it all, and makes faults of its own (`discord_weather`). What must hold in the end is
`judging.Judge`'s to say, from what then stands in the channels and in the ledger.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from discord_weather import Weather
from fakes.discord import DiscordServer, Person, Place, Seen
from fakes.discord.errors import ApiError
from fakes.discord.world import Event
from judging import Expected, Findings, Judge

from relay import texts
from relay.clock import SystemClock
from relay.script.transcript import Known, Transcript

ROOT = Path(__file__).parents[2]
LAUNCHER = Path(__file__).with_name("discord_launcher.py")
# fmt: off
POINTS = [
    *(f"commit-{verb}" for verb in (
        "channel.message", "turn.prompted", "turn.started", "turn.steered", "turn.replied", "turn.ended",
        "approval.asked", "approval.closed", "channel.chosen", "post.requested", "post.sending", "post.sent",
        "post.edited", "reaction.set", "watch.fired", "intake.caught_up",
    )),
    *(f"{when}-{name}" for when in ("before", "after") for name in (
        "post", "send", "edit", "react", "read", "look", "hear", "take", "gap", "fire", "click",
    )),
    "after-identify", "after-fold", "after-epoch", "before-cursors",
]
# fmt: on
SEEN = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_REACTION_ADD")
"""What the bot does on Discord: it is killed in that moment, and never hears that it was done."""
RARE = ("after-epoch", "after-fold", "after-identify")
START_S = 30.0
LIFE_S = 4.0
"""How long a life may last that is to end at a point."""
PATIENCE_S = 120.0
QUIET_S = 1.5
GIVEN_UP = "I can't pick it up by myself"


def is_open(one: Seen) -> bool:
    """Whether it is a card that waits for an answer. A workbench has buttons too, which take watches off."""
    return bool(one.buttons) and not one.text.startswith("📌")


class DiscordCrowd:
    """One run: `kills` lives of the relay that end in SIGKILL, and one that goes on until all is quiet."""

    def __init__(
        self,
        folder: Path,
        server: DiscordServer,
        *,
        seed: int,
        kills: int,
        messages: int,
        changes: int,
        timers: int,
        points: Sequence[str] = POINTS,
        seen: Sequence[str] = SEEN,
        clocked: float = 0.3,
        outside: float = 0.3,
        trouble: Sequence[str] = (),
        every_s: float = 0.35,
        fault: str = "",
    ) -> None:
        self.random = random.Random(seed)
        self.findings = Findings()
        self.weather = Weather(server, random.Random(f"weather/{seed}"), every_s, trouble)
        self._server = server
        self._clock = SystemClock()
        self._folder = folder
        self._kills, self._messages, self._changes, self._timers = kills, messages, changes, timers
        self._points, self._seen = points, seen
        self._clocked, self._outside = clocked, outside
        self._fault = fault
        self._expected: list[Expected] = []
        self._said: dict[str, str] = {}
        """what a person said, by number → Discord's id of it."""
        self._texts: dict[str, str] = {}
        self._process: anyio.abc.Process | None = None
        self._changed_at = 0.0
        self._doomed: tuple[str, int] | None = None
        """The next act of the bot that it does not live to hear of: which, and how many are left till then."""
        self._build()

    def _build(self) -> None:
        self._bot = self._server.bot("relay")
        guild = self._server.guild("Workshop", bots=[self._bot])
        build, side = guild.text_channel("build"), guild.text_channel("side")
        self._people = {name: guild.person(name) for name in ("olga", "ada", "ben")}
        self._owner = self._people["olga"]
        ada, ben = self._people["ada"], self._people["ben"]
        threads = [ada.open_thread(build, "one"), ben.open_thread(build, "two")]
        self._places: list[Place] = [build, side, *threads, self._owner.direct(self._bot)]
        self._rooms = {
            p.id: name
            for p, name in zip(self._places, ("build", "side", "build", "build", "dm"), strict=True)
        }
        room: dict[str, Any] = {"agent": "scout", "humans": ["ada", "ben"], "require_mention": False}
        access = {
            "version": 1,
            "surfaces": {"discord": {"token_env": "RELAY_DISCORD_TOKEN"}},
            "owner": {"discord": str(self._owner.id)},
            "people": {"ada": {"discord": str(ada.id)}, "ben": {"discord": str(ben.id)}},
            "agents": {"scout": {"runtime": "scripted"}},
            "limits": {"messages_per_minute": 600, "queue": 500},
            "rooms": {
                f"discord:{build.id}": {**room, "workspace": "build", "require_mention": True},
                f"discord:{side.id}": {**room, "workspace": "side"},
                "dm:": {"agent": "scout", "workspace": "dm", "require_mention": False},
            },
        }
        (self._folder / "access.json").write_text(json.dumps(access))
        for name in self._rooms.values():
            (self._folder / name).mkdir(exist_ok=True)
        self._server.world.listeners.append(self._done_by_the_bot)

    async def run(self) -> Findings:
        try:
            await self._start("")
            await self._arm()
            async with anyio.create_task_group() as crowd:
                crowd.start_soon(self._approve)
                async with anyio.create_task_group() as trouble:
                    trouble.start_soon(self.weather.run)
                    async with anyio.create_task_group() as work:
                        work.start_soon(self._talk)
                        work.start_soon(self._kill_again_and_again)
                    trouble.cancel_scope.cancel()
                self.weather.clear()
                await self._start("")
                await self._settle()
                crowd.cancel_scope.cancel()
            await self._end()
            state = self._folder / "state"
            judge = Judge(self.findings, self._shown(), self._expected, self._said, state)
            judge.chat()
            await judge.ledger()
            judge.processes()
        finally:
            await self._end()
        return self.findings

    def wrong(self, what: str) -> None:
        self.findings.wrong.append(what)

    # -- the process --------------------------------------------------------------------------------------------------

    async def _start(self, die: str) -> None:
        """Start it; come back when Discord hears of it, or (it is away just now) when that takes too long."""
        port, ca, config = str(self._server.port), str(self._server.ca), str(self._folder / "access.json")
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
            "TZ": "UTC",
            "XDG_RUNTIME_DIR": str(self._folder),
            "RELAY_DISCORD_TOKEN": self._bot.token,
            "RELAY_TEST_DIE": die,
            "RELAY_TEST_FAULT": self._fault,
        }
        before = len(self._server.rest.calls)
        with (self._folder / "relay.log").open("ab") as log:
            self._process = await anyio.open_process(
                [sys.executable, str(LAUNCHER), port, ca, config, str(self._folder / "state")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                start_new_session=True,
            )
        await self._until(lambda: self._gone() or len(self._server.rest.calls) > before, START_S)

    async def _until(self, so: Callable[[], bool], within: float) -> None:
        """Until it is so, or that many seconds are over."""
        with anyio.move_on_after(within):
            while not so():
                await self._clock.sleep(0.01)

    def _gone(self) -> bool:
        return self._process is None or self._process.returncode is not None

    async def _end(self) -> None:
        """`kill -9`, if it is still there."""
        process, self._process, self._doomed = self._process, None, None
        if process is not None:
            with anyio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    async def _stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            with anyio.move_on_after(25):
                if (code := await self._process.wait()) != 0:
                    self.wrong(f"a clean stop ended with {code}")
        await self._end()

    def _done_by_the_bot(self, event: Event) -> None:
        if self._doomed is None or self._doomed[0] != event.name or self._process is None:
            return
        author = event.data.get("author") or {}
        if str(author.get("id") or event.data.get("user_id")) != str(self._bot.user.id):
            return
        left = self._doomed[1] - 1
        self._doomed = (event.name, left) if left else None
        if not left:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def _kill_again_and_again(self) -> None:
        for number in range(self._kills):
            draw, die, where = self.random.random(), "", "clock"
            if draw < self._outside:
                where = self.random.choice(self._seen)
            elif draw < 1 - self._clocked:
                where = self.random.choice(self._points)
                die = f"{where}:{1 if where in RARE else self.random.randint(1, 2)}"
            await self._end()
            await self._start(die)
            if where in SEEN:
                self._doomed = (where, self.random.randint(1, 3))
            await self._until(self._gone, self.random.uniform(0.1, 2.5) if where == "clock" else LIFE_S)
            self.findings.kills[where if self._gone() else "clock"] += 1
            await self._end()
            if self.random.random() < 0.5:
                self._server.world.nonces.clear()  # as after a few minutes, in which nobody was there
            if number % 5 == 4:
                await self._start("")
                await anyio.sleep(0.5)
                await self._stop()
                self.findings.kills["clean stop"] += 1

    # -- people, files and timers -------------------------------------------------------------------------------------

    def _say(self, who: Person, place: Place, text: str) -> None:
        mention = (
            f"<@{self._bot.id}> " if self._rooms[place.id] == "build" and not place.channel.is_thread else ""
        )
        said = who.say(place, mention + text)
        self._said[f"{len(self._said)}"] = str(said.id)
        self._texts[str(said.id)] = text

    async def _arm(self) -> None:
        """Watches and timers, before the first kill: a command to a relay that is down isn't acted on."""
        await self._server.until(lambda: self._server.gateway.online(self._bot), within=PATIENCE_S)
        span = self._kills * 2.0
        armed: list[tuple[Place, str]] = []
        for thread in self._places[2:4]:
            self._say(self._owner, thread, f"<@{self._bot.id}> say joined {thread.name}.")
            self._expected.append(Expected(str(thread.id), f"joined {thread.name}."))
        for place in self._places:
            self._say(self._owner, place, f"!watch files --file {self._file(place)} --window 0s")
            armed.append((place, "files"))
        for number in range(self._timers):
            place = self.random.choice(self._places)
            due = round(6 + span * number / max(1, self._timers))
            self._say(self._owner, place, f'!watch timer{number} --in {due}s "ring r{number:03}."')
            line = texts.attribution([f"timer{number}"])
            self._expected.append(Expected(str(place.id), f"due: ring r{number:03}.", attribution=line))
            armed.append((place, f"timer{number}"))
        await self._server.until(
            lambda: all(any(f"Watching «{n}»" in t for t in p.texts("relay")) for p, n in armed),
            within=PATIENCE_S,
            saying="every watch armed",
        )

    def _file(self, place: Place) -> str:
        return f"{place.id}.txt"

    async def _talk(self) -> None:
        acts: list[Callable[[], None]] = []
        for number in range(self._messages):
            acts.append(lambda number=number: self._message(number))
        for number in range(self._changes):
            acts.append(lambda number=number: self._change(number))
        self.random.shuffle(acts)
        pause = self._kills * 2.0 / max(1, len(acts))
        for act in acts:
            act()
            # In bursts: what comes together goes into one turn, or into the turn that runs.
            await anyio.sleep(self.random.choice((0, 0, 0, 4)) * self.random.uniform(0, 2 * pause))

    def _message(self, number: int) -> None:
        place = self.random.choice(self._places)
        private = self._rooms[place.id] == "dm"
        person = self._owner if private else self.random.choice(list(self._people.values()))
        mark = f"m{number:03}."
        kind = self.random.choice(("plain", "plain", "say", "stream", "slow", "tool", "ask", "silent"))
        text, seen = {
            "plain": (f"hello {mark}", f"You said: hello {mark}"),
            "say": (f"say first {mark}\nsay second {mark}", f"first {mark}\nsecond {mark}"),
            "stream": (f"stream one two three {mark}", f"one two three {mark}"),
            "slow": (f"slow {self.random.choice((2, 20))}\nsay rested {mark}", f"rested {mark}"),
            "tool": (f"tool write {mark}txt {mark}\nsay noted {mark}", f"noted {mark}"),
            "ask": (f"ask run {mark}", f"allowed: run {mark}"),
            "silent": ("silent", ""),
        }[kind]
        self._say(person, place, text)
        self._expected.append(Expected(str(place.id), seen))

    def _change(self, number: int) -> None:
        place, mark = self.random.choice(self._places), f"c{number:03}."
        with (self._folder / self._rooms[place.id] / self._file(place)).open("a") as file:
            file.write(f"{mark}\n")
        self._expected.append(Expected(str(place.id), f"\n+{mark}", attribution=texts.attribution(["files"])))

    def _messages_of_the_bot(self) -> list[Seen]:
        return [
            one for place in self._places for one in place.seen() if one.author == "relay" and not one.system
        ]

    async def _approve(self) -> None:
        """The owner allows every card that is open, again and again until it is closed: a click may be lost."""
        while True:
            await anyio.sleep(0.3)
            for one in self._messages_of_the_bot():
                if is_open(one):
                    with suppress(ApiError, LookupError):  # closed in this moment
                        self._owner.click(one, one.buttons[0])

    # -- the end ------------------------------------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Until everything expected is seen and nothing is open, and a while longer for what may come too often."""
        asked: set[int] = set()
        self._server.world.watchers.append(self._changed)
        self._changed()
        with anyio.move_on_after(PATIENCE_S) as limit:
            while not self._all_seen() or anyio.current_time() - self._changed_at < QUIET_S:
                for one in self._messages_of_the_bot():
                    if (
                        GIVEN_UP in one.text
                        and one.id not in asked
                        and self._server.gateway.online(self._bot)
                    ):
                        asked.add(one.id)
                        self._owner.react(one, "🔁")
                await anyio.sleep(0.1)
        self.findings.interrupted = len(asked)
        if limit.cancelled_caught:
            self.wrong(f"not at rest after {PATIENCE_S:.0f} s")

    def _all_seen(self) -> bool:
        ours = self._messages_of_the_bot()
        if any(is_open(one) or one.text.startswith("⏳") for one in ours):
            return False
        in_place: dict[str, str] = {}
        for one in ours:
            in_place[str(one.channel_id)] = in_place.get(str(one.channel_id), "") + f"\n{one.text}"
        if any(e.text and e.text not in in_place.get(e.place, "") for e in self._expected):
            return False
        marks = {str(one.id): one.reactions for place in self._places for one in place.seen()}
        return all("👀" in marks[id] for id, text in self._texts.items() if not text.startswith("!"))

    def _changed(self) -> None:
        self._changed_at = anyio.current_time()

    def _shown(self) -> Transcript:
        """What stands in the channels, in the form in which it is judged."""
        shown = Transcript(lambda line: None, None)
        for place in self._places:
            for one in place.seen():
                if one.system:
                    continue
                id, ours = str(one.id), one.author == "relay"
                text = one.text if ours else self._texts.get(id, one.text)
                card = is_open(one) or bool(re.match(r"^🔐", one.text))
                told: dict[str, Any] = {"id": id, "place": str(place.id), "ours": ours, "text": text}
                told |= {"card": card, "card_open": is_open(one)}
                reactions = {(emoji, who): who for emoji, people in one.reactions.items() for who in people}
                shown.messages[id] = Known(told, reactions)
        return shown

"""People, files and timers that keep a relay busy while it is killed again and again, and what must hold afterwards.

Everything is judged by what people see in the chat; the ledger is read only to bind posts to their causes and to check
itself.
"""

import os
import random
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from relay.behaviours import discover
from relay.behaviours.posting.verbs import PostDead, PostRequested, PostSent
from relay.behaviours.turns.verbs import TurnEnded
from relay.behaviours.watches.verbs import WatchFired
from relay.clock import SystemClock
from relay.errors import RelayError
from relay.ledger.engine import Engine
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Checkpoint
from relay.script import stage as staging
from relay.script.child import Child, RelayDown
from relay.script.language import read
from relay.script.player import who
from relay.script.transcript import Transcript
from relay import texts

ROOT = Path(__file__).parents[2]
LAUNCHER = Path(__file__).with_name("launcher.py")
POINTS = [
    f"{when}-{name}"
    for name in ("append", "append", "append", "post", "post", "edit", "react", "deliver", "gap", "take", "fire")
    for when in ("before", "after")
] + ["after-epoch", "after-fold", "before-cursors", "after-advance", "after-steer", "after-answer", "before-step"]
SCRIPT = """
human ada
human ben
room side
you: hello
"""
LONGEST_LIFE_S = 2.5


@dataclass(frozen=True, slots=True)
class Expected:
    """What the relay must say exactly once in a place; nothing, for `text` empty."""

    place: str
    text: str
    attribution: str = ""


@dataclass(slots=True)
class Findings:
    """What is wrong, as sentences; and how much was looked at."""

    wrong: list[str] = field(default_factory=list[str])
    expected: int = 0
    interrupted: int = 0
    kills: Counter[str] = field(default_factory=Counter[str])


class Crowd:
    """One run: `kills` lives of the relay that end in SIGKILL, and one that goes on until all is quiet."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int,
        kills: int,
        messages: int,
        changes: int,
        timers: int,
        points: Sequence[str] = POINTS,
        clocked: float = 0.35,
        fault: str = "",
    ) -> None:
        self.random = random.Random(seed)
        self.findings = Findings()
        self._clock = SystemClock()
        self._stage = staging.build(
            read(SCRIPT), Path("crash.script"), state=folder, config=None, clock=self._clock, env={}
        )
        self._kills = kills
        self._messages = messages
        self._changes = changes
        self._timers = timers
        self._points = points
        self._clocked = clocked
        self._fault = fault
        self._transcript = Transcript(lambda line: None, None)
        self._expected: list[Expected] = []
        self._said: dict[str, str] = {}
        """nonce → message."""
        self._using = anyio.Lock()
        self._pids: list[int] = []
        self._settled = False

    async def run(self) -> Findings:
        async with anyio.create_task_group() as tasks:
            self._child = Child(
                tasks=tasks,
                command=[sys.executable, str(LAUNCHER)],
                state=self._stage.state,
                config=self._stage.config,
                rooms=self._stage.rooms,
                log=self._stage.log,
                clock=self._clock,
                hear=lambda tell: self._transcript.hear(tell, self._clock.now_ms()),
                env=self._env(""),
            )
            try:
                await self._child.start()
                await self._arm()
                async with anyio.create_task_group() as crowd:
                    crowd.start_soon(self._approve)
                    async with anyio.create_task_group() as work:
                        work.start_soon(self._talk)
                        work.start_soon(self._kill_again_and_again)
                    await self._settle()
                    await self._run_again_what_was_given_up()
                    crowd.cancel_scope.cancel()
                await self._judge_chat()
                await self._child.kill()
                await self._judge_ledger()
                self._judge_processes()
            finally:
                await self._child.close()
                tasks.cancel_scope.cancel()
        return self.findings

    def _env(self, die: str) -> dict[str, str]:
        ours = {"RELAY_TEST_DIE": die, "RELAY_TEST_FAULT": self._fault, "PYTHONPATH": str(ROOT)}
        return {**os.environ, **ours}

    def wrong(self, what: str) -> None:
        self.findings.wrong.append(what)

    # -- acting -------------------------------------------------------------------------------------------------------

    async def _do(self, do: str, **fields: Any) -> Any:
        """Do it, again if the relay dies meanwhile: as a page does, with the same nonce."""
        while True:
            try:
                async with self._using:
                    return await self._child.do(do, **fields)
            except RelayDown:
                await anyio.sleep(0.02)

    async def _say(self, person: str, place: str, text: str, reply_to: str | None = None) -> str:
        nonce = f"crowd {len(self._said)}"
        self._said[nonce] = ""
        message = await self._do(
            "post", person=who(person), place=place, text=text, nonce=nonce, reply_to=reply_to
        )
        self._said[nonce] = message
        return message

    async def _arm(self) -> None:
        """Threads, watches and timers, before the first kill: a command to a relay that is down isn't acted on."""
        self._places = ["main", "side"]
        for title in ("one", "two"):
            self._places.append(await self._do("thread", person=who("you"), room="main", title=title))
        for place in self._places:
            await self._say("you", place, f"!watch files --file {self._file(place)} --window 0s")
        span = self._kills * 1.6
        for number in range(self._timers):
            place = self.random.choice(self._places)
            due = round(2 + span * number / max(1, self._timers))
            await self._say("you", place, f'!watch timer{number} --in {due}s "ring r{number:03}."')
            self._expected.append(
                Expected(place, f"ring r{number:03}.", attribution=texts.attribution([f"timer{number}"]))
            )
        await self._do("quiet")
        self._expected = [
            Expected(e.place, f"due: {e.text}", attribution=e.attribution) for e in self._expected
        ]

    def _file(self, place: str) -> str:
        return f"{place.replace('/', '-')}.txt"

    async def _talk(self) -> None:
        acts: list[Callable[[], Any]] = []
        for number in range(self._messages):
            acts.append(lambda number=number: self._message(number))
        for number in range(self._changes):
            acts.append(lambda number=number: self._change(number))
        self.random.shuffle(acts)
        pause = self._kills * 1.5 / max(1, len(acts))
        for act in acts:
            await act()
            # In bursts: what comes together goes into one turn, or into the turn that runs.
            await anyio.sleep(self.random.choice((0, 0, 0, 4)) * self.random.uniform(0, 2 * pause))

    async def _message(self, number: int) -> None:
        place, person = self.random.choice(self._places), self.random.choice(("you", "ada", "ben"))
        mark = f"m{number:03}."
        kind = self.random.choice(("plain", "plain", "say", "stream", "slow", "tool", "ask", "silent"))
        text, seen = {
            "plain": (f"hello {mark}", f"You said: hello {mark}"),
            "say": (f"say first {mark}\nsay second {mark}", f"first {mark}\nsecond {mark}"),
            "stream": (f"stream one two three {mark}", f"one two three {mark}"),
            "slow": (f"slow {self.random.choice((0.2, 0.5))}\nsay rested {mark}", f"rested {mark}"),
            "tool": (f"tool write {mark}txt {mark}\nsay noted {mark}", f"noted {mark}"),
            "ask": (f"ask run {mark}", f"allowed: run {mark}"),
            "silent": ("silent", ""),
        }[kind]
        await self._say(person, place, text)
        self._expected.append(Expected(place, seen))

    async def _change(self, number: int) -> None:
        place = self.random.choice(self._places)
        mark = f"c{number:03}."
        with (self._stage.workspace(place.partition("/")[0]) / self._file(place)).open("a") as file:
            file.write(f"{mark}\n")
        self._expected.append(
            Expected(place, f"\n+{mark}", attribution=texts.attribution(["files"]))
        )

    async def _approve(self) -> None:
        """The owner allows every card that is open."""
        while True:
            await anyio.sleep(0.05)
            for known in list(self._transcript.messages.values()):
                if known.told["card_open"] and not known.told["chosen"]:
                    ids = {"message": known.told["id"], "card": known.told["card"]}
                    try:
                        await self._do(
                            "choose", person=who("you"), place=known.told["place"], **ids, value="allow", reason=""
                        )
                    except RelayError:  # the card was closed in this moment
                        await self._look()

    async def _look(self) -> None:
        async with self._using:
            try:
                for message in await self._child.everything():
                    self._transcript.message(message, self._clock.now_ms())
            except RelayDown:
                return

    # -- killing ------------------------------------------------------------------------------------------------------

    async def _kill_again_and_again(self) -> None:
        """The kills; every fifth life ends in a clean stop as well, so that there are checkpoints to go on from."""
        for number in range(self._kills):
            die = ""
            if self.random.random() >= self._clocked:
                point = self.random.choice(self._points)
                most = 25 if "append" in point else 4 if point[-4:] in ("post", "take") or "react" in point else 2
                if point in ("after-epoch", "after-fold"):
                    most = 1
                die = f"{point}:{self.random.randint(1, most)}"
            await self._live(die, self.random.uniform(0.0, 1.8) if not die else LONGEST_LIFE_S)
            if number % 5 == 4:
                await self._live("", 0.3, clean=True)
        async with self._using:
            await self._child.start(self._env(""))
        await self._look()

    async def _live(self, die: str, seconds: float, *, clean: bool = False) -> None:
        """One life from start to end, and a while in which nobody is there."""
        async with self._using:
            if self._child.up:
                await self._child.kill()
            try:
                await self._child.start(self._env(die))
            except RelayDown:
                self.findings.kills[die.partition(":")[0]] += 1
                return
            self._pids.append(self._child.pid or 0)
        await self._look()
        with anyio.move_on_after(seconds):
            while not self._gone():
                await anyio.sleep(0.01)
        ended = self._gone()
        if not ended and not clean and self._child.pid is not None:
            os.kill(self._child.pid, signal.SIGKILL)
        self.findings.kills["clean stop" if clean else die.partition(":")[0] if ended else "clock"] += 1
        async with self._using:
            code = await (self._child.stop() if clean else self._child.kill())
            if clean and code != 0:
                self.wrong(f"a clean stop ended with {code}")
        await anyio.sleep(self.random.choice((0, 0, 0.2)))

    def _gone(self) -> bool:
        try:
            self._child.look()
        except RelayDown:
            return True
        return False

    async def _settle(self) -> None:
        self._settled = True
        with anyio.move_on_after(60) as limit:
            while True:
                await self._child.do("quiet", limit_s=60)
                await self._look()
                if not any(known.told["card_open"] for known in self._transcript.messages.values()) and all(
                    self._count(e) for e in self._expected if e.attribution.endswith("»") and "ring" in e.text
                ):
                    break
                await anyio.sleep(0.3)
        if limit.cancelled_caught:
            self.wrong("the relay does not come to rest")
        await self._look()

    async def _run_again_what_was_given_up(self) -> None:
        """A person whose work was given up is told to react 🔁: that must do."""
        given_up = [
            known
            for known in self._transcript.messages.values()
            if known.told["ours"] and known.text == texts.TURN_INTERRUPTED
        ]
        self.findings.interrupted = len(given_up)
        for known in given_up:
            await self._do(
                "react",
                person=who("you"),
                place=known.told["place"],
                message=known.told["id"],
                emoji="🔁",
                add=True,
            )
        if given_up:
            await self._settle()

    # -- judging ------------------------------------------------------------------------------------------------------

    def _count(self, expected: Expected) -> int:
        return sum(
            f"\n{known.text}".count(expected.text)
            for known in self._transcript.messages.values()
            if known.told["ours"] and not known.told["card"] and known.told["place"] == expected.place
        )

    async def _judge_chat(self) -> None:
        await self._look()
        self.findings.expected = len(self._expected)
        for expected in self._expected:
            if not expected.text:
                continue  # a turn that says nothing is judged by its end
            if (count := self._count(expected)) != 1:
                self.wrong(f"seen {count} times in {expected.place}: {expected}")
            if expected.attribution and not any(
                expected.text in f"\n{known.text}" and expected.attribution in known.text
                for known in self._transcript.messages.values()
            ):
                self.wrong(f"without its attribution: {expected}")
        if len(set(self._said.values())) != len(self._said):
            self.wrong("a person's message stands twice in the chat")
        for id in self._said.values():
            known = self._transcript.messages[id]
            if not known.text.startswith("!") and ("👀", "relay") not in known.reactions:
                self.wrong(f"no 👀 on {known.text!r}")
        for known in self._transcript.messages.values():
            if known.told["card_open"]:
                self.wrong(f"a card is still open: {known.text!r}")

    async def _judge_ledger(self) -> None:
        store = await SqliteStore.open(self._stage.state / "ledger.db")
        try:
            everything = await read_all(store)
            self._judge_records(everything)
            self._judge_posts(everything)
            self._judge_turns(everything)
            await self._judge_refold(store)
        finally:
            await store.close()
        for name in ("ledger.db", "page.db"):
            connection = sqlite3.connect(self._stage.state / name)
            (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.close()
            if found != "ok":
                self.wrong(f"{name}: {found}")

    def _judge_records(self, everything: list[Interaction]) -> None:
        for interaction in everything:
            if not interaction.verifies():
                self.wrong(f"{interaction} is not what its id says")
        keys = Counter(interaction.key for interaction in everything)
        self.findings.wrong += [f"the key {key} stands {n} times" for key, n in keys.items() if n > 1]

    def _judge_posts(self, everything: list[Interaction]) -> None:
        """Each post of the ledger stands once in the chat, and nothing else of the relay's does."""
        owed = [i.id for i in everything if i.verb == PostRequested.VERB]
        sent = [i.read(PostSent) for i in everything if i.verb == PostSent.VERB]
        dead = [i.read(PostDead) for i in everything if i.verb == PostDead.VERB]
        if dead:
            self.wrong(f"posts are dead: {[d.why for d in dead]}")
        if Counter(s.post for s in sent) != Counter(owed):
            self.wrong("not every post that was owed stands exactly once")
        shown = Counter(id for id, known in self._transcript.messages.items() if known.told["ours"])
        if (bound := Counter(s.message for s in sent)) != shown:
            extra = [self._transcript.messages[id].text for id in (shown - bound)]
            self.wrong(f"posts in the chat that the ledger knows nothing of: {extra}; not there: {bound - shown}")

    def _judge_turns(self, everything: list[Interaction]) -> None:
        """Each message and each fire was worked on to the end by exactly one turn that nobody cut off."""
        ends = [i.read(TurnEnded) for i in everything if i.verb == TurnEnded.VERB]
        done = Counter(source for end in ends if end.status != "interrupted" for source in end.sources)
        asked = [
            i.id
            for i in everything
            if i.verb == WatchFired.VERB or (i.verb == "channel.message" and not i.body["text"].startswith("!"))
        ]
        for id in asked:
            if done[id] != 1:
                self.wrong(f"{done[id]} whole turns for {next(i for i in everything if i.id == id).body['text']!r}")
        for end in ends:
            for message in (o.message for o in end.origins if end.status == "completed" and not end.replies):
                if message and ("👌", "relay") not in self._transcript.messages[message].reactions:
                    self.wrong(f"nothing but 👀 on {self._transcript.messages[message].text!r}")
        said = Counter(i.body["message"] for i in everything if i.verb == "channel.message")
        for id in self._said.values():
            if said[id] != 1:
                self.wrong(f"{id} was taken in {said[id]} times")

    async def _judge_refold(self, store: SqliteStore) -> None:
        furniture = tuple(behaviour.furniture for behaviour in discover())
        quick = Engine(store, furniture, self._clock, lambda: b"0" * 16)
        await quick.boot()
        if not (checkpoints := await store.checkpoints()):
            self.wrong("there is no checkpoint to compare with")
        if all(checkpoint.seq == store.head for checkpoint in checkpoints.values()):
            self.wrong("the checkpoints stand at the head, so nothing is compared")

        async def none() -> dict[str, Checkpoint]:
            return {}

        store.checkpoints = none
        whole = Engine(store, furniture, self._clock, lambda: b"0" * 16)
        await whole.boot()
        if quick.view.digest() != whole.view.digest():
            self.wrong("a refold from zero differs from the state that a checkpoint gives")
        if quick.trouble():
            self.wrong(f"something stands still: {quick.trouble()}")

    def _judge_processes(self) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:  # it ended in this moment
                continue
            if str(self._stage.state).encode() in command:
                self.wrong(f"process {folder.name} is still there")


async def read_all(store: SqliteStore) -> list[Interaction]:
    found: list[Interaction] = []
    while page := await store.read(found[-1].seq if found else 0, 1000):
        found += page
    return found

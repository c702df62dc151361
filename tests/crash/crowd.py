"""People, files and timers that keep a relay busy while it is killed again and again. `judging` says what must hold."""

import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
from judging import Expected, Findings, Judge

from relay import texts
from relay.clock import SystemClock
from relay.errors import RelayError
from relay.script import stage as staging
from relay.script.child import Child, RelayDown
from relay.script.language import read
from relay.script.player import who
from relay.script.transcript import Transcript

ROOT = Path(__file__).parents[2]
LAUNCHER = Path(__file__).with_name("launcher.py")
# fmt: off
COMMITS = (
    "channel.message", "turn.prompted", "turn.started", "turn.steered", "turn.replied", "turn.ended",
    "session.opened", "tool.asked", "tool.ended", "approval.asked", "approval.closed", "channel.chosen",
    "post.requested", "post.sending", "post.sent", "post.edited", "reaction.set",
    "watch.fired", "watch.started", "watch.disarmed", "intake.caught_up", "config.loaded",
)
CALLS = ("append", "post", "edit", "react", "deliver", "gap", "take", "fire")
# fmt: on
POINTS = [
    *(f"commit-{verb}" for verb in COMMITS),
    *(f"{when}-{name}" for name in CALLS for when in ("before", "after")),
    *(
        "after-epoch",
        "after-fold",
        "before-cursors",
        "after-advance",
        "after-steer",
        "after-answer",
        "before-step",
    ),
]
RARE = (
    "after-epoch",
    "after-fold",
    "commit-config.loaded",
    "commit-session.opened",
    "commit-intake.caught_up",
)
"""What a life comes past once."""
SCRIPT = """
human ada
human ben
room side
you: hello
"""
LONGEST_LIFE_S = 2.0


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
        clocked: float = 0.25,
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
        self._rung_at = 0.0
        """When every timer has come due."""
        self._using = anyio.Lock()

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
                judge = Judge(self.findings, self._transcript, self._expected, self._said, self._stage.state)
                judge.chat()
                await self._child.kill()
                await judge.ledger()
                judge.processes()
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
        span = self._kills * 1.8
        for number in range(self._timers):
            place = self.random.choice(self._places)
            due = round(2 + span * number / max(1, self._timers))
            self._rung_at = self._clock.monotonic() + due + 1
            await self._say("you", place, f'!watch timer{number} --in {due}s "ring r{number:03}."')
            self._expected.append(
                Expected(place, f"ring r{number:03}.", attribution=texts.attribution([f"timer{number}"]))
            )
        if left := await self._do("quiet", within=20):
            self.wrong(f"what was armed is not done after 20 s: {left}")
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
        pause = self._kills * 2.0 / max(1, len(acts))
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
        self._expected.append(Expected(place, f"\n+{mark}", attribution=texts.attribution(["files"])))

    async def _approve(self) -> None:
        """The owner allows every card that is open."""
        while True:
            await anyio.sleep(0.05)
            for known in list(self._transcript.messages.values()):
                if known.told["card_open"] and not known.told["chosen"]:
                    ids = {"message": known.told["id"], "card": known.told["card"]}
                    try:
                        await self._do(
                            "choose",
                            person=who("you"),
                            place=known.told["place"],
                            **ids,
                            value="allow",
                            reason="",
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
                most = 25 if point.endswith("append") else 1 if point in RARE else 2
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
        await self._look()
        with anyio.move_on_after(seconds):
            while not self._gone():
                await self._clock.sleep(0.01)
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
        with anyio.move_on_after(60) as limit:
            while True:
                ringing = self._clock.monotonic() < self._rung_at
                if left := await self._child.do("quiet", within=40, limit_s=50):
                    self.wrong(f"the relay does not come to rest: {left}")
                    break
                await self._look()
                cards = any(known.told["card_open"] for known in self._transcript.messages.values())
                if not ringing and not cards:
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
            if known.told["ours"] and "I can't pick it up by myself" in known.text
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

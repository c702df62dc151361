"""Plays a script: people act line by line, what they see is printed as it comes, and expectations are marked.

It never looks into the ledger: what holds is what people see.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from relay.clock import Clock
from relay.errors import RelayError, SurfaceError
from relay.script.child import Child, RelayDown
from relay.script.hands import person_line
from relay.script.language import OWNER
from relay.script.stage import Stage
from relay.script.steps import (
    EXPECTATIONS,
    LAST,
    Change,
    Choose,
    Count,
    File,
    OpenThread,
    Process,
    React,
    Say,
    Script,
    Seen,
    SeenReaction,
    Settle,
    Step,
    Unseen,
    Wait,
    Working,
)
from relay.script.transcript import Known, Transcript, one_line
from relay.surfaces.surface import Person

TARGET_S = 10.0
"""How long a line that names a message waits for it."""
LOOK_S = 0.05
_SHOWN = 3


class Player:
    """One play. `show` is given each line for the terminal."""

    def __init__(self, script: Script, stage: Stage, clock: Clock, show: Callable[[str], None]) -> None:
        self.passed = 0
        self.failed = 0
        self._script = script
        self._stage = stage
        self._clock = clock
        self._show = show
        self._transcript = Transcript(show, None)
        self._places: dict[str, str] = {}
        """A thread's alias → its place."""
        self._marks: dict[str, int] = {}
        """place → the sighting behind the one that the last `see` found."""
        self._stale = False

    async def play(self) -> bool:
        """Whether everything held. Raises `RelayError` when the relay can't be started at all."""
        trouble: RelayError | None = None
        async with anyio.create_task_group() as tasks:
            child = Child(
                tasks=tasks,
                command=[sys.executable, "-m", "relay"],
                state=self._stage.state,
                config=self._stage.config,
                rooms=self._stage.rooms,
                log=self._stage.log,
                clock=self._clock,
                hear=self._hear,
            )
            try:
                await child.start()
                await self._catch_up(child)
                await self._steps(child)
            except RelayError as error:
                trouble = error
            finally:
                await child.close()
                tasks.cancel_scope.cancel()
        if trouble is not None:
            raise trouble
        return not self.failed

    async def _steps(self, child: Child) -> None:
        at = 0
        with anyio.move_on_after(self._script.limit_s) as limit:
            for step in self._script.steps:
                at = step.line
                if not await self._step(step, child):
                    return
        if limit.cancelled_caught:
            self._fail(
                at, f"the script's limit of {self._script.limit_s:g} s is over here; a `limit` line sets it"
            )

    async def _step(self, step: Step, child: Child) -> bool:
        """Do it and mark it. False when nothing more can be played."""
        down = False
        try:
            why = await self._do(step, child)
        except RelayDown as error:
            why, down = f"{error.told()}\nThe rest isn't played.", True
        except RelayError as error:
            why = error.told()
        except TimeoutError:
            why = "the relay didn't answer in time"
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
        if why:
            self._fail(step.line, f"{step.shown}\n{why}")
        elif isinstance(step.act, EXPECTATIONS):
            self.passed += 1
            self._show(f"✓ {step.line}: {one_line(step.shown)}")
        return not down

    def _fail(self, line: int, why: str) -> None:
        self.failed += 1
        first, *rest = why.split("\n")
        self._show("\n".join([f"✗ {line}: {first}", *(f"    {more}" for more in rest)]))

    # -- what is seen -------------------------------------------------------------------------------------------------

    def _hear(self, tell: Mapping[str, Any]) -> None:
        if tell["kind"] == "reload":
            self._stale = True
        else:
            self._transcript.hear(tell, self._clock.now_ms())

    async def _catch_up(self, child: Child) -> None:
        """Read what was shown while nobody listened."""
        self._stale = False
        for message in await child.everything():
            self._transcript.message(message, self._clock.now_ms())

    async def _until(self, holds: Callable[[], Any], seconds: float, child: Child) -> bool:
        """Wait until it holds; False when it doesn't in that time."""
        until = self._clock.monotonic() + seconds
        while not holds():
            child.look()
            if self._stale:
                await self._catch_up(child)
            elif self._clock.monotonic() >= until:
                return False
            else:
                await self._clock.sleep(LOOK_S)
        return True

    async def _target(self, place: str, text: str, child: Child, *, card: bool = False) -> Known:
        """The message that a line names, waited for. Raises `SurfaceError`."""
        if not await self._until(lambda: self._transcript.target(place, text, card=card), TARGET_S, child):
            what = "open card" if card else "message"
            raise SurfaceError(f"no {what} {'is there' if text == LAST else 'has that text'} in {place}")
        found = self._transcript.target(place, text, card=card)
        assert found is not None
        return found

    # -- the lines ----------------------------------------------------------------------------------------------------

    async def _do(self, step: Step, child: Child) -> str | None:
        """Why it didn't hold; None if it did."""
        place = self._places.get(step.place, step.place)
        act = step.act
        match act:
            case Say() | Change() | React() | Choose() | OpenThread():
                await self._people(act, place, child)
            case File():
                change(self._stage.workspace(place.partition("/")[0]), act)
                self._say(one_line(f"{act.act} {act.path} {act.text if act.act != 'delete' else ''}"))
            case Wait(seconds):
                await self._clock.sleep(seconds)
            case Process():
                await self._process(act, child)
            case Seen():
                return await self._seen(act, place, child)
            case SeenReaction(emoji, target, within):
                stands = await self._until(
                    lambda: self._transcript.reacted(place, target, emoji), within, child
                )
                return None if stands else f"nobody has set {emoji} in {within:g} s"
            case Unseen(text, by, seconds):
                mark = self._marks.get(place, 0)
                came = await self._until(
                    lambda: self._transcript.find(place, text, by, mark) is not None, seconds, child
                )
                return "it was seen" if came else None
            case Count():
                return await self._count(act, place, child)
            case Working(text, within):
                if not await self._until(lambda: self._works(place, text), within, child):
                    return f"the agent didn't begin that in {within:g} s"
            case Settle(within):
                left = await child.do("quiet", within=within, limit_s=within + TARGET_S)
                return f"after {within:g} s there is still: {', '.join(left)}" if left else None
        return None

    async def _people(
        self, act: Say | Change | React | Choose | OpenThread, place: str, child: Child
    ) -> None:
        match act:
            case Say(person, text, to):
                reply = None if to is None else (await self._target(place, to, child)).told["id"]
                id = await child.do("post", person=who(person), place=place, text=text, reply_to=reply)
                await self._shown(lambda: id in self._transcript.messages, child)
            case Change(target, text):
                known = await self._target(place, target, child)
                message, person = str(known.told["id"]), dict(known.told["person"])
                if text is None:
                    await child.do("erase", person=person, place=place, message=message)
                    self._transcript.messages.pop(message, None)
                    self._say(f"{one_line(known.name)} deleted «{one_line(known.text)[:80]}»")
                else:
                    await child.do("edit", person=person, place=place, message=message, text=text)
                    await self._shown(lambda: known.text == text, child)
            case React(emoji, target, person):
                message = (await self._target(place, target, child)).told["id"]
                await child.do(
                    "react", person=who(person), place=place, message=message, emoji=emoji, add=True
                )
                await self._shown(lambda: True, child)
            case Choose(value, target, person, reason):
                known = await self._target(place, target, child, card=True)
                ids = {"message": known.told["id"], "card": known.told["card"]}
                await child.do("choose", person=who(person), place=place, **ids, value=value, reason=reason)
                await self._shown(lambda: True, child)
            case OpenThread(title, alias):
                room = place.partition("/")[0]
                opened = await child.do("thread", person=who(OWNER), room=room, title=title)
                self._places[alias] = str(opened)

    async def _shown(self, holds: Callable[[], bool], child: Child) -> None:
        """Wait until the transcript has what was just done: while the relay is down it must be read."""
        if not child.up:
            await self._catch_up(child)
        await self._until(holds, TARGET_S, child)

    async def _process(self, act: Process, child: Child) -> None:
        how: Mapping[str, Callable[[], Awaitable[Any]]] = {"kill": child.kill, "stop": child.stop}
        if act.act == "restart":
            await child.stop()
            await child.start()
            self._say("the relay runs again")
        else:
            await how[act.act]()
            self._transcript.live.clear()
            self._say("the relay is killed (kill -9)" if act.act == "kill" else "the relay has stopped")
        await self._catch_up(child)

    async def _seen(self, act: Seen, place: str, child: Child) -> str | None:
        mark = self._marks.get(place, 0)

        def found() -> int | None:
            return self._transcript.find(place, act.text, act.by, mark)

        if await self._until(lambda: found() is not None, act.within_s, child):
            self._marks[place] = (found() or 0) + 1
            return None
        since = [s for s in self._transcript.sightings[mark:] if s.place == place]
        shown = "\n".join(f"{one_line(s.name)}: {one_line(s.text)[:200]}" for s in since[-_SHOWN:])
        return f"not seen in {act.within_s:g} s. Shown since the last `see`: " + (
            f"\n{shown}" if shown else "nothing"
        )

    async def _count(self, act: Count, place: str, child: Child) -> str | None:
        def count() -> int:
            return self._transcript.count(place, act.text, act.by)

        if await self._until(lambda: count() >= act.number, act.within_s, child):
            await self._until(lambda: count() > act.number, act.for_s, child)
        return None if count() == act.number else f"{count()} messages have it"

    def _works(self, place: str, text: str) -> bool:
        view = self._transcript.live.get(place)
        return view is not None and text in f"{view['doing']}\n{view['text']}"

    def _say(self, line: str) -> None:
        self._transcript.say(self._clock.now_ms(), line)


def who(person: str) -> dict[str, Any]:
    """A person of the script on the control channel: `you` is the page's person, the owner."""
    return person_line(Person("owner", "you", owner=True) if person == OWNER else Person(person, person))


def change(workspace: Path, act: File) -> None:
    """Do what the line says to a file. Raises OSError."""
    file = workspace / act.path
    match act.act:
        case "delete":
            file.unlink()
        case "rename":
            target = workspace / act.text
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
        case "write" | "append":
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("w" if act.act == "write" else "a", encoding="utf-8") as opened:
                opened.write(act.text)

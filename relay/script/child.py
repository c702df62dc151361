"""The relay as a process of its own, and the one socket through which people act in it.

While the process is down its chat is opened here, so people can go on writing as they can in any chat; the relay finds
it when it is back. Nothing here outlives the player: the process ends when the socket closes.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from relay.clock import Clock
from relay.errors import RelayError
from relay.script.channel import Channel, ChannelClosed, Line
from relay.script.hands import Hands
from relay.surfaces.web.chat import ChatRoom, LocalChat

START_LIMIT_S = 60.0
STOP_LIMIT_S = 25.0
ASK_LIMIT_S = 30.0
_TAIL = 2000


class RelayDown(RelayError):
    """The relay's process has ended, though nobody asked for that."""


@dataclass(slots=True)
class _Asked:
    done: anyio.Event = field(default_factory=anyio.Event)
    answer: Line | None = None


@dataclass(slots=True)
class _Life:
    """One life of the process."""

    process: anyio.abc.Process
    channel: Channel
    hello: anyio.Event = field(default_factory=anyio.Event)
    gone: anyio.Event = field(default_factory=anyio.Event)
    asked: dict[int, _Asked] = field(default_factory=dict[int, _Asked])


class Child:
    """See the module. `command` starts `relay`; `hear` is given each line of the chat's stream.

    `tasks` owns the reading of the socket; end the process with `kill` or `stop` before that group is left.
    """

    def __init__(
        self,
        *,
        tasks: anyio.abc.TaskGroup,
        command: Sequence[str],
        state: Path,
        config: Path,
        rooms: Sequence[ChatRoom],
        log: Path,
        clock: Clock,
        hear: Callable[[Mapping[str, Any]], None],
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._tasks = tasks
        self._command = list(command)
        self._state = state
        self._config = config
        self._rooms = rooms
        self._log = log
        self._clock = clock
        self._hear = hear
        self._env = env
        self._life: _Life | None = None
        self._chat: LocalChat | None = None
        self._count = 0

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._life.process.pid if self._life is not None else None

    @property
    def up(self) -> bool:
        """Whether it was started and not ended from here. It may have died since: then `do` raises `RelayDown`."""
        return self._life is not None

    def look(self) -> None:
        """Raises `RelayDown` when the process has ended by itself."""
        if self._life is not None and self._life.gone.is_set():
            raise self._down()

    async def start(self, env: Mapping[str, str] | None = None) -> None:
        """Start the process and wait until it listens. Raises `RelayDown` with what it said when it doesn't."""
        await self._close_chat()
        mine, theirs = socket.socketpair()
        try:
            with self._log.open("ab") as log:
                process = await anyio.open_process(
                    [*self._command, *self._arguments(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=env or self._env,
                    start_new_session=True,
                    pass_fds=(theirs.fileno(),),
                )
        except BaseException:
            mine.close()
            raise
        finally:
            theirs.close()
        life = self._life = _Life(process, Channel(mine))
        self._tasks.start_soon(self._read, life)
        with anyio.move_on_after(START_LIMIT_S):
            await life.hello.wait()
        if not life.hello.is_set() or life.gone.is_set():
            await self.kill()
            raise RelayDown(f"the relay did not start: {self._tail()}", f"Its log: {self._log}")

    def _arguments(self, fd: int) -> list[str]:
        return ["up", "--control", str(fd), "--state", str(self._state), "--config", str(self._config)]

    async def _read(self, life: _Life) -> None:
        try:
            async for line in life.channel.lines():
                if "tell" in line:
                    if line["tell"]["kind"] == "hello":
                        life.hello.set()
                    else:
                        self._hear(line["tell"])
                    continue
                asked = life.asked.pop(int(line["n"]), None)
                if asked is not None:
                    asked.answer = line
                    asked.done.set()
        except ChannelClosed as error:
            self._hear({"kind": "trouble", "text": str(error)})
        life.gone.set()
        life.hello.set()
        for asked in life.asked.values():
            asked.done.set()

    async def kill(self) -> None:
        """`kill -9`, at once."""
        await self._end(signal.SIGKILL, 5.0)

    async def stop(self) -> int | None:
        """A clean stop; its exit code. A process that doesn't end in time is killed."""
        return await self._end(signal.SIGTERM, STOP_LIMIT_S)

    async def _end(self, how: signal.Signals, limit_s: float) -> int | None:
        life = self._life
        if life is None:
            return None
        with anyio.CancelScope(shield=True):
            # Not `send_signal`: it would reap a process that has just died, and its exit code would be lost.
            with suppress(ProcessLookupError):
                if life.process.returncode is None:
                    os.kill(life.process.pid, how)
            with anyio.move_on_after(limit_s):
                await life.process.wait()
            if life.process.returncode is None:
                with suppress(ProcessLookupError):
                    life.process.kill()
                await life.process.wait()
            # What it said last is still in the socket.
            with anyio.move_on_after(1):
                await life.gone.wait()
            life.channel.close()
        self._life = None
        return life.process.returncode

    async def close(self) -> None:
        """End whatever is still there: cleanly, if it goes that way."""
        await self.stop()
        with anyio.CancelScope(shield=True):
            await self._close_chat()

    # -- acting -------------------------------------------------------------------------------------------------------

    async def do(self, do: str, *, limit_s: float = ASK_LIMIT_S, **fields: Any) -> Any:
        """What `Hands.do` gives. Raises `RelayError` for a refusal, `RelayDown`, `TimeoutError`."""
        line: Line = {"do": do, **fields}
        life = self._life
        if life is None:
            return await Hands(await self._own_chat()).do(line)
        self.look()
        self._count += 1
        number = self._count
        asked = life.asked[number] = _Asked()
        try:
            await life.channel.send({"n": number, **line})
            with anyio.fail_after(limit_s):
                await asked.done.wait()
        except ChannelClosed as error:
            raise self._down() from error
        finally:
            life.asked.pop(number, None)
        if asked.answer is None:
            raise self._down()
        if "refused" in asked.answer:
            raise RelayError(asked.answer["refused"], asked.answer["advice"])
        return asked.answer["gave"]

    async def everything(self) -> list[Mapping[str, Any]]:
        """Every message of every place as it stands now, oldest first."""
        found: list[Mapping[str, Any]] = []
        for place in await self.do("places"):
            before: int | None = None
            while page := await self.do("messages", place=place, before=before):
                found += page
                before = page[0]["position"]
        return sorted(found, key=lambda message: int(message["position"]))

    def _down(self) -> RelayDown:
        return RelayDown(f"the relay ended by itself: {self._tail()}", f"Its log: {self._log}")

    def _tail(self) -> str:
        try:
            said = self._log.read_bytes()[-_TAIL:].decode(errors="replace").strip()
        except OSError as error:
            said = str(error)
        return said or "it said nothing"

    async def _own_chat(self) -> LocalChat:
        if self._chat is None:
            self._chat = await LocalChat.open(self._state / "page.db", self._rooms, self._clock)
        return self._chat

    async def _close_chat(self) -> None:
        if self._chat is not None:
            chat, self._chat = self._chat, None
            await chat.close()

"""Commands that die with this process, run by the guard (`guard.py`) on its behalf.

The guard is started with the first command, and anew should it die. Nothing here blocks: the forks happen over
there, so a thousand commands that start together don't hold up the loop. Linux only.
"""

import asyncio
import contextlib
import errno
import json
import logging
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from watch_supervisor.processes.guard import LARGEST_PACKET
from watch_supervisor.processes.leftovers import end_leftovers
from watch_supervisor.processes.port import Exit, Order, SpawnFailed

START_SECONDS = 30.0
GENTLE_SECONDS = 3.0
KILLING_SECONDS = 3.0
_AT_ONCE = 20
_GUARD_LEAVES_SECONDS = 20.0
_WANTED_FILES = 65_536
_PASSING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOBUFS})


class Guarded:
    """A spawner. Use it as a context around the supervisor's life: at its end everything it ran is ended, and the guard
    with it.
    """

    def __init__(self, gentle_seconds: float = GENTLE_SECONDS, mark: tuple[str, str] | None = None) -> None:
        """`gentle_seconds` is how long a command has after TERM. `mark` is a variable and its value, of this relay
        alone: each command gets it, and what still runs with it at the start is ended.
        """
        self._gentle = gentle_seconds
        self._mark = mark
        self._guard: _Guard | None = None
        self._starting = anyio.Lock()
        self._slots = anyio.Semaphore(_AT_ONCE)
        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._umask = _umask()

    async def __aenter__(self) -> "Guarded":
        # Each command takes three descriptors here. Its own limit stays what it was.
        soft, hard = self._files
        wanted = min(_WANTED_FILES, hard) if hard != resource.RLIM_INFINITY else _WANTED_FILES
        if soft < wanted:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        if self._mark is not None:
            ended = await anyio.to_thread.run_sync(end_leftovers, *self._mark)
            if ended:
                logging.getLogger(__name__).warning("%d processes of an earlier life still ran; ended", ended)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._guard is not None:
            with anyio.CancelScope(shield=True):
                await self._guard.leave()
            self._guard = None

    async def spawn(self, order: Order) -> "GuardedChild":
        """Run `order`; returns once it is executed. Raises SpawnFailed."""
        packet = json.dumps(
            {
                "argv": list(order.argv),
                "cwd": str(order.cwd),
                "environment": {
                    **order.environment,
                    **({self._mark[0]: self._mark[1]} if self._mark else {}),
                },
                "files": self._files,
                "umask": self._umask,
                "writable": list(order.writable) if order.writable is not None else None,
                "gentle": self._gentle,
            }
        ).encode()
        if len(packet) > LARGEST_PACKET:
            raise SpawnFailed("The command and its environment are too long to be run.")
        async with self._slots:
            guard = await self._the_guard()
            child = _ask(guard, packet, self._gentle + KILLING_SECONDS)
            try:
                with anyio.fail_after(START_SECONDS):
                    await child.started()
            except BaseException as error:
                # It may run already.
                with anyio.CancelScope(shield=True):
                    await child.end()
                os.close(child.stdout)
                os.close(child.stderr)
                if isinstance(error, TimeoutError):
                    raise SpawnFailed("The command couldn't be started in time.", again=True) from None
                raise
            return child

    async def _the_guard(self) -> "_Guard":
        async with self._starting:
            if self._guard is not None and not self._guard.is_alive():
                logging.getLogger(__name__).warning(
                    "the guard of the watches' commands died; another is started"
                )
                await self._guard.leave()
                self._guard = None
            if self._guard is None:
                # A thread may do it: the guard asks for no signal when the one who started it ends.
                self._guard = await anyio.to_thread.run_sync(_start_guard)
            return self._guard


class _Guard:
    """The guard, from here."""

    def __init__(self, process: "subprocess.Popen[bytes]", requests: socket.socket) -> None:
        self.requests = requests
        self._process = process

    def is_alive(self) -> bool:
        return self._process.poll() is None

    async def leave(self) -> None:
        """Close its socket, which ends it, and wait until it has."""
        self.requests.close()

        def waited() -> None:
            try:
                self._process.wait(_GUARD_LEAVES_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

        await anyio.to_thread.run_sync(waited)


class GuardedChild:
    """One command, through its warden's socket."""

    def __init__(self, control: socket.socket, stdout: int, stderr: int, end_seconds: float) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.pid = 0
        self._end_seconds = end_seconds
        self._control = control
        self._failure: SpawnFailed | None = None
        self._exit: Exit | None = None
        self._gone = False
        self._closed = False
        self._began = asyncio.Event()
        self._ended = asyncio.Event()
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(control.fileno(), self._hear)

    async def started(self) -> None:
        """Wait until it is executed. Raises SpawnFailed."""
        await self._began.wait()
        if self._failure is not None:
            raise self._failure

    async def exited(self) -> Exit:
        """Wait until the command itself has ended; what it has started may still run."""
        await self._ended.wait()
        assert self._exit is not None
        return self._exit

    async def end(self) -> bool:
        """End it and everything it has started: TERM, 3 s, KILL. Whether nothing is left; it takes 6 s at most."""
        if not self._over.is_set():
            with contextlib.suppress(OSError):
                self._control.send(b"end")
            with anyio.move_on_after(self._end_seconds, shield=True):
                await self._over.wait()
        gone = self._gone
        self.close()
        return gone

    def close(self) -> None:
        """Let go of it. A warden whose socket closes ends its tree by itself."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self._finish(SpawnFailed("The command was given up before it began."))

    def _hear(self) -> None:
        try:
            data = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._control.fileno())
            self._finish(SpawnFailed("The process that runs commands died; try it again.", again=True))
            return
        self._take(json.loads(data))

    def _take(self, message: dict[str, Any]) -> None:
        if "started" in message:
            self.pid = message["started"]
            self._began.set()
        elif "failed" in message:
            again = message["errno"] in _PASSING
            self._failure = SpawnFailed(f"The command can't be started: {message['failed']}.", again=again)
            self._began.set()
        elif "exited" in message:
            self._exit = Exit(message["exited"])
            self._ended.set()
        elif "gone" in message:
            self._gone = True
            self._over.set()

    def _finish(self, failure: SpawnFailed) -> None:
        """No word will come any more."""
        if not self._began.is_set():
            self._failure = failure
            self._began.set()
        if self._exit is None:
            self._exit = Exit(None)
        self._ended.set()
        self._over.set()


def _ask(guard: _Guard, packet: bytes, end_seconds: float) -> GuardedChild:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    kept, given = [ours.fileno()], [theirs.fileno()]
    try:
        for _ in range(2):
            reading, writing = os.pipe2(os.O_CLOEXEC)
            kept.append(reading)
            given.append(writing)
            os.set_blocking(reading, False)
        ours.setblocking(False)
        socket.send_fds(guard.requests, [packet], given)
    except OSError as error:
        for fd in kept[1:]:
            os.close(fd)
        ours.close()
        raise SpawnFailed(f"The command can't be started: {error.strerror}.", again=True) from error
    finally:
        for fd in given[1:]:
            os.close(fd)
        theirs.close()
    return GuardedChild(ours, kept[1], kept[2], end_seconds)


def _start_guard() -> _Guard:
    """Blocking: a new guard, ready. Raises SpawnFailed."""
    if not sys.platform.startswith("linux"):
        raise SpawnFailed("Commands can be watched on Linux only, so far.")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = Path(__file__).with_name("guard.py")
    try:
        with theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * LARGEST_PACKET)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        ours.settimeout(START_SECONDS)
        if not ours.recv(4096):
            raise OSError(errno.ECHILD, "the guard ended at once")
    except OSError as error:
        ours.close()
        raise SpawnFailed(f"The process that runs commands can't be started: {error}.", again=True) from error
    ours.setblocking(False)
    return _Guard(process, ours)


def _umask() -> int:
    """This process's file creation mask, which can be read only by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

"""`relay redact`: takes a text out of the state folder, through the relay that runs on it or without one.

A running relay listens on a socket in its state folder. Who may open that folder may read the ledger and stop the
relay, so nobody else is let in: the folder is the user's alone (0700), so is the socket (0600), and where the system
tells who is at the other end, another user is refused. One line of JSON each way.
"""

from __future__ import annotations

import argparse
import getpass
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import orjson

from relay import app
from relay.behaviours.redaction import telling
from relay.behaviours.redaction.concept import Redactions
from relay.behaviours.redaction.reconciler_taking import Asked, ask, complete, is_open, take_out
from relay.clock import SystemClock
from relay.config import default
from relay.errors import Exit, RelayError, StateLocked, StoreUnavailable
from relay.ledger.lock import StateLock
from relay.ledger.sqlite import SqliteStore
from relay.parts import Parts
from relay.surfaces.surface import Surfaces
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.surface import WebSurface

SOCKET = "redact.sock"
MOST_LINE = 8 * 1024
LINE_LIMIT_S = 10.0
ANSWER_LIMIT_S = 600.0
"""A text from long ago is looked for in everything that came after it."""
MOST_AT_ONCE = 2

log = logging.getLogger("relay.redaction")


def run(arguments: argparse.Namespace) -> int:
    """The command; its exit code. Raises `RelayError`: then nothing was changed, unless it says otherwise."""
    options = app.Options(config=arguments.config, state=arguments.state)
    state = options.state if options.state is not None else app.settled_state(options)
    if not (state / "ledger.db").exists():
        raise StoreUnavailable(f"there is no ledger in {state}.", "Name the state folder with --state DIR.")
    try:
        told = anyio.run(_without_a_relay, state, arguments.id, arguments.why)
    except StateLocked as locked:
        told = anyio.run(_through_the_relay, state, arguments.id, arguments.why, locked)
    print(told)
    return Exit.FINE


def told_of(asked: Asked) -> str:
    """What came of a request, for the person at the terminal."""
    if not asked.records:
        return telling.redact_nothing(asked.target)
    lines = [telling.redact_done(asked.target, asked.taken)]
    if asked.elsewhere:
        lines.append(telling.redact_elsewhere(asked.elsewhere))
    return "\n".join(lines)


async def _ask(parts: Parts, id: str, why: str) -> Asked:
    who = getpass.getuser()
    return await ask(parts, id, by=f"{who} at the terminal", actor=f"terminal:{who}", why=why[:500])


# -- without a relay ---------------------------------------------------------------------------------------------------


async def _without_a_relay(state: Path, id: str, why: str) -> str:
    clock = SystemClock()
    with StateLock(state / "lock"):
        store = await SqliteStore.open(state / "ledger.db")
        try:
            access = default(workspace=Path("workspace"))
            chat = await LocalChat.open(state / "page.db", app.chat_rooms(access), clock)
            try:
                web = WebSurface(chat, clock)

                async def known(message: str) -> bool:
                    return bool(await store.by_outside(f"{web.name}:{message}"))

                await chat.belongs_to(await store.epoch() + 1, known)
                relay = await app.build(
                    access=access,
                    digest="",
                    zone="UTC",
                    store=store,
                    clock=clock,
                    surfaces=Surfaces({"web": web}),
                    state=state,
                )
                return await _alone(relay.parts, id, why)
            finally:
                with anyio.CancelScope(shield=True):
                    await chat.close()
        finally:
            with anyio.CancelScope(shield=True):
                await store.close()


async def _alone(parts: Parts, id: str, why: str) -> str:
    engine = parts.engine
    asked: Asked | None = None
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(engine.run)
            asked = await _ask(parts, id, why)
            records = list(engine.view.of(Redactions).state.open)
            known = await engine.store.by_ids(records)
            for record in records:
                await take_out(parts, known[record])
            if records and not await complete(parts, records):
                raise RelayError(
                    "the text is out of the ledger, but another program reads the file, and a copy stays beside it.",
                    "Close it (such as `relay log` or a SQLite tool) and redact again.",
                )
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        raise next((e for e in group.exceptions if isinstance(e, RelayError)), group) from group
    await engine.close()
    assert asked is not None
    return told_of(asked)


# -- through the relay that runs ---------------------------------------------------------------------------------------


async def _through_the_relay(state: Path, id: str, why: str, locked: StateLocked) -> str:
    try:
        with anyio.fail_after(ANSWER_LIMIT_S), short_path(state) as path:
            async with await anyio.connect_unix(path) as stream:
                await stream.send(orjson.dumps({"id": id, "why": why}) + b"\n")
                line = await _line(stream)
    except TimeoutError as error:
        raise RelayError(
            "the relay has not answered for ten minutes.", "Look at its log, then redact again."
        ) from error
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
        why_not = str(error) or "it hung up"
        raise StateLocked(
            f"{str(locked).rstrip('.')}, and it can't be asked: {why_not}.",
            "Stop it, redact, and start it again.",
        ) from error
    answer = orjson.loads(line)
    if "error" in answer:
        raise RelayError(str(answer["error"]), str(answer.get("advice", "")))
    return str(answer["told"])


async def _line(stream: anyio.abc.ByteReceiveStream) -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        if len(data) > MOST_LINE:
            raise RelayError("that request is too long.")
        data += await stream.receive(MOST_LINE)
    return data


@contextmanager
def short_path(state: Path) -> Generator[str]:
    """A name of the socket that fits into its address, however deep the folder lies (108 bytes; see unix(7))."""
    path = str(state / SOCKET)
    if len(path) < 100 or not sys.platform.startswith("linux"):
        yield path
        return
    folder = os.open(state, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)


class WayIn:
    """The running relay's side. `peer_uid` tells who is at the other end; None where the system doesn't."""

    def __init__(self, parts: Parts, peer_uid: Callable[[socket.socket], int | None] | None = None) -> None:
        self._parts = parts
        self._peer_uid = peer_uid or peer_of
        self._slots = anyio.Semaphore(MOST_AT_ONCE)

    async def run(self) -> None:
        """Until cancelled. A socket that can't be had is told in the log, and the command says so then."""
        path = self._parts.state / SOCKET
        with suppress(FileNotFoundError):
            path.unlink()
        try:
            with short_path(self._parts.state) as name:
                listener = await anyio.create_unix_listener(name, mode=0o600)
        except OSError as error:
            log.error("nobody can redact while this relay runs: %s can't be opened (%s)", path, error)
            return
        try:
            async with listener:
                await listener.serve(self._answer)
        finally:
            with suppress(FileNotFoundError):
                path.unlink()

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            uid = self._peer_uid(stream.extra(anyio.abc.SocketAttribute.raw_socket))
            if uid is not None and uid not in (os.geteuid(), 0):
                log.warning("user %s may not redact here", uid)
                return
            answer = await self._answered(stream)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.send(orjson.dumps(answer) + b"\n")

    async def _answered(self, stream: anyio.abc.SocketStream) -> dict[str, str]:
        try:
            with anyio.fail_after(LINE_LIMIT_S):
                wanted = orjson.loads(await _line(stream))
                id, why = str(wanted["id"]), str(wanted["why"])
            async with self._slots:
                asked = await self._done(id, why)
                if asked.records:
                    await self._done(id, why)  # a turn may have taken it in the same moment
            return {"told": told_of(asked)}
        except RelayError as error:
            return {"error": str(error), "advice": error.advice}
        except (orjson.JSONDecodeError, KeyError, TypeError, TimeoutError, anyio.EndOfStream) as error:
            return {"error": f"that is no request ({type(error).__name__})."}

    async def _done(self, id: str, why: str) -> Asked:
        asked = await _ask(self._parts, id, why)
        while is_open(self._parts, asked.records):
            await self._parts.engine.moved(self._parts.engine.head)
        return asked


def peer_of(connection: socket.socket) -> int | None:
    """The user at the other end, as the kernel says (SO_PEERCRED; see unix(7)); None where it can't be asked."""
    asked = getattr(socket, "SO_PEERCRED", None)
    if asked is None:
        return None
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, asked, size))
    return int(uid)

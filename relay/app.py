"""Puts everything together: the one module that knows all the others.

Order of a start: the lock, the configuration, the ledger (folded to its head), the record that this boot has begun,
then the reconcilers and the surfaces. Order of a stop: the surfaces and the reconcilers, then how far everything was
taken in, then the committer. A stop that is cut short at any point loses nothing; the next start goes on.
"""

from __future__ import annotations

import importlib
import logging
import os
import random
import secrets
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import anyio
import anyio.abc

from relay import texts_coming_in, texts_of_the_start
from relay.agents.runtime import Runtime, Tools
from relay.agents.scripted.runtime import ScriptedRuntime
from relay.behaviours import Behaviour, discover
from relay.behaviours.config.reconciler import ConfigTaker, loaded
from relay.behaviours.intake.reconciler import Intake
from relay.behaviours.intake.reconciler_sending import Sending
from relay.clock import Clock, SystemClock
from relay.config import Access, ConfigWatch, Loaded, default, env_of, load, state_folder
from relay.errors import ConfigError, RelayError, WorkspaceUnusable
from relay.ledger.blobs import Blobs
from relay.ledger.engine import Engine
from relay.ledger.lease import EpochLeases
from relay.ledger.lock import StateLock
from relay.ledger.reconciler import Closes, LivesOn, Reconciler, Runner
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Store
from relay.masking import JsonFormatter, Masker
from relay.parts import Current, Parts
from relay.surfaces.surface import Surface, Surfaces
from relay.surfaces.web.chat import ChatRoom, LocalChat
from relay.surfaces.web.doorplate import Doorplate, put_up, take_down
from relay.surfaces.web.lineage import NOT_THE_LAST_ONE
from relay.surfaces.web.server import PageServer
from relay.surfaces.web.surface import WebSurface
from relay.tools import Desk
from relay.tools import discover as discover_tools
from relay.workspaces import Kept, ready

if TYPE_CHECKING:
    from aiohttp import BaseConnector

    from relay.surfaces.discord.surface import DiscordSurface

RUNTIMES = ("scripted",)
SHORTEST_TOKEN = 16

log = logging.getLogger("relay")


@dataclass(frozen=True, slots=True)
class Options:
    """How a relay is started. `say` prints a line for the person at the terminal."""

    config: Path | None = None
    state: Path | None = None
    port: int | None = None
    page: bool = True
    connector: Callable[[], BaseConnector] | None = None
    """Makes the network's way to Discord. Nobody but a test gives one; no switch, file or variable can."""
    say: Callable[[str], None] = print
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(slots=True)
class Relay:
    """A relay over any store and surfaces: what `relay up` runs, and what the simulator runs on a virtual clock."""

    parts: Parts
    runners: list[Runner]
    reconcilers: list[Reconciler]
    intakes: list[Intake]
    boot: str
    digest: str
    zone: str

    async def run(
        self,
        *also: Callable[[], object],
        stop: anyio.Event | None = None,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until `stop` is set (a clean stop) or cancelled (as good as a kill). The engine must have booted."""
        engine = self.parts.engine
        async with anyio.create_task_group() as base:
            await base.start(engine.run)
            async with anyio.create_task_group() as tasks:
                await engine.admit(
                    loaded(self.parts.access, boot=self.boot, count=0, digest=self.digest, zone=self.zone)
                )
                for reconciler in self.reconcilers:
                    if isinstance(reconciler, LivesOn):
                        tasks.start_soon(reconciler.run)
                for runner in self.runners:
                    tasks.start_soon(runner.run)
                for intake in self.intakes:
                    tasks.start_soon(intake.run)
                for other in also:
                    tasks.start_soon(other)  # pyright: ignore[reportArgumentType]
                task_status.started()
                if stop is not None:
                    await stop.wait()
                    tasks.cancel_scope.cancel()
            for intake in self.intakes:
                await intake.close()
            for reconciler in self.reconcilers:
                if isinstance(reconciler, Closes):
                    await reconciler.close()
            base.cancel_scope.cancel()
        await engine.close()


async def build(
    *,
    access: Access,
    digest: str,
    zone: str,
    store: Store,
    clock: Clock,
    surfaces: Surfaces,
    state: Path,
    entropy: Callable[[int], bytes] = secrets.token_bytes,
    runtimes: Mapping[str, Runtime] | None = None,
    mask: Callable[[str], str] = lambda text: text,
    behaviours: tuple[Behaviour, ...] | None = None,
    kept: Kept | None = None,
) -> Relay:
    """A relay whose ledger is folded to its head and whose epoch has begun. Nothing acts yet."""
    found = behaviours if behaviours is not None else discover()
    epoch = await store.begin_epoch()
    engine = Engine(store, tuple(b.furniture for b in found), clock, lambda: entropy(16), fence=epoch)
    await engine.boot()
    leases = EpochLeases(epoch, store.epoch)
    blobs = Blobs(state / "blobs", clock)
    runners: list[Runner] = []

    def trouble() -> Mapping[str, str]:
        return dict(engine.trouble()) | {r.reconciler.name: r.trouble for r in runners if r.trouble}

    tools = discover_tools()

    def make_tools(scope: str, room: str) -> Tools:
        return Desk(engine, blobs, scope, room, parts.workspace(room) or state, tools, parts.kept)

    parts = Parts(
        engine=engine,
        clock=clock,
        surfaces=surfaces,
        runtimes=runtimes if runtimes is not None else {"scripted": ScriptedRuntime(clock, entropy)},
        current=Current(access),
        blobs=blobs,
        state=state,
        boot=f"{epoch}-{entropy(4).hex()}",
        entropy=entropy,
        mask=mask,
        make_tools=make_tools,
        commands=tuple(command for behaviour in found for command in behaviour.commands),
        trouble=trouble,
        kept=kept or Kept(folders=(state,)),
    )
    reconcilers: list[Reconciler] = []
    for behaviour in found:
        if behaviour.reconciler_module is not None:
            module = importlib.import_module(behaviour.reconciler_module)
            make: Callable[[Parts], list[Reconciler]] | None = getattr(module, "reconcilers", None)
            reconcilers += make(parts) if make is not None else []
    runners += [Runner(reconciler, engine, leases) for reconciler in reconcilers]
    intakes = [Intake(parts, surface) for surface in surfaces.by_name.values()]
    return Relay(parts, runners, reconcilers, intakes, parts.boot, digest, zone)


def machine_zone(env: Mapping[str, str]) -> str:
    """The IANA name of the machine's time zone; UTC when it has none that is known."""
    named = env.get("TZ", "").lstrip(":")
    link = Path("/etc/localtime")
    for name in (named, str(link.resolve()).partition("zoneinfo/")[2] if link.exists() else ""):
        try:
            if name:
                return ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return "UTC"


@dataclass(slots=True)
class Settled:
    """What a start has settled before anything is opened."""

    access: Access
    loaded: Loaded | None
    state: Path
    zone: str
    env: Mapping[str, str]


def settle(options: Options, clock: Clock) -> Settled:
    """Read the configuration and make the state folder. Raises `ConfigError`, `RelayError`."""
    zone = machine_zone(options.env)
    folder = options.config.parent if options.config is not None else Path.cwd()
    env, said = env_of(folder, options.env)
    if said is not None:
        options.say(said)
    found: Loaded | None = None
    if options.config is not None:
        tz: tzinfo = ZoneInfo(zone)
        found = load(options.config, runtimes=RUNTIMES, now_ms=clock.now_ms(), zone=tz)
        for line in found.said:
            options.say(line)
        access = found.access
    else:
        access = default(workspace=Path("workspace"))
    state = Path(os.path.abspath(options.state or state_folder(access, env, Path.home())))
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise RelayError(
            f"the state folder {state} can't be made ({error.strerror}).",
            "Name another one with --state DIR.",
        ) from error
    refuse_exposed(access, options.config, state)
    make_workspaces(access, options.say)
    return Settled(access, found, state, zone, env)


def refuse_exposed(access: Access, config: Path | None, state: Path) -> None:
    """Raises `ConfigError` when a room's workspace holds access.json or the state folder: the agent works in there, so
    whoever may talk to it could change who may do what, or read every room's record."""
    kept = {"the state folder": Path(os.path.realpath(state))}
    if config is not None:
        kept["access.json"] = Path(os.path.realpath(config))
    for room, rules in access.rooms.items():
        workspace = Path(os.path.realpath(rules.workspace))
        for what, path in kept.items():
            if workspace == path or workspace in path.parents:
                raise ConfigError(
                    f"rooms.{room}.workspace: the folder {workspace} holds {what} ({path}), "
                    "and the agent may write in its workspace.",
                    "Give the room a folder of its own, or move access.json and the state folder elsewhere.",
                )


def make_workspaces(access: Access, say: Callable[[str], None]) -> None:
    """Make the rooms' folders that are missing, and say so. Raises `ConfigError` for one that can't be used."""
    for room, rules in access.rooms.items():
        folder = Path(rules.workspace)
        try:
            if ready(folder):
                say(texts_of_the_start.made_workspace(room, str(folder)))
        except WorkspaceUnusable as error:
            raise ConfigError(f"rooms.{room}.workspace: {error}", error.advice) from None


def kept_files(config: Path | None, state: Path) -> Kept:
    """What nobody may read or write through a workspace, by whatever name."""
    beside = (config, config.with_name(".env")) if config is not None else (Path.cwd() / ".env",)
    return Kept(tuple(Path(os.path.abspath(path)) for path in beside), (state,))


def settled_state(options: Options) -> Path:
    """The state folder of those options, as `settle` finds it, without making it or anything else."""
    if options.config is None:
        access = default(workspace=Path("workspace"))
    else:
        access = load(options.config, runtimes=RUNTIMES, now_ms=0, zone=ZoneInfo("UTC")).access
    return state_folder(access, options.env, Path.home())


def chat_rooms(access: Access) -> list[ChatRoom]:
    """The page's rooms, as access.json names them."""
    return [
        ChatRoom(room.partition(":")[2], rules.label, rules.agent)
        for room, rules in access.rooms.items()
        if room.startswith("web:")
    ]


async def run(options: Options, *beside: Callable[[LocalChat, Parts], Callable[[], object]]) -> None:
    """`relay up`: until it is stopped by a signal. Raises `RelayError` when it can't start or go on."""
    clock = SystemClock()
    settled = settle(options, clock)
    with StateLock(settled.state / "lock"):
        store = await SqliteStore.open(settled.state / "ledger.db")
        try:
            chat = await LocalChat.open(settled.state / "page.db", chat_rooms(settled.access), clock)
            try:
                async with _discord(options, settled, clock) as discord:
                    await _run(options, settled, store, chat, discord, clock, beside)
            finally:
                with anyio.CancelScope(shield=True):
                    await chat.close()
        finally:
            with anyio.CancelScope(shield=True):
                await store.close()


async def _run(
    options: Options,
    settled: Settled,
    store: SqliteStore,
    chat: LocalChat,
    discord: DiscordSurface | None,
    clock: Clock,
    beside: tuple[Callable[[LocalChat, Parts], Callable[[], object]], ...],
) -> None:
    take_down(settled.state)  # of a relay that was killed
    web = WebSurface(chat, clock)
    surfaces: dict[str, Surface] = {"web": web}
    if discord is not None:
        surfaces["discord"] = discord

    async def known(message: str) -> bool:
        return bool(await store.by_outside(f"{web.name}:{message}"))

    if not await chat.belongs_to(await store.epoch() + 1, known):
        options.say(NOT_THE_LAST_ONE)
    key = secrets.token_urlsafe(32)
    programs = programs_token(settled, secrets.token_urlsafe)
    masker = Masker([key, programs, *secret_values(settled.access, settled.env)])
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonFormatter):
            # From here on the log knows the values, not only the shapes.
            handler.setFormatter(JsonFormatter(masker))
    relay = await build(
        access=settled.access,
        digest=settled.loaded.digest if settled.loaded else "",
        zone=settled.zone,
        store=store,
        clock=clock,
        surfaces=Surfaces(surfaces),
        state=settled.state,
        mask=masker.mask,
        kept=kept_files(options.config, settled.state),
    )
    if discord is not None:
        discord.follow(lambda: relay.parts.access)
        _tell_trouble(relay.parts, "discord", lambda: discord.trouble)
    also: list[Callable[[], object]] = [make(chat, relay.parts) for make in beside]
    if settled.loaded is not None:
        watch = ConfigWatch(
            settled.loaded.path,
            runtimes=RUNTIMES,
            zone=ZoneInfo(settled.zone),
            clock=clock,
            last=settled.loaded,
        )
        path = settled.loaded.path

        def take_up(access: Access) -> list[str]:
            refuse_exposed(access, path, settled.state)
            make_workspaces(access, options.say)
            chat.take_up(chat_rooms(access))
            same = access.surfaces == settled.access.surfaces and access.state == settled.access.state
            return [] if same else [texts_of_the_start.NEEDS_RESTART]

        taker = ConfigTaker(relay.parts, watch, settled.zone, on_taken=take_up)
        also.append(taker.run)
        _tell_trouble(relay.parts, "access.json", lambda: taker.trouble)
    if options.page:
        # Here, not above: what the page tells is of every behaviour, and a relay without a page does without some.
        from relay.surfaces.web.ledger_facts import LedgerFacts

        port = options.port if options.port is not None else settled.access.surfaces.web.port
        page = PageServer(
            chat,
            LedgerFacts(relay.parts),
            token=key,
            clock=clock,
            port=port,
            sender=Sending(relay.parts),
            programs=programs,
        )
        also.append(page.run)
        if programs:
            named = settled.access.http.token_env
            token = "" if settled.env.get(named, "").strip() else programs
            put_up(settled.state, Doorplate(os.getpid(), page.port, token, named))
        else:
            options.say(texts_coming_in.bad_http_token(settled.access.http.token_env))
        options.say(texts_of_the_start.listening(page.url))
    if find_spec("relay.behaviours.redaction") is not None:
        from relay.redact import WayIn

        also.append(WayIn(relay.parts).run)
    stop = anyio.Event()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_signal, stop)
            await relay.run(*also, stop=stop)
            tasks.cancel_scope.cancel()
    finally:
        take_down(settled.state)


@asynccontextmanager
async def _discord(options: Options, settled: Settled, clock: Clock) -> AsyncGenerator[DiscordSurface | None]:
    """Discord, when access.json names it and its token is set; its token is this process's alone inside."""
    named = settled.access.surfaces.discord
    token = settled.env.get(named.token_env, "").strip() if named is not None else ""
    if named is None or not token:
        if named is not None:
            options.say(
                texts_of_the_start.not_started("discord", texts_of_the_start.no_token(named.token_env))
            )
        yield None
        return
    # Here, not above: the library takes long to import, and a relay without Discord does without it.
    from relay.surfaces.discord.surface import DiscordSurface
    from relay.surfaces.discord.token_lock import TokenLock, lock_folder

    with TokenLock(lock_folder(settled.env), token, settled.state):
        surface = DiscordSurface(
            token,
            named.token_env,
            access=lambda: settled.access,
            state=settled.state,
            clock=clock,
            say=options.say,
            jitter=random.random,
            connector=options.connector,
        )
        try:
            yield surface
        finally:
            await surface.close()


def _tell_trouble(parts: Parts, name: str, trouble: Callable[[], str]) -> None:
    """Have the status tell that trouble too, while there is any."""
    before = parts.trouble
    parts.trouble = lambda: dict(before()) | ({name: told} if (told := trouble()) else {})


async def _until_signal(stop: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            stop.set()
            return


def programs_token(settled: Settled, make: Callable[[int], str]) -> str:
    """The token of programs: the one that the configuration's variable holds, else a new one; empty for one that is too
    easily guessed or can't stand in a header."""
    token = settled.env.get(settled.access.http.token_env, "").strip()
    if not token:
        return make(32)
    return token if len(token) >= SHORTEST_TOKEN and all("!" <= c <= "~" for c in token) else ""


def secret_values(access: Access, env: Mapping[str, str]) -> list[str]:
    """The values of the environment variables that access.json names as secret, as far as they are set."""
    names = [access.http.token_env]
    if access.surfaces.discord is not None:
        names.append(access.surfaces.discord.token_env)
    names += [server.token_env for server in access.notebooks.servers.values() if server.token_env]
    names += [name for agent in access.agents.values() for name in agent.env]
    return [env[name] for name in names if env.get(name)]

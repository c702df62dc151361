"""`relay doctor`: looks at what the relay needs around it, says what is in order and what is to do. It changes nothing.

Each look has a bound, what takes longer than two seconds says so, and no value of a secret is printed.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import socket
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import anyio.to_thread

from relay import app
from relay import texts_for_doctor as texts
from relay.behaviours import discover
from relay.clock import Clock, SystemClock
from relay.config import Access, default, env_of, load, state_folder
from relay.errors import ConfigError, Exit, RelayError
from relay.finding import Finding, fine, note, todo
from relay.ledger.sqlite import SqliteStore
from relay.masking import Masker

QUIET_FOR_S = 2.0
DISCORD_WITHIN_S = 60.0
DATABASE_WITHIN_S = 5.0
A_LOOK_WITHIN_S = 10.0
LEAST_FREE_MIB = 200
LEAST_FILES = 1_000
LEAST_INSTANCES = 16
FOLDERS_A_WATCH = 4
SECRETS = ("RELAY_DISCORD_TOKEN", "RELAY_HTTP_TOKEN")
_MARKS = {"fine": "ok  ", "note": "--  ", "todo": "TODO"}
_STEPS = 10_000
"""Steps of SQLite between two looks at the clock."""


def run(options: app.Options, *, discord: bool) -> int:
    """Print what is found; the exit code: 0 when nothing is to be done, else 1."""
    return anyio.run(Doctor(options, SystemClock()).run, discord)


@dataclass
class Doctor:
    """See the module. `warn` prints that something takes long."""

    options: app.Options
    clock: Clock
    warn: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)
    looking_at: str = field(default="", init=False)
    _said_at: float = field(default=0.0, init=False)
    _todo: int = field(default=0, init=False)
    _masker: Masker = field(default_factory=Masker, init=False)

    async def run(self, discord: bool) -> int:
        self._said_at = self.clock.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell_when_slow)
            await self._look(discord)
            tasks.cancel_scope.cancel()
        self.options.say(texts.summary(self._todo))
        return Exit.FAILED if self._todo else Exit.FINE

    def _tell(self, found: Finding) -> None:
        self._todo += found.kind == "todo"
        self._said_at = self.clock.monotonic()
        for line in lines(found):
            self.options.say(self._masker.mask(line))

    def _folder(self) -> Path:
        return self.options.config.parent if self.options.config is not None else Path.cwd()

    async def _tell_when_slow(self) -> None:
        while True:
            wait = self._said_at + QUIET_FOR_S - self.clock.monotonic()
            if wait <= 0:
                self.warn(texts.still_looking(self.looking_at))
                self._said_at = self.clock.monotonic()
                wait = QUIET_FOR_S
            await self.clock.sleep(wait)

    def _looking(self, what: str) -> None:
        self.looking_at = what

    async def _look(self, discord: bool) -> None:
        self._looking("access.json")
        env, said = env_of(self._folder(), self.options.env)
        self._masker = Masker(value for name in SECRETS if (value := env.get(name)))
        try:
            access = self._config()
        except ConfigError as error:
            self._tell(todo(str(error), error.advice))
            return
        self._masker = Masker([*app.secret_values(access, env), *(env.get(name, "") for name in SECRETS)])
        if said is not None:
            self._tell(todo(said, ""))
        state = Path(os.path.abspath(self.options.state or state_folder(access, env, Path.home())))
        try:
            app.refuse_exposed(access, self.options.config, state)
        except ConfigError as error:
            self._tell(todo(str(error), error.advice))
        for look in (self._workspaces, self._state, self._disk, self._notices, self._page):
            await self._within(A_LOOK_WITHIN_S, lambda look=look: list(look(access, state)))
        await self._databases(state)
        if discord:
            await self._discord(access, env, state)
        elif access.surfaces.discord is not None:
            self._tell(note(texts.LOOK_AT_DISCORD))

    async def _within(self, seconds: float, look: Callable[[], list[Finding]]) -> None:
        """In a thread, since a folder on a dead network drive answers nobody."""
        found: list[Finding] | None = None
        with anyio.move_on_after(seconds):
            found = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
        for one in [todo(*texts.no_answer(self.looking_at))] if found is None else found:
            self._tell(one)

    # -- this machine -------------------------------------------------------------------------------------------------

    def _config(self) -> Access:
        """Raises `ConfigError`."""
        path = self.options.config
        if path is None:
            self._tell(fine(texts.NO_CONFIG))
            return default(workspace=Path("workspace"))
        zone = ZoneInfo(app.machine_zone(self.options.env))
        loaded = load(path, runtimes=app.RUNTIMES, now_ms=self.clock.now_ms(), zone=zone)
        access = loaded.access
        self._tell(fine(texts.config_fine(str(path), len(access.rooms), len(access.agents))))
        for line in loaded.said:
            self._tell(note(line))
        return access

    def _workspaces(self, access: Access, state: Path) -> Iterator[Finding]:
        self._looking("the workspaces")
        good: set[Path] = set()
        for room, rules in access.rooms.items():
            folder = Path(rules.workspace)
            if folder.is_dir():
                if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                    good.add(folder)
                else:
                    yield todo(*texts.workspace_closed(room, str(folder)))
                continue
            above = next(parent for parent in folder.parents if parent.exists())
            if not above.is_dir() or folder.exists():
                yield todo(*texts.workspace_unmakeable(room, str(folder), f"{above} is no folder"))
            elif not os.access(above, os.W_OK | os.X_OK):
                yield todo(*texts.workspace_unmakeable(room, str(folder), f"{above} can't be written"))
            else:
                good.add(folder)
        if good:
            yield fine(texts.workspace_fine(len(good)))

    def _state(self, access: Access, state: Path) -> Iterator[Finding]:
        self._looking("the state folder")
        if not state.exists():
            above = next(parent for parent in state.parents if parent.exists())
            if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
                yield fine(texts.state_new(str(state)))
            else:
                yield todo(*texts.state_closed(str(state), f"{above} can't be written"))
        elif not state.is_dir() or not os.access(state, os.R_OK | os.W_OK | os.X_OK):
            why = "it can't be written" if state.is_dir() else "it is no folder"
            yield todo(*texts.state_closed(str(state), why))
        else:
            mode = stat.S_IMODE(state.stat().st_mode)
            if mode & 0o077:
                yield todo(*texts.state_open(str(state), mode))
            yield fine(texts.state_fine(str(state), locked_by(state / "lock")))

    def _disk(self, access: Access, state: Path) -> Iterator[Finding]:
        self._looking("the disk")
        there = next(folder for folder in (state, *state.parents) if folder.exists())
        mib = shutil.disk_usage(there).free >> 20
        if mib < LEAST_FREE_MIB:
            yield todo(*texts.disk_low(str(there), mib, LEAST_FREE_MIB))
        else:
            yield fine(texts.room_on_disk(str(there), mib))
        files = os.statvfs(there)
        if files.f_files and files.f_favail < LEAST_FILES:
            yield todo(*texts.no_files_left(str(there)))

    def _notices(self, access: Access, state: Path) -> Iterator[Finding]:
        """Linux only: elsewhere files are looked at every second anyhow."""
        self._looking("file watches")
        instances, folders = (_limit(f"max_user_{what}") for what in ("instances", "watches"))
        if instances is None or folders is None:
            return
        if instances < LEAST_INSTANCES:
            yield todo(*texts.notices_low("max_user_instances", instances, 512))
        elif not _gives_a_list():
            yield todo(*texts.NO_NOTICES)
        elif folders < access.limits.watches * FOLDERS_A_WATCH:
            yield todo(*texts.notices_low("max_user_watches", folders, 65_536))
        else:
            yield fine(texts.notices_fine(instances, folders))

    def _page(self, access: Access, state: Path) -> Iterator[Finding]:
        """Whether the page's port is free; a relay that runs holds it itself."""
        self._looking("the page's port")
        port = self.options.port if self.options.port is not None else access.surfaces.web.port
        if port == 0 or locked_by(state / "lock") is not None:
            return
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                yield todo(*texts.port_taken(port))
                return
        yield fine(texts.port_free(port))

    async def _databases(self, state: Path) -> None:
        ledger = state / "ledger.db"
        if ledger.exists():
            self._looking("the ledger")
            try:
                store = await SqliteStore.open_readonly(ledger)
                await store.close()
            except RelayError as error:
                self._tell(todo(str(error), error.advice))
                return
        for path, what in ((ledger, "ledger"), (state / "page.db", "page's messages")):
            if path.exists():
                self._looking(f"the {what}")
                await self._within(2 * DATABASE_WITHIN_S, lambda p=path, w=what: [self._quick_look(p, w)])

    def _quick_look(self, path: Path, what: str) -> Finding:
        end = self.clock.monotonic() + DATABASE_WITHIN_S
        quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        try:
            db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=DATABASE_WITHIN_S)
            try:
                db.set_progress_handler(lambda: self.clock.monotonic() > end, _STEPS)
                said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
            finally:
                db.close()
        except sqlite3.Error as error:
            if "interrupted" in str(error):
                return fine(texts.database_fine(what, texts.LOOKED_AT_PART))
            said = str(error)
        if said != "ok":
            return todo(*texts.database_broken(what, str(path), said))
        return fine(texts.database_fine(what, texts.LOOKED_AT_WHOLE))

    # -- Discord ------------------------------------------------------------------------------------------------------

    async def _discord(self, access: Access, env: Mapping[str, str], state: Path) -> None:
        named = access.surfaces.discord
        if named is None:
            self._tell(todo(*texts.NO_DISCORD))
            return
        token = env.get(named.token_env, "").strip()
        if not token:
            self._tell(todo(*texts.token_missing(named.token_env)))
            return
        # Here, not above: the library takes long to import.
        from relay.surfaces.discord.examination import Examination
        from relay.surfaces.discord.token_lock import lock_folder

        examination = Examination(
            token=token,
            token_env=named.token_env,
            access=access,
            state=state,
            locks=lock_folder(env),
            commands=[command for behaviour in discover() for command in behaviour.commands],
            clock=self.clock,
            tell=self._tell,
            looking=self._looking,
            connector=self.options.connector,
        )
        with anyio.move_on_after(DISCORD_WITHIN_S) as bound:
            await examination.run()
        if bound.cancelled_caught:
            self._tell(todo(*texts.DISCORD_SLOW))


def lines(found: Finding) -> Iterator[str]:
    """A finding as the terminal shows it."""
    first, *rest = found.what.splitlines() or [""]
    yield f"{_MARKS[found.kind]} {first}"
    yield from (f"     {line}" for line in rest)
    yield from (f"     → {line}" for line in found.advice.splitlines())


def locked_by(path: Path) -> int | None:
    """The process that holds the lock on a file, as the kernel lists it; None for none. Takes no lock itself."""
    try:
        inode = path.stat().st_ino
        listed = Path("/proc/locks").read_text()
    except OSError:
        return None
    found = re.search(rf"FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:{inode}\s", listed)
    return int(found[1]) if found else None


def _limit(name: str) -> int | None:
    try:
        return int(Path("/proc/sys/fs/inotify", name).read_text())
    except (OSError, ValueError):
        return None


def _gives_a_list() -> bool:
    """Whether the kernel gives this user one more list of file notices."""
    handle = int(ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC))
    if handle >= 0:
        os.close(handle)
    return handle >= 0

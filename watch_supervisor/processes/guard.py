"""The process between the supervisor and its commands: it starts them, and sees to it that nothing of them
outlives their watch or the supervisor. Run as a script, with a socket's number; Linux only.

Each command gets a warden: a fork of this process that is a subreaper, so that whatever the command starts
hangs below it for ever, double forks and new sessions included. A warden ends its tree when it is told to, and
when its socket closes, which the kernel does when the supervisor dies in whatever way: TERM, 3 s (`gentle`), then
STOP and KILL until nothing is left. Should a command kill its warden, its tree falls to this process, which ends it. It
frames and reads nothing of what the commands print.

It imports nothing but the standard library, since it runs without the package's path. Messages are JSON, one a
packet. To this process: `argv`, `cwd`, `environment`, `files`, `umask`, `writable`, `gentle` and the descriptors of the
warden's socket, of stdout and of stderr. To a warden: `end`. From a warden: `started` (pid), or `failed`; `exited` (as
subprocess's returncode); `gone` (how many had to be killed at the end).
"""

import contextlib
import ctypes
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 15, 36, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
WRITE_FILE, TRUNCATE, REFER, SCOPE_SIGNAL = 1 << 1, 1 << 14, 1 << 13, 1 << 1
MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
LARGEST_PACKET = 160 * 1024
STRAY_SECONDS = 0.2
TURN_SECONDS = 0.25
SWEEP_SECONDS = 0.02
LONGEST_SWEEP_SECONDS = 1.0
LAST_SECONDS = 8.0
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


def noted(number: int, frame: object) -> None:
    """A signal's handler. The pipe below has it already."""


class Signals:
    """Signals as bytes of a pipe, so that a poll wakes for them."""

    def __init__(self) -> None:
        self.fd, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.writing = writing
        for number in (signal.SIGCHLD, *STOPPING):
            signal.signal(number, noted)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def read(self) -> set[int]:
        """Those that came since."""
        try:
            return set(os.read(self.fd, 4096))
        except BlockingIOError:
            return set()

    def close(self) -> None:
        """In a fork: leave these to the parent."""
        signal.set_wakeup_fd(-1)
        os.close(self.fd)
        os.close(self.writing)


class Turn:
    """Who may look through all processes now: one of the wardens. When a thousand commands end together, most are gone
    before it is their turn, and needn't look at all.
    """

    def __init__(self) -> None:
        self._fd = os.memfd_create("watch-turn", os.MFD_CLOEXEC)

    def take(self) -> bool:
        """Whether it is ours; a lock of a process, which a fork doesn't share."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def give(self) -> None:
        """Let the next one."""
        fcntl.lockf(self._fd, fcntl.LOCK_UN)


class Ending:
    """How the trees below this process are ended: when to do the next thing, and doing it."""

    def __init__(self, group: int | None, now: float, gentle_seconds: float, turn: Turn) -> None:
        self._turn = turn
        self._group = group
        self._kill_at = now + gentle_seconds
        self._told_strays = False
        self._pause = SWEEP_SECONDS
        self.next_at = now + STRAY_SECONDS
        self.killed = set[int]()
        if group is not None:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGTERM)

    def step(self, now: float) -> None:
        """What is due now. Call it until no child is left."""
        if now < self.next_at:
            return
        if not self._turn.take():
            self.next_at = now + TURN_SECONDS
            return
        try:
            self._look(now)
        finally:
            self._turn.give()

    def _look(self, now: float) -> None:
        if not self._told_strays:
            # Those that have left the command's group, or stand without one.
            self._told_strays = True
            for pid in descendants():
                if group_of(pid) != self._group:
                    send(pid, signal.SIGTERM)
            self.next_at = max(self._kill_at, now)
        else:
            self.killed |= sweep()
            self.next_at = now + self._pause
            self._pause = min(self._pause * 1.5, LONGEST_SWEEP_SECONDS)


def sweep() -> set[int]:
    """Kill all descendants: stop them first, so that none can fork on while the others die."""
    stopped = set[int]()
    while fresh := [pid for pid in descendants() if pid not in stopped]:
        for pid in fresh:
            send(pid, signal.SIGSTOP)
        stopped.update(fresh)
    for pid in stopped:
        send(pid, signal.SIGKILL)
    return stopped


def descendants() -> list[int]:
    """All processes below this one, parents first. Their parents' line leads here, since this is a subreaper."""
    below: dict[int, list[int]] = {}
    for pid, parent, state in processes():
        if state != "Z":
            below.setdefault(parent, []).append(pid)
    found = list[int]()
    waiting = [os.getpid()]
    while waiting:
        children = below.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def processes() -> Iterator[tuple[int, int, str]]:
    """(pid, parent, state) of each process there is."""
    for name in os.listdir("/proc"):
        if name.isdigit() and (facts := facts_of(int(name))) is not None:
            yield int(name), int(facts[1]), facts[0]


def facts_of(pid: int) -> list[str] | None:
    """The fields of `/proc/PID/stat` behind the command's name: state, parent, group … (proc(5))."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as facts:
            text = facts.read().decode("utf-8", "replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def group_of(pid: int) -> int:
    """Its process group; 0 when it is gone."""
    facts = facts_of(pid)
    return int(facts[2]) if facts is not None else 0


def send(pid: int, number: int) -> None:
    """Signal one process, if it is still there and ours."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def reap(main: int | None = None) -> tuple[bool, int | None, list[tuple[int, int]]]:
    """Take in children that ended. (any child left, the status of `main` if it was among them, all of them)"""
    status: int | None = None
    ended = list[tuple[int, int]]()
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status, ended
        if pid == 0:
            return True, status, ended
        ended.append((pid, raw))
        if pid == main:
            status = os.waitstatus_to_exitcode(raw)


def tell(control: socket.socket, **message: Any) -> None:
    """To the supervisor, if it still listens; it is never waited for."""
    with contextlib.suppress(OSError):
        control.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)


def prctl(option: int, value: Any) -> None:
    """prctl(2). OSError when the kernel refuses."""
    checked(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0))


def checked(result: int) -> int:
    """What a call into libc answered. OSError when that is a failure."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def confine(writable: list[str]) -> None:
    """From here on this process and what it starts write only there (files, or folders and below), and signal only
    each other. OSError when the kernel can't do that. See landlock(7).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = checked(libc.syscall(CREATE_RULESET, None, 0, 1))
    rights = WRITE_FILE | MAKE_AND_REMOVE | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    asked = struct.pack("=QQQ", rights, 0, SCOPE_SIGNAL)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = checked(libc.syscall(CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), 0))
    for path in writable:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = rights if stat.S_ISDIR(os.fstat(fd).st_mode) else rights & (WRITE_FILE | TRUNCATE)
        checked(libc.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", allowed, fd), 0))
        os.close(fd)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    checked(libc.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


# -- the warden of one command -----------------------------------------------------------------------------------------


def ward(control: socket.socket, order: dict[str, Any], out: int, err: int, turn: Turn) -> None:
    """Run the command, and see to its end. Returns when nothing of it is left."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"watch-warden")
    signals = Signals()
    try:
        main = launch(order, out, err)
    except OSError as error:
        tell(control, failed=f"{error.strerror or error}", errno=error.errno or 0)
        return
    os.close(out)
    os.close(err)
    tell(control, started=main)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(signals.fd, select.POLLIN)
    ending: Ending | None = None
    exited = False
    while True:
        left, status, _ = reap(None if exited else main)
        if status is not None:
            exited = True
            tell(control, exited=status)
        if not left:
            tell(control, gone=len(ending.killed) if ending else 0)
            return
        wait = max(0.0, ending.next_at - time.monotonic()) if ending else None
        ready = {fd for fd, _ in poll.poll(None if wait is None else wait * 1000 + 1)}
        end = bool(signals.read() & STOPPING)
        if control.fileno() in ready:
            # Both ask for the end: a word, and the supervisor's death.
            if not heard(control):
                poll.unregister(control)
            end = True
        if end and ending is None:
            ending = Ending(None if exited else main, time.monotonic(), order["gentle"], turn)
        if ending is not None:
            ending.step(time.monotonic())


def heard(control: socket.socket) -> bool:
    """Whether there was a word; no word is the other side's death."""
    try:
        return bool(control.recv(4096))
    except OSError:
        return False


def launch(order: dict[str, Any], out: int, err: int) -> int:
    """The pid of the command, once it has been executed. OSError when it can't be."""
    telling, told = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        become(order, out, err, told)
    os.close(told)
    with os.fdopen(telling, "rb") as failure:
        said = failure.read(4096)
    if said:
        os.waitpid(pid, 0)
        number, _, text = said.decode("utf-8", "replace").partition(" ")
        raise OSError(int(number), text)
    return pid


def become(order: dict[str, Any], out: int, err: int, told: int) -> NoReturn:
    """In the fork: turn into the command."""
    try:
        # Only the shell itself: the rest is the warden's to end. It is for a warden that is killed.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *STOPPING):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        for fd, place in ((null, 0), (out, 1), (err, 2)):
            os.dup2(fd, place)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(order["files"]))
        os.umask(order["umask"])
        os.chdir(order["cwd"])
        if order["writable"] is not None:
            confine(order["writable"])
        os.execve(order["argv"][0], order["argv"], order["environment"])
    except OSError as error:
        what = f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror}"
        os.write(told, f"{error.errno or 0} {what}".encode())
    finally:
        os._exit(127)


# -- the process of them all -------------------------------------------------------------------------------------------


class Guard:
    """Forks wardens, and ends what a warden that was killed left."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._wardens = set[int]()
        self._signals = Signals()
        self._turn = Turn()

    def run(self) -> None:
        """Until the supervisor is gone, and then until everything else is."""
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(self._signals.fd, select.POLLIN)
        while True:
            ready = {fd for fd, _ in poll.poll()}
            stop = bool(self._signals.read() & STOPPING)
            self._reap()
            if stop or (self._requests.fileno() in ready and not self._take()):
                break
        self._leave()

    def _take(self) -> bool:
        """One request. False when the supervisor has gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._requests, LARGEST_PACKET, 3)
        except OSError:
            return False
        if not data:
            return False
        control, out, err = fds
        for fd in fds:
            # `recv_fds` leaves them open to children, whatever flags it is given.
            os.set_inheritable(fd, False)
        with socket.socket(fileno=control) as theirs:
            try:
                pid = os.fork()
            except OSError as error:
                tell(theirs, failed=error.strerror, errno=error.errno)
                pid = -1
            if pid == 0:
                self._become_warden(theirs, data, out, err)
        os.close(out)
        os.close(err)
        if pid > 0:
            self._wardens.add(pid)
        return True

    def _become_warden(self, control: socket.socket, data: bytes, out: int, err: int) -> NoReturn:
        status = 1
        try:
            self._signals.close()
            self._requests.close()
            ward(control, json.loads(data), out, err, self._turn)
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        fell = False
        for pid, raw in reap()[2]:
            fell = fell or (pid in self._wardens and raw != 0)
            self._wardens.discard(pid)
        if fell:
            self._end_orphans()

    def _end_orphans(self) -> None:
        """A warden was killed: what it had hangs here now, beside the other wardens."""
        until = time.monotonic() + LAST_SECONDS
        while time.monotonic() < until:
            orphans = self._orphans()
            if not orphans:
                return
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in orphans:
                    send(pid, number)
            for pid, _ in reap()[2]:
                self._wardens.discard(pid)
            time.sleep(SWEEP_SECONDS)

    def _orphans(self) -> list[int]:
        me = os.getpid()
        return [
            pid
            for pid, parent, state in processes()
            if parent == me and pid not in self._wardens and state != "Z"
        ]

    def _leave(self) -> None:
        """The wardens end their trees by themselves; what is left after that has lost its warden."""
        self._requests.close()
        until = time.monotonic() + LAST_SECONDS
        for pid in list(self._wardens):
            send(pid, signal.SIGTERM)
        while reap()[0]:
            left = until - time.monotonic()
            if left <= 0:
                sweep()
                time.sleep(SWEEP_SECONDS)
                if left < -LAST_SECONDS:
                    return
                continue
            select.select([self._signals.fd], [], [], min(left, LONGEST_SWEEP_SECONDS))
            self._signals.read()


def main() -> None:
    """The script."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_NAME, b"watch-guard")
    guard = Guard(requests)
    # What the wardens share with this process stays shared: no collection writes into it.
    gc.disable()
    gc.freeze()
    tell(requests, ready=os.getpid())
    guard.run()


if __name__ == "__main__":
    main()

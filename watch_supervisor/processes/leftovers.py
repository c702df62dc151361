"""What an earlier life left running: found by a mark in its environment, since nobody is its parent any more.

Only the death of a command's warden and of the guard at one moment leaves any. Blocking: call it from a worker
thread. Linux only; elsewhere it finds nothing.
"""

import os
import select
import signal

_ROUNDS = 20


def end_leftovers(name: str, value: str) -> int:
    """Kill each process whose environment began with `name=value` in it; how many there were.

    A process that is another one by now, under the same number, isn't touched: it is held by a descriptor while its
    environment is read.
    """
    ended = set[int]()
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if _end(pid, f"{name}={value}".encode())]
        if not found:
            break
        ended.update(found)
    return len(ended)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _end(pid: int, mark: bytes) -> bool:
    """Whether this process carried the mark, and was killed."""
    try:
        held = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return False
    try:
        with open(f"/proc/{pid}/environ", "rb") as environment:
            marked = mark in environment.read().split(b"\0")
        if marked:
            signal.pidfd_send_signal(held, signal.SIGKILL)
            # A moment, so that the next round doesn't find it still dying. (`select` takes no large descriptors.)
            dying = select.poll()
            dying.register(held, select.POLLIN)
            dying.poll(1000)
        return marked
    except OSError:
        return False
    finally:
        os.close(held)

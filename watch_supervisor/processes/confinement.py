"""What holds a command in, on this machine: Landlock where the kernel has it, else nothing, and that is said.

With Landlock a command writes only in its workspace and in the folders for temporary files, and signals only what
it has started, so neither the relay nor its own warden; it reads what its user may read, and reaches the network
and path sockets. What was found is what is done: where it can't be applied at a spawn, the command isn't run.
See the kernel's `Documentation/userspace-api/landlock.rst`.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_CREATE_RULESET = 444
_VERSION = 1
_SIGNALS_SINCE = 6
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")


@dataclass(frozen=True, slots=True)
class Confinement:
    """`sentence` is for people: what holds a command in here."""

    kind: Literal["landlock", "none"]
    sentence: str

    def writable(self, root: Path, environment: Mapping[str, str]) -> tuple[str, ...] | None:
        """Where a command in the workspace `root` may write; None for anywhere."""
        if self.kind == "none":
            return None
        temporary = (environment.get("TMPDIR", "/tmp"), "/var/tmp")
        return (str(root), *temporary, *(f"/dev/{name}" for name in _DEVICES))


NONE = Confinement("none", "Nothing holds commands in here: they can do whatever the relay's user can.")


def available() -> Confinement:
    """The best there is on this machine."""
    version = _landlock_version()
    if version < 1:
        return NONE
    signals = ", signal only what they have started" if version >= _SIGNALS_SINCE else ""
    return Confinement(
        "landlock",
        f"Commands write only in the workspace and for temporary files{signals}, and can still read what the relay's "
        "user can and reach the network (Landlock).",
    )


def _landlock_version() -> int:
    """0 where there is none."""
    if not sys.platform.startswith("linux") or os.uname().machine not in ("x86_64", "aarch64"):
        return 0
    try:
        return int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _VERSION))
    except (OSError, AttributeError):
        return 0

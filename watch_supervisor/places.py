"""Where a watched path really lies, and whether it may be read.

It looks (symlinks, kinds of file) and never reads content, writes or follows a path into the process table.
Blocking, but short.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

_MOST_LINKS = 40
_PROTECTED_FILES = re.compile(
    r"\.env.*|.*\.env|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|age)|id_(?:rsa|ed25519|ecdsa|dsa).*"
    r"|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.htpasswd|\.vault-token"
    r"|\.?credentials.*|.*credentials(?:\..*)?|.*secrets?\.(?:json|ya?ml|toml)|\.dockercfg|access\.json|service[-_]account.*\.json"
    r"|shadow|gshadow|sudoers",
)
_PROTECTED_FOLDERS = frozenset(
    {".ssh", ".aws", ".gnupg", ".kube", ".git", ".azure", ".docker", ".password-store"}
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A path after its symlinks. `inside`: within the workspace. `protected`: a name that holds
    credentials. `problem`: why the path can't be walked, in words; empty when it can.
    """

    path: Path
    inside: bool
    protected: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """One name that the way to a file depends on: `name` in the real folder `folder`. `leaf`: the file
    itself.
    """

    folder: str
    name: str
    leaf: bool


@dataclass(frozen=True, slots=True)
class Way:
    """The way from `/` to a file: its real path (as far as it exists), and each name that a change could
    bend.
    """

    real: str
    links: tuple[Link, ...]


class PathLoop(OSError):
    """Symlinks that lead in a circle, or through more than 40 others."""


def typed(root: Path, path: str) -> str:
    """The absolute path that `path` means in the workspace `root`; `~/` is the home folder."""
    return os.path.normpath(os.path.join(root, os.path.expanduser(path) if path.startswith("~/") else path))


def resolve(root: Path, path: str) -> Resolved:
    """Follow `path` (relative to `root`, or absolute) through all symlinks; the file needn't exist.

    What can't be walked, such as a loop of symlinks, counts as outside and protected, so that nobody reads it.
    """
    try:
        real = way(root, path).real
    except OSError as error:
        # What was raised here has its whole sentence as its only argument.
        problem = error.strerror.lower() if error.strerror else str(error)
        return Resolved(Path(typed(root, path)), inside=False, protected=True, problem=problem)
    return Resolved(
        Path(real),
        inside=is_inside(root, real),
        protected=is_protected(root, real) or is_named_so(root, path),
    )


def is_inside(root: Path, real: str) -> bool:
    """Whether the real path lies under the workspace (the workspace itself doesn't count as a file in it)."""
    base = os.path.realpath(root)
    return real.startswith(base if base.endswith(os.sep) else base + os.sep)


def is_protected(root: Path, real: str) -> bool:
    """Whether a part of the real path names credentials. Inside the workspace only the parts below it
    count.
    """
    parts = Path(os.path.relpath(real, os.path.realpath(root)) if is_inside(root, real) else real).parts
    return _names_credentials(parts)


def is_named_so(root: Path, path: str) -> bool:
    """The same for the path as it was typed, before symlinks."""
    whole = typed(root, path)
    base = os.path.normpath(root)
    return _names_credentials(
        Path(os.path.relpath(whole, base) if whole.startswith(base + os.sep) else whole).parts
    )


def way(root: Path, path: str) -> Way:
    """Walk to the file one name at a time, as the kernel does. PathLoop when symlinks don't end; OSError
    else.

    `..` after a symlink means the parent of what the link leads to.
    """
    start = os.path.join(os.path.abspath(root), os.path.expanduser(path) if path.startswith("~/") else path)
    above = os.path.dirname(os.path.realpath(root))
    todo = list(reversed(start.split(os.sep)))
    here, links, hops = os.sep, list[Link](), 0
    missing = False
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            here = os.path.dirname(here)
            continue
        step = os.path.join(here, name)
        kind = None if missing else _kind(step)
        is_link = kind is not None and stat.S_ISLNK(kind)
        leaf = not todo and not is_link
        near = here == above or here.startswith(above if above.endswith(os.sep) else above + os.sep)
        if not missing and (kind is None or is_link or near or len(todo) < 2):
            links.append(Link(here, name, leaf))
        missing = missing or kind is None
        if is_link:
            hops += 1
            if hops > _MOST_LINKS:
                raise PathLoop(f"{path} leads through too many symlinks")
            target = os.readlink(step)
            if os.path.isabs(target):
                here = os.sep
            todo += reversed(target.split(os.sep))
        else:
            here = step
    return Way(here, tuple(dict.fromkeys(links)))


def _kind(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _names_credentials(parts: tuple[str, ...]) -> bool:
    return any(
        part.casefold() in _PROTECTED_FOLDERS or _PROTECTED_FILES.fullmatch(part.casefold()) is not None
        for part in parts
    )

"""A command line as it is run: by which shell, with which environment, and what will make its lines late.

Pure but for looking up programs on the path. Nothing that isn't on the list below reaches a child, so no token
does.
"""

import re
import shutil
from collections.abc import Mapping

_PASSED_ON = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
    }
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_FILTERS = {
    "grep": "`grep --line-buffered`",
    "egrep": "`egrep --line-buffered`",
    "fgrep": "`fgrep --line-buffered`",
    "sed": "`sed -u`",
    "awk": "`awk '{ …; fflush() }'`",
    "gawk": "`gawk '{ …; fflush() }'`",
    "mawk": "`mawk -W interactive`",
    "tr": "`stdbuf -oL tr`",
    "cut": "`stdbuf -oL cut`",
}
_UNBUFFERED = re.compile(r"--line-buffered|--unbuffered|-W\s*interactive|fflush|stdbuf|\s-[a-zA-Z]*u\b")


class Shell:
    """The bash that runs commands, looked up on `path` once."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path or _PATH
        self._before: list[str] | None = None

    def arguments(self, command: str) -> list[str]:
        """Those that run `command` byte for byte. FileNotFoundError when there is no bash."""
        if self._before is None:
            bash = shutil.which("bash", path=self._path) or shutil.which("bash", path=_PATH)
            if bash is None:
                raise FileNotFoundError("There is no bash on this machine, and commands are run by it.")
            by_lines = shutil.which("stdbuf", path=self._path)
            self._before = [*([by_lines, "-oL"] if by_lines else []), bash, "--norc", "--noprofile", "-c"]
        return [*self._before, command]


def environment(of_relay: Mapping[str, str]) -> dict[str, str]:
    """What a child gets of `of_relay`."""
    kept = {name: value for name, value in of_relay.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {"PATH": _PATH, **kept, "PYTHONUNBUFFERED": "1"}


def late_filters(command: str) -> list[str]:
    """For each filter in a pipeline that holds its lines back: how to write it so that it doesn't."""
    found = list[str]()
    for part in command.split("|")[1:]:
        words = part.split()
        if words and words[0] in _FILTERS and _UNBUFFERED.search(part) is None:
            found.append(_FILTERS[words[0]])
    return list(dict.fromkeys(found))

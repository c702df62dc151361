"""How a command ended, in words. Pure."""

import signal

from watch_supervisor.moments import rough_duration


def told(code: int | None, seconds: float | None = None) -> str:
    """`exited with code 0 after 3 s`, `was ended by SIGKILL`; `code` as in `Exit.code`."""
    after = f" after {rough_duration(int(seconds * 1000))}" if seconds is not None else ""
    if code is None:
        return f"was lost{after}: the process that ran it died"
    if code < 0:
        return f"was ended by {_name(-code)}{after}"
    return f"exited with code {code}{after}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

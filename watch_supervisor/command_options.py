"""The options of a watch that runs a command: once for as long as it lives, or every so often.

Pure. It answers with the fields of a `WatchSpec`; putting them together is the spec's.
"""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from watch_supervisor.moments import SECOND
from watch_supervisor.native_options import conditions, refuse_others
from watch_supervisor.option_values import (
    SHAPES,
    checked_name,
    count,
    duration,
    flag,
    refuse_broken,
    refuse_control,
    refuse_hidden,
    string,
    window,
)
from watch_supervisor.patterns import compile_pattern
from watch_supervisor.spec_error import SpecError, shown

LONGEST_COMMAND = 8_000
_WINDOW_MS = 5_000
_NOT_FOR_EXIT = ("match", "fire", "restart", "window", "max", "above", "below")
_RESTARTS = ("never", "on-failure", "always")


def process(given: Mapping[str, object], zone: tzinfo) -> dict[str, Any]:
    """Fields of a command that runs while it is watched."""
    refuse_others(given, ("text", "days"), "a command")
    fire = _word(given, "fire")
    on_exit = flag(given, "exit") or fire == "exit"
    if on_exit:
        for name in _NOT_FOR_EXIT:
            if name in given and (name, fire) != ("fire", "exit"):
                raise SpecError(
                    f"With `exit` it fires once, with how the command ended: leave `{name}` out.", name
                )
        if "once" in given and not flag(given, "once"):
            raise SpecError("A watch for the exit fires once: leave `once` out.", "once")
    restart = _word(given, "restart") or "never"
    if restart not in _RESTARTS:
        raise SpecError(f"`restart` can be never, on-failure or always, not {shown(restart)}.", "restart")
    gate = ("exit", None) if on_exit else _gate(given, fire, "each-line")
    return {"source": "process", "restart": restart, **_common(given, zone, gate, once=on_exit)}


def poll(given: Mapping[str, object], zone: tzinfo) -> dict[str, Any]:
    """Fields of a check that is run every so often."""
    refuse_others(given, ("text", "days"), "a check")
    refuse_others(given, ("exit", "restart"), "a check that is run every so often")
    every = duration(given, "every")
    if every is None or every < SECOND:
        raise SpecError(f"`every` needs a length of time. Write it like {SHAPES['every']}.", "every")
    fire = _word(given, "fire")
    if fire == "exit":
        raise SpecError(
            "A check ends each time, so `fire` can't be exit: leave `every` or `fire` out.", "fire"
        )
    return {
        "source": "poll",
        "every_ms": every,
        **_common(given, zone, _gate(given, fire, "change"), once=False),
    }


def _common(
    given: Mapping[str, object], zone: tzinfo, gate: tuple[str, str | None], *, once: bool
) -> dict[str, Any]:
    name = string(given, "name")
    if name is None:
        raise SpecError(f"Give the watch a name, in front: {SHAPES['command']}.", "name")
    once = once or flag(given, "once")
    wide = window(given)
    return {
        "name": checked_name(name),
        "command": _command(given),
        "fire": gate[0],
        "match": gate[1],
        "once": once,
        "ttl_ms": duration(given, "ttl"),
        "max_fires": count(given, "max"),
        "window_ms": wide if wide is not None else (0 if once else _WINDOW_MS),
        "notify": flag(given, "notify"),
        **conditions(given, zone),
    }


def _command(given: Mapping[str, object]) -> str:
    """Byte for byte: bash reads it, nobody here does."""
    command = given.get("command")
    if not isinstance(command, str) or not command.strip():
        raise SpecError(f"The command is missing: it follows `--`, like {SHAPES['command']}.", "command")
    refuse_broken(command, "command")
    refuse_control(command, "command")
    if len(command) > LONGEST_COMMAND:
        raise SpecError(
            f"The command is longer than {LONGEST_COMMAND} characters, which is the most. Put it into a script.",
            "command",
        )
    return command


def _word(given: Mapping[str, object], name: str) -> str | None:
    written = string(given, name)
    return written.strip().lower() if written is not None else None


def _gate(given: Mapping[str, object], fire: str | None, default: str) -> tuple[str, str | None]:
    match = string(given, "match")
    if fire not in (None, "each-line", "change", "match"):
        raise SpecError(f"`fire` can be each-line, change, match or exit, not {shown(fire)}.", "fire")
    if match is None:
        if fire == "match":
            raise SpecError(f"`fire` match needs a pattern. Write it like {SHAPES['match']}.", "match")
        return fire or default, None
    if fire not in (None, "match"):
        raise SpecError(f"`fire` {fire} and `match` say different things: keep one of them.", "fire")
    refuse_hidden(match, "match")
    compile_pattern(match)
    return "match", match

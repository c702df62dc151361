"""What is told to whoever asks to redact something. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay.texts import inline, plural

REDACT_AFTER_TURN = "Wait until it has ended, or `!stop` it there; then redact again. Nothing was changed."


def redact_unknown(typed: str) -> str:
    return f"nothing here is known as {inline(typed, 80)!r}; `relay log` shows ids. Nothing was changed."


def redact_ambiguous(typed: str, found: Iterable[str]) -> str:
    return f"{inline(typed, 80)!r} may mean {', or '.join(found)}: write more of it. Nothing was changed."


def redact_running(scope: str) -> str:
    return f"a turn that was given that text still runs in {scope}."


def redact_armed(name: str) -> str:
    return f"the reminder «{inline(name)}» still needs its words."


def redact_after_watch(name: str) -> str:
    return f"Wait until it has fired, or `!unwatch {inline(name)}` there; then redact again. Nothing was changed."


def redact_done(target: str, taken: Mapping[str, int]) -> str:
    what = ", ".join(f"{count} {verb}" for verb, count in sorted(taken.items()))
    return f"The texts of {target[:40]} are gone: {what or 'a message of the page'}."


def redact_nothing(target: str) -> str:
    return f"{target[:40]} holds no text any more: it was redacted before, or never had one."


def redact_elsewhere(count: int) -> str:
    return f"{plural(count, 'message')} of it may still stand in Discord: delete them there."

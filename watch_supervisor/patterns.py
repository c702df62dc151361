"""Regular expressions that can't hang: RE2 behind one small typed door.

Pure. It never falls back to Python's `re`, whose matching time has no bound.
"""

from typing import Any, Protocol, cast

import re2

from watch_supervisor.spec_error import SpecError, shown

LONGEST_PATTERN_BYTES = 512
_MAX_MEMORY = 8 << 20


class Pattern(Protocol):
    """A compiled pattern: `search` answers something or None, in time linear in the text."""

    def search(self, text: str, /) -> object | None: ...


def compile_pattern(text: str) -> Pattern:
    """Compile an RE2 pattern. SpecError (option `match`) with RE2's own reason when it can't be."""
    if not text:
        raise SpecError("A pattern can't be empty. Write it like `--match ERROR`.", "match")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise SpecError("The pattern holds a broken character. Type it again.", "match") from None
    if size > LONGEST_PATTERN_BYTES:
        raise SpecError(f"The pattern is {size} bytes long; {LONGEST_PATTERN_BYTES} is the most.", "match")
    engine = cast(Any, re2)
    options = engine.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return cast(Pattern, engine.compile(text, options))
    except (engine.error, ValueError, OverflowError) as error:
        raise SpecError(
            f"{shown(text)} isn't a pattern I can use: {_reason(error)}. "
            "Write it like `--match ERROR` or `--match 'error|failed'`; "
            "look-around and back-references don't exist here.",
            "match",
        ) from None


def _reason(error: Exception) -> str:
    detail: object = error.args[0] if error.args else "it can't be read"
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return shown(text).strip("`")

"""Regular expressions that can't hang: RE2 behind one small typed door.

Pure. It never falls back to Python's `re`, whose matching time has no bound.
"""

import re
from typing import Any, Protocol, cast

import re2

from watch_supervisor.spec_error import SpecError, shown

LONGEST_PATTERN_BYTES = 512
_MAX_MEMORY = 8 << 20
_BY_THE_LINE = re.compile(r"\\[AzC]|\(\?[a-zA-Z]*-")
"""What means the whole text, a byte, or may switch off that `^` and `$` mean lines."""


class Match(Protocol):
    """Where a pattern was found."""

    def start(self) -> int: ...

    def groups(self) -> tuple[str | None, ...]: ...


class Pattern(Protocol):
    """A compiled pattern: `search` answers where it is found or None, in time linear in the text."""

    def search(self, text: str, /) -> Match | None: ...


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
    try:
        return cast(Pattern, engine.compile(text, _options()))
    except (engine.error, ValueError, OverflowError) as error:
        raise SpecError(
            f"{shown(text)} isn't a pattern I can use: {_reason(error)}. "
            "Write it like `--match ERROR` or `--match 'error|failed'`; "
            "look-around and back-references don't exist here.",
            "match",
        ) from None


class BlockPattern:
    """A pattern that is looked for in many lines at once. `^` and `$` mean the ends of a line, and no match goes
    beyond one.
    """

    def __init__(self, search: Any, *, by_line: bool) -> None:
        self._search = search
        self._by_line = by_line

    def lines_of(self, whole: bytes, start: int = 0, end: int | None = None) -> list[bytes]:
        """The lines that match, in order and without their newlines, of those (each ended by a newline) that stand
        in `whole` from `start` to `end`.
        """
        size = len(whole) if end is None else end
        if self._by_line:
            return [line for line in whole[start : size - 1].split(b"\n") if self._search(line) is not None]
        found = list[bytes]()
        at = start
        while at < size:
            hit = self._search(whole, at, size)
            if hit is None:
                break
            where: int = hit.start()
            if where >= size:
                break  # the empty line behind the last newline is none
            begins, ends = whole.rfind(b"\n", start, where) + 1, whole.index(b"\n", where)
            found.append(whole[max(begins, start) : ends])
            at = ends + 1
        return found


def compile_block_pattern(text: str) -> BlockPattern:
    """The same as `compile_pattern`, for `BlockPattern.lines_of`."""
    whole = compile_pattern(text)
    if _BY_THE_LINE.search(text) is not None:
        return BlockPattern(whole.search, by_line=True)
    options = _options()
    options.never_nl = True
    return BlockPattern(cast(Any, re2).compile(f"(?m:{text})", options).search, by_line=False)


def _options() -> Any:
    options = cast(Any, re2).Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return options


def _reason(error: Exception) -> str:
    detail: object = error.args[0] if error.args else "it can't be read"
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return shown(text).strip("`")

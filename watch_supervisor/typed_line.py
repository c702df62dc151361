"""Words of a line as it was typed, with the liberties of phones taken back.

Pure. What follows a lone `--` isn't split: it is a command, byte for byte. Curly quotes count as quotes, a long
dash before an option's name counts as `--`, and an apostrophe inside a word stays an apostrophe. Quotes work as in
a shell: in double quotes `\\"` and `\\\\` stand for `"` and `\\`, in single quotes nothing is special. It never knows
which options exist.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from watch_supervisor.spec_error import SpecError, shown

_DOUBLE = '"“”„‟'
_SINGLE = "'‘’‚‛"
_DASHES = "-—–―−‒"
_LONG_DASHES = "—–―−‒"


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is its value without quotes; `quoted` says that it began with a quote.

    `option` is set for `--name` and `--name=value` (the latter has `value` too); for `name=value` without
    dashes `option` is None, `key` and `value` are set, and whether that means an option is for the reader to
    say. `command` marks a lone `--` (or the long dash a phone makes of it), and `value` is all
    that follows it.
    """

    text: str
    quoted: bool = False
    option: str | None = None
    key: str | None = None
    value: str | None = None
    command: bool = False
    typographic: bool = False


def words(line: str, is_text: Callable[[Sequence[Word]], bool] = lambda _: False) -> list[Word]:
    """Split `line` into words. SpecError when a quote isn't closed.

    `is_text` is asked, with the words before it, whether a lone long dash is one of the text's words.
    """
    found: list[Word] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        word, at = _word(line, at)
        if word.command and word.typographic and is_text(found):
            word = Word(word.text)
        if word.command:
            found.append(replace(word, value=line[at:].strip()))
            break
        found.append(word)
    return found


def _word(line: str, at: int) -> tuple[Word, int]:
    if line[at] in _DOUBLE + _SINGLE:
        text, end = _quoted(line, at)
        return Word(text, quoted=True), end
    end = at
    while end < len(line) and not line[end].isspace():
        name = line[at:end]
        if (
            line[end : end + 1] == "="
            and "=" not in name
            and line[end + 1 : end + 2] in tuple(_DOUBLE + _SINGLE)
        ):
            value, after = _quoted(line, end + 1)
            return _plain(f"{name}={value}", name, value), after
        end += 1
    text = line[at:end]
    name, equals, value = text.partition("=")
    return _plain(text, name, value if equals else None), end


def _plain(text: str, name: str, value: str | None) -> Word:
    bare = name.lstrip(_DASHES)
    dashes = name[: len(name) - len(bare)]
    typographic = any(dash in _LONG_DASHES for dash in dashes)
    if dashes and not bare and value is None and (dashes == "--" or typographic):
        return Word(text, command=True, typographic=typographic)
    if dashes and bare and (bare[0].isalpha() or len(dashes) > 1):
        return Word(text, option=bare.lower(), value=value, typographic=typographic)
    return Word(text, key=name.lower() if value is not None else None, value=value)


def _quoted(line: str, at: int) -> tuple[str, int]:
    """The text between the quote at `at` and its partner, which is the first followed by a blank or the
    end.
    """
    opener = line[at]
    double = opener in _DOUBLE
    closers = opener if opener in "\"'" else (_DOUBLE if double else _SINGLE)
    kept: list[str] = []
    here = at + 1
    while here < len(line):
        char = line[here]
        if double and char == "\\" and here + 1 < len(line) and line[here + 1] in closers + "\\":
            kept.append(line[here + 1])
            here += 2
            continue
        if char in closers and (here + 1 == len(line) or line[here + 1].isspace()):
            return "".join(kept), here + 1
        kept.append(char)
        here += 1
    raise SpecError(
        f"The quote that begins at {shown(line[at : at + 20])} isn't closed: end it with {opener}."
    )


def quote(text: str) -> str:
    """`text` in double quotes, such that `words` reads exactly it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

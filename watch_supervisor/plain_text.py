"""Text from the world made fit to be shown: no escape sequences, no control characters, a bound on its size.

Pure. It takes bytes or text of any kind and never raises.
"""

import re

LONGEST_BYTES = 24 * 1024
_LONGEST_LINE = 2_000
_HEAD_SHARE = LONGEST_BYTES * 2 // 3

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC and other strings, up to their end
    r"|\x1b[ -/]*[0-~]?"  # two-character sequences, and a lone ESC
)
_ESCAPES_IN_BYTES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\|(?=\n|$))|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def plain_lines(data: bytes) -> list[str]:
    """The lines of `data`: UTF-8 with replacement, CR LF and CR as line ends, nothing that steers a
    terminal.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = plain(text).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def plain(text: str) -> str:
    """`text` without escape sequences and control characters; newlines and tabs stay."""
    if "\x1b" in text:
        text = "\n".join(_ESCAPES.sub("", line) for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def without_escapes(data: bytes) -> bytes:
    """Lines without escape sequences: what a pattern is matched on. No newline comes or goes."""
    return _ESCAPES_IN_BYTES.sub(b"", data) if b"\x1b" in data else data


def capped(lines: list[str]) -> tuple[str, int]:
    """`lines` as one text of at most 24 KiB of UTF-8, and how many lines were left out or cut.

    What is too much is taken from the middle, and the text says so there: both ends of a change tell most.
    """
    cut = 0
    short: list[str] = []
    for line in lines:
        if len(line) > _LONGEST_LINE:
            cut += 1
            line = f"{line[:_LONGEST_LINE]}… ({len(line) - _LONGEST_LINE} characters left out)"
        short.append(line)
    sizes = [len(line.encode()) + 1 for line in short]
    if sum(sizes) <= LONGEST_BYTES:
        return "\n".join(short), cut
    room = LONGEST_BYTES - 64
    head = _fitting(sizes, _HEAD_SHARE)
    used = sum(sizes[:head])
    tail = _fitting(sizes[:head:-1] if head else sizes[::-1], room - used)
    left_out = len(short) - head - tail
    middle = f"… ({left_out} lines left out) …"
    kept = [*short[:head], middle, *(short[len(short) - tail :] if tail else [])]
    whole = sum(1 for line in lines[head : len(lines) - tail] if len(line) > _LONGEST_LINE)
    return "\n".join(kept), cut - whole + left_out


def _fitting(sizes: list[int], room: int) -> int:
    used = 0
    for count, size in enumerate(sizes):
        used += size
        if used > room:
            return count
    return len(sizes)

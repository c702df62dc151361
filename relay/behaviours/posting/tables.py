"""Tables of a reply that no single message can hold, as code: a table cut in two shows as neither. Pure."""

from __future__ import annotations

import re

from relay.behaviours.posting.chunks import utf16_len

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_TICKS = re.compile(r"`{3,}")


def fence_tables(text: str, limit: int) -> str:
    """`text` with a code fence around each Markdown table that does not fit half of `limit` UTF-16 units.

    A shorter one is kept whole by the cut itself, which falls before it. What stands in a fence already is left alone.
    """
    lines = text.split("\n")
    out: list[str] = []
    fence = ""
    at = 0
    while at < len(lines):
        looks = _FENCE.match(lines[at])
        if fence:
            closes = looks is not None and looks[1].startswith(fence) and not lines[at].strip(" \t`~")
            fence = "" if closes else fence
        elif looks is not None:
            fence = looks[1]
        elif _begins_table(lines, at):
            end = at
            while end < len(lines) and "|" in lines[end]:
                end += 1
            out += _shown(lines[at:end], limit)
            at = end
            continue
        out.append(lines[at])
        at += 1
    return "\n".join(out)


def _begins_table(lines: list[str], at: int) -> bool:
    return (
        "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(_RULE.match(lines[at + 1]))
    )


def _shown(table: list[str], limit: int) -> list[str]:
    whole = "\n".join(table)
    if utf16_len(whole) <= limit // 2:
        return table
    longest = max((len(run) for run in _TICKS.findall(whole)), default=2)
    marks = "`" * (longest + 1)
    return [marks, *table, marks]

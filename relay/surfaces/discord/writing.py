"""How a text stands in Discord: within 2,000 UTF-16 units, calling whom it may and nobody else. Pure.

A text that is longer (replies come in chunks; a card or a notice may not) is shown from its beginning, and hangs there
whole as a file, so nothing of it is lost.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from relay.surfaces.surface import SeenPost

LIMIT = 2_000
CHUNK = 1_900
"""What a reply's chunks may take, so that a call and a remark on lateness still fit."""
_TAIL = 300
_LAST_LINES = 3
_LONGEST_FENCE = 20
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_CALLS = re.compile(r"\s*(?:<@\d{1,20}>\s*)+\Z")
_CUT = "\n… (all of it is in the file below)"


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, most: int) -> str:
    """The beginning of a text, in so many units, with no character torn."""
    if units(text) <= most:
        return text
    return text.encode("utf-16-le", "surrogatepass")[: most * 2].decode("utf-16-le", "ignore")


def nobody() -> dict[str, Any]:
    """No mention in the text calls anybody."""
    return {"parse": [], "replied_user": False}


def whole_name(text: str) -> str:
    """The name of the file that holds a text which is too long: it tells the text by its digest."""
    return f"message-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.md"


def shown(text: str, calls: Sequence[str]) -> tuple[str, dict[str, Any], bool]:
    """The content, whom it may call, and whether the text must hang on it as a file.

    Those who don't fit are not called: the text goes first.
    """
    too_long = units(text) > LIMIT
    content = closed(cut(text, LIMIT - 200)) + _CUT if too_long else text
    called: list[str] = []
    more = ""
    for who in dict.fromkeys(calls):
        mention = f"<@{who}>"
        if mention in content:
            called.append(who)
            continue
        longer = f"{more} {mention}" if more else f"\n{mention}"
        if units(content) + units(longer) <= LIMIT:
            more = longer
            called.append(who)
    return content + more, {**nobody(), "users": called[:100]}, too_long


def closed(text: str) -> str:
    """The beginning of a text, with the code fence closed that its end has cut open."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip(" `~"):
            fence = ""
    return f"{text}\n{fence}" if 0 < len(fence) <= _LONGEST_FENCE else text


def shortened(text: str) -> str:
    """A text that must stand in one message: its beginning and its end."""
    if units(text) <= LIMIT:
        return text
    end: list[str] = []
    for line in reversed(text.split("\n")[-_LAST_LINES:]):
        if units("\n".join([line, *end])) > _TAIL or _FENCE.match(line):
            break
        end.insert(0, line)
    last = "\n".join(end)
    return f"{closed(cut(text, LIMIT - units(last) - 50))}\n…\n{last}"


def same(seen: SeenPost, text: str) -> bool:
    """Whether a message of ours shows that text. Discord cuts white space at the ends, and a call may follow."""
    return whole_name(text) in seen.files or _bare(seen.text) == _bare(text)


def _bare(text: str) -> str:
    return _CALLS.sub("", text).strip()

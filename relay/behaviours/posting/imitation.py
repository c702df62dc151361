"""The one line of an answer that people read as the relay's own word, kept from being written by an agent. Pure."""

from __future__ import annotations

import re
import unicodedata

_MARK = "> (said by the agent) "
MOST_ADDED = len(_MARK)
"""Characters that the mark adds to a line."""
_HEAD = 120
"""Characters of a line that are looked at; the attribution's own beginning is far shorter."""
_OURS = re.compile(r"[^\w]*triggered\s+by\s+watch\b")


def neutralised(text: str) -> str:
    """`text` with each line that reads like `↳ triggered by watch …` shown as a quotation."""
    if "trigger" not in unicodedata.normalize("NFKC", _visible(text)).casefold():
        return text
    return "\n".join(_MARK + line if _imitates(line) else line for line in text.split("\n"))


def _imitates(line: str) -> bool:
    if line.startswith(_MARK):
        return False  # said already
    seen = unicodedata.normalize("NFKC", _visible(line[: _HEAD * 4]))[:_HEAD]
    return _OURS.match(seen.casefold()) is not None


def _visible(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn", "Me"))

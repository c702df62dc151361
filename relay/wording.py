"""How things are put into a sentence: counts, lengths of time, and untrusted text that must not break out of it."""

from __future__ import annotations


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 fire`, `2 fires`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def span(ms: int) -> str:
    """A length of time as people say it: `45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    seconds = max(0, round(ms / 1000))
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def inline(text: str, most: int = 80) -> str:
    """Untrusted text on one line, without markup that could break out of its place."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = line.replace("`", "'").replace("«", "‹").replace("»", "›")
    return line if len(line) <= most else line[: most - 1] + "…"


def fenced(text: str, language: str = "") -> str:
    """Untrusted text in a code fence that it can't close."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"

"""The one error that a mistyped watch gives, and how a person's words are quoted back in it.

It never does I/O and never echoes more than a short, harmless piece of what was typed.
"""

import unicodedata

_SHOWN_CHARS = 40


class SpecError(ValueError):
    """A watch that can't be armed as it was written.

    The message is a whole sentence for the person who wrote it: it names what is wrong and shows the right
    form. `option` is the option at fault, without dashes (`"file"`), or None when the line as a whole is at
    fault.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


def shown(text: str) -> str:
    """`text` as a short quotation: one line, no control characters or backticks, at most 40 characters."""
    clean = "".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else c for c in text)
    clean = clean.replace("`", "'").strip()
    if len(clean) > _SHOWN_CHARS:
        clean = clean[: _SHOWN_CHARS - 1] + "…"
    return f"`{clean}`" if clean else "(nothing)"

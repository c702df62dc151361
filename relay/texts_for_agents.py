"""What an agent is told: notes in a prompt, and the answers of the relay's tools. Part of the catalogue of texts."""

from __future__ import annotations

from collections.abc import Sequence

from relay.wording import inline, plural

PROMPT_CONTINUES = (
    "The relay was restarted while you were working on the messages below, so your turn was cut off. "
    "Go on where you were. What you had already done may be done: look before you do it again."
)
PROMPT_GONE = "The message is no longer in the ledger."
PROMPT_REDACTED = "(this text was redacted)"
PROMPT_REST_MISSING = "the rest of this text is missing"
PROMPT_LATE = "written while the relay was not running"


PROMPT_BY_PROGRAM = "a program sent this with the owner's token; nobody may be there to answer a question"
PROMPT_EDITED = "its author has edited it since; this is how it reads now"
PROMPT_EDITED_NOW = "this replaces what the same message said before"
PROMPT_TAKEN_BACK = (
    "Whoever wrote this message has deleted it. What it asked for is not wanted any more; "
    "go on with the rest, if there is any."
)


FILE_NOT_SHOWN = "(this file is no text, so it is not shown here)"
FILE_NOT_THERE = "(this file could not be fetched in time; it is not in the workspace)"
FILE_CUT = "only its beginning is shown; all of it lies at the path"


def file_refused(why: str, detail: str) -> str:
    """Why a file of a message is not in the workspace."""
    words = {
        "too large": "it is larger than the relay takes",
        "secret name": "files named so hold secrets",
        "secret inside": "a private key stands in it",
        "gone": "it was deleted before it was fetched",
        "not fetched": "it could not be fetched",
        "no folder": "it could not be put into the workspace",
    }.get(why, why)
    more = f": {inline(detail, 150)}" if detail else ""
    return f"(this file was not taken: {words}{more}. Who sent it was told.)"


def prompt_cut(characters: int) -> str:
    return f"{characters} characters were left out at the end"


HELD_BACK = {
    "muted": "while people had it muted",
    "snoozed": "while people had it snoozed",
    "hours": "outside the hours in which it may speak",
    "fires": "after it had fired as often as it may in an hour",
    "thread": "after the watches of this thread had woken you as often as they may in an hour",
    "room": "after the watches of this room had woken you as often as they may in an hour",
    "day": "after watches had woken you as often as they may in a day",
    "tokens": "after turns that watches started had used the tokens of a day",
}


def held_fires(name: str, count: int, kept: int, why: str) -> str:
    """What stands before fires that were held back."""
    which = "It is below." if count == 1 else "They are below, oldest first."
    if kept < count:
        which = (
            f"The last {kept} are below; {plural(count - kept, 'earlier one is', 'earlier ones are')} left out, "
            "so look for yourself if that matters."
        )
    held = HELD_BACK.get(why, "for a while")
    return f"«{inline(name)}» fired {plural(count, 'time')} {held}, and you were not woken. {which}"


TOOL_WITHOUT_TURN = "no turn is running here, so this tool has no authority"
TOOL_UNDECIDED = "the watch was asked for, but nothing was decided in time; look with watch_list"


def tool_unknown(name: str, names: Sequence[str]) -> str:
    return f"there is no tool {inline(name)!r}; there are {', '.join(names)}"


def tool_armed(name: str, what: str) -> str:
    return f"watching «{inline(name)}»: {inline(what, 200)}"


def tool_shared(name: str, size: int) -> str:
    return f"sharing {inline(name)} ({size} bytes) with the reply"


def share_outside(path: str) -> str:
    return f"{inline(path)} is not a file of this workspace, so it can't be shared"


def share_protected(path: str) -> str:
    return f"files named like {inline(path)} hold secrets, so they can't be shared"


def share_holds_key(path: str) -> str:
    return f"a private key stands in {inline(path)}, so it can't be shared"


def share_kept(path: str) -> str:
    return f"{inline(path)} is a file of the relay's own under another name, so it can't be shared"


def share_failed(path: str, why: str) -> str:
    return f"{inline(path)} can't be shared: {why}"


def share_many(most: int) -> str:
    return (
        f"{plural(most, 'file')} are shared by this turn already, which is the most; put more into an archive"
    )


# -- files ----------------------------------------------------------------------------------------------------------


def size(count: int) -> str:
    """A number of bytes as people read it."""
    return f"{count / (1 << 20):.1f} MB" if count >= 1 << 20 else f"{max(1, count // 1024)} kB"


def file_not_shown(name: str, count: int, limit: int | None) -> str:
    most = f", and at most {size(limit)} can be shown here" if limit is not None and count > limit else ""
    return f"📎 {inline(name)} ({size(count)}) could not be shown here{most}. It stands in the workspace."


def file_gone(name: str) -> str:
    return f"📎 {inline(name)} can't be shown: it is not kept any more."

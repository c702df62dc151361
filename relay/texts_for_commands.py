"""What stands at commands that are filled in: what each option is, what is offered, why a command is refused."""

from __future__ import annotations

from collections.abc import Iterable

from relay.wording import inline

# What can be filled in with a slash command (100 characters at most).
OPTION_DROP = "the number of the message to take out"
OPTION_MODE = "what becomes of a message that comes while a turn runs"
OPTION_STOP_ALL = "every turn of every room, not only the one here"
OPTION_EVERY_ROOM = "every room, not only this one"
OPTION_ID = "what to explain: the first letters of an id"
OPTION_NAME = "what it is called; a name that is taken is replaced"
OPTION_FILE = "wake me when this file of the workspace changes"
OPTION_MATCH = "only when a new line of the file matches this pattern"
OPTION_IN = "wake me after this time, such as 20m or 2h"
OPTION_AT = "wake me at this time, such as 09:30"
OPTION_TEXT = "what to remind of"
OPTION_ONCE = "off after the first fire"
OPTION_NOTIFY = "post it, and wake nobody"
OPTION_MORE = "further options, as they are typed after !watch"
OPTION_UNWATCH = "the watch to take off"

TURN_THAT_RUNS = "runs now"
TURN_THAT_ENDED = "ended last"
PROMPT_THAT_WAITS = "waits"


def id_offered(id: str, what: str, who: Iterable[str]) -> str:
    """An id to choose, as it reads in a list."""
    return f"{id} · {what} · {inline(', '.join(dict.fromkeys(who)))}"


def command_used(name: str, line: str) -> str:
    """What stands in the chat for a slash command that was used."""
    return f"⌨️ {inline(name)}: `{inline(line, 300)}`"


COMMAND_NOT_HERE = "I'm not set up for this channel, so nothing was done. Use me in one of the relay's rooms."
COMMAND_NOT_YOURS = "I take commands here only from people of this room. Nothing was done."
COMMAND_CHANGED = (
    "I don't know this command in that form any more, so nothing was done. Reload Discord, and try again."
)

"""What people are told of what comes in: files that hang on messages, and what programs send. Part of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence

from relay.wording import inline, plural

# -- files that come in -----------------------------------------------------------------------------------------------


def file_refused(name: str, count: int, why: str, most: int, detail: str) -> str:
    """Told in the chat, about a file that the agent does not get."""
    known, mb = inline(name, 60) or "that file", 1_000_000
    match why:
        case "too large":
            words = (
                f"it has {count / mb:.1f} MB, and I take {most // mb} MB. Put it into the workspace yourself"
            )
        case "secret name":
            words = "files named so hold secrets, which the agent doesn't get. If it holds none, give it another name"
        case "secret inside":
            words = "a private key stands in it. Delete your message, and think of the key as seen by others"
        case "gone":
            words = "it was deleted before I had it"
        case "not fetched":
            words = f"I could not fetch it ({inline(detail.rstrip('.'), 150)}). Send it again"
        case _:
            words = f"I can't put it into the workspace ({inline(detail.rstrip('.'), 150)})"
    return f"📎 I did not take `{known}`: {words}."


DISK_NEARLY_FULL = "the disk is nearly full; free some space and send it again"
FILE_SLOW = "it did not come in time"


def surface_not_running(name: str) -> str:
    return f"{inline(name)} is not running here"


def inbox_is_no_folder(name: str) -> str:
    return f"`{name}` in the workspace is no folder; move it away, and send the file again"


def inbox_is_full(name: str) -> str:
    return f"`{name}` in the workspace has other files of that name"


# -- what programs send -----------------------------------------------------------------------------------------------

SEND_KEY_REUSED = "this key was used before, for something else"
SEND_KEY_ADVICE = (
    "Use a new key for each thing that is sent, and the same one only to send it again. Nothing was done."
)
SEND_TO_WHERE = "there are several rooms, and none was named"
SEND_AGAIN = "Send it again with the same key; it is taken once."
SEND_POST_SHORTER = "Send the short of it, and put the rest into a file in the workspace."
SEND_DROPPED = "it was taken out of the queue, or the queue was full"
MOST_SENT_SHOWN = 1_000


def send_unknown(target: str) -> str:
    return f"there is no room or thread {inline(target)!r}"


def send_targets(rooms: Sequence[str]) -> str:
    return f"Rooms: {', '.join(map(inline, rooms)) or 'none'}. A thread is named by its own id, such as web:main/t3."


def send_post_long(length: int, most: int) -> str:
    return f"a post takes {most} characters, and this has {length}"


def send_not_now(surface: str) -> str:
    return f"{inline(surface)} can't be asked for that room just now"


def sent_prompt(name: str, text: str, size: int) -> str:
    """Shown where a program started a turn: who, and what."""
    shown = text[:MOST_SENT_SHOWN].rstrip()
    rest = (
        f"\n… and {plural(size - len(shown), 'character')} more" if size > len(text[:MOST_SENT_SHOWN]) else ""
    )
    quoted = "\n".join(f"> {line}" for line in shown.split("\n"))
    return f"📨 **{inline(name, 40)}** (a program) sends:\n{quoted}{rest}"


def sent_post(name: str, text: str) -> str:
    """A program's own post."""
    return f"📨 **{inline(name, 40)}** (a program): {text}"


def bad_http_token(name: str) -> str:
    return (
        f"{name} is no good as a token, so programs can send nothing. It needs 16 visible characters or more, such as "
        "what `openssl rand -hex 32` prints; without it the relay makes one by itself."
    )

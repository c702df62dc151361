"""All texts for people in one catalogue: what is said in a chat, on a card, in a status, and what an agent is told.

Short, plain, and with what can be done. The sentence of an error stands with the error that is raised, since it names
what was at fault; what an interaction says in a line stands by its verb in `behaviours/status/telling.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.wording import fenced, inline, plural, span

__all__ = ["fenced", "inline", "plural", "span"]

# -- turns ----------------------------------------------------------------------------------------------------------


def attribution(names: Iterable[str]) -> str:
    """The line that says which watch woke the turn."""
    return "\n".join(f"↳ triggered by watch «{inline(name)}»" for name in dict.fromkeys(names))


def run_again(by_message: bool) -> str:
    """How to run a turn again. A turn that a watch started has no message of a person to react to."""
    return (
        "React 🔁 on your message, or type `!retry`, to run it again."
        if by_message
        else "Type `!retry` to run it again."
    )


def turn_cancelled(by: str, again: str) -> str:
    return f"🛑 Stopped ({inline(by)}). {again}"


def turn_failed(reason: str, again: str) -> str:
    return f"⚠️ The agent failed: {inline(reason, 300).rstrip('.')}. {again}"


def turn_refused(reason: str) -> str:
    return f"⚠️ The agent refused: {inline(reason, 300).rstrip('.')}. Say it differently, or type `!retry`."


def turn_limited(reason: str) -> str:
    return f"⏱️ I ended this turn: {inline(reason, 300)}. Type `!retry` to run it again."


TURN_GOES_ON = "↻ The relay was restarted while I was working on this. I'm picking it up again."

TURN_GOES_ON_LATER = (
    "↻ The relay was restarted while I was working on this. I go on with it when the pause is over."
)


def turn_interrupted(again: str, *, others: int = 0) -> str:
    """`others`: how many more messages and fires the turn had taken."""
    what = f"this and {plural(others, 'more message')}" if others > 0 else "this"
    told = f"↻ The relay was restarted while I was working on {what}, and I can't pick it up by myself."
    return f"{told} {again.replace('to run it again', 'to run all of it again') if others > 0 else again}"


SESSION_LOST = (
    "↻ The agent no longer knows what was said here before, so it starts afresh. "
    "Say again what it needs to know."
)


def silence_limit(ms: int) -> str:
    return f"the agent said nothing for {span(ms)}"


def total_limit(ms: int) -> str:
    return f"it ran for {span(ms)}, which is the limit"


def queue_full(limit: int) -> str:
    return f"📥 {plural(limit, 'message')} wait here already, so I dropped this one. Send it again later, or `!stop`."


REPLY_CUT = "\n\n…(the answer was longer than I may post; the rest was left out)"


def stopping_all(turns: int, waiting: int) -> str:
    told = f"🛑 Stopping {plural(turns, 'turn')}." if turns else "🛑 No turn runs anywhere."
    if waiting:
        told += f" {plural(waiting, 'message')} that waited will run now; `!pause all` holds them."
    return told


def thread_closed(title: str, why: str) -> str:
    return f"↪ I can't write in the thread «{inline(title)}» any more ({inline(why.rstrip('.'), 120)}). Its answer:"


NO_TURN_TO_STOP = "Nothing is running here."
NO_TURN_TO_RETRY = "There is no finished turn here to run again."
NOT_YOURS_TO_STOP = "Only the owner, or who asked for this turn, may stop it."
RETRY_AT_WORK = (
    "The agent is still on that, or it waits in the queue: it is not run twice. `!status` shows it."
)
NOT_YOURS_TO_RETRY = "Only the owner, or who asked for that turn, may run it again."
OWNER_ONLY = "Only the owner may do that here."


def late_command(word: str) -> str:
    return f"I wasn't running when you typed `{inline(word)}`, so I didn't act on it. Type it again if you want it."


RESTARTED = "the relay was restarted"
# Each: what is wrong, and what to do.


def workspace_is_no_folder(folder: str) -> tuple[str, str]:
    return (
        f"the workspace {folder} is not a folder: a file or a broken link is in its way.",
        "Move it away, or name another folder in access.json.",
    )


def workspace_not_made(folder: str, why: str) -> tuple[str, str]:
    return (
        f"the workspace {folder} can't be made or reached ({why}).",
        "Make it by hand, or name another folder in access.json.",
    )


def workspace_not_written(folder: str) -> tuple[str, str]:
    return (
        f"the workspace {folder} may not be written by the relay.",
        f"Run: chmod u+wx {folder}, or name another folder in access.json.",
    )


ROOM_GONE = "this room is not in access.json any more"
AGENT_DID_NOT_START = "it did not start in time"
AGENT_ENDED_MUTE = "it ended without a word"


def agent_unknown(agent: str) -> str:
    return f"access.json names no agent {inline(agent)!r} that this relay can run"


def agent_slow(agent: str, seconds: float) -> str:
    return f"the agent {inline(agent)} did not open within {seconds:.0f} s"


def inner_fault(name: str) -> str:
    return f"{name} inside the relay; its log has more"


def waiting_for_leave(title: str) -> str:
    return f"waiting for leave: {inline(title, 150)}"


# -- approvals ------------------------------------------------------------------------------------------------------


def card(title: str, command: str, cwd: str, asker: str, until: str) -> str:
    """What an approver needs to decide: exactly what, where, for whom, until when."""
    return (
        f"🔐 **{inline(title, 120)}**\n{fenced(command)}\n"
        f"in `{inline(cwd, 200)}` · asked by {inline(asker)} · answer by {until}"
    )


CARD_UNKNOWN = "I don't know this card any more."
CARD_NOT_YOURS = "Only those whom this card calls may decide it. Nothing was changed."
CARD_DECIDED = "This card is decided already. Nothing was changed."
CARD_DELETED = "its card was deleted"
PLACE_DELETED = "the place it belongs to was deleted"
CARD_EXPIRED = "nobody answered in time"
CARD_OF_ENDED_TURN = "the turn has ended"


def card_too_late(by: str) -> str:
    return f"{inline(by)} decided when nobody waited for it any more, so nothing was run"


COMMAND_TOO_LONG = "the command is too long to be shown whole, so nobody can allow it; make it shorter"


def card_outcome(outcome: str, by: str, reason: str) -> str:
    """The line that ends a card."""
    marks = {
        "allowed": "✅ Allowed",
        "denied": "❌ Denied",
        "expired": "⌛ Expired",
        "withdrawn": "↩️ Withdrawn",
    }
    told = marks[outcome] + (f" by {inline(by)}" if outcome in ("allowed", "denied") else "")
    return told + (f": {inline(reason, 200)}" if reason else "")


# -- edits, deletions, limits on who speaks ---------------------------------------------------------------------------


def correction(name: str, *, deleted: bool) -> str:
    """A card: a message changed that is being worked on."""
    what = "deleted a message" if deleted else "edited this message"
    return f"✏️ **{inline(name)} {what} that I'm working on.** What shall become of the work?"


def correction_choices(*, deleted: bool, joins: bool) -> tuple[str, str, str]:
    """What stands on its buttons."""
    if deleted:
        take = "Go on without it" if joins else "Tell me next"
    else:
        take = "Take the new text into it" if joins else "Do the new text next"
    return f"✏️ {take}", "🛑 Stop", "Leave it"


def correction_outcome(outcome: str, by: str) -> str:
    """The line that ends the card."""
    return {
        "taken": f"✏️ The agent is told, says {inline(by)}",
        "stopped": f"🛑 Stopped by {inline(by)}",
        "left": f"Left as it was by {inline(by)}",
        "replaced": "↩️ It was changed again",
        "withdrawn": "↩️ Withdrawn: the turn has ended",
    }[outcome]


def rate_capped(name: str, most: int, wait_ms: int) -> str:
    return (
        f"📥 {inline(name)}, I take {plural(most, 'message')} a minute from one person here, so I did not take this "
        f"one, nor what follows in the next {span(wait_ms)}. Send it again after that."
    )


def bots_capped(most: int) -> str:
    return (
        f"🔁 Bots have started {plural(most, 'turn')} in a row here, which is the limit, so I don't answer them any "
        "more. When a person writes to me here, they may go on; what they said meanwhile is not taken up."
    )


# -- settings -------------------------------------------------------------------------------------------------------


def busy_set(mode: str) -> str:
    what = {
        "steer": "a message sent while a turn runs goes into that turn",
        "queue": "a message sent while a turn runs waits for the next one",
        "interrupt": "a message sent while a turn runs stops it and runs next",
    }[mode]
    return f"⚙️ Here, {what}."


BUSY_USAGE = "Type `!busy steer`, `!busy queue` or `!busy interrupt`."


# -- pauses and queues ----------------------------------------------------------------------------------------------


def paused_now(everywhere: bool, running: int) -> str:
    what, how = ("Every room", "!resume all") if everywhere else ("This room", "!resume")
    goes_on = f" {plural(running, 'turn')} still running: `!stop` ends one." if running else ""
    return f"⏸️ {what} is paused: messages and fires wait until `{how}`; watches go on looking.{goes_on}"


def paused_already(by: str) -> str:
    return f"⏸️ It is paused already, by {inline(by)}."


def resumed(everywhere: bool, waiting: int) -> str:
    what = "Every room goes" if everywhere else "This room goes"
    return f"▶️ {what} on." + (f" {plural(waiting, 'message')} waited and will run now." if waiting else "")


NOT_PAUSED = "Nothing is paused here."
ALL_PAUSED = "Every room is paused; `!resume all` ends that."


def paused_told(by: str, everywhere: bool) -> str:
    what = "Every room" if everywhere else "This room"
    return f"⏸️ {what} is paused (by {inline(by)}): your message is kept and waits until it goes on."


def asker(name: str, by_watch: bool) -> str:
    """Who wants a turn: a person, or a watch in its marks."""
    return f"«{inline(name)}»" if by_watch else inline(name)


def queue_line(number: int, who: str, words: str, since: str) -> str:
    return f"{number}. {who}: {inline(words, 60)} · since {since}"


def queue_shown(lines: Sequence[str], rest: int) -> str:
    more = [f"… and {rest} more"] if rest else []
    return "\n".join([f"📥 {plural(len(lines) + rest, 'message')} waiting here:", *lines, *more])


NOTHING_WAITS = "Nothing waits here."
QUEUE_USAGE = "Type `!queue` to see what waits, and `!queue drop N` to take number N out."
NOT_YOURS_TO_DROP = "Only the owner, or who wrote it, may take that out of the queue."


def queue_dropped(number: int, who: str) -> str:
    return f"🚫 Number {number} ({inline(who)}) is out of the queue."


def queue_has_no(number: int, numbers: Sequence[int]) -> str:
    known = ", ".join(map(str, numbers))
    return f"No number {number} waits here. " + (f"Waiting: {known}." if known else NOTHING_WAITS)


# -- the workbench --------------------------------------------------------------------------------------------------

WORKBENCH = "📌 **What goes on here**"
WORKBENCH_EMPTY = "Nothing runs, waits or is watched here."


def workbench_running(agent: str, since: str, tool: str) -> str:
    doing = f" · {inline(tool)}" if tool else ""
    return f"▶️ {inline(agent)} works since {since}{doing}"


def workbench_waiting(number: int, who: str, since: str) -> str:
    return f"📥 {number}. {who} · since {since}"


def workbench_watch(name: str, what: str, fires: int, last: str, due: str, quiet: str = "") -> str:
    tail = f" · last: {inline(last)}" if last else ""
    tail += f" · {quiet}" if quiet else ""
    tail += f" · next: {due}" if due else ""
    return f"👁️ «{inline(name)}» · {inline(what, 120)} · {plural(fires, 'fire')}{tail}"


def workbench_card(until: str) -> str:
    return f"🔐 a card waits for an answer until {until}"


def workbench_cancel(name: str) -> str:
    return f"✖ Cancel {inline(name, 60)}"


def workbench_unpinned(why: str) -> str:
    return f"\n-# Not pinned: {inline(why, 300)}"


def workbench_rest(lines: int) -> str:
    return f"… and {plural(lines, 'line')} more"


# -- watches --------------------------------------------------------------------------------------------------------


def watch_armed(name: str, what: str, by: str, replaced: bool) -> str:
    again = " (the earlier one of that name is off)" if replaced else ""
    what = inline(what, 200).rstrip(".")
    return f"👁️ Watching «{inline(name)}»: {what}{again}. Off again with `!unwatch {inline(name)}`."


def watch_refused(name: str, reason: str) -> str:
    return f"🚫 «{inline(name)}» is not armed: {inline(reason, 400)}"


def watch_wrong(problem: str) -> str:
    return f"🚫 Nothing was armed: {problem}"  # a `SpecError`: it shows what was typed safely, on one line


def watch_off(name: str, reason: str, detail: str) -> str:
    why = {
        "asked": "as asked",
        "ttl": "its time is up",
        "max fires": "it has fired as often as it may",
        "failed": "it can't go on",
        "not declared any more": "access.json no longer declares it",
        "done": "it is done",
        "replaced": "another one took its name",
    }[reason]
    return f"👁️ «{inline(name)}» is off: {why}{': ' + inline(detail, 300) if detail else ''}."


def watch_unknown(name: str, names: Sequence[str]) -> str:
    known = ", ".join(f"«{inline(n)}»" for n in names) or "none"
    return f"There is no watch «{inline(name)}» here. Armed here: {known}."


def watch_notified(name: str, why: str, text: str, is_diff: bool) -> str:
    shown = fenced(text, "diff" if is_diff else "") if is_diff else text
    return f"👁️ «{inline(name)}» ({inline(why)}):\n{shown}"


def watch_line(name: str, what: str, fires: int, last: str, by: str, quiet: str = "") -> str:
    tail = f", last: {inline(last)}" if last else ""
    tail += f" · {quiet}" if quiet else ""
    return f"- «{inline(name)}» · {inline(what, 200)} · {plural(fires, 'fire')}{tail} · by {inline(by)}"


NO_WATCHES = (
    'Nothing is watched here. Arm one with `!watch notes --file notes.md` or `!watch --in 2h "stretch"`.'
)
UNWATCH_USAGE = "Which one? Type `!unwatch NAME`; `!watches` lists them."
WATCH_NOT_INSIDE = "that file lies outside this room's workspace, and only the owner may watch there"
WATCH_OWN_STATE = (
    "it is in the relay's own state folder, which changes with each word that is said: it would wake itself"
)
WATCH_PROTECTED = "files of that name hold secrets, and what changes in them would be posted here"


WATCH_KEPT = (
    "that is a file of the relay's own under another name, and what changes in it would be posted here"
)


def watch_unreachable(why: str) -> str:
    return f"that file can't be looked at: {why}"


def watches_full(limit: int) -> str:
    return f"{plural(limit, 'watch', 'watches')} are armed already, which is the limit in access.json"


# -- commands -------------------------------------------------------------------------------------------------------

ABOUT_WATCH = "wakes me when the file changes, lines are added, or the time comes"
ABOUT_UNWATCH = "takes a watch off"
ABOUT_WATCHES = "lists the watches here"
ABOUT_STOP = "ends the turn that runs here, or with `all` every turn"
ABOUT_QUEUE = "shows what waits here; takes one out"
ABOUT_PAUSE = "what comes in waits: in this room, or with `all` everywhere"
ABOUT_RESUME = "ends the pause of this room, or with `all` every pause"
ABOUT_RETRY = "runs the last turn's work again"
ABOUT_BUSY = "chooses what a message does while a turn runs here"
ABOUT_STATUS = "shows what runs, waits and is watched here"
ABOUT_WHY = "tells what led to the message you reply to, or to that id"
ABOUT_HELP = "lists the commands"

# -- status ---------------------------------------------------------------------------------------------------------


def help_text(lines: Iterable[tuple[str, str]]) -> str:
    listed = "\n".join(f"- `{usage}` {about}" for usage, about in lines)
    return f"Write to me and I answer. Commands:\n{listed}\nReactions: 🛑 stop, 🔁 run again, ✅ ❌ decide a card."


WHY_USAGE = "Reply with `!why` to a message of mine, or type `!why` and the first letters of an id."
WHY_UNKNOWN = "I don't know that message or id."
NOTHING_RUNS = "Nothing is running here."


def nothing_runs(waiting: int) -> str:
    return NOTHING_RUNS + (f" {plural(waiting, 'message')} waiting." if waiting else "")


def paused_since(by: str, since: str, everywhere: bool) -> str:
    what = "Every room" if everywhere else "This room"
    return f"⏸️ {what} is paused, by {inline(by)}, since {since}"


def paused_line(by: str, since: str, everywhere: bool) -> str:
    what, how = ("Every room", "!resume all") if everywhere else ("This room", "!resume")
    return f"⏸️ {what} is paused, by {inline(by)}, for {since}: what comes waits until `{how}`."


def running(agent: str, since: str, tool: str, waiting: int) -> str:
    doing = f", now: {inline(tool)}" if tool else ""
    behind = f"; {plural(waiting, 'message')} waiting" if waiting else ""
    return f"{inline(agent)} has been working for {since}{doing}{behind}."


def follows(things: Iterable[str]) -> str:
    return "Follows: " + ", ".join(inline(thing) for thing in things)


def trouble(name: str, why: str) -> str:
    return f"⚠️ {inline(name)}: {inline(why, 300)}"


POST_REDACTED = "its text was redacted before it was posted"

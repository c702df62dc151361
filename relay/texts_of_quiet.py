"""Texts for people about watches that keep quiet: snoozed, muted, or at a bound. Part of the catalogue of texts."""

from __future__ import annotations

from relay.wording import inline, plural

ABOUT_SNOOZE = "keeps a watch quiet for a while"
ABOUT_MUTE = "keeps a watch quiet until `!unmute`"
ABOUT_UNMUTE = "lets a muted watch speak again"
ABOUT_BUDGET = "shows how often watches have woken me; lifts the limits"

_HELD = {
    "muted": "it was muted",
    "snoozed": "it was snoozed",
    "hours": "it was outside its hours",
    "fires": "it had fired as often as it may in an hour",
    "thread": "watches had woken me here as often as they may in an hour",
    "room": "watches had woken me in this room as often as they may in an hour",
    "day": "watches had woken me as often as they may in a day",
    "tokens": "the tokens of a day were used up",
}


def held_told(count: int, why: str) -> str:
    """What stands before fires that were held back."""
    return f"{plural(count, 'fire')} that waited, since {_HELD.get(why, 'it was to wait')}"


def held_line(name: str, count: int, why: str) -> str:
    return f"- «{inline(name)}»: {held_told(count, why)}"


def watch_quiet(name: str, until: str, *, muted: bool, ends: bool) -> str:
    if ends:
        return f"👁️ «{inline(name)}» may speak again."
    if muted:
        return f"🔕 «{inline(name)}» is muted: it goes on looking and wakes nobody, until `!unmute {inline(name)}`."
    return (
        f"🔕 «{inline(name)}» is snoozed until {until}; what it sees until then comes as one. "
        f"`!snooze {inline(name)} off` ends it."
    )


def budget_reached(name: str, why: str, most: int, until: str) -> str:
    times = plural(most, "time")
    what = {
        "fires": f"«{inline(name)}» has fired {times} within an hour (`budgets.watch_fires_per_hour`)",
        "thread": f"watches have woken me here {times} within an hour (`budgets.thread`)",
        "room": f"watches have woken me in this room {times} within an hour (`budgets.room`)",
        "day": f"watches have woken me {times} within a day (`budgets.day`)",
        "tokens": f"turns that watches started have used {most} tokens within a day (`budgets.day`)",
    }[why]
    return (
        f"🔕 {what[0].upper()}{what[1:]}, which is the limit. What comes until {until} waits and then comes as one. "
        "`!budget lift 1h` lets it through now."
    )


def budget_line(where: str, spent: int, most: int, when: str) -> str:
    return f"- woken by watches {where} {when}: {spent}" + (f" of {most}" if most else "")


def budget_lifted(until: str, held: int) -> str:
    waiting = f" {plural(held, 'fire')} that waited {'comes' if held == 1 else 'come'} now." if held else ""
    return f"👁️ No limit on what watches start holds in this room until {until}.{waiting}"


SNOOZE_USAGE = (
    "Which one, and for how long? Type `!snooze NAME 1h`, or `!snooze NAME off`; `!watches` lists them."
)
MUTE_USAGE = "Which one? Type `!mute NAME` or `!unmute NAME`; `!watches` lists them."
BUDGET_USAGE = (
    "Type `!budget` to see what is spent, and `!budget lift 1h` to go on without limits for so long."
)


def quiet_told(quiet: str, left: str, held: int) -> str:
    """Whether a watch keeps quiet, and for how long yet: `🔕 snoozed for 25 min, 3 fires wait`."""
    if not quiet:
        return ""
    parts = [] if quiet == "waiting" else [f"{quiet} for {left}" if left else quiet]
    if held:
        parts.append(f"{plural(held, 'fire')} {'waits' if held == 1 else 'wait'}")
        parts[-1] += f" for {left}" if quiet == "waiting" and left else ""
    return f"🔕 {', '.join(parts)}" if parts else ""


def workbench_quiet(quiet: str, until: str) -> str:
    what = "fires wait" if quiet == "waiting" else quiet
    return f"🔕 {what} until {until}" if until else f"🔕 {what}"

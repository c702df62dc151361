"""One interaction in one line, for people: used by `!why`, `relay log`, `relay why` and the page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relay import texts
from relay.ledger.interaction import Interaction

Body = Mapping[str, Any]


def _text(body: Body, key: str, most: int = 100) -> str:
    return texts.inline(str(body.get(key, "")), most)


def _watch(body: Body) -> str:
    spec: Mapping[str, Any] = body.get("spec") or {}
    return f"«{texts.inline(str(spec.get('name', '')))}»"


TELL: Mapping[str, Callable[[Body], str]] = {
    "config.loaded": lambda b: f"access.json taken up (boot {_text(b, 'boot', 12)})",
    "channel.message": lambda b: (
        f"{_text(b, 'name')}: {_text(b, 'text')}"
        + "".join(f" 📎 {texts.inline(str(file.get('name', '')), 40)}" for file in b.get("files") or ())
        + (" (late)" if b.get("late") else "")
    ),
    "channel.edited": lambda b: f"{_text(b, 'name')} edited it: {_text(b, 'text')}",
    "intake.turned_away": lambda b: f"{_text(b, 'name')}'s message was kept out: {_text(b, 'keeper')}",
    "correction.offered": lambda b: "what becomes of the turn is asked",
    "correction.closed": lambda b: f"{_text(b, 'outcome')} by {_text(b, 'by')}",
    "channel.reacted": lambda b: (
        f"{_text(b, 'name')} {'set' if b.get('set') else 'took back'} {_text(b, 'emoji')}"
    ),
    "channel.chosen": lambda b: f"{_text(b, 'name')} chose {_text(b, 'choice')}",
    "channel.click_refused": lambda b: f"{_text(b, 'name')} may not choose {_text(b, 'choice')}",
    "intake.caught_up": lambda b: f"taken in up to {b.get('position')}",
    "channel.deleted": lambda b: f"message {_text(b, 'message')} was deleted",
    "place.lost": lambda b: f"{_text(b, 'place')} was deleted",
    "place.opened": lambda b: f"posted in {_text(b, 'place')}",
    "turn.prompted": lambda b: f"asks for a turn, from {_origin(b.get('origin'))}",
    "turn.started": lambda b: f"{_text(b, 'agent')} took {texts.plural(len(b.get('takes') or ()), 'prompt')}",
    "turn.steered": lambda b: "a message went into the running turn",
    "turn.withdrawn": lambda b: f"left the lane: {_text(b, 'why')}",
    "turn.stop_asked": lambda b: f"stop asked by {_text(b, 'by')}",
    "turn.retry_asked": lambda b: f"run again asked by {_text(b, 'by')}",
    "turn.replied": lambda b: f"replied: {_text(b, 'text')}",
    "turn.ended": lambda b: (
        f"ended {_text(b, 'status')}" + (f": {_text(b, 'reason')}" if b.get("reason") else "")
    ),
    "session.opened": lambda b: (
        f"session with {_text(b, 'agent')} {'resumed' if b.get('resumes') else 'opened'}"
    ),
    "session.lost": lambda b: f"session lost: {_text(b, 'why')}",
    "tool.asked": lambda b: f"tool {_text(b, 'title')}",
    "tool.ended": lambda b: f"tool {'failed' if b.get('failed') else 'done'} {_text(b, 'detail')}",
    "file.received": lambda b: f"took {_text(b, 'name')} as {_text(b, 'path')} ({_text(b, 'kind')})",
    "file.refused": lambda b: (
        f"did not take {_text(b, 'name')}: {_text(b, 'why')} {_text(b, 'detail')}".rstrip()
    ),
    "file.shared": lambda b: f"shared {_text(b, 'name')}",
    "approval.asked": lambda b: f"leave asked: {_text(b, 'title')}",
    "approval.closed": lambda b: f"{_text(b, 'outcome')} by {_text(b, 'by')}",
    "approval.refused": lambda b: f"{_text(b, 'by')} may not decide: {_text(b, 'why')}",
    "setting.chosen": lambda b: f"{_text(b, 'name')} = {_text(b, 'value')} by {_text(b, 'by')}",
    "watch.requested": lambda b: f"{_watch(b)} asked for by {_text(b, 'by')}",
    "watch.judged": lambda b: (
        "may be armed" if b.get("allowed") else f"may not: {'; '.join(b.get('reasons') or ())}"
    ),
    "watch.refused": lambda b: f"«{_text(b, 'name')}» refused: {_text(b, 'reason')}",
    "watch.armed": lambda b: f"{_watch(b)} armed by {_text(b, 'by')}",
    "watch.started": lambda b: "its source is watched",
    "watch.exited": lambda b: "its source is let go",
    "watch.fired": lambda b: f"«{_text(b, 'name')}» fired ({b.get('number')}): {_text(b, 'why')}",
    "watch.snoozed": lambda b: (
        f"«{_text(b, 'name')}» {'quiet' if b.get('until') is not None else 'may speak again'}"
    ),
    "watch.held_on": lambda b: f"what «{_text(b, 'name')}» saw waits on: {_text(b, 'why')}",
    "watch.released": lambda b: f"what «{_text(b, 'name')}» saw is told now: {_text(b, 'why')}",
    "watch.advanced": lambda b: "seen, not fired",
    "watch.disarmed": lambda b: (
        f"«{_text(b, 'name')}» off: {_text(b, 'reason')} {_text(b, 'detail')}".rstrip()
    ),
    "interaction.redacted": lambda b: (
        f"{_text(b, 'by')} redacted {texts.plural(len(b.get('rows') or ()), 'record')}"
        + (f": {_text(b, 'why')}" if b.get("why") else "")
    ),
    "interaction.scrubbed": lambda b: "no file holds those texts any more",
    "focus.added": lambda b: f"follows {_text(b, 'thing')}",
    "focus.removed": lambda b: f"no longer follows {_text(b, 'thing')}",
    "post.requested": lambda b: f"owes the {_text(b, 'kind')}: {_text(b, 'text')}",
    "post.sending": lambda b: "is being posted",
    "post.sent": lambda b: f"stands as {_text(b, 'message')}",
    "post.delayed": lambda b: f"put off: {_text(b, 'why')}",
    "post.dead": lambda b: f"can't be posted: {_text(b, 'why')}",
    "post.edit_requested": lambda b: f"is to read: {_text(b, 'text')}",
    "post.edited": lambda b: (
        "reads differently" if not b.get("failed") else f"not edited: {_text(b, 'failed')}"
    ),
    "reaction.requested": lambda b: f"owes {_text(b, 'emoji')}",
    "reaction.set": lambda b: "reaction set" if not b.get("failed") else f"no reaction: {_text(b, 'failed')}",
    "queue.asked": lambda b: "asked what waits",
    "view.shown": lambda b: (
        f"the {_text(b, 'kind')} stands as {_text(b, 'message')}" if b.get("message") else "the view is gone"
    ),
    "status.asked": lambda b: f"asked for {_text(b, 'what')}",
}


def _origin(origin: Any) -> str:
    if not isinstance(origin, dict):
        return "?"
    kind, name = str(origin.get("kind", "?")), texts.inline(str(origin.get("name", "")))  # pyright: ignore
    return f"watch «{name}»" if kind == "watch" else name


def tell(i: Interaction) -> str:
    """What the interaction says, in one line without its id, time or verb."""
    if i.redacted:
        return "(redacted)"
    told = TELL.get(i.verb)
    return told(i.body) if told else ""

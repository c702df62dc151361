"""What a request to redact means: which records hold the text, and where else it stands. Only reads.

A text goes where its message goes: into the prompt of each turn that was given it, and into what came of those turns
(replies, tool calls, cards, posts). So one pass over the records after the message follows the causes, and takes
along what is known to quote it. A file watch, a session, a setting and another person's message are not what came of
the text, though they have it among their causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel

from relay.behaviours.redaction import telling
from relay.errors import RelayError
from relay.ledger.chain import find
from relay.ledger.interaction import Interaction
from relay.parts import Parts
from relay.surfaces.surface import KeepsTexts

PAGE = 200
FOLLOWED = frozenset(
    {
        *("channel.edited", "channel.reacted", "channel.chosen", "correction.offered", "correction.closed"),
        *("turn.prompted", "turn.started", "turn.steered", "turn.replied", "turn.ended", "turn.withdrawn"),
        *("turn.retry_asked", "turn.stop_asked", "tool.asked", "tool.ended", "status.asked", "queue.asked"),
        *("approval.asked", "approval.closed", "approval.refused", "watch.requested", "watch.judged"),
        *("watch.armed", "watch.refused", "watch.disarmed", "post.requested", "post.sending", "post.sent"),
        *("post.dead", "post.edit_requested", "post.edited", "file.received", "watch.released"),
    }
)
"""What comes of a text. A `watch.fired` does when it is a reminder's."""


class NotRedacted(RelayError):
    """Nothing was changed: the id is unknown or may mean several, or what holds the text is still at work."""


@dataclass(slots=True)
class Found:
    """What goes. `messages` are `surface:message`, `sessions` `runtime/token`."""

    target: str
    rows: dict[str, Interaction] = field(default_factory=dict[str, Interaction])
    messages: dict[str, None] = field(default_factory=dict[str, None])
    sessions: dict[str, None] = field(default_factory=dict[str, None])
    owed: set[str] = field(default_factory=set[str])
    """Posts that are on their way out."""


@dataclass(slots=True)
class _Pass:
    """One pass over the records. `holds` are those that hold the text or came of it."""

    found: Found
    holds: set[str]
    running: dict[str, str] = field(default_factory=dict[str, str])
    """turn that has not ended → its scope."""
    armed: dict[str, str] = field(default_factory=dict[str, str])
    """reminder that is on → its name."""
    turns: set[str] = field(default_factory=set[str])
    """Turns whose agent was given it or said it."""
    scopes: set[str] = field(default_factory=set[str])
    words: list[str] = field(default_factory=list[str])
    """Words of reminders, which `!watches` and `!status` repeat."""

    def take(self, i: Interaction) -> None:
        body = i.body
        if i.id in self.holds or self._follows(i, body):
            self.holds.add(i.id)
            self.found.rows[i.id] = i
            self._note(i, body)
        elif i.verb == "turn.ended":
            self.running.pop(str(body.get("turn")), None)
        elif i.verb == "watch.disarmed":
            self.armed.pop(str(body.get("armed")), None)

    def _follows(self, i: Interaction, body: Mapping[str, Any]) -> bool:
        if i.verb == "post.requested" and self._repeats(i, body):
            return True
        if self.holds.isdisjoint(i.caused_by):
            return False
        return i.verb in FOLLOWED or (i.verb == "watch.fired" and str(body.get("armed")) in self.armed)

    def _repeats(self, i: Interaction, body: Mapping[str, Any]) -> bool:
        """A pinned view of one of the scopes, or a list of watches with a reminder's words in it."""
        text = str(body.get("text", ""))
        return (body.get("view") is not None and i.scope in self.scopes) or any(w in text for w in self.words)

    def _note(self, i: Interaction, body: Mapping[str, Any]) -> None:
        spec: Mapping[str, Any] = body.get("spec") or {}
        surface = i.scope.partition(":")[0]
        match i.verb:
            case "channel.message":
                self.found.messages[f"{body['surface']}:{body['message']}"] = None
            case "turn.started":
                self.running[i.id] = i.scope
                self.scopes.add(i.scope)
                self.turns.add(i.id)
            case "turn.steered":
                # From here on the turn has it; what it said before can't hold it.
                self.holds.add(str(body["turn"]))
                self.turns.add(str(body["turn"]))
                self.running[str(body["turn"])] = i.scope
                self.scopes.add(i.scope)
            case "turn.replied" | "tool.asked":
                self.turns.add(str(body["turn"]))
            case "turn.ended":
                self.running.pop(str(body["turn"]), None)
            case "watch.requested" if spec.get("text"):
                self.words.append(str(spec["text"]))
            case "watch.armed" if spec.get("source") == "timer" and spec.get("text"):
                self.armed[i.id] = str(spec.get("name", ""))
            case "watch.disarmed":
                self.armed.pop(str(body.get("armed")), None)
            case "post.requested":
                self.found.owed.add(i.id)
            case "post.dead":
                self.found.owed.discard(str(body["post"]))
            case "post.sent":
                self.found.owed.discard(str(body["post"]))
                self.found.messages[f"{surface}:{body['message']}"] = None
            case _:
                pass


async def plan(parts: Parts, typed: str) -> Found:
    """What goes when somebody asks to redact `typed`. Raises `NotRedacted`."""
    store = parts.engine.store
    target, roots = await _meant(parts, typed)
    found = Found(target)
    for name in _names(target, roots):
        roots |= {quoting.id: quoting for quoting in await store.by_outside(f"quotes:{name}")}
    if not roots and await _page_text(parts, target) is None:
        raise NotRedacted(telling.redact_unknown(typed))
    if ":" in target:
        found.messages[target] = None
    going = _Pass(found, set(roots))
    looked_up: set[str] = set()
    before = min((i.seq for i in roots.values()), default=store.head + 1) - 1
    while page := await store.read(before, PAGE):
        before, again = page[-1].seq, True
        while again:  # what is quoted may be quoted again on the same page
            for i in page:
                going.take(i)
            quoting: dict[str, int] = {}
            names = {f"shows:{id}" for id in found.rows} | {f"quotes:{name}" for name in found.messages}
            for name in names - looked_up:
                looked_up.add(name)
                quoting |= {i.id: i.seq for i in await store.by_outside(name) if i.id not in going.holds}
            going.holds.update(quoting)
            again = any(seq <= before for seq in quoting.values())
        await anyio.lowlevel.checkpoint()
    _refuse_at_work(going)
    for turn in (await store.by_ids(going.turns)).values():
        if turn.body["session"]:
            found.sessions[f"{turn.body['runtime']}/{turn.body['session']}"] = None
    return found


def _refuse_at_work(going: _Pass) -> None:
    if going.running:
        raise NotRedacted(
            telling.redact_running(next(iter(going.running.values()))), telling.REDACT_AFTER_TURN
        )
    if going.armed:
        name = next(iter(going.armed.values()))
        raise NotRedacted(telling.redact_armed(name), telling.redact_after_watch(name))


def _names(target: str, roots: Mapping[str, Interaction]) -> Iterable[str]:
    """The messages by which somebody may have quoted it."""
    if ":" in target:
        yield target
    for i in roots.values():
        if i.verb == "channel.message":
            yield f"{i.body['surface']}:{i.body['message']}"
        elif i.verb == "post.sent":
            yield f"{i.scope.partition(':')[0]}:{i.body['message']}"


async def _meant(parts: Parts, typed: str) -> tuple[str, dict[str, Interaction]]:
    """What `typed` names, and the records to begin at. Raises `NotRedacted`."""
    store, surfaces = parts.engine.store, list(parts.surfaces.by_name)
    typed = typed.strip()
    named = typed.partition(":")[0] in {*surfaces, "web", "discord"} and ":" in typed
    asked = [typed] if named else [f"{surface}:{typed}" for surface in surfaces]
    known = {name: [i for i in await store.by_outside(name) if _is_text(i)] for name in asked}
    hit = [name for name in asked if known[name] or await _page_text(parts, name) is not None]
    if len(hit) > 1:
        raise NotRedacted(telling.redact_ambiguous(typed, hit))
    if hit or named:
        name = hit[0] if hit else typed
        return name, await _roots(parts, known.get(name, []))
    matches = await find(store, typed)
    if len(matches) > 1:
        told = [f"{i.id[:12]} ({i.verb})" for i in matches[:5]]
        raise NotRedacted(telling.redact_ambiguous(typed, told))
    if not matches:
        raise NotRedacted(telling.redact_unknown(typed))
    return matches[0].id, await _roots(parts, matches)


def _is_a_program_s(i: Interaction) -> bool:
    """What a program sent has no message of its own: the notice that shows it (📨) is what people know it by."""
    return i.verb == "channel.message" and i.body.get("via") == "http"


def _is_text(i: Interaction) -> bool:
    return i.verb in ("channel.message", "post.sent")


async def _roots(parts: Parts, matches: Iterable[Interaction]) -> dict[str, Interaction]:
    """A message with all its revisions; all parts of a reply; else the record itself."""
    store, roots = parts.engine.store, dict[str, Interaction]()
    waiting = list(matches)
    while waiting:
        i = waiting.pop()
        if i.id in roots:
            continue
        body = i.body
        up = {
            "channel.edited": body.get("source"),
            "channel.deleted": body.get("target"),
            "turn.prompted": body.get("source"),
            "post.sent": body.get("post"),
            "post.dead": body.get("post"),
            "post.edit_requested": body.get("post"),
        }.get(i.verb)
        if i.verb == "post.requested":
            causes = (await store.by_ids(i.caused_by)).values()
            waiting += [cause for cause in causes if cause.verb == "turn.replied" or _is_a_program_s(cause)]
        if i.verb == "turn.replied":
            # The parts of a reply stand together, before the end of their turn.
            page = await store.read(i.seq - PAGE if i.seq > PAGE else 0, 2 * PAGE)
            waiting += [j for j in page if j.verb == i.verb and j.body.get("turn") == body.get("turn")]
        if i.verb == "channel.message":
            waiting += await store.by_outside(f"edits:{i.id}")
        if up is not None:
            waiting += (await store.by_ids([str(up)])).values()
        if i.verb not in ("turn.prompted", "channel.deleted"):
            roots[i.id] = i
    return roots


async def _page_text(parts: Parts, name: str) -> str | None:
    """What a message says that a surface of ours keeps in the state folder; None when it isn't there."""
    surface, _, message = name.partition(":")
    keeper = keepers(parts).get(surface)
    return await keeper.text_of(message) if keeper is not None else None


def keepers(parts: Parts) -> Mapping[str, KeepsTexts]:
    """The surfaces whose messages stand in the state folder."""
    return {name: found for name, found in parts.surfaces.by_name.items() if isinstance(found, KeepsTexts)}

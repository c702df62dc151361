"""What must hold after every seed, judged from what people see in the chat and from the ledger, after a quiet time.

- every message that people wrote is recorded once, and asks for one turn; every prompt is taken by exactly one turn, or
  was withdrawn and that was told; no two turns overlap in a scope;
- every reply is seen exactly once, each chunk of it once, in order in its place; nothing of ours stands in the chat
  that the ledger does not know;
- every `!watch` that was not late is decided, every arm takes effect (the same text after an `!unwatch` as well): a
  timer fires once, a file watch has told of the file as it is now; every fire asks for one turn, or with `--notify` is
  posted once;
- every end but a completed one is told; an interrupted turn goes on, or is offered;
- every card stands once and is closed once;
- nothing of a holder that was replaced is accepted, and it ends;
- nothing is owed any more, and nothing stands still; a refold of the log gives the live view; every record verifies.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simulation.discord_chat import DiscordChat
from simulation.fleet import Being, Fleet
from simulation.model_chat import ModelChat

from relay.behaviours import discover
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.posting.concept import Outbox
from relay.behaviours.status.concept import Questions
from relay.behaviours.turns.concept import Turns
from relay.behaviours.watches.concept import Watches
from relay.ledger.engine import Engine
from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore

DAY_MS = 24 * 3600 * 1000
FOLD = Engine.boot  # as it is, whatever is planted
_LATE = re.compile(r"⏰ \(\d+ min late\)\n")


@dataclass(slots=True)
class Evidence:
    """The log by verb and by cause, beside the chat."""

    log: list[Interaction]
    chat: ModelChat | DiscordChat
    fleet: Fleet
    workspaces: Path
    verbs: dict[str, list[Interaction]] = field(default_factory=lambda: defaultdict(list))
    effects: dict[str, list[Interaction]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for i in self.log:
            self.verbs[i.verb].append(i)
            for cause in dict.fromkeys(i.caused_by):
                self.effects[cause].append(i)

    def withdrawn(self, prompt: str) -> list[Interaction]:
        """Its withdrawal, if it was withdrawn."""
        return [i for i in self.verbs["turn.withdrawn"] if i.body["prompt"] == prompt]

    def caused(self, id: str, verb: str) -> list[Interaction]:
        return [i for i in self.effects[id] if i.verb == verb]


def still_owed(being: Being) -> list[str]:
    """What the relay has not done yet, or can't do."""
    assert being.relay is not None
    parts = being.relay.parts
    view = parts.engine.view
    turns, outbox, watches = view.of(Turns).state, view.of(Outbox).state, view.of(Watches).state
    soon = parts.clock.now_ms() + DAY_MS
    counts = {
        "turns run": len(turns.running),
        "lanes wait": sum(len(lane.waiting) for lane in turns.lanes.values()),
        "interrupted turns": len(turns.orphans),
        "posts": len(outbox.where),
        "reactions": len(outbox.reactions),
        "edits": len(outbox.edits),
        "cards": len(outbox.cards),
        "approvals": len(view.of(Approvals).state.open),
        "questions": len(view.of(Questions).state.open),
        "arms": len(watches.requests) + len(watches.unstarted) + len(watches.ending),
        "timers": sum(a.spec.due is not None and a.spec.due < soon for a in watches.armed.values()),
        "items": sum(len(list(runner.reconciler.owes(view))) for runner in being.relay.runners),
    }
    owed = [f"{count} {name}" for name, count in counts.items() if count]
    return owed + [f"{name}: {why}" for name, why in parts.engine.trouble().items()]


async def broken(e: Evidence) -> list[str]:
    """Every invariant that does not hold, told with the seq where it is."""
    found: list[str] = []
    for check in (
        _messages,
        _prompts,
        _no_overlap,
        _ends,
        _posts,
        _order,
        _words,
        _arms,
        _fires,
        _cards,
        _lives,
    ):
        found += check(e)
    holder = e.fleet.holder
    if holder is None or not holder.up or holder.relay is None:
        return [*found, "no relay is up at the end"]
    found += [f"still owed: {owed}" for owed in still_owed(holder)]
    found += _files(e, holder)
    live, refold = holder.relay.parts.engine.view.digest(), await _refold(e)
    if live != refold:
        found.append("a refold of the log differs from the live view")
    return found


async def _refold(e: Evidence) -> bytes:
    copy = MemoryStore()
    copy._log = list(e.log)  # the same records in the same order, without checkpoints and cursors
    engine = Engine(copy, tuple(b.furniture for b in discover()), e.fleet.clock, lambda: b"0" * 16)
    await FOLD(engine)
    return engine.view.digest()


def _exactly_one(what: str, of: Interaction, found: Iterable[Interaction]) -> Iterator[str]:
    count = len(list(found))
    if count != 1:
        yield f"{of.seq} {of.verb} ({of.scope}): {count} times {what}, not once"


def _messages(e: Evidence) -> Iterator[str]:
    recorded = defaultdict(list)
    for i in e.verbs["channel.message"]:
        recorded[str(i.body["message"])].append(i)
    for m in e.chat.messages.values():
        if m.author is None:
            continue
        found = recorded[m.id]
        if len(found) != 1:
            yield f"message {m.id} {m.text[:20]!r} in {m.place} was recorded {len(found)} times"
            continue
        i = found[0]
        if i.body["command"] is None:
            prompts = [p for p in e.caused(i.id, "turn.prompted") if p.body["source"] == i.id]
            yield from _exactly_one("prompted", i, prompts)
            dropped = [w for p in prompts for w in e.withdrawn(p.id)]
            if m.reactions.get(("-", "🚫" if dropped else "👀")) != 1:
                yield f"message {m.id} never got its receipt"
            if m.reactions.get(("-", "📥")):
                yield f"message {m.id} still says that it waits"
        elif i.body["late"]:
            yield from _exactly_one("told to be late", i, e.caused(i.id, "post.requested"))


def _prompts(e: Evidence) -> Iterator[str]:
    taken: Counter[str] = Counter()
    for i in e.verbs["turn.started"]:
        taken.update(i.body["takes"])
    taken.update(str(i.body["prompt"]) for i in e.verbs["turn.steered"])
    for i in e.verbs["turn.withdrawn"]:
        taken[str(i.body["prompt"])] += 1
        if i.body["why"] == "queue full":
            yield from _exactly_one("told to be dropped", i, e.caused(i.id, "post.requested"))
    for i in e.verbs["turn.prompted"]:
        if taken[i.id] != 1:
            yield f"{i.seq} turn.prompted ({i.scope}) was taken {taken[i.id]} times"


def _no_overlap(e: Evidence) -> Iterator[str]:
    running: dict[str, str] = {}
    for i in e.log:
        if i.verb == "turn.started":
            if i.scope in running:
                yield f"{i.seq} a turn of {i.scope} started while another ran"
            running[i.scope] = i.id
        elif i.verb == "turn.ended" and running.pop(i.scope, None) != i.body["turn"]:
            yield f"{i.seq} a turn of {i.scope} ended that did not run"


def _ends(e: Evidence) -> Iterator[str]:
    replied = {str(i.body["turn"]) for i in e.verbs["turn.replied"]}
    for i in e.verbs["turn.ended"]:
        status = i.body["status"]
        if status != "completed":
            told = [p for p in e.caused(i.id, "post.requested") if p.body["kind"] == "notice"]
            yield from _exactly_one("told", i, told)
        if status != "interrupted":
            continue
        if i.body["turn"] in replied:
            yield f"{i.seq} an interrupted turn of {i.scope} has replied"
        if i.body["resumable"] and i.body["tries"] < 3:
            yield from _exactly_one("picked up", i, e.caused(i.id, "turn.prompted"))


def _posts(e: Evidence) -> Iterator[str]:
    bound: Counter[str] = Counter(str(i.body["message"]) for i in e.verbs["post.sent"])
    for m in e.chat.ours():
        if bound[m.id] != 1:
            yield f"our message {m.id} in {m.place} belongs to {bound[m.id]} posts: {m.text[:40]!r}"
    for i in e.verbs["post.requested"]:
        sent = e.caused(i.id, "post.sent")
        yield from _exactly_one("posted", i, sent)
        if len(sent) == 1:
            m = e.chat.messages.get(str(sent[0].body["message"]))
            shown = _LATE.sub("", m.text, count=1) if m is not None else ""
            if (
                m is None
                or not (
                    i.body["view"] or e.chat.reads(shown, str(i.body["text"]))
                )  # a view is edited as things go
                or f"{e.chat.name}:{m.place}" != i.scope
            ):
                yield f"{i.seq} reads differently in the chat: {shown[:40]!r}"


def _order(e: Evidence) -> Iterator[str]:
    last: dict[str, int] = defaultdict(int)
    for i in e.verbs["post.requested"]:
        sent = e.caused(i.id, "post.sent")
        if i.body["kind"] != "answer" or not sent:
            continue
        m = e.chat.messages.get(str(sent[0].body["message"]))
        if m is not None:
            if m.position < last[i.scope]:
                yield f"{i.seq} an answer of {i.scope} stands before an earlier one"
            last[i.scope] = m.position


def _words(e: Evidence) -> Iterator[str]:
    """The word of a message is said once for each turn that took it and was not cut off by a restart."""
    turns: dict[str, list[str]] = defaultdict(list)
    for i in e.verbs["turn.ended"]:
        for source in i.body["sources"]:
            turns[str(source)].append(str(i.body["status"]))
    ids = {str(i.body["message"]): i.id for i in e.verbs["channel.message"]}
    said = [(m, frozenset(re.findall(r"\bq\d+\b", m.text))) for m in e.chat.ours() if not m.card]
    for m in e.chat.messages.values():
        word = re.search(r"\bq\d+\b", m.text) if m.author is not None else None
        if word is None or m.id not in ids:
            continue
        times = sum(word.group() in words for _, words in said)
        statuses = [status for status in turns[ids[m.id]] if status != "interrupted"]
        if times > len(statuses) or (
            statuses and set(statuses) == {"completed"} and times != len(statuses) and "\nfail" not in m.text
        ):
            yield f"message {m.id}: {word.group()} was answered {times} times in {len(statuses)} turns"


def _arms(e: Evidence) -> Iterator[str]:
    for i in e.verbs["channel.message"]:
        if i.body["command"] == "!watch" and not i.body["late"] and i.role == "owner":
            yield from _exactly_one("asked to arm", i, e.caused(i.id, "watch.requested"))
    armed = {str(i.body["request"]): i for i in e.verbs["watch.armed"]}
    decided = Counter([*armed, *(str(i.body["request"]) for i in e.verbs["watch.refused"])])
    for i in e.verbs["watch.requested"]:
        if decided[i.id] != 1:
            yield f"{i.seq} watch.requested ({i.scope}) was decided {decided[i.id]} times"
    fires = Counter(str(i.body["armed"]) for i in e.verbs["watch.fired"])
    off = {str(i.body["armed"]): i for i in e.verbs["watch.disarmed"]}
    soon = e.fleet.clock.now_ms() + DAY_MS
    for i in armed.values():
        yield from _exactly_one("told to be armed", i, e.caused(i.id, "post.requested")[:1])
        due, end = i.body["spec"]["due"], off.get(i.id)
        taken_off = end is not None and end.body["reason"] in ("asked", "replaced")
        if due is not None and due < soon and not taken_off and fires[i.id] != 1:
            yield f"{i.seq} a timer of {i.scope} fired {fires[i.id]} times"
        if due is not None and fires[i.id] > 1:
            yield f"{i.seq} a timer of {i.scope} fired {fires[i.id]} times"


def _fires(e: Evidence) -> Iterator[str]:
    off = {str(i.body["armed"]): i.seq for i in e.verbs["watch.disarmed"]}
    numbers = Counter((i.body["armed"], i.body["number"]) for i in e.verbs["watch.fired"])
    yield from (
        f"fire {number} of {armed[:8]} is there {n} times" for (armed, number), n in numbers.items() if n > 1
    )
    for i in e.verbs["watch.fired"]:
        if off.get(str(i.body["armed"]), i.seq) < i.seq:
            continue  # taken off in the same moment
        verb = "post.requested" if i.body["notify"] else "turn.prompted"
        yield from _exactly_one(verb, i, e.caused(i.id, verb))


def _cards(e: Evidence) -> Iterator[str]:
    for i in e.verbs["approval.asked"]:
        closed = [c for c in e.verbs["approval.closed"] if c.body["approval"] == i.id]
        yield from _exactly_one("closed", i, closed)
        cards = [m for m in e.chat.cards if m.card == i.id]
        if len(cards) != 1 or not cards[0].closed:
            yield f"{i.seq} approval.asked: {len(cards)} cards, closed: {[m.closed for m in cards]}"


def _lives(e: Evidence) -> Iterator[str]:
    yield from (f"a stale holder's write was accepted: {stale}" for stale in e.fleet.disk.stale[:5])
    for being in e.fleet.beings:
        if being.up and being is not e.fleet.holder:
            yield f"life {being.life.number} was replaced and goes on"
        elif being.ended is not None and being.ended not in ("fenced", "stopped"):
            yield f"life {being.life.number} {being.ended}"
    yield from (f"{i.seq} {i.verb} does not verify" for i in e.log if not i.verifies())


def _files(e: Evidence, holder: Being) -> Iterator[str]:
    assert holder.relay is not None
    for armed in holder.relay.parts.engine.view.of(Watches).state.armed.values():
        if armed.spec.path is None:
            continue
        file = e.fleet.settings.access.rooms[armed.room].workspace / armed.spec.path
        now = hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else None
        known = (armed.source_state or {}).get("sha256")
        if known != now:
            yield f"the watch {armed.spec.name} of {armed.scope} does not know the file as it is"

"""What a workbench says: the running turn, what waits, the watches, the open cards. Pure, from the folds alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from relay import texts
from relay.behaviours.approvals.concept import Approvals
from relay.behaviours.config.concept import Configured
from relay.behaviours.posting.chunks import utf16_len
from relay.behaviours.posting.verbs import CardChoice
from relay.behaviours.turns.concept import Lane, Turns
from relay.behaviours.watches.concept import Armed, Watches
from relay.ledger.fold import View
from watch_supervisor.spec import describe

MOST_WAITING = 10
MOST_BUTTONS = 20


@dataclass(frozen=True, slots=True)
class Rendered:
    """`worth` says that there is something which lasts, so that a scope gets its message at all; `choices` are its
    buttons."""

    text: str
    worth: bool
    choices: tuple[CardChoice, ...] = ()


def render(view: View, scope: str, now_ms: int, limit: int, unpinned: str = "") -> Rendered:
    """The workbench of a scope, within `limit` UTF-16 units. A turn alone is no reason for one: it is shown live.
    `unpinned` is why it isn't pinned."""
    turns, zone = view.of(Turns), view.of(Configured).zone
    lane = turns.lane(scope)
    watches = view.of(Watches).of_scope(scope)
    cards = [a for a in view.of(Approvals).state.open.values() if a.scope == scope]
    lines: list[str] = []
    pause = turns.pause_of(lane.room)
    if pause is not None:
        # Since when, not for how long: it is not edited only because time passes.
        lines.append(texts.paused_since(pause.by, _time(pause.at, zone, now_ms), "" in turns.state.paused))
    if lane.running is not None:
        since = _time(lane.running.started_at, zone, now_ms)
        lines.append(texts.workbench_running(lane.running.agent, since, lane.running.tool))
    lines += [texts.workbench_card(_time(card.deadline, zone, now_ms)) for card in cards]
    lines += _waiting(lane, zone, now_ms)
    lines += [_watch(armed, zone, now_ms) for armed in watches]
    last = texts.workbench_unpinned(unpinned) if unpinned else ""
    shown = _within([texts.WORKBENCH, *(lines or [texts.WORKBENCH_EMPTY])], limit - utf16_len(last)) + last
    worth = bool(watches or cards or any(w.held for w in lane.waiting))
    choices = [
        CardChoice(value=cancels(armed.armed), label=texts.workbench_cancel(armed.spec.name))
        for armed in watches[:MOST_BUTTONS]
    ]
    return Rendered(shown, worth, tuple(choices))


def idle(view: View, scope: str) -> bool:
    """Whether nothing runs, waits or is watched there."""
    lane = view.of(Turns).lane(scope)
    cards = any(a.scope == scope for a in view.of(Approvals).state.open.values())
    return not (lane.running or lane.waiting or cards or view.of(Watches).of_scope(scope))


def cancels(armed: str) -> str:
    """What a button that takes this watch off says when it is clicked."""
    return f"off-{armed[:20]}"


def _waiting(lane: Lane, zone: ZoneInfo, now_ms: int) -> list[str]:
    lines = [
        texts.workbench_waiting(
            w.number, texts.asker(w.origin.name, w.origin.kind == "watch"), _time(w.at, zone, now_ms)
        )
        for w in lane.waiting[:MOST_WAITING]
    ]
    rest = len(lane.waiting) - MOST_WAITING
    return [*lines, texts.workbench_rest(rest)] if rest > 0 else lines


def _watch(armed: Armed, zone: ZoneInfo, now_ms: int) -> str:
    spec = armed.spec
    what = describe(spec) if spec.source != "timer" else texts.inline(spec.text or "timer", 120)
    due = _time(spec.due, zone, now_ms) if spec.due is not None else ""
    return texts.workbench_watch(spec.name, what, armed.fires, armed.last, due)


def _time(at: int, zone: ZoneInfo, now_ms: int) -> str:
    """The time of day, with its date unless it is near."""
    when = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)
    return f"{when:%H:%M:%S}" if abs(at - now_ms) < 12 * 3_600_000 else f"{when:%d %b %H:%M}"


def _within(lines: list[str], limit: int) -> str:
    """The lines that fit, and how many more there are."""
    kept, room = list(lines), limit - 40
    while len(kept) > 1 and utf16_len("\n".join(kept)) > room:
        kept.pop()
    if len(kept) < len(lines):
        kept.append(texts.workbench_rest(len(lines) - len(kept)))
    return "\n".join(kept)

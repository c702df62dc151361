"""Starts the real `relay`, with a point at which it kills itself, and, to prove the test, with a planted fault.

`RELAY_TEST_DIE=point:n` sends SIGKILL to the own process the n-th time that point is reached: right before or after
something becomes durable or visible, where a clock would hardly ever hit.
"""

import os
import secrets
import signal
import sys
from collections.abc import Callable
from typing import Any

from relay import cli
from relay.agents.scripted.journal import Journal
from relay.agents.scripted.runtime import ScriptedTurn
from relay.behaviours.intake.reconciler import Intake
from relay.behaviours.posting import reconciler as posting
from relay.behaviours.turns import reconciler_course
from relay.behaviours.watches.reconciler import WatchRunner
from relay.ledger.engine import Engine
from relay.ledger.reconciler import Held
from relay.ledger.sqlite import SqliteStore
from relay.surfaces.web.chat import LocalChat

POINTS: dict[str, tuple[type, str]] = {
    "append": (SqliteStore, "append"),
    "epoch": (SqliteStore, "begin_epoch"),
    "cursors": (SqliteStore, "save_cursors"),
    "fold": (Engine, "boot"),
    "post": (LocalChat, "post"),
    "edit": (LocalChat, "edit"),
    "react": (LocalChat, "react"),
    "deliver": (LocalChat, "delivered"),
    "gap": (Intake, "_close_gap"),
    "take": (Intake, "_take"),
    "fire": (WatchRunner, "_fired"),
    "advance": (WatchRunner, "_advanced"),
    "steer": (ScriptedTurn, "steer"),
    "answer": (ScriptedTurn, "answer"),
    "step": (Journal, "done"),
}
"""Where the process can die: `before-NAME` and `after-NAME`; and `commit-VERB`, right after one is durable."""


def plant_death(point: str, number: int) -> None:
    when, _, name = point.partition("-")
    verb, name = (name, "append") if when == "commit" else ("", name)
    owner, method = POINTS[name]
    original: Callable[..., Any] = getattr(owner, method)
    left = [number]

    def reached() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def plain(*given: Any, **named: Any) -> Any:
        if when == "before":
            reached()
        result = original(*given, **named)
        if when == "after":
            reached()
        return result

    async def awaited(*given: Any, **named: Any) -> Any:
        if when == "before":
            reached()
        result = await original(*given, **named)
        if when == "after" or (verb and any(r.verb == verb for group in given[1] for r in group.records)):
            reached()
        return result

    setattr(owner, method, plain if name == "step" else awaited)


# ---- faults that a relay of this kind could have: the test must see each


def random_nonce() -> None:
    """Every try of a post has another nonce, and nobody looks whether an earlier one stands."""
    blind()
    posting.nonce_of = lambda post: secrets.token_hex(12)


def blind() -> None:
    posting.Poster._may_stand = lambda self, post: False


def torn_end() -> None:
    """A turn's replies and its end are two transactions."""
    whole = Held.admit

    async def torn(self: Held, *drafts: Any, **more: Any) -> Any:
        if len(drafts) > 1 and drafts[-1].payload.VERB == "turn.ended":
            await whole(self, *drafts[:-1])
            return await whole(self, drafts[-1])
        return await whole(self, *drafts, **more)

    Held.admit = torn


def early_delivery() -> None:
    """The chat forgets what people did before the relay has it, and no gap is closed."""
    undelivered = LocalChat.undelivered

    async def forgetful(self: LocalChat, after: int, limit: int) -> Any:
        found = await undelivered(self, after, limit)
        if found:
            await self.delivered(found[-1][0])
        return found

    async def no_gap(self: Intake, place: Any, *, boot: bool) -> None:
        return None

    LocalChat.undelivered = forgetful
    Intake._close_gap = no_gap


def forgetful_chat() -> None:
    """The chat remembers no nonce; only the look into the history keeps a post from being doubled."""
    post = LocalChat.post

    async def forget(self: LocalChat, place: str, wanted: Any, nonce: str) -> str:
        return await post(self, place, wanted, secrets.token_hex(12))

    LocalChat.post = forget


def blind_forgetful_chat() -> None:
    """The chat remembers no nonce, and nobody looks into the history."""
    forgetful_chat()
    blind()


def swallowed_interruption() -> None:
    """A turn that a restart cut off counts as done."""
    reconciler_course.ended = _as_completed(reconciler_course.ended)
    from relay.behaviours.turns import reconciler

    reconciler.ended = _as_completed(reconciler.ended)


def _as_completed(ended: Callable[..., Any]) -> Callable[..., Any]:
    def silent(scope: str, running: Any, status: Any, reason: str, **named: Any) -> Any:
        status = "completed" if status == "interrupted" else status
        return ended(scope, running, status, reason, **named)

    return silent


FAULTS: dict[str, Callable[[], None]] = {
    "random nonce": random_nonce,
    "torn end": torn_end,
    "early delivery": early_delivery,
    "forgetful chat": forgetful_chat,
    "blind forgetful chat": blind_forgetful_chat,
    "interrupted is completed": swallowed_interruption,
}

if __name__ == "__main__":
    if fault := os.environ.get("RELAY_TEST_FAULT"):
        FAULTS[fault]()
    if die := os.environ.get("RELAY_TEST_DIE"):
        where, _, count = die.partition(":")
        plant_death(where, int(count))
    sys.exit(cli.main(sys.argv[1:]))

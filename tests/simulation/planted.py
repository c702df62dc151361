"""Faults in the design, each planted by a patch: what the simulator must find, or it proves nothing.

`FAULTS` names them, with the seed at which each was found first.

None of them is a switch in the product. "Numbered early, committed late" is not among them: it needs two writers, and a
ledger here has one committer that gives each record its number in the transaction that writes it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import anyio

from relay import app
from relay.behaviours.intake.reconciler import Intake
from relay.behaviours.posting import reconciler as posting
from relay.behaviours.turns import reconciler as turns
from relay.behaviours.turns.reconciler_course import Course
from relay.ledger.engine import Engine
from relay.ledger.interaction import Draft, Interaction, key_of
from relay.ledger.lease import EpochLeases, Lease
from relay.ledger.memory import MemoryStore
from relay.ledger.reconciler import Held
from relay.ledger.store import Group, Outcome
from relay.surfaces.surface import MessageEvent, Place


@contextmanager
def no_nonce() -> Iterator[None]:
    """Each try of a post has a nonce of its own."""
    numbers = itertools.count()
    with patch.object(posting, "nonce_of", lambda post: f"{next(numbers)}"):
        yield


@contextmanager
def no_history_check() -> Iterator[None]:
    """A post that may stand already is sent again, for its nonce to be remembered."""
    with patch.object(posting.Poster, "_may_stand", lambda self, post: False):
        yield


@contextmanager
def no_fence() -> Iterator[None]:
    """The store takes the write of whoever comes."""
    admit = MemoryStore._admit

    def anyhow(self: MemoryStore, group: Group) -> Outcome:
        return admit(self, replace(group, fence=None))

    with patch.object(MemoryStore, "_admit", anyhow):
        yield


@contextmanager
def fence_on_leases_only() -> Iterator[None]:
    """Only reconcilers' writes carry the epoch; what surfaces bring and rules draft does not."""

    class Unfenced(Engine):
        def __init__(self, *args: Any, fence: int | None = None, **rest: Any) -> None:
            super().__init__(*args, **rest)

    with patch.object(app, "Engine", Unfenced):
        yield


@contextmanager
def _keyed(key: Callable[[Draft], str]) -> Iterator[None]:
    prepared = Engine._prepared

    def other(self: Engine, draft: Draft, now: int) -> Interaction:
        return prepared(self, replace(draft, key=key(draft)), now)

    with patch.object(Engine, "_prepared", other):
        yield


@contextmanager
def content_identity() -> Iterator[None]:
    """Arms, fires and disarms are known by what they say, not by who asked for them when."""
    causes = {
        "request",
        "message",
        "armed",
        "run",
        "number",
        "source_state",
        "due",
        "turn",
        "replaced",
        "count",
    }

    def key(draft: Draft) -> str:
        payload = draft.payload
        if payload.VERB not in ("watch.requested", "watch.armed", "watch.fired"):
            return draft.key
        said = payload.model_dump(mode="json", exclude=causes)
        said.pop("why", None)
        spec = said.get("spec")
        if isinstance(spec, dict):
            spec.pop("due", None)
        digest = hashlib.sha256(repr((draft.scope, sorted(said.items()))).encode()).hexdigest()
        return key_of(payload.VERB, [digest])

    with _keyed(key):
        yield


@contextmanager
def a_key_for_each_outcome() -> Iterator[None]:
    """A card's allow and its deny are two facts, so both may stand."""

    def key(draft: Draft) -> str:
        payload = draft.payload
        return f"{draft.key}/{payload.outcome}" if payload.VERB == "approval.closed" else draft.key  # type: ignore[attr-defined]

    with _keyed(key):
        yield


@contextmanager
def work_during_replay() -> Iterator[None]:
    """Reconcilers start while the folds are on their way to the head."""
    boot, run = Engine.boot, Engine.run

    async def half(self: Engine) -> None:
        whole = self.store
        self.store = _Half(whole)  # type: ignore[assignment]
        try:
            await boot(self)
        finally:
            self.store = whole

    async def catch_up(self: Engine, missing: list[Interaction]) -> None:
        for interaction in missing:
            await anyio.sleep(0.02)
            self._apply(interaction)
            self._announce()

    async def beside(self: Engine, *, task_status: Any = anyio.TASK_STATUS_IGNORED) -> None:
        missing = await self.store.read(self._applied, 10**9)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(catch_up, self, missing)
            await run(self, task_status=task_status)

    with patch.object(Engine, "boot", half), patch.object(Engine, "run", beside):
        yield


class _Half:
    """A store that shows all but its last records."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self.head = max(0, whole.head - 25)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def cursors(self) -> dict[str, int]:
        return {name: min(seq, self.head) for name, seq in (await self._whole.cursors()).items()}

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return [i for i in await self._whole.read(after, limit) if i.seq <= self.head]


@contextmanager
def cursor_by_highest_id() -> Iterator[None]:
    """A place counts as caught up to the newest message that was seen of it."""
    message = Intake.message

    async def and_record(self: Intake, event: MessageEvent) -> None:
        await message(self, event)
        await self._record(event.place, event.position)

    with patch.object(Intake, "message", and_record):
        yield


@contextmanager
def no_catch_up() -> Iterator[None]:
    """What was written while nobody listened is not read: a start begins at the newest message."""

    async def skip(self: Intake, place: Place, *, boot: bool) -> None:
        if boot:
            await self._record(place.place, await self._surface.newest(place.place))

    with patch.object(Intake, "_close_gap", skip):
        yield


@contextmanager
def callback_at_insert() -> Iterator[None]:
    """Rules run when something is written, and never again: what a crash cut off stays cut off."""
    boot = Engine.boot

    async def from_the_head(self: Engine) -> None:
        await boot(self)
        self._drafts.clear()

    with patch.object(Engine, "boot", from_the_head):
        yield


@contextmanager
def reply_and_end_apart() -> Iterator[None]:
    """A reply and the end of its turn are two transactions."""
    admit = Held.admit

    async def one_by_one(self: Held, *drafts: Draft, **more: Any) -> list[Interaction]:
        return [i for draft in drafts for i in await admit(self, draft, **more)]

    with patch.object(Held, "admit", one_by_one):
        yield


@contextmanager
def interruption_forgotten() -> Iterator[None]:
    """A turn that a restart cut off is ended as if it had been completed."""
    ended = turns.ended

    def completed(scope: str, running: Any, status: str, reason: str, **more: Any) -> Draft:
        return ended(scope, running, "completed" if status == "interrupted" else status, reason, **more)  # type: ignore[arg-type]

    with patch.object(turns, "ended", completed):
        yield


@contextmanager
def steering_not_recorded_as_taken() -> Iterator[None]:
    """A message that went into the running turn stays in the lane as well."""

    async def forget(self: Course, turn: Any, waiting: Any, prompt: Any) -> None:
        await turn.steer(waiting.prompt, prompt.text)
        self._unsteerable.add(waiting.prompt)

    with patch.object(Course, "_steer_one", forget):
        yield


@contextmanager
def no_second_look() -> Iterator[None]:
    """A relay that slept acts on what it saw before."""

    async def claim(self: EpochLeases, key: str) -> Lease:
        return Lease(key, self._epoch, self._epoch)

    with patch.object(EpochLeases, "claim", claim), patch.object(posting, "STALE_AFTER_S", 1e9):
        yield


FAULTS: dict[str, tuple[Callable[[], Any], int]] = {
    fault.__name__: (fault, seed)
    for fault, seed in (
        (no_nonce, 0),
        (no_history_check, 232),
        (no_fence, 0),
        (fence_on_leases_only, 5),
        (content_identity, 0),
        (a_key_for_each_outcome, 38),
        (work_during_replay, 0),
        (cursor_by_highest_id, 2),
        (no_catch_up, 0),
        (callback_at_insert, 0),
        (reply_and_end_apart, 18),
        (interruption_forgotten, 0),
        (steering_not_recorded_as_taken, 1),
        (no_second_look, 1090),
    )
}

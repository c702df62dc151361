"""The engine: one committer, folds in one pass, rules behind their cursors.

An admission waits in a bounded queue; the committer takes what waits, writes it in one transaction, and only then steps
the folds, strictly by `seq`. So a view never shows what is not durable, and a reconciler can't act on it. What a rule
drafts goes to the head of the same queue and is in the next transaction; a crash in between is made good at boot,
because every rule's cursor stands at or before the last interaction whose drafts are durable, and a draft is known by
its key.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
from pydantic import ValidationError

from relay.clock import Clock
from relay.errors import BadInteraction, Fenced, RelayError, StoreUnavailable
from relay.ledger.fold import Concept, Furniture, Rule, View
from relay.ledger.interaction import Draft, Interaction, Payload, prepare
from relay.ledger.store import Checkpoint, Group, Outcome, Store

PAGE = 5000
BATCH = 512
QUEUE = 8192
CHECKPOINT_EVERY = 10_000
IDLE_S = 2.0

TAKEN_OVER = "another relay has taken over; what this one wanted to record was refused."

log = logging.getLogger("relay.ledger")


@dataclass(slots=True)
class _Admission:
    group: Group
    done: anyio.Event | None = None
    only_if: Callable[[], bool] | None = None
    outcome: Outcome | None = None
    error: RelayError | None = None


@dataclass(slots=True)
class EngineHealth:
    """What `!status` says of the ledger."""

    trouble: str = ""
    stopped_rules: dict[str, str] = field(default_factory=dict[str, str])


class Engine:
    """See the module. `salt` gives 16 random bytes; `clock` stamps.

    With `fence`, the epoch of this boot, every write carries it, also what surfaces bring and rules draft: the view is
    that of the only writer, so a relay that was replaced must not add a record which its successor never folds.
    """

    def __init__(
        self,
        store: Store,
        furniture: tuple[Furniture, ...],
        clock: Clock,
        salt: Callable[[], bytes],
        *,
        fence: int | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.health = EngineHealth()
        self._salt = salt
        self._fence = fence
        self._replaced: Fenced | None = None
        concepts = [concept() for piece in furniture for concept in piece.concepts]
        self.view = View(concepts)
        self._models: dict[str, type[Payload]] = {m.VERB: m for piece in furniture for m in piece.verbs}
        self._steps: dict[str, list[tuple[Concept[Any], type[Payload], Any]]] = {}
        for concept in concepts:
            for verb, (model, name) in concept.steps().items():
                self._steps.setdefault(verb, []).append((concept, model, getattr(concept, name)))
        self._rules: dict[str, list[Rule]] = {}
        for rule in (rule for piece in furniture for rule in piece.rules):
            self._rules.setdefault(rule.model.VERB, []).append(rule)
        self._rule_names = [rule.name for piece in furniture for rule in piece.rules]
        self._restored: dict[str, int] = {c.NAME: 0 for c in concepts}
        """The seq up to which a concept's state came from its checkpoint: those steps are not taken again."""
        self._cursors: dict[str, int] = {}
        self._applied = 0
        self._saved_cursor = 0
        self._checkpointed = 0
        self._drafts: deque[_Admission] = deque()
        self._queue: deque[_Admission] = deque()
        self._slots = anyio.Semaphore(QUEUE, fast_acquire=True)
        self._work = anyio.Event()
        self._moved = anyio.Event()
        self._listeners: dict[Callable[[], None], None] = {}

    # -- boot -------------------------------------------------------------------------------------------------------

    async def boot(self) -> None:
        """Fold to the head that is there now; collect what the rules still owe. Call once, before `run`."""
        known = await self.store.cursors()
        head = self.store.head
        self._cursors = {name: known.get(name, head) for name in self._rule_names}
        if any(name not in known for name in self._rule_names):
            # A new rule starts at the head, and that must stand before anything is admitted past it.
            await self.store.save_cursors(self._cursors)
        checkpoints = await self.store.checkpoints()
        for concept in self.view.all():
            self._restore(concept, checkpoints.get(concept.NAME), head)
        start = min([*self._restored.values(), *self._cursors.values(), head])
        self._applied = start
        while self._applied < head:
            page = await self.store.read(self._applied, PAGE)
            if not page:
                break
            for number, interaction in enumerate(page):
                self._apply(interaction)
                if number % 500 == 499:
                    await anyio.lowlevel.checkpoint()
        self._applied = max(self._applied, head)
        self._saved_cursor = min(self._cursors.values(), default=head)
        self._checkpointed = min(self._restored.values(), default=head)
        self._caught_up()

    def _restore(self, concept: Concept[Any], checkpoint: Checkpoint | None, head: int) -> None:
        if checkpoint is None or checkpoint.version != concept.VERSION or checkpoint.seq > head:
            return
        if checkpoint.seq > min(self._cursors.values(), default=head):
            return
        try:
            concept.load(checkpoint.state)
        except ValidationError:
            log.warning("the checkpoint of %s can't be read and is refolded", concept.NAME)
            return
        self._restored[concept.NAME] = checkpoint.seq

    # -- admitting --------------------------------------------------------------------------------------------------

    async def admit(
        self, *drafts: Draft, fence: int | None = None, only_if: Callable[[], bool] | None = None
    ) -> list[Interaction]:
        """Record the drafts together; returns the records that stand, durable and folded.

        A key that stands already gives back its first record. Raises `BadInteraction` for a draft outside the domain,
        `Fenced` when `fence` is not the epoch, `StoreUnavailable` when the disk refuses: nothing was recorded then.

        `only_if` is asked right before the drafts are written, when all that was admitted before them is folded and
        what the rules drafted from it is too. When it says no, nothing is recorded and nothing returned.
        """
        now = self.clock.now_ms()
        records = tuple(self._prepared(draft, now) for draft in drafts)
        if not records:
            return []
        await self._slots.acquire()
        if self._replaced is not None:
            self._slots.release()
            raise self._replaced
        group = Group(records, self._fence if fence is None else fence)
        admission = _Admission(group, anyio.Event(), only_if)
        self._queue.append(admission)
        self._work.set()
        assert admission.done is not None
        await admission.done.wait()
        if admission.error is not None:
            raise admission.error
        if admission.outcome is None:  # `only_if` said no
            return []
        if admission.outcome.fenced:
            raise Fenced(TAKEN_OVER)
        return list(admission.outcome.stands)

    def _prepared(self, draft: Draft, now: int) -> Interaction:
        if type(draft.payload) is not self._models.get(draft.payload.VERB):
            raise BadInteraction(f"the verb {draft.payload.VERB!r} is not in the catalogue")
        return prepare(draft, at=now, salt=self._salt())

    @property
    def head(self) -> int:
        """The last interaction that is durable and folded."""
        return self._applied

    async def moved(self, since: int) -> int:
        """Wait until the head is past `since`; the new head."""
        while self._applied <= since:
            await self._moved.wait()
        return self._applied

    @contextmanager
    def telling(self, listener: Callable[[], None]) -> Generator[None]:
        """Inside, `listener` is called whenever the head has moved. It only notes that; it must not work or raise."""
        self._listeners[listener] = None
        try:
            yield
        finally:
            del self._listeners[listener]

    # -- the committer ----------------------------------------------------------------------------------------------

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """The one committer. It ends when it is cancelled, after the transaction in hand. Raises `DamagedDatabase` when
        the file can't be used any more; whatever was acknowledged stands."""
        task_status.started()
        while True:
            if not self._drafts and not self._queue:
                await self._rest()
                continue
            batch = self._take()
            if not batch:
                continue
            failed = True
            with anyio.CancelScope(shield=True):
                failed = await self._commit(batch)
            if failed:
                await self.clock.sleep(1.0)

    async def _rest(self) -> None:
        self._work = anyio.Event()
        with anyio.move_on_after(IDLE_S) as limit:
            await self._work.wait()
        if limit.cancelled_caught and self._saved_cursor < self._applied:
            with anyio.CancelScope(shield=True):
                await self._tidy()

    def _take(self) -> list[_Admission]:
        batch: list[_Admission] = []
        while len(batch) < BATCH and (self._drafts or self._queue):
            line = self._drafts or self._queue
            if line[0].only_if is not None and batch:
                break  # what comes before it must be folded, and followed by the rules, before it is asked
            admission = line.popleft()
            if self._stands(admission):
                batch.append(admission)
        return batch

    def _stands(self, admission: _Admission) -> bool:
        """Whether it is still wanted; who waits for one that isn't is told."""
        try:
            if admission.only_if is None or admission.only_if():
                return True
        except RelayError as error:  # a fold that stands still can't be asked
            admission.error = error
        self._slots.release()
        assert admission.done is not None
        admission.done.set()
        return False

    async def _commit(self, batch: list[_Admission]) -> bool:
        """Write a batch, fold it, tell those who wait. True when the store refused and the drafts wait again."""
        try:
            outcomes = await self.store.append([a.group for a in batch])
        except RelayError as error:
            self._refused(batch, error)
            if error.kind == "fatal":  # trying again can't help, and only a new start can
                raise
            return True
        self.health.trouble = ""
        for admission, outcome in zip(batch, outcomes, strict=True):
            admission.outcome = outcome
            for interaction, fresh in zip(outcome.stands, outcome.fresh, strict=True):
                if fresh:
                    self._apply(interaction)
        self._caught_up()
        for admission in batch:
            if admission.done is not None:
                self._slots.release()
                admission.done.set()
        self._announce()
        if any(o.fenced and a.group.fence == self._fence for a, o in zip(batch, outcomes, strict=True)):
            raise self._end_replaced()
        if self._applied - self._checkpointed >= CHECKPOINT_EVERY and not self._drafts:
            await self._tidy(checkpoint=True)
        return False

    def _caught_up(self) -> None:
        """When no draft waits, each rule has followed all that is folded, and what it drafted is durable."""
        if not self._drafts:
            self._cursors = dict.fromkeys(self._cursors, self._applied) | {
                name: self._cursors[name] for name in self.health.stopped_rules
            }

    def _refused(self, batch: list[_Admission], error: RelayError) -> None:
        if not self.health.trouble:
            log.error("the ledger can't be written: %s", error)
        self.health.trouble = error.told()
        for admission in reversed(batch):
            if admission.done is None:  # what a rule drafted stays owed
                self._drafts.appendleft(admission)
            else:
                admission.error = error
                self._slots.release()
                admission.done.set()

    def _end_replaced(self) -> Fenced:
        """Refuse what waits and what is still to come, so that nobody waits for a committer that has ended."""
        self._replaced = Fenced(TAKEN_OVER)
        for admission in [*self._drafts, *self._queue]:
            if admission.done is not None:
                admission.error = self._replaced
                self._slots.release()
                admission.done.set()
        self._drafts.clear()
        self._queue.clear()
        return self._replaced

    def _announce(self) -> None:
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
        for listener in self._listeners:
            listener()

    # -- folding ----------------------------------------------------------------------------------------------------

    def _apply(self, interaction: Interaction) -> None:
        seq = interaction.seq
        for concept, model, step in self._steps.get(interaction.verb, ()):
            if self._restored[concept.NAME] < seq and not self.view.stands_still(type(concept)):
                self._step(concept, model, step, interaction)
        self._applied = max(self._applied, seq)
        for rule in self._rules.get(interaction.verb, ()):
            if self._cursors[rule.name] < seq and rule.name not in self.health.stopped_rules:
                self._follow(rule, interaction)

    def _step(self, concept: Concept[Any], model: type[Payload], step: Any, interaction: Interaction) -> None:
        try:
            step(interaction, interaction.read(model))
        except Exception as error:  # a fold that raises is never skipped: it stands still and says so
            log.exception("the fold %s stands still at %r", concept.NAME, interaction)
            self.view.stop(type(concept), f"at {interaction.verb} {interaction.id[:10]}: {error}")

    def _follow(self, rule: Rule, interaction: Interaction) -> None:
        now = self.clock.now_ms()
        try:
            drafts = list(rule.then(interaction, interaction.read(rule.model), self.view))
            records = tuple(self._prepared(draft, now) for draft in drafts)
        except Exception as error:  # as with folds: its cursor stays here, and the status says why
            log.exception("the rule %s stands still at %r", rule.name, interaction)
            self.health.stopped_rules[rule.name] = f"at {interaction.verb} {interaction.id[:10]}: {error}"
            self._cursors[rule.name] = interaction.seq - 1
            return
        if records:
            self._drafts.append(_Admission(Group(records, self._fence)))
            self._work.set()

    # -- housekeeping -----------------------------------------------------------------------------------------------

    def trouble(self) -> Mapping[str, str]:
        """Everything that stands still, by name: for the status."""
        found = dict(self.view.stopped) | self.health.stopped_rules
        if self.health.trouble:
            found["ledger"] = self.health.trouble
        return found

    async def _tidy(self, *, checkpoint: bool = False) -> None:
        try:
            if not self._drafts:
                await self.store.save_cursors(self._cursors)
                self._saved_cursor = self._applied
                if checkpoint:
                    await self._checkpoint()
            await self.store.idle()
        except StoreUnavailable as error:
            self.health.trouble = error.told()

    async def _checkpoint(self) -> None:
        lowest = min(self._cursors.values(), default=self._applied)
        for concept in self.view.all():
            seq = self._applied  # read again each time: the view may move while a checkpoint is written
            if seq <= lowest and not self.view.stands_still(type(concept)):
                await self.store.save_checkpoint(
                    Checkpoint(concept.NAME, concept.VERSION, seq, concept.dump())
                )
        self._checkpointed = self._applied

    async def close(self) -> None:
        """A clean stop: cursors and checkpoints are written. The committer must have ended."""
        with anyio.CancelScope(shield=True):
            while self._drafts or self._queue:
                batch = self._take()
                if batch and await self._commit(batch):
                    break
            await self._tidy(checkpoint=True)

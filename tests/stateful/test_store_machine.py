"""The state machine holds over both stores, and it finds every fault that is planted for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from stateful.store_machine import SqliteMachine, StoreMachine

from relay.ledger.interaction import Interaction
from relay.ledger.memory import MemoryStore
from relay.ledger.store import Checkpoint, Group, Outcome, Store


def budget(examples: int, steps: int = 30, *, phases: Sequence[Phase] = tuple(Phase)) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=phases,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def test_the_store_in_memory_holds():
    run_state_machine_as_test(StoreMachine, settings=budget(25))


def test_the_sqlite_store_holds():
    run_state_machine_as_test(SqliteMachine, settings=budget(10))


@pytest.mark.soak
@pytest.mark.parametrize("machine", [StoreMachine, SqliteMachine])
def test_both_hold_for_long(machine: type[StoreMachine]):
    run_state_machine_as_test(machine, settings=budget(600, 60))


# -- planted faults ----------------------------------------------------------------------------------------------------


class Overwrites(MemoryStore):
    """The same key again replaces the first record."""

    def _admit(self, group: Group) -> Outcome:
        outcome = super()._admit(group)
        for record, stands, fresh in zip(group.records, outcome.stands, outcome.fresh, strict=False):
            if not fresh:
                stands.raw, stands.digest, stands.id = record.raw, record.digest, record.id
        return outcome


class ForgetsKeys(MemoryStore):
    """The same key again is a second record."""

    def _admit(self, group: Group) -> Outcome:
        self._keys.clear()
        return super()._admit(group)


class IgnoresFence(MemoryStore):
    """A late holder may write."""

    def _admit(self, group: Group) -> Outcome:
        return super()._admit(replace(group, fence=None))


class LooseFence(MemoryStore):
    """The holder before this one may write as well."""

    def _admit(self, group: Group) -> Outcome:
        fence = self._epoch if group.fence == self._epoch - 1 else group.fence
        return super()._admit(replace(group, fence=fence))


class EarlyNumbers(MemoryStore):
    """A number is given out before the commit, and another commit comes first."""

    async def append(self, groups: Sequence[Group]) -> list[Outcome]:
        outcomes = await super().append(groups)
        if len(outcomes) > 2:
            self._log[-1], self._log[-2] = self._log[-2], self._log[-1]
        return outcomes


class HalfGroups(MemoryStore):
    """Of a group that holds a key that stands already, the rest is not written."""

    def _admit(self, group: Group) -> Outcome:
        kept = tuple(r for r in group.records if r.key not in self._keys)
        return super()._admit(group if len(kept) == len(group.records) else replace(group, records=kept[:1]))


class SkippingPages(MemoryStore):
    """A page begins one too late when the page before it was full."""

    async def read(self, after: int, limit: int) -> list[Interaction]:
        return await super().read(after + (1 if after and limit < 5 else 0), limit)


class EagerCheckpoints(MemoryStore):
    """A checkpoint says that it stands one further than it does."""

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        await super().save_checkpoint(replace(checkpoint, seq=checkpoint.seq + 1))


class EagerCursors(MemoryStore):
    """Cursors run ahead of the head; so a rule never sees what comes next."""

    async def save_cursors(self, cursors: Mapping[str, int]) -> None:
        await super().save_cursors({rule: seq + 1 for rule, seq in cursors.items()})


class ForgetsOutside(MemoryStore):
    """Only the first record of a name is found."""

    async def by_outside(self, outside: str) -> list[Interaction]:
        return (await super().by_outside(outside))[:1] if len(self._log) < 9 else []


def over(store: type[MemoryStore]) -> type[StoreMachine]:
    class Faulty(StoreMachine):
        async def open(self) -> Store:
            return store()

    return Faulty


class LosesTheLast(StoreMachine):
    """A crash loses what was acknowledged last: NORMAL instead of FULL."""

    async def crash(self) -> Store:
        store = MemoryStore()
        kept = (await self.store.read(0, 10_000))[:-1]
        await store.append([Group((record,)) for record in kept])
        for _ in range(self.epoch):
            await store.begin_epoch()
        return store


class LosesTheEpoch(StoreMachine):
    """A crash sets the epoch back, so that a holder from before it may write again."""

    async def crash(self) -> Store:
        self.store._epoch = max(0, self.epoch - 1)
        return self.store


FAULTS = {
    "a repeated key overwrites": over(Overwrites),
    "a repeated key is written again": over(ForgetsKeys),
    "the fence is ignored": over(IgnoresFence),
    "the fence is one too wide": over(LooseFence),
    "the order is broken": over(EarlyNumbers),
    "a group is halved": over(HalfGroups),
    "a follower skips": over(SkippingPages),
    "a checkpoint is ahead": over(EagerCheckpoints),
    "a cursor is past the head": over(EagerCursors),
    "outside names are forgotten": over(ForgetsOutside),
    "a crash loses the last": LosesTheLast,
    "a crash sets the epoch back": LosesTheEpoch,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_planted_fault_is_found(fault: type[StoreMachine]):
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(fault, settings=budget(30, phases=[Phase.generate]))

"""Seeds of the real relay on virtual time come out clean, and each planted fault is found.

What is promised stands in `invariants.py`, what goes wrong in `weather.py`, what is planted in `planted.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from simulation.many import play_apart, play_many, told
from simulation.planted import FAULTS

CLEAN = range(1, 41)
LONG = range(1000, 1600)
WITHIN = 200
"""Seeds within which a planted fault must be found."""
RARE = ("no_second_look",)
"""Those that take a minute or more to find: `make soak` looks for them."""


def test_forty_seeds_come_out_clean(tmp_path: Path) -> None:
    played = list(play_many(CLEAN, tmp_path))
    assert told(played) == ""
    assert len(played) == len(CLEAN)
    assert sum(p.kills for p in played) > 80
    assert sum(p.refused for p in played) > 20, (
        "no stale holder ever tried to write: the fence was not tested"
    )


def test_a_seed_is_the_same_on_every_run(tmp_path: Path) -> None:
    for seed in (2, 3):
        first, again = (play_apart(seed, folder=tmp_path) for _ in range(2))
        assert first.digest == again.digest
        assert first.interactions > 200


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=[pytest.mark.soak] if fault in RARE else []) for fault in FAULTS],
)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    first = FAULTS[fault][1]
    for seed in range(first, first + WITHIN):
        if play_apart(seed, folder=tmp_path, fault=fault).broken:
            return
    pytest.fail(f"{fault} was not found in {WITHIN} seeds from {first}")


@pytest.mark.soak
def test_six_hundred_seeds_come_out_clean(tmp_path: Path) -> None:
    seeds = range(LONG.start, LONG.start + int(os.environ.get("SEEDS", len(LONG))))
    assert told(play_many(seeds, tmp_path)) == ""

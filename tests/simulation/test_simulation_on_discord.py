"""Seeds of the real relay on the tests' Discord, by the real discord.py on virtual time.

What goes wrong beside the rest stands in `discord_network.py` and `discord_chat.py`, what is planted in
`planted_on_discord.py`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from simulation.many import play_apart, play_many, told
from simulation.planted_on_discord import FAULTS

CLEAN = range(1, 7)
LONG = range(1000, 1300)
WITHIN = 200
"""Seeds within which a planted fault must be found."""
QUICK = (
    "statuses_are_left",
    "a_long_pause_is_a_refusal",
    "history_by_nonce",
)
"""Those that are looked for in `make test`, from the seed at which each is known to be found."""


def found(fault: str, folder: Path) -> bool:
    first = FAULTS[fault][1]
    seeds = range(first, first + WITHIN)
    return any(play_apart(seed, folder=folder, fault=fault, chat="discord").broken for seed in seeds)


def test_six_seeds_on_discord_come_out_clean(tmp_path: Path) -> None:
    played = list(play_many(CLEAN, tmp_path, chat="discord"))
    assert told(played) == ""
    assert len(played) == len(CLEAN)
    assert sum(p.kills for p in played) > 4


def test_a_seed_on_discord_is_the_same_on_every_run(tmp_path: Path) -> None:
    first, again = (play_apart(2, folder=tmp_path, chat="discord") for _ in range(2))
    assert first.digest == again.digest
    assert first.interactions > 200


@pytest.mark.parametrize("fault", QUICK)
def test_a_fault_planted_on_discord_is_found(fault: str, tmp_path: Path) -> None:
    assert found(fault, tmp_path), f"{fault} was not found in {WITHIN} seeds"


@pytest.mark.soak
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in QUICK])
def test_each_fault_planted_on_discord_is_found(fault: str, tmp_path: Path) -> None:
    assert found(fault, tmp_path), f"{fault} was not found in {WITHIN} seeds"


@pytest.mark.soak
def test_three_hundred_seeds_on_discord_come_out_clean(tmp_path: Path) -> None:
    seeds = range(LONG.start, LONG.start + int(os.environ.get("SEEDS", len(LONG))))
    assert told(play_many(seeds, tmp_path, chat="discord")) == ""

"""Many seeds on all cores, with or without a planted fault.

`python tests/simulation/many.py 0 600` plays them and sums up; with a fault's name behind, it says where it is found;
with `discord` behind, the chat is the tests' Discord.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from simulation import planted, planted_on_discord
from simulation.seed import ChatKind, Played, play

COUNTED = ("hours", "interactions", "lives", "kills", "freezes", "refused")


def play_apart(seed: int, *, folder: Path, fault: str | None = None, chat: ChatKind = "model") -> Played:
    """Play a seed in a folder of this process; the log stays there."""
    warnings.simplefilter(
        "ignore"
    )  # a killed life leaves coroutines behind that nobody awaits: that is what a kill is
    own = folder / str(os.getpid())
    if fault is None:
        played = play(seed, own, chat)
    else:
        faults = planted_on_discord.FAULTS if chat == "discord" else planted.FAULTS
        with faults[fault][0]():
            played = play(seed, own, chat)
    played.log, played.transcript = [], []
    return played


def play_many(
    seeds: Iterable[int], folder: Path, fault: str | None = None, chat: ChatKind = "model"
) -> Iterator[Played]:
    """Each seed as it comes out, in order, on as many processes as there are cores."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max_workers=os.cpu_count() or 1, mp_context=context)
    try:
        yield from pool.map(partial(play_apart, folder=folder, fault=fault, chat=chat), seeds)
    finally:
        pool.shutdown(cancel_futures=True)


def told(played: Iterable[Played]) -> str:
    """What is broken, a line a seed."""
    return "\n".join(f"seed {p.seed}: {'; '.join(p.broken[:4])}" for p in played if p.broken)


def main(argv: list[str]) -> int:
    chat: ChatKind = "discord" if "discord" in argv else "model"
    argv = [word for word in argv if word != "discord"]
    first, end, fault = int(argv[0]), int(argv[1]), argv[2] if len(argv) > 2 else None
    folder = Path(tempfile.mkdtemp())
    began = time.monotonic()
    done: list[Played] = []
    try:
        for played in play_many(range(first, end), folder, fault, chat):
            done.append(played)
            if played.broken:
                print(told([played])[:600], flush=True)
                if fault is not None:
                    break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    counts = {name: sum(getattr(p, name) for p in done) for name in COUNTED}
    told_counts = ", ".join(f"{count:.0f} {name}" for name, count in counts.items())
    broken = sum(bool(p.broken) for p in done)
    print(f"{len(done)} seeds, {broken} broken: {told_counts}; in {time.monotonic() - began:.0f} s")
    return 1 if any(p.broken for p in done) and fault is None else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the benchmarks share: a payload of everyday size, folders on the disk that is measured, and lines of figures.

Each figure stands beside a baseline that ran a moment before on the same disk, since disks have slow hours; what counts
is the ratio.
"""

from __future__ import annotations

import itertools
import secrets
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from relay.ledger.fold import Furniture
from relay.ledger.interaction import Draft, Payload

TEXT = "Could you look at why the nightly build went red, and say which commit did it? " * 4


class Measured(Payload):
    """An everyday payload, of about 330 bytes."""

    VERB: ClassVar[str] = "bench.measured"
    text: str
    number: int


FURNITURE = (Furniture("bench", (Measured,)),)


def drafts() -> Iterator[Draft]:
    """As many as wanted, each with a key of its own."""
    for number in itertools.count():
        yield Draft.of(
            Measured(text=TEXT, number=number),
            number,
            actor="ada",
            role="human",
            scope="web:main",
            outside=[f"web:m{number}"],
        )


def salt() -> bytes:
    return secrets.token_bytes(16)


@contextmanager
def on_disk() -> Iterator[Path]:
    """A folder here, where the relay's state would be; `/tmp` may be memory."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder:
        yield Path(folder)


def percentile(times: Sequence[float], part: float) -> float:
    """In milliseconds."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] * 1000


def line(what: str, figure: str, baseline: str, ratio: float) -> None:
    sys.stdout.write(f"{what:<44} {figure:>22}   baseline {baseline:>22}   ratio {ratio:5.2f}\n")
    sys.stdout.flush()


def middle(rounds: int, measure: Callable[[], float]) -> float:
    """The median of some rounds."""
    return statistics.median(measure() for _ in range(rounds))

"""The real relay on the tests' Discord, for `discord.py`: it also notes how late its event loop ever was."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from fakes.discord.connector import connector

from relay import app
from relay.parts import Parts
from relay.surfaces.web.chat import LocalChat

TICK_S = 0.002


def main() -> None:
    port, ca, config, state = sys.argv[1:]
    late = Path(state) / "late"

    def probe(chat: LocalChat, parts: Parts) -> Callable[[], object]:
        async def run() -> None:
            """Rewrites the file whenever it is asked for: removed."""
            lags: list[float] = []
            while True:
                before = time.perf_counter()
                await anyio.sleep(TICK_S)
                lags.append(time.perf_counter() - before - TICK_S)
                if not late.exists():
                    ordered = sorted(lags)
                    late.write_text(f"{ordered[int(len(ordered) * 0.99)]} {ordered[-1]}")
                    lags.clear()

        return run

    options = app.Options(
        config=Path(config),
        state=Path(state),
        port=0,
        connector=lambda: connector(int(port), ca),
        say=lambda line: None,
    )
    anyio.run(app.run, options, probe)


if __name__ == "__main__":
    main()

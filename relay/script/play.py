"""`relay up --script FILE`: reads the script, builds its stage, plays it, and says how it went."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import anyio

from relay.clock import SystemClock
from relay.errors import Exit, UsageError
from relay.script import stage as staging
from relay.script.language import LARGEST, read
from relay.script.player import Player
from relay.script.steps import Script


def run(arguments: argparse.Namespace) -> int:
    """The exit code: 0 only if every expectation held. Raises `RelayError` when it can't be played."""
    path: Path = arguments.script
    if arguments.port is not None:
        raise UsageError("a script is played without a page.", "Leave --port out.")
    script = load(path)
    clock = SystemClock()
    env = dict(os.environ)
    stage = staging.build(script, path, state=arguments.state, config=arguments.config, clock=clock, env=env)
    show = partial(_show, encoding=sys.stdout.encoding or "utf-8")
    player = Player(script, stage, clock, show)
    try:
        held = anyio.run(player.play)
    except KeyboardInterrupt:
        show("Stopped before its end.")
        held = False
    except BaseException:
        show(f"Its ledger, files and log lie in {stage.folder}")
        raise
    if held and stage.passing:
        stage.take_away()
    else:
        show(f"Its ledger, files and log lie in {stage.folder}")
    show(f"{player.passed} passed, {player.failed} failed")
    return Exit.FINE if held else Exit.FAILED


def load(path: Path) -> Script:
    """The script in that file. Raises `UsageError` for a file that can't be read, `ScriptMistakes`."""
    try:
        with path.open("rb") as file:
            source = file.read(4 * LARGEST + 1).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"the script {path} can't be read ({error.strerror}).", "One to try: examples/tour/tour.script"
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the script {path} is not UTF-8 text.", "Save it as UTF-8.") from error
    return read(source, path.name)


def _show(line: str, *, encoding: str) -> None:
    """Print it, on a terminal that can't show every character too. Who stops reading doesn't stop the play."""
    try:
        print(line.encode(encoding, "replace").decode(encoding), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

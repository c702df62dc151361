"""A relay in a process of its own, known by the link that it prints."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

LINK = re.compile(rb"http://127\.0\.0\.1:\d+/#\S+")
PATIENCE = 30.0


class Launched:
    """A running relay. `url` is the link of its page, with the key."""

    def __init__(self, command: Sequence[str], output: Path) -> None:
        self._command = command
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.start()

    def start(self) -> None:
        with self._output.open("ab") as log:
            environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        assert self._process.stdout is not None
        said, until = b"", time.monotonic() + PATIENCE
        while not (found := LINK.search(said)) or not said.endswith(b"\n"):
            readable, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
            more = self._process.stdout.read1(4096) if readable else b""
            if not more:
                self.kill()
                pytest.fail(f"no link came: {said!r} {self._output.read_text('utf-8', 'replace')}")
            said += more
        self.url = found[0].decode()

    def kill(self) -> None:
        """As a power cut would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()
            self._process = None

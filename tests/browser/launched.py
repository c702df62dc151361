"""A relay in a process of its own, known by the link that it prints."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

LINK = re.compile(rb"http://127\.0\.0\.1:\d+/#\S+")
PATIENCE = 30.0


class Launched:
    """A running relay. `url` is the link of its page, with the key; `folder` is where it was started."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.folder = folder
        self._command = command
        self._output = folder / "stderr.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.start()

    @property
    def address(self) -> str:
        """Without the key."""
        return self.url.partition("#")[0]

    @property
    def workspace(self) -> Path:
        """The folder of the room that a relay without an access.json has."""
        return self.folder / "workspace"

    def start(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        with self._output.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, env=environment, cwd=self.folder
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


@contextmanager
def launched(folder: Path, *options: str) -> Iterator[Launched]:
    """The relay itself, as `make up` starts it, on a free port that it takes again after a restart."""
    command = [sys.executable, "-m", "relay", "up", "--state", str(folder / "state"), "--port", free_port()]
    relay = Launched([*command, *options], folder)
    try:
        yield relay
    finally:
        relay.kill()


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])

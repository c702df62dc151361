"""The real `relay` as a process, and a person at its page, who has nothing but the address it printed."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "relay", *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """Little of this machine's, and the project itself importable whether or not it is installed."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "TZ": "UTC", **more}


def ran(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@dataclass
class Newcomer:
    """A started relay and its page."""

    process: subprocess.Popen[bytes]
    said: str
    """What it printed at the start."""
    page: httpx.Client
    place: str = "main"
    stopped_after: float = field(default=0.0)

    def post(self, text: str, **more: Any) -> str:
        answer = self.page.post("/api/post", json={"place": self.place, "text": text, **more})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["message"])

    def messages(self) -> list[dict[str, Any]]:
        found = self.page.get("/api/messages", params={"place": self.place, "limit": 200}).json()
        return list(found["messages"])

    def texts(self) -> list[str]:
        return [m["text"] for m in self.messages()]

    def seen(self, text: str, times: int = 1) -> dict[str, Any]:
        """Wait until the relay has said it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = [m for m in self.messages() if m["ours"] and text in m["text"]]
            if len(found) >= times:
                return found[-1]
            assert time.monotonic() < deadline, f"{text!r} did not come: {self.texts()}"
            time.sleep(0.03)

    @contextmanager
    def events(self) -> Iterator[Iterator[dict[str, Any]]]:
        """The page's stream of events."""
        with self.page.stream("GET", "/api/events", timeout=PATIENCE_S) as answer:
            yield (json.loads(line) for line in answer.iter_lines() if line.strip())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        began = time.monotonic()
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE_S)
        self.stopped_after = time.monotonic() - began
        return code


@contextmanager
def started(folder: Path, *arguments: str | Path, **env: str) -> Iterator[Newcomer]:
    """`relay up` in that folder, with its state beside; killed at the end if it still runs."""
    with open(folder / "relay.log", "ab") as log:
        process = subprocess.Popen(
            command("up", "--state", folder / "state", "--port", "0", *arguments),
            cwd=folder,
            env=environment(**env),
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        said, address, token = _printed(process, folder)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=address, headers=headers, timeout=PATIENCE_S, trust_env=False) as page:
            _until_open(page)
            yield Newcomer(process, said, page)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def _printed(process: subprocess.Popen[bytes], folder: Path) -> tuple[str, str, str]:
    assert process.stdout is not None
    said = b""
    deadline = time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if ready.select(0.2):
                part = os.read(process.stdout.fileno(), 65536)
                said += part
                found = re.search(rb"(http://127\.0\.0\.1:\d+/)#token=(\S+)\s", said)
                if found:
                    return said.decode(), found[1].decode(), found[2].decode()
                if not part:
                    break
    raise AssertionError(f"no address was printed: {said!r} {(folder / 'relay.log').read_text()}")


def _until_open(page: httpx.Client) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            assert page.get("/api/state").status_code == 200
        except httpx.TransportError:
            assert time.monotonic() < deadline, "the page did not open"
            time.sleep(0.02)
        else:
            return

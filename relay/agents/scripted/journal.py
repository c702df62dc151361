"""What a scripted session has done in its turn, so that a resumed one goes on and does nothing twice.

One JSON line a finished step, appended in one write: a process that is killed leaves whole lines or a cut last one,
which is passed over.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import orjson

_TOKEN = re.compile(r"scripted-[0-9a-f]{8,64}\Z")


class Journal:
    """The file of one session."""

    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder / f"{token}.jsonl"

    @classmethod
    def known(cls, folder: Path, token: str) -> bool:
        """Whether a session of that token was begun here."""
        return bool(_TOKEN.match(token)) and (folder / f"{token}.jsonl").exists()

    @classmethod
    def forget(cls, folder: Path, token: str) -> None:
        """What the last turn of that session did is forgotten. Raises `OSError`."""
        if cls.known(folder, token):
            with (folder / f"{token}.jsonl").open("wb") as file:
                os.fsync(file.fileno())

    def begin(self) -> None:
        """A new turn: what the last one did is forgotten."""
        self._path.write_bytes(b"")

    def done(self, source: str, number: int, text: str) -> None:
        """That step is finished, and said `text`."""
        with self._path.open("ab") as file:
            file.write(orjson.dumps({"source": source, "number": number, "text": text}) + b"\n")

    def read(self) -> dict[tuple[str, int], str]:
        """Finished steps of the turn in hand → what they said."""
        found: dict[tuple[str, int], str] = {}
        for line in self._path.read_bytes().splitlines():
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            found[entry["source"], entry["number"]] = entry["text"]
        return found

"""What the scripted agent understands: one directive a line. Pure.

| line | what the agent does |
|---|---|
| `say TEXT` | says it |
| `stream TEXT` | says it word by word |
| `slow SECONDS` | works for that long |
| `tool write PATH TEXT`, `tool append PATH TEXT`, `tool read PATH` | uses a file of the workspace |
| `ask COMMAND` | asks for leave, and says what was decided |
| `watch name=N file=PATH`, `watch in=2h text="…"`, `unwatch NAME`, `watches` | uses the relay's watch tools |
| `share PATH` | hands a file of the workspace over with the reply |
| `above` | says what it was given beside the message: what stands above it, and what it replies to or forwards |
| `silent` | ends the turn with nothing to say |
| `fail REASON` | ends the turn as failed |
| `die` | its process dies |

A message without a directive is repeated back; a fire is reported, and so is a file that hangs on a message.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from relay.perception.framing import Part, unframe
from relay.texts import fenced

WORDS = frozenset(
    ["say", "stream", "slow", "tool", "ask", "watch", "unwatch", "watches"]
    + ["share", "above", "silent", "fail", "die"]
)
ECHO = 1500
MENTION = re.compile(r"@\S+\s+")
"""`@scout say hello` is `say hello`: in some rooms the agent must be named."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do. `source` and `number` name it across restarts."""

    source: str
    number: int
    word: str
    rest: str


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt as the scripted agent reads it."""

    continues: bool
    steps: tuple[Step, ...]


def read(prompt: str) -> Task:
    """The steps of a framed prompt. Raises `NotFramed` for anything else."""
    parts = unframe(prompt).parts
    steps: list[Step] = []
    above: list[Part] = []
    for part in parts:
        if part.kind == "above":
            above.append(part)
        elif part.kind != "continuation":
            steps += _steps(part, above)
    return Task(any(part.kind == "continuation" for part in parts), tuple(steps))


def _steps(part: Part, above: list[Part]) -> list[Step]:
    source = f"{part.source}@{part.at}"
    if part.kind == "file":  # several hang on one message
        source += f" {dict(part.facts).get('path') or dict(part.facts).get('name')}"
    found: list[Step] = []
    if part.kind in ("message", "steer"):
        for line in part.text.splitlines():
            said = line.strip()
            named = MENTION.match(said)
            word, _, rest = said[named.end() if named else 0 :].partition(" ")
            word = word.lower().rstrip(":")
            if word == "above":
                found.append(Step(source, len(found), "say", _told(above)))
            elif word in WORDS:
                found.append(Step(source, len(found), word, rest.strip()))
    return found or [Step(source, 0, "say", _plain_answer(part))]


def _told(above: list[Part]) -> str:
    lines = [
        f"{part.who} ({', '.join([part.role, *(fact for _, fact in part.facts)])}): {part.text}"
        for part in above
    ]
    return "\n".join(lines) or "Nothing stands above."


def _plain_answer(part: Part) -> str:
    facts = dict(part.facts)
    if part.kind == "file":
        where = (
            f"{facts['path']} ({facts['type']}, {facts['bytes']} bytes)"
            if "path" in facts
            else facts.get("name", "")
        )
        return f"\n📎 {where}: {' '.join(part.text[:200].split())}"
    if part.kind == "fire":
        is_diff = part.text.startswith(("---", "@@", "+", "-"))
        body = f":\n{fenced(part.text, 'diff')}" if is_diff else f": {part.text}"
        return f"«{part.who}» {facts.get('why', 'fired')}{body}"
    if len(part.text) > ECHO:
        return f"You said {len(part.text)} characters, beginning with: {part.text[:200]}"
    return f"You said: {part.text}"


def fields(rest: str) -> dict[str, object]:
    """`name=notes file="a b.md" once` as the fields of a watch. Raises ValueError for an open quote."""
    found: dict[str, object] = {}
    for word in shlex.split(rest):
        name, equals, value = word.partition("=")
        found[name] = value if equals else True
    return found

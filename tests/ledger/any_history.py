"""Histories that no relay would write but any could: interactions of every verb that is discovered, with fields that
point at one another, at what is long gone, and at nothing."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from datetime import UTC
from random import Random
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from relay.behaviours import discover
from relay.ledger.interaction import Draft, Payload
from watch_supervisor.spec import WatchSpec, parse_line

SCOPES = ("web:main", "web:side", "web:main/t1", "")
WATCH_LINES = (
    "notes --file notes.md",
    "log --file app.log --match ERROR --notify",
    'tea --in 10m "the tea"',
    'stand-up --at 09:30 "stand up"',
)
WORDS = (
    *(
        "web:main",
        "web:ada",
        "owner",
        "ada",
        "scout",
        "m1",
        "m2",
        "allow",
        "deny",
        "✅",
        "❌",
        "🔁",
        "🛑",
        "👍",
    ),
    *("!watch a --file x.md", "!unwatch notes", "!stop", "!status", "hello\n```\nworld", "", "1-a", "2-b"),
)


class AnyHistory:
    """Drafts from a seed; `told` gives it the ids that came of them, so that later ones may point at them."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)
        self._ids: list[str] = ["ab" * 32]
        self._count = 0
        self.models: list[type[Payload]] = [m for b in discover() for m in b.furniture.verbs]

    def told(self, id: str) -> None:
        self._ids.append(id)

    def drafts(self, count: int) -> Iterator[Draft]:
        for _ in range(count):
            self._count += 1
            payload = self._value(self._rng.choice(self.models))
            rng = self._rng
            yield Draft.of(
                payload,
                self._count,
                actor=rng.choice(("ada", "rule:x", "relay")),
                role=rng.choice(("owner", "human", "system", "stranger")),
                scope=rng.choice(SCOPES),
                caused_by=rng.sample(self._ids, min(len(self._ids), rng.randrange(3))),
                outside=rng.sample(WORDS[:6], rng.randrange(2)),
            )

    def _field(self, name: str, kind: Any) -> Any:
        if (
            name == "limit"
        ):  # what no edge would record: a place without room for a word, work without a source
            return self._rng.choice((100, 2000, 16_000))
        value = self._value(kind)
        return (self._ids[-1],) if name == "sources" and value == () else value

    def _value(self, kind: Any) -> Any:
        rng = self._rng
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return rng.choice(inner)
        if origin in (typing.Union, types.UnionType):
            return self._value(rng.choice(inner))
        if origin is tuple:
            return tuple(self._value(inner[0]) for _ in range(rng.randrange(3)))
        if origin is dict:
            keys = ("web:main", "web:side", "a", "name") if inner[0] is str else (1,)
            return {key: self._value(inner[1]) for key in rng.sample(keys, rng.randrange(len(keys)))}
        if kind is WatchSpec:
            return parse_line(rng.choice(WATCH_LINES), now_ms=1_790_000_000_000, zone=UTC)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind(
                **{name: self._field(name, field.annotation) for name, field in kind.model_fields.items()}
            )
        if kind is str:
            return rng.choice((rng.choice(self._ids[-12:]), rng.choice(WORDS)))
        if kind is int:
            return rng.choice((0, 1, 5, 2000, 1_790_000_000_000))
        if kind is bool:
            return rng.random() < 0.5
        if kind is type(None):
            return None
        if kind is Any:
            return rng.choice((None, 1, "text", [1, "two"]))
        raise TypeError(f"no idea how to make a {kind!r}")

"""How other Discord-compatible servers answer: ids as integers, fields left out, another order. For `reshape`.

Others of their habits are set elsewhere: no RESUME (`gateway.faults.refuse_resumes`), nonces kept for ever
(`world.rules.nonce_memory`), no rate-limit headers (`limits.headers`), other error codes (`faults.answer`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def without(*names: str) -> Callable[[Any], Any]:
    """These fields are missing, at any depth."""

    def shape(body: Any) -> Any:
        if isinstance(body, dict):
            return {key: shape(value) for key, value in body.items() if key not in names}
        return [shape(one) for one in body] if isinstance(body, list) else body

    return shape


def integer_ids(body: Any) -> Any:
    """Every id is a number instead of a string."""
    if isinstance(body, list):
        return [integer_ids(one) for one in body]
    if not isinstance(body, dict):
        return body
    found: dict[str, Any] = {}
    for key, value in body.items():
        is_id = (key == "id" or key.endswith("_id")) and isinstance(value, str) and value.isdigit()
        found[key] = int(value) if is_id else integer_ids(value)
    return found


def oldest_first(body: Any) -> Any:
    """History in the order in which it was said, where Discord gives the newest first."""
    return body[::-1] if isinstance(body, list) else body


def with_more(**fields: Any) -> Callable[[Any], Any]:
    """Fields that nobody knows."""

    def shape(body: Any) -> Any:
        if isinstance(body, list):
            return [shape(one) for one in body]
        return {**body, **fields} if isinstance(body, dict) else body

    return shape


def empty(body: Any) -> Any:
    """Nothing where there is something."""
    return [] if isinstance(body, list) else {}

"""The one byte form of a payload, and the cleaning of text on its way in.

On this domain (ASCII keys, no floats, integers within 2^53, no lone surrogates) orjson with sorted keys gives the bytes
that RFC 8785 (JCS) asks for, so any other language can recompute an id.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from relay.errors import BadInteraction

MAX_INTEGER = 2**53 - 1


def clean_text(text: str) -> str:
    """Text as the ledger takes it: lone surrogates become U+FFFD, NUL is dropped, line ends are `\\n`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def canonical(value: Any) -> bytes:
    """The canonical bytes of a JSON value. Raises `BadInteraction` outside the domain."""
    _check(value, 0)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as error:
        raise BadInteraction(f"not a value the ledger can hold: {error}") from error


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _check(value: Any, depth: int) -> None:
    if depth > 32:
        raise BadInteraction("a payload nests more than 32 deep")
    if value is None or isinstance(value, bool | str):
        return
    if isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise BadInteraction(f"the integer {value} is past 2^53: send it as text")
    elif isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(key, str) or not key.isascii():
                raise BadInteraction(f"the key {key!r} is not ASCII text")
            _check(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            _check(inner, depth + 1)
    else:
        raise BadInteraction(f"a payload can't hold a {type(value).__name__}")

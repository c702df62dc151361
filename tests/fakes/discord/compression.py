"""Frames as the client asked for them: plain text, zlib-stream or zstd-stream. One context a connection."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Callable

from fakes.discord.model import Json


def packer(kind: str | None) -> Callable[[Json], str | bytes]:
    """A function that writes one frame. zlib ends each with a full flush, zstd never ends its frame.

    Raises ModuleNotFoundError for zstd-stream without the `zstandard` package (a client that asks for it has it).
    """
    if kind == "zlib-stream":
        stream = zlib.compressobj()
        return lambda one: stream.compress(_json(one)) + stream.flush(zlib.Z_SYNC_FLUSH)
    if kind == "zstd-stream":
        zstandard = importlib.import_module("zstandard")
        frame = zstandard.ZstdCompressor().compressobj()
        block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return lambda one: frame.compress(_json(one)) + frame.flush(block)
    return lambda one: json.dumps(one)


def _json(one: Json) -> bytes:
    return json.dumps(one).encode()

"""`share`: a file of the workspace goes out with the reply."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import anyio.to_thread

from relay import texts_for_agents
from relay.agents.runtime import ToolResult
from relay.behaviours.turns.verbs import FileShared
from relay.ledger.canonical import clean_text
from relay.perception.files import holds_key
from relay.tools.desk import Call, Desk, Tool
from watch_supervisor.places import resolve

LARGEST_SHARED = 25_000_000
"""Bytes of one file. What a place takes may be less: its surface looks before it uploads."""
MOST_SHARED = 40
"""Files of one turn."""


async def _share(desk: Desk, call: Call) -> ToolResult:
    path = clean_text(call.text("path"))
    if len(call.running.files) >= MOST_SHARED:
        return ToolResult(texts_for_agents.share_many(MOST_SHARED), failed=True)
    try:
        name, data = await anyio.to_thread.run_sync(_read_shared, desk.workspace, path)
    except _NotShared as error:
        return ToolResult(str(error), failed=True)
    digest = await desk.blobs.put(data)
    payload = FileShared(turn=call.running.turn, name=name, digest=digest, size=len(data))
    await desk.engine.admit(desk.draft(payload, call, call.running.turn, call.id, name))
    return ToolResult(texts_for_agents.tool_shared(name, len(data)))


SHARE = Tool("share", _share)


class _NotShared(Exception):
    """Why a file is not handed over."""


def _read_shared(workspace: Path, path: str) -> tuple[str, bytes]:
    where = resolve(workspace, path) if path and "\0" not in path else None
    if where is None or not where.inside:
        raise _NotShared(texts_for_agents.share_outside(path))
    if where.protected:
        raise _NotShared(texts_for_agents.share_protected(path))
    try:
        handle = os.open(where.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _NotShared(
            texts_for_agents.share_failed(path, error.strerror or "it can't be opened")
        ) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _NotShared(texts_for_agents.share_failed(path, "it is not a file"))
    with open(handle, "rb") as file:
        facts = os.fstat(handle)
        # Between the look and the open a folder on the way could have become a link: what was opened must be it.
        again = resolve(workspace, path)
        there = os.stat(again.path) if again.inside and not again.protected else None
        if there is None or (there.st_dev, there.st_ino) != (facts.st_dev, facts.st_ino):
            raise _NotShared(texts_for_agents.share_outside(path))
        data = file.read(LARGEST_SHARED + 1)
    if len(data) > LARGEST_SHARED:
        raise _NotShared(
            texts_for_agents.share_failed(path, f"it is larger than {LARGEST_SHARED // 1_000_000} MB")
        )
    if holds_key(data):
        raise _NotShared(texts_for_agents.share_holds_key(path))
    return where.path.name, data

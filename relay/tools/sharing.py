"""`share`: a file of the workspace goes out with the reply."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from relay import texts_for_agents
from relay.agents.runtime import ToolResult
from relay.behaviours.turns.verbs import FileShared
from relay.ledger.canonical import clean_text
from relay.perception.files import holds_key
from relay.tools.desk import Call, Desk, Tool
from relay.workspaces import IsKept, Kept, LeadsOut, open_inside
from watch_supervisor.places import is_named_so

LARGEST_SHARED = 25_000_000
"""Bytes of one file. What a place takes may be less: its surface looks before it uploads."""
MOST_SHARED = 40
"""Files of one turn."""


async def _share(desk: Desk, call: Call) -> ToolResult:
    path = clean_text(call.text("path"))
    if len(call.running.files) >= MOST_SHARED:
        return ToolResult(texts_for_agents.share_many(MOST_SHARED), failed=True)
    try:
        name, data = await anyio.to_thread.run_sync(_read_shared, desk.workspace, path, desk.kept)
    except _NotShared as error:
        return ToolResult(str(error), failed=True)
    digest = await desk.blobs.put(data)
    payload = FileShared(turn=call.running.turn, name=name, digest=digest, size=len(data))
    await desk.engine.admit(desk.draft(payload, call, call.running.turn, call.id, name))
    return ToolResult(texts_for_agents.tool_shared(name, len(data)))


SHARE = Tool("share", _share)


class _NotShared(Exception):
    """Why a file is not handed over."""


def _read_shared(workspace: Path, path: str, kept: Kept) -> tuple[str, bytes]:
    meant = os.path.expanduser(path) if path.startswith("~/") else path
    try:
        opened = open_inside(workspace, meant, os.O_RDONLY, kept=kept)
    except LeadsOut as error:
        raise _NotShared(texts_for_agents.share_outside(path)) from error
    except IsKept as error:
        raise _NotShared(texts_for_agents.share_kept(path)) from error
    except OSError as error:
        raise _NotShared(
            texts_for_agents.share_failed(path, error.strerror or "it can't be opened")
        ) from error
    with open(opened.handle, "rb") as file:
        if is_named_so(workspace, path) or is_named_so(workspace, opened.path):
            raise _NotShared(texts_for_agents.share_protected(path))
        data = file.read(LARGEST_SHARED + 1)
    if len(data) > LARGEST_SHARED:
        raise _NotShared(
            texts_for_agents.share_failed(path, f"it is larger than {LARGEST_SHARED // 1_000_000} MB")
        )
    if holds_key(data):
        raise _NotShared(texts_for_agents.share_holds_key(path))
    return Path(opened.path).name, data

"""The Fetcher: brings the files of messages into the inbox of the room's workspace.

Each file is settled by one record, received or refused. Until then it is fetched anew after a crash, and lands under
the same name again: a name is only ever given to one content.
"""

from __future__ import annotations

import errno
import hashlib
import logging
from collections.abc import Iterable
from typing import Literal

import anyio
import anyio.to_thread

from relay import texts, texts_coming_in
from relay.behaviours.attachments.concept import Attachments, Pending, WantedFile
from relay.behaviours.attachments.reconciler_inbox import NoInbox, put
from relay.behaviours.attachments.verbs import FileReceived, FileRefused, Why
from relay.errors import SurfaceError
from relay.ledger.canonical import clean_text
from relay.ledger.fold import View
from relay.ledger.interaction import Draft
from relay.ledger.reconciler import Held, Item, Reconciler
from relay.parts import Parts
from relay.perception.files import basename, holds_key, safe_names, sniff, text_of
from watch_supervisor.places import is_named_so

LARGEST = 25_000_000
"""Bytes of one file."""
TEXT_KEPT = 200_000
"""Characters of a text file that an agent may be shown in its prompt."""
FETCH_LIMIT_S = 60.0
GIVE_UP_S = 100.0
"""How long a file is tried for in one life of the relay, until a try fails after that."""

log = logging.getLogger("relay.attachments")


def reconcilers(parts: Parts) -> list[Reconciler]:
    return [Fetcher(parts)]


class _Refused(Exception):
    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why: Why = why
        self.detail = detail


class Fetcher:
    """See the module."""

    name = "attachments"
    kind: Literal["short", "holding"] = "short"
    cap = 3

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._first: dict[str, float] = {}
        """item → when this life tried it first, on the monotonic clock."""

    def owes(self, view: View) -> Iterable[Item]:
        for source, pending in list(view.of(Attachments).state.pending.items()):
            if pending.room not in self._parts.access.rooms:
                continue  # it waits, as everything of that room does
            for file in pending.files:
                yield Item(f"{source}/{file.index}", source, (source, file.index))

    def due(self, view: View) -> int | None:
        return None

    async def act(self, item: Item, held: Held) -> None:
        source, index = item.data
        pending = held.view.of(Attachments).state.pending.get(source)
        file = pending.wanted(index) if pending is not None else None
        if pending is None or file is None:
            return
        first = self._first.setdefault(item.key, held.clock.monotonic())
        try:
            settled: FileReceived | FileRefused = await self._receive(pending, file)
        except _Refused as refused:
            settled = self._refusal(pending, file, refused)
        except SurfaceError as error:
            if error.kind != "permanent" and held.clock.monotonic() - first < GIVE_UP_S:
                raise
            log.warning("a file of message %s can't be fetched: %s", pending.message, error)
            settled = self._refusal(pending, file, _Refused("not fetched", str(error)))
        await held.admit(
            Draft.of(
                settled,
                source,
                index,
                actor="relay",
                scope=pending.scope,
                caused_by=[source],
                outside=[f"files:{source}"],
            )
        )
        self._first.pop(item.key, None)

    def _refusal(self, pending: Pending, file: WantedFile, refused: _Refused) -> FileRefused:
        return FileRefused(
            source=pending.source,
            index=file.index,
            message=pending.message,
            name=file.name,
            size=file.size,
            why=refused.why,
            most=LARGEST,
            detail=clean_text(refused.detail)[:300],
        )

    async def _receive(self, pending: Pending, file: WantedFile) -> FileReceived:
        """Raises `_Refused`, and `SurfaceError` where the surface does."""
        workspace = self._parts.workspace(pending.room)
        if workspace is None:
            raise _Refused("no folder", texts.ROOM_GONE)
        # Names are judged before anything is fetched, and as they are kept too: a name may lose what hid it.
        tag = hashlib.sha256(f"{pending.source}/{file.index}".encode()).hexdigest()[:16]
        names = (basename(file.name), *safe_names(file.name, "data", tag))
        if any(is_named_so(workspace, name) for name in names if name):
            raise _Refused("secret name")
        if file.size > LARGEST:
            raise _Refused("too large")
        data = await self._fetch(pending, file)
        if holds_key(data):
            raise _Refused("secret inside")
        sniffed = sniff(data)
        safe = safe_names(file.name, sniffed.kind, tag[:8])
        if any(is_named_so(workspace, name) for name in safe):
            raise _Refused("secret name")
        try:
            path = await anyio.to_thread.run_sync(put, workspace, safe, tag, data)
        except NoInbox as error:
            raise _Refused("no folder", str(error)) from error
        except OSError as error:
            kind = "transient" if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else "permanent"
            raise SurfaceError(f"it can't be written ({error.strerror}).", kind=kind) from error
        text, length = None, 0
        if sniffed.encoding:
            beginning = text_of(data, sniffed.encoding, TEXT_KEPT)
            length = len(beginning) if len(beginning) < TEXT_KEPT else 0
            text = await self._parts.blobs.put(clean_text(beginning).encode())
        return FileReceived(
            source=pending.source,
            index=file.index,
            message=pending.message,
            name=file.name,
            path=path,
            digest=hashlib.sha256(data).hexdigest(),
            size=len(data),
            kind=sniffed.kind,
            text=text,
            length=length,
        )

    async def _fetch(self, pending: Pending, file: WantedFile) -> bytes:
        surface = self._parts.surfaces.by_name.get(pending.surface)
        if surface is None:
            raise SurfaceError(texts_coming_in.surface_not_running(pending.surface))
        try:
            with anyio.fail_after(FETCH_LIMIT_S):
                data = await surface.fetch(pending.place, pending.message, file.id, LARGEST)
        except TimeoutError as error:
            raise SurfaceError(texts_coming_in.FILE_SLOW, kind="transient") from error
        if data is None:
            raise _Refused("gone")
        if len(data) > LARGEST:
            raise _Refused("too large")
        return data

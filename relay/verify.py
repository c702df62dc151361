"""`relay verify`: whether the ledger is what was written, told in words. It only reads, also beside a running relay."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import orjson

from relay import app
from relay.behaviours import discover
from relay.errors import BadInteraction, Exit
from relay.ledger.blobs import Blobs
from relay.ledger.interaction import Interaction, Payload, digest_of
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Store

PAGE = 500
MOST_TOLD = 50
"""Findings that are told one by one; the rest is counted."""


@dataclass(slots=True)
class Findings:
    """What a look through a ledger found. `wrong` is one sentence for each thing that isn't as it was written."""

    records: int = 0
    redacted: int = 0
    unfinished: int = 0
    blobs: int = 0
    wrong: list[str] = field(default_factory=list[str])


async def look(store: Store, blobs: Blobs) -> Findings:
    """Every record, its causes, what is left of the redacted ones, and the blobs that are named."""
    models: dict[str, type[Payload]] = {m.VERB: m for b in discover() for m in b.furniture.verbs}
    found = Findings()
    before = 0
    async for page in _pages(store):
        known = {i.id: i.seq for i in page}
        causes = {cause for i in page for cause in i.caused_by if cause not in known}
        earlier = await store.by_ids(causes)
        residues = await _residues(store, page)
        for i in page:
            found.records += 1
            where = f"record {i.seq} ({i.verb} {i.id[:10]})"
            if i.seq <= before:
                found.wrong.append(f"{where}: it stands out of order.")
            before = i.seq
            if not i.verifies():
                found.wrong.append(f"{where}: {_differs(i)}")
            for cause in i.caused_by:
                if cause not in known and cause not in earlier:
                    found.wrong.append(f"{where}: its cause {cause[:10]} is not in the ledger.")
                elif (known.get(cause) or earlier[cause].seq) >= i.seq:
                    found.wrong.append(f"{where}: its cause {cause[:10]} stands after it.")
            if i.redacted:
                found.redacted += 1
                said = _residue_said(i, residues)
                if said:
                    found.wrong.append(f"{where}: {said}")
            elif i.id in residues:
                found.unfinished += 1
            model = models.get(i.verb)
            if model is not None and not i.redacted:
                await _look_at_blobs(i, model, where, blobs, found)
    return found


async def _pages(store: Store) -> AsyncIterator[list[Interaction]]:
    at = 0
    while page := await store.read(at, PAGE):
        yield page
        at = page[-1].seq


async def _residues(store: Store, page: list[Interaction]) -> Mapping[str, str]:
    """id → the digest of what is left of it, as the redaction that took its text out says."""
    said: dict[str, str] = {}
    for i in page:
        for redaction in await store.by_outside(f"redacted:{i.id}"):
            body = redaction.body
            said |= {
                id: digest for id, digest in zip(body["rows"], body["residues"], strict=True) if id == i.id
            }
    return said


def _differs(i: Interaction) -> str:
    if not i.redacted and i.raw is not None and digest_of(i.salt or b"", i.raw) != i.digest:
        return "its text is not the one that was recorded."
    return "its verb, key, actor, role, scope, causes or digest is not what was recorded."


def _residue_said(i: Interaction, residues: Mapping[str, str]) -> str:
    """What is wrong with a redacted record; empty when nothing is."""
    if i.id not in residues:
        return "its text is gone, and no redaction says who took it out."
    if i.raw is not None and hashlib.sha256(i.raw).hexdigest() != residues[i.id]:
        return "what is left of it is not what its redaction left."
    return ""


async def _look_at_blobs(
    i: Interaction, model: type[Payload], where: str, blobs: Blobs, found: Findings
) -> None:
    try:
        digests = list(i.read(model).blobs())
    except (BadInteraction, orjson.JSONDecodeError) as error:
        found.wrong.append(f"{where}: {error}.")
        return
    for digest in digests:
        found.blobs += 1
        if await blobs.get(digest) is None:
            found.wrong.append(f"{where}: the blob {digest[:12]} that holds its text is missing or damaged.")


def told(found: Findings, path: Path) -> list[str]:
    """What was found, for the person at the terminal."""
    lines = [f"{path}: {found.records} records, {found.redacted} of them redacted; {found.blobs} blobs."]
    lines += found.wrong[:MOST_TOLD]
    if len(found.wrong) > MOST_TOLD:
        lines.append(f"… and {len(found.wrong) - MOST_TOLD} more.")
    if found.unfinished:
        lines.append(
            f"{found.unfinished} redactions are recorded and not done yet: a running relay goes on with them."
        )
    lines.append(
        "Everything is as it was written." if not found.wrong else f"{len(found.wrong)} things are wrong."
    )
    return lines


def run(arguments: argparse.Namespace) -> int:
    """The command; exit code 1 when something is wrong. Raises `RelayError`."""
    options = app.Options(config=arguments.config, state=arguments.state)
    state = options.state if options.state is not None else app.settled_state(options)
    found = anyio.run(_verify, state)
    for line in told(found, state / "ledger.db"):
        print(line, file=sys.stderr if found.wrong else sys.stdout)
    return Exit.FAILED if found.wrong else Exit.FINE


async def _verify(state: Path) -> Findings:
    store = await SqliteStore.open_readonly(state / "ledger.db")
    try:
        return await look(store, Blobs(state / "blobs"))
    finally:
        await store.close()

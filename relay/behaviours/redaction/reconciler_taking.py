"""Takes texts out: records that it will, does it, and records that it is done.

Each step may be repeated: a redaction that a crash cut off is taken up where it stands. Blobs go before the record
that names them, so that none is forgotten; the files are scrubbed last, when nothing more is written over.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relay.agents.runtime import Forgets
from relay.behaviours.redaction.concept import Redactions
from relay.behaviours.redaction.reconciler_plan import Found, keepers, plan
from relay.behaviours.redaction.verbs import InteractionRedacted, InteractionScrubbed
from relay.behaviours.turns.concept import Turns
from relay.ledger.fold import InUse
from relay.ledger.interaction import Draft, Interaction, blob_name, residue_of
from relay.ledger.store import Residue
from relay.parts import Parts

MOST_ROWS = 200
"""Records of one redaction, so that it stays a payload."""
POSTING_LOOKS = 25
POSTING_PAUSE_S = 0.2

log = logging.getLogger("relay.redaction")


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a request. `records` are the redactions that are recorded now; none when all was gone already."""

    target: str
    records: tuple[str, ...]
    taken: Mapping[str, int]
    """verb → how many records lose their texts."""
    elsewhere: int
    """Messages on servers of others, which keep what they have."""


async def ask(parts: Parts, typed: str, *, by: str, actor: str, why: str = "") -> Asked:
    """Record that the text of a message, reply or fire is taken out. Raises `NotRedacted`."""
    found = await plan(parts, typed)
    for _ in range(POSTING_LOOKS):
        if not any(scope_of(found, post) in keepers(parts) for post in found.owed):
            break
        await parts.clock.sleep(POSTING_PAUSE_S)  # what is on its way to the page is to be found there
        found = await plan(parts, typed)
    residues = {i.id: left for i in found.rows.values() if (left := residue(parts, i)) is not None}
    kept = keepers(parts)
    messages: list[str] = []
    for name in found.messages:
        surface, _, message = name.partition(":")
        if surface in kept and await kept[surface].text_of(message):
            messages.append(name)
    elsewhere = sum(name.partition(":")[0] not in kept for name in found.messages)
    if not residues and not messages:
        return Asked(found.target, (), {}, elsewhere)
    await drop_states(parts, await states_before(parts, found.rows.values()))
    drafts = _drafts(found, residues, messages, by=by, actor=actor, why=why)
    stand = await parts.engine.admit(*drafts)
    taken: dict[str, int] = {}
    for id in residues:
        verb = found.rows[id].verb
        taken[verb] = taken.get(verb, 0) + 1
    return Asked(found.target, tuple(i.id for i in stand), taken, elsewhere)


def scope_of(found: Found, post: str) -> str:
    """The surface of a post that is on its way."""
    return found.rows[post].scope.partition(":")[0]


def _drafts(
    found: Found, residues: Mapping[str, bytes], messages: Sequence[str], *, by: str, actor: str, why: str
) -> list[Draft]:
    ids, sessions = list(residues), list(found.sessions)
    which = hashlib.sha256("\n".join([*ids, *messages]).encode()).hexdigest()[:16]
    drafts: list[Draft] = []
    for start in range(0, max(len(ids), len(messages), len(sessions), 1), MOST_ROWS):
        end = start + MOST_ROWS
        payload = InteractionRedacted(
            target=found.target,
            by=by,
            why=why,
            rows=tuple(ids[start:end]),
            residues=tuple(hashlib.sha256(residues[id]).hexdigest() for id in ids[start:end]),
            messages=tuple(messages[start:end]),
            sessions=tuple(sessions[start:end]),
        )
        drafts.append(
            Draft.of(
                payload,
                found.target,
                which,
                len(drafts),
                actor=actor,
                role="owner",
                caused_by=[found.target] if ":" not in found.target else [],
                outside=[f"redacted:{id}" for id in payload.rows],
            )
        )
    return drafts


def residue(parts: Parts, i: Interaction) -> bytes | None:
    """What is left of a record without its texts; None when it has none, or its behaviour was taken away."""
    model = parts.engine.model(i.verb)
    return residue_of(i, model) if model is not None else None


# -- doing it ----------------------------------------------------------------------------------------------------------


async def take_out(parts: Parts, record: Interaction) -> None:
    """The texts of one redaction. Raises `RelayError`: to be tried again."""
    asked = record.read(InteractionRedacted)
    known = await parts.engine.store.by_ids(asked.rows)
    left: list[Residue] = []
    shared: set[str] = set()
    own: list[str] = []
    for i in known.values():
        raw = residue(parts, i)
        model = parts.engine.model(i.verb)
        if raw is None or model is None:
            continue
        blobs = i.read(model).blobs()
        shared.update(blobs)
        if i.verb == "turn.started":  # a prompt bears its turn's nonce: no other record names it
            own.append(str(i.body.get("prompt", "")))
        left.append(Residue(i.id, raw, blobs))
    await parts.blobs.settled([*shared, *own])
    going = {r.id for r in left}
    gone = [digest for digest in shared if not await _named_by_others(parts, digest, going)]
    await parts.blobs.drop([*gone, *own])
    await parts.engine.store.redact(left)
    for surface, keeper in keepers(parts).items():
        await keeper.redact([m.partition(":")[2] for m in asked.messages if m.partition(":")[0] == surface])
    await _forget_sessions(parts, asked.sessions)


async def _named_by_others(parts: Parts, digest: str, going: set[str]) -> bool:
    if digest in in_use(parts):
        return True
    return any(
        i.id not in going and not i.redacted for i in await parts.engine.store.by_outside(blob_name(digest))
    )


async def _forget_sessions(parts: Parts, sessions: Iterable[str]) -> None:
    lanes = parts.engine.view.of(Turns)
    busy = {lane.running.session for s in lanes.state.running if (lane := lanes.lane(s)).running is not None}
    for name in sessions:
        runtime, _, token = name.partition("/")
        found = parts.runtimes.get(runtime)
        if isinstance(found, Forgets) and token not in busy:
            await found.forget(parts.state / "agents" / runtime, token)


async def scrub(parts: Parts) -> bool:
    """Leave nothing in any file of what was taken out; False when somebody reads just now. Raises `RelayError`."""
    await parts.engine.renew_checkpoints()
    done = await parts.engine.store.scrub()
    for keeper in keepers(parts).values():
        done = await keeper.scrub() and done
    return done


async def complete(parts: Parts, records: Sequence[str]) -> bool:
    """Scrub, and record that those redactions, already taken out, are done. False: to be tried again."""
    if not await scrub(parts):
        return False
    payload = InteractionScrubbed(redacted=records[-1], count=len(records))
    await parts.engine.admit(Draft.of(payload, records[-1], actor="relay", caused_by=[records[-1]]))
    return True


def is_open(parts: Parts, records: Iterable[str]) -> bool:
    """Whether one of those redactions is not completed."""
    return not parts.engine.view.of(Redactions).state.open.keys().isdisjoint(records)


# -- what a watch has seen ---------------------------------------------------------------------------------------------


def in_use(parts: Parts) -> frozenset[str]:
    """Interactions and blobs that a concept still needs as they are."""
    return frozenset(name for c in parts.engine.view.all() if isinstance(c, InUse) for name in c.in_use())


def state_of(i: Interaction) -> str:
    """The blob with what a watched file held, which a record of its watch names; empty for none."""
    if i.verb not in ("watch.started", "watch.fired", "watch.advanced"):
        return ""
    state: Mapping[str, Any] = i.body.get("source_state") or {}
    return str(state.get("sha256") or "")


async def states_before(parts: Parts, rows: Iterable[Interaction]) -> list[str]:
    """What the watched files of those fires held up to then."""
    store = parts.engine.store
    digests: dict[str, None] = {}
    fires = [i for i in rows if i.verb == "watch.fired" and not i.redacted]
    armed = await store.by_ids({str(i.body["armed"]) for i in fires})
    if not armed:
        return []
    last, before = max(i.seq for i in fires), min(i.seq for i in armed.values()) - 1
    while before < last and (page := await store.read(before, 500)):
        digests |= {state_of(i): None for i in page if str(i.body.get("armed")) in armed and i.seq <= last}
        before = page[-1].seq
    return [digest for digest in digests if digest]


async def drop_states(parts: Parts, digests: Sequence[str]) -> None:
    """Take away what watched files once held, but what a watch compares with next."""
    if digests:
        await parts.blobs.settled(digests)
        used = in_use(parts)
        await parts.blobs.drop(
            [d for d in digests if d not in used and not await _named_by_others(parts, d, set())]
        )

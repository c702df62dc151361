"""The causal chain of an interaction, back to its origin: read for `!why`, `relay why` and the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from relay.ledger.interaction import Interaction
from relay.ledger.store import Store

MOST = 60
"""Interactions of a chain that are shown."""

_PREFIX = re.compile(r"[0-9a-f]{4,64}\Z")


@dataclass(frozen=True, slots=True)
class Link:
    """One interaction of a chain. `depth` counts from the one that was asked about (0) towards its origin."""

    interaction: Interaction
    depth: int


async def find(store: Store, target: str, surfaces: Iterable[str] = ()) -> list[Interaction]:
    """What `target` may mean: an outside id (`web:m17`, or `m17` on one of `surfaces`), or 4 or more hex digits of an
    id. Oldest first; empty when it is unknown."""
    found = await store.by_outside(target)
    for surface in surfaces:
        found = found or await store.by_outside(f"{surface}:{target}")
    if not found and _PREFIX.match(target.lower()):
        found = await store.by_prefix(target.lower(), 20)
    return found


async def chain_of(store: Store, target: str, surfaces: Iterable[str] = ()) -> list[Link]:
    """The chain of what `find` finds (the newest of several), causes after effects; at most `MOST` links."""
    found = await find(store, target, surfaces)
    links = [Link(found[-1], 0)] if found else []
    new = links
    while new and len(links) < MOST:
        have = {link.interaction.id for link in links}
        wanted = {c: link.depth + 1 for link in new for c in link.interaction.caused_by if c not in have}
        causes = await store.by_ids(wanted)
        new = [Link(causes[id], depth) for id, depth in wanted.items() if id in causes]
        links = [*links, *new]
    return links[:MOST]

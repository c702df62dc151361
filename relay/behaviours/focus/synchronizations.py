"""Arming a file watch takes the file up; so the scope's focus is set by use."""

from __future__ import annotations

from collections.abc import Iterable

from relay.behaviours.focus.verbs import FocusAdded, FocusRemoved
from relay.behaviours.turns.verbs import FileShared
from relay.behaviours.watches.concept import Watches
from relay.behaviours.watches.verbs import WatchArmed, WatchDisarmed
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


def _added(i: Interaction, thing: str) -> Draft:
    return Draft.of(
        FocusAdded(thing=thing), i.scope, thing, i.id, actor="rule:follow", scope=i.scope, caused_by=[i.id]
    )


@rule(WatchArmed)
def follow_watched_file(i: Interaction, p: WatchArmed, view: View) -> Iterable[Draft]:
    if p.spec.path is not None:
        yield _added(i, f"file:{p.spec.path}")


@rule(FileShared)
def follow_shared_file(i: Interaction, p: FileShared, view: View) -> Iterable[Draft]:
    yield _added(i, f"file:{p.name}")


@rule(WatchDisarmed)
def unfollow_unwatched_file(i: Interaction, p: WatchDisarmed, view: View) -> Iterable[Draft]:
    """An unwatched file is let go, unless another watch of the scope looks at it."""
    if p.path is None or any(a.spec.path == p.path for a in view.of(Watches).of_scope(i.scope)):
        return
    thing = f"file:{p.path}"
    yield Draft.of(
        FocusRemoved(thing=thing),
        i.scope,
        thing,
        i.id,
        actor="rule:unfollow",
        scope=i.scope,
        caused_by=[i.id],
    )

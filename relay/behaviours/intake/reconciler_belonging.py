"""Which turn a message belongs to, looked up for reactions and edits: rules can't walk history."""

from __future__ import annotations

from dataclasses import dataclass

from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import PostSent
from relay.behaviours.turns.verbs import Origin, TurnEnded, TurnPrompted, TurnStarted, TurnSteered
from relay.errors import BadInteraction
from relay.ledger.interaction import Interaction
from relay.ledger.store import Store


@dataclass(slots=True)
class Belonging:
    """What is known of a message: its turn, its approval if it is a card, what the turn took, who asked for it, the
    watches that woke it, and the role it had."""

    turn: str | None = None
    approval: str | None = None
    sources: tuple[str, ...] = ()
    asker: str | None = None
    woken_by: tuple[str, ...] = ()
    role: str = ""


async def belonging(store: Store, target: Interaction) -> Belonging:
    found = Belonging()
    try:
        if target.verb == PostSent.VERB:
            sent = target.read(PostSent)
            found.turn, found.approval = sent.turn, sent.approval
        elif target.verb == ChannelMessage.VERB:
            said = target.read(ChannelMessage)
            found.asker = f"{said.surface}:{said.author}"
            took = await store.by_outside(f"took:{target.id}")
            if took:
                found.turn = (
                    took[-1].id if took[-1].verb == TurnStarted.VERB else took[-1].read(TurnSteered).turn
                )
        if found.turn is not None:
            await _look_up(store, found.turn, found)
    except BadInteraction:  # redacted since: the reaction is still recorded, with what is known
        pass
    return found


async def _look_up(store: Store, turn: str, found: Belonging) -> None:
    ended = await store.by_outside(f"ended:{turn}")
    if ended:
        end = ended[-1].read(TurnEnded)
        found.sources, found.role = end.sources, ended[-1].role
        _of_origins(found, end.origins)
        return
    started = (await store.by_ids([turn])).get(turn)
    if started is None:
        return
    begun = started.read(TurnStarted)
    found.sources, found.role = begun.sources, started.role
    prompts = await store.by_ids(begun.takes)
    for id in begun.takes:
        if id in prompts:
            prompt = prompts[id].read(TurnPrompted)
            _of_origins(found, prompt.origins or (prompt.origin,))


def _of_origins(found: Belonging, origins: tuple[Origin, ...]) -> None:
    found.asker = found.asker or next((o.person for o in origins if o.person), None)
    found.woken_by = tuple(dict.fromkeys([*found.woken_by, *(o.name for o in origins if o.kind == "watch")]))

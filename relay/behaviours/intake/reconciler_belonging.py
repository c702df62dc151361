"""Which turn a message belongs to, looked up for reactions and edits: rules can't walk history."""

from __future__ import annotations

from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import PostSent
from relay.behaviours.turns.verbs import TurnEnded, TurnPrompted, TurnStarted, TurnSteered
from relay.errors import BadInteraction
from relay.ledger.interaction import Interaction
from relay.ledger.store import Store


async def turn_of(
    store: Store, target: Interaction
) -> tuple[str | None, str | None, tuple[str, ...], str | None, str]:
    """The turn that a message belongs to, its approval if it is a card, what the turn took, who asked for it, and
    the role it had."""
    approval: str | None = None
    asker: str | None = None
    turn: str | None = None
    try:
        if target.verb == PostSent.VERB:
            sent = target.read(PostSent)
            turn, approval = sent.turn, sent.approval
        elif target.verb == ChannelMessage.VERB:
            said = target.read(ChannelMessage)
            asker = f"{said.surface}:{said.author}"
            took = await store.by_outside(f"took:{target.id}")
            if took:
                turn = took[-1].id if took[-1].verb == TurnStarted.VERB else took[-1].read(TurnSteered).turn
        if turn is None:
            return None, approval, (), asker, ""
        ended = await store.by_outside(f"ended:{turn}")
        if ended:
            end = ended[-1].read(TurnEnded)
            return (
                turn,
                approval,
                end.sources,
                asker or next((o.person for o in end.origins if o.person), None),
                ended[-1].role,
            )
        started = (await store.by_ids([turn])).get(turn)
        if started is None:
            return turn, approval, (), asker, ""
        begun = started.read(TurnStarted)
        prompts = await store.by_ids(begun.takes[:1])
        first = next(iter(prompts.values()), None)
        return (
            turn,
            approval,
            begun.sources,
            asker or (first.read(TurnPrompted).origin.person if first else None),
            started.role,
        )
    except BadInteraction:  # redacted since: the reaction is still recorded, with what is known
        return turn, approval, (), asker, ""

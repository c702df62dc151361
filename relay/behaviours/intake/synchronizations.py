"""What follows from a message that was taken in."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts, texts_coming_in
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import notice
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(ChannelMessage)
def tell_late_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """A command that was typed while no relay listened does not act; who typed it is told."""
    if p.command is not None and p.late:
        yield notice(i, texts.late_command(p.command), label="tell-late-command", reply_to=p.message)


@rule(ChannelMessage)
def tell_sent(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    """What a program sent stands nowhere in the chat: people are shown what the agent is answering."""
    if p.via == "http":
        yield notice(i, texts_coming_in.sent_prompt(p.name, p.text, p.size), label="tell-sent")

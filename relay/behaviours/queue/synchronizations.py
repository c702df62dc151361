"""`!queue` shows what waits here; `!queue drop N` takes one out: the owner any, a person their own."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option, Suggestion
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import notice
from relay.behaviours.queue.verbs import QueueAsked
from relay.behaviours.turns.concept import Turns
from relay.behaviours.turns.verbs import TurnWithdrawn
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


def what_waits(view: View, scope: str) -> Iterable[Suggestion]:
    """The numbers to drop."""
    for waiting in view.of(Turns).lane(scope).waiting:
        who = texts.asker(waiting.origin.name, waiting.origin.kind == "watch")
        yield Suggestion(str(waiting.number), f"{waiting.number}. {who}")


QUEUE = Command(
    "!queue",
    "!queue [drop N]",
    texts.ABOUT_QUEUE,
    options=(Option("drop", texts_for_commands.OPTION_DROP, "number", before="drop", suggests=what_waits),),
)


@rule(ChannelMessage)
def queue_by_command(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != QUEUE.word or p.late:
        return
    typed = p.text.lower().split()[1:]
    if not typed:
        yield Draft.of(
            QueueAsked(reply_to=p.message),
            i.id,
            actor="rule:queue-by-command",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
    elif len(typed) != 2 or typed[0] != "drop" or not _is_number(typed[1]):
        yield notice(i, texts.QUEUE_USAGE, label="queue-by-command", reply_to=p.message)
    else:
        yield from _drop(i, p, int(typed[1].lstrip("#")), view)


def _is_number(word: str) -> bool:
    word = word.removeprefix("#")
    return word.isascii() and word.isdigit() and len(word) < 10


def _drop(i: Interaction, p: ChannelMessage, number: int, view: View) -> Iterable[Draft]:
    waiting = view.of(Turns).lane(i.scope).waiting
    found = next((w for w in waiting if w.number == number), None)
    if found is None:
        text = texts.queue_has_no(number, [w.number for w in waiting])
    elif i.role != "owner" and found.origin.person != f"{p.surface}:{p.author}":
        text = texts.NOT_YOURS_TO_DROP
    else:
        yield Draft.of(
            TurnWithdrawn(prompt=found.prompt, why="dropped", by=p.name, message=found.origin.message),
            found.prompt,
            actor="rule:queue-by-command",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
        text = texts.queue_dropped(number, found.origin.name)
    yield notice(i, text, label="queue-by-command", reply_to=p.message)

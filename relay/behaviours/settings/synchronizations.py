"""`!busy MODE`: what a message does that comes while a turn runs."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts, texts_for_commands
from relay.behaviours.commands import Command, Option
from relay.behaviours.intake.verbs import ChannelMessage
from relay.behaviours.posting.verbs import notice
from relay.behaviours.settings.verbs import SettingChosen
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction

BUSY = Command(
    "!busy",
    "!busy steer|queue|interrupt",
    texts.ABOUT_BUSY,
    owner_only=True,
    options=(
        Option(
            "mode", texts_for_commands.OPTION_MODE, required=True, choices=("steer", "queue", "interrupt")
        ),
    ),
)


@rule(ChannelMessage)
def choose_busy(i: Interaction, p: ChannelMessage, view: View) -> Iterable[Draft]:
    if p.command != BUSY.word or p.late:
        return
    mode = p.text.strip()[len(BUSY.word) :].strip().lower()
    if i.role != "owner":
        yield notice(i, texts.OWNER_ONLY, label="choose-busy", reply_to=p.message)
    elif mode not in ("steer", "queue", "interrupt"):
        yield notice(i, texts.BUSY_USAGE, label="choose-busy", reply_to=p.message)
    else:
        yield Draft.of(
            SettingChosen(name="busy", value=mode, by=p.name),
            i.id,
            "busy",
            actor="rule:choose-busy",
            role=i.role,
            scope=i.scope,
            caused_by=[i.id],
        )
        yield notice(i, texts.busy_set(mode), label="choose-busy", reply_to=p.message)

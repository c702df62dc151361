"""A file that was not taken is told to who sent it; the agent hears it in its prompt."""

from __future__ import annotations

from collections.abc import Iterable

from relay import texts_coming_in
from relay.behaviours.attachments.verbs import FileRefused
from relay.behaviours.posting.verbs import notice
from relay.ledger.fold import View, rule
from relay.ledger.interaction import Draft, Interaction


@rule(FileRefused)
def tell_refused_file(i: Interaction, p: FileRefused, view: View) -> Iterable[Draft]:
    told = texts_coming_in.file_refused(p.name, p.size, p.why, p.most, p.detail)
    yield notice(i, told, label="tell-refused-file", reply_to=None if p.why == "gone" else p.message)

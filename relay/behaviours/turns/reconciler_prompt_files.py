"""The files of a message, as its turn's prompt tells of them: where each lies, or why it was not taken.

What stands in a file is data, also when it is a text that is shown. The one exception is the file into which a chat
program puts a message that is too long for it: that is what the person said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relay import texts_for_agents as told
from relay.behaviours.intake.verbs import ChannelMessage
from relay.ledger.interaction import Interaction
from relay.parts import Parts
from relay.perception.framing import Part

PASTED = "message.txt"
"""The name that Discord's clients give a message over their limit."""
MOST_SHOWN = 20_000
"""Characters of a text file that are shown; all of it lies in the workspace."""
MOST_SHOWN_WHOLE = 60_000
"""Characters of all files of a message."""


@dataclass(frozen=True, slots=True)
class Files:
    """`parts` are those of the prompt; `said` is the message itself if it came as a file, `facts` are that file's."""

    parts: tuple[Part, ...] = ()
    said: str | None = None
    facts: tuple[tuple[str, str], ...] = ()


async def files_of(parts: Parts, source: Interaction, role: str, text: str) -> Files:
    """What the agent is told of the files of a message, whose text reads so now."""
    if source.verb != ChannelMessage.VERB or source.redacted:
        return Files()
    said = source.read(ChannelMessage)
    if not said.files or said.command is not None:
        return Files()
    settled = {
        int(i.body["index"]): i for i in await parts.engine.store.by_outside(f"files:{source.id}") if i.body
    }
    wordless = all(word.startswith(("@", "<@")) for word in text.split())
    only = settled.get(0) if len(said.files) == 1 and wordless else None
    if only is not None and said.files[0].name == PASTED and only.body.get("text"):
        pasted = await _text(parts, only.body)
        if pasted is not None:
            facts = [("came-as", str(only.body["path"]))]
            if not only.body["length"]:
                facts.append(("cut", told.FILE_CUT))
            return Files(said=pasted, facts=tuple(facts))
    found: list[Part] = []
    room = MOST_SHOWN_WHOLE
    for index, file in enumerate(said.files):
        record = settled.get(index)
        name = ("name", file.name)
        head = ("file", said.name, source.role or role, said.message, said.sent_at)
        if record is None:
            found.append(Part(*head, told.FILE_NOT_THERE, (name,)))
        elif record.verb == "file.refused":
            why = told.file_refused(str(record.body["why"]), str(record.body.get("detail", "")))
            found.append(Part(*head, why, (name,)))
        else:
            shown, facts = await _shown(parts, record.body, min(room, MOST_SHOWN))
            room -= len(shown)
            found.append(Part(*head, shown, (name, *facts)))
    return Files(tuple(found))


async def _shown(parts: Parts, body: Mapping[str, Any], most: int) -> tuple[str, Sequence[tuple[str, str]]]:
    """The body of a file that was taken, and the facts that its header tells."""
    facts = [("path", str(body["path"])), ("type", str(body["kind"])), ("bytes", str(body["size"]))]
    text = await _text(parts, body) if body.get("text") else None
    if text is None:
        return told.FILE_NOT_SHOWN, facts
    if len(text) > most or not body["length"]:
        facts.append(("cut", told.FILE_CUT))
    return text[:most], facts


async def _text(parts: Parts, body: Mapping[str, Any]) -> str | None:
    data = await parts.blobs.get(str(body["text"]))
    return None if data is None else data.decode(errors="replace")

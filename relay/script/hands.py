"""What a script does on the page's chat, as anybody: the same calls that a browser's requests end in.

It decides nothing: who may do what is the relay's matter, as ever.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from relay.errors import BadInteraction, RelayError
from relay.script.channel import Line
from relay.surfaces.surface import Person
from relay.surfaces.web.chat import LocalChat

PAGE = 20


class Hands:
    """One chat, and whoever a line says."""

    def __init__(self, chat: LocalChat) -> None:
        self._chat = chat

    async def do(self, line: Line) -> Any:
        """What the line asks for. Raises `RelayError`: the chat's refusals, and for a line that can't be read."""
        try:
            return await self._do(line)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInteraction(f"the control line {line.get('do')!r} can't be read: {error!r}.") from error

    async def _do(self, line: Line) -> Any:
        match line["do"]:
            case "post":
                event = await self._chat.post_as(
                    _person(line), line["place"], line["text"], line.get("reply_to"), line.get("nonce")
                )
                return event.message
            case "edit":
                edited = await self._chat.edit_as(_person(line), line["place"], line["message"], line["text"])
                return edited.message
            case "erase":
                return (await self._chat.delete_as(_person(line), line["place"], line["message"])).message
            case "react":
                event = await self._chat.react_as(
                    _person(line), line["place"], line["message"], line["emoji"], add=bool(line["add"])
                )
                return event.count
            case "choose":
                event = await self._chat.choose_as(
                    _person(line), line["place"], line["message"], line["card"], line["value"], line["reason"]
                )
                return event.event
            case "thread":
                return (await self._chat.open_thread_as(_person(line), line["room"], line["title"])).place
            case "places":
                return [place.place for place in await self._chat.places()]
            case "messages":
                return await self._chat.messages(line["place"], line.get("before"), PAGE)
            case other:
                raise BadInteraction(f"nobody can do {other!r} over the control channel.")


def person_line(person: Person) -> Line:
    """A person as a control line names them."""
    return asdict(person)


def _person(line: Line) -> Person:
    return Person(**line["person"])


def refusal(error: RelayError) -> Line:
    return {"refused": str(error), "advice": error.advice}

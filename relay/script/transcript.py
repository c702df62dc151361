"""What people have seen in the chat, in the order in which it was shown, and how that is printed. Pure.

Every message as it came, and every change of one, is a *sighting*. Sightings are never taken back, so an expectation
can ask what was shown since another one was.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from relay.script.steps import LAST

_INDENT = " " * 10
_SHORT = 40


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something that was shown in a place: a new message's text, or what a change of one added."""

    place: str
    message: str
    name: str
    ours: bool
    text: str


@dataclass(slots=True)
class Known:
    """A message as it stands now: what the page is given of it."""

    told: Mapping[str, Any]
    reactions: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """(emoji, person) → name."""

    @property
    def text(self) -> str:
        return str(self.told["text"])

    @property
    def name(self) -> str:
        return str(self.told["person"]["name"])


class Transcript:
    """See the module. `show` is given each line for the terminal; `zone` is the reader's."""

    def __init__(self, show: Callable[[str], None], zone: tzinfo | None) -> None:
        self.sightings: list[Sighting] = []
        self.messages: dict[str, Known] = {}
        self.live: dict[str, Mapping[str, Any]] = {}
        self._show = show
        self._zone = zone

    # -- what comes in ------------------------------------------------------------------------------------------------

    def hear(self, tell: Mapping[str, Any], now_ms: int) -> None:
        """One line of the page's stream."""
        match tell.get("kind"):
            case "message" | "edited":
                self.message(tell["message"], now_ms)
            case "deleted":
                self.messages.pop(str(tell["message"]), None)
            case "reaction":
                known = self.messages.get(str(tell["message"]))
                if known is not None:
                    self._reactions(known, tell["reactions"], now_ms)
            case "live":
                if tell["view"] is None:
                    self.live.pop(tell["place"], None)
                else:
                    self.live[tell["place"]] = tell["view"]
            case "answered":
                self._print(
                    now_ms, str(tell["place"]), f"⚠️ to {one_line(tell['person'])}: {plain(tell['text'])}"
                )
            case "thread":
                place = tell["place"]
                self._print(
                    now_ms, place["room"], f"— a thread: {one_line(place['title'])} ({place['place']})"
                )
            case "trouble" | "refused":
                text = tell.get("text") or tell.get("error")
                if text:
                    self._print(now_ms, "", f"⚠️ {plain(str(text))}")
            case _:
                return

    def message(self, told: Mapping[str, Any], now_ms: int) -> None:
        """A message as it stands now: new, changed, or known already."""
        known = self.messages.get(told["id"])
        if known is None:
            known = self.messages[told["id"]] = Known(told)
            self._sight(told, known.text)
            self._print(told["sent_at"], told["place"], f"{one_line(known.name)}: {_whole(told)}")
        else:
            before, known.told = known.told, told
            added = _added(str(before["text"]), known.text)
            if added:
                self._sight(told, added)
                closed = " [closed]" if before["card_open"] and not told["card_open"] else ""
                of = f"{one_line(known.name)} changed «{_short(str(before['text']))}»{closed}: "
                self._print(now_ms, told["place"], of + plain(added))
            if told["chosen"] and told["chosen"] != before["chosen"]:
                chosen = told["chosen"]
                line = f"{one_line(chosen['name'])} clicked [{one_line(chosen['label'])}] on «{_short(known.text)}»"
                self._print(now_ms, told["place"], line)
        self._reactions(known, told["reactions"], now_ms)

    def _reactions(self, known: Known, reactions: list[Mapping[str, Any]], now_ms: int) -> None:
        after = {(r["emoji"], person["id"]): str(person["name"]) for r in reactions for person in r["people"]}
        before, known.reactions = known.reactions, after
        for key in [*(after.keys() - before.keys()), *(before.keys() - after.keys())]:
            name, gone = (after.get(key) or before[key]), "" if key in after else " (taken back)"
            on = f"«{_short(known.text)}»"
            self._print(now_ms, str(known.told["place"]), f"{key[0]} by {one_line(name)} on {on}{gone}")

    def _sight(self, told: Mapping[str, Any], text: str) -> None:
        name = str(told["person"]["name"])
        self.sightings.append(Sighting(told["place"], told["id"], name, bool(told["ours"]), text))

    # -- what is asked ------------------------------------------------------------------------------------------------

    def find(self, place: str, text: str, by: str | None, after: int) -> int | None:
        """The first sighting of the text in the place with an index of at least `after`. `by` None: the relay's."""
        for index in range(after, len(self.sightings)):
            seen = self.sightings[index]
            if seen.place == place and text in seen.text and (seen.ours if by is None else seen.name == by):
                return index
        return None

    def count(self, place: str, text: str, by: str | None) -> int:
        """Messages of the place that have the text as they stand now."""
        return sum(
            text in known.text and (bool(known.told["ours"]) if by is None else known.name == by)
            for known in self._of(place)
        )

    def target(self, place: str, text: str, *, card: bool = False) -> Known | None:
        """The newest message of the place with that text, else the newest that has it; with `card`, an open card."""
        found = [
            known
            for known in self._of(place)
            if (text == LAST or text in known.text) and (not card or known.told["card_open"])
        ]
        return max(found, key=lambda known: (known.text == text, int(known.told["position"])), default=None)

    def reacted(self, place: str, text: str, emoji: str) -> bool:
        """Whether that emoji stands on a message of the place that has the text (`LAST`: on the newest message)."""
        newest = self.target(place, LAST)
        return any(
            any(its == emoji for its, _ in known.reactions)
            for known in self._of(place)
            if (known is newest if text == LAST else text in known.text)
        )

    def _of(self, place: str) -> Iterator[Known]:
        return (known for known in self.messages.values() if known.told["place"] == place)

    # -- the terminal -------------------------------------------------------------------------------------------------

    def say(self, now_ms: int, line: str) -> None:
        """A line of the player's own, such as what happened to the relay."""
        self._print(now_ms, "", f"— {line}")

    def _print(self, at_ms: int, place: str, text: str) -> None:
        at = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(self._zone)
        where = f"{one_line(place)}  " if place else ""
        first, *rest = text.split("\n")
        self._show("\n".join([f"{at:%H:%M:%S}  {where}{first}", *(f"{_INDENT}{line}" for line in rest)]))


def _whole(told: Mapping[str, Any]) -> str:
    text = plain(str(told["text"]))
    files = "".join(f"\n📎 {one_line(file['name'])} ({file['size']} bytes)" for file in told["files"])
    card = "\n" + " ".join(f"[{one_line(c['label'])}]" for c in told["choices"]) if told["card_open"] else ""
    return text + files + card


def _added(before: str, after: str) -> str:
    """The lines that came below; else all of what it says now."""
    if before == after:
        return ""
    return after[len(before) :].strip() if after.startswith(before + "\n") else after


def plain(text: str) -> str:
    """Text that can do nothing to a terminal: control and direction characters are shown as `·`."""
    return "".join(
        "·" if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t\u200d" else c for c in text
    )


def one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"

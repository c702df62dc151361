"""A message as the page's chat holds it, and what a text must be to get in. It reads and writes no file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from relay.errors import SurfaceError
from relay.ledger.canonical import clean_text
from relay.surfaces.surface import Choice, EditEvent, HungFile, MessageEvent, Person, SeenFile, SeenPost

MOST_TEXT_BYTES = 1_000_000
MOST_OWN_UNITS = 100_000
"""The longest post of the relay, in UTF-16 code units."""
MOST_TITLE = 100
MOST_NAME = 80
MOST_EMOJI = 32

COLUMNS = (
    "number, place, ours, person, name, bot, owner, text, reply_to, mentions_us, ping, files, card, choices, "
    "card_open, chosen, sent_at, edited_at"
)
_MESSAGE_ID = re.compile(r"m([1-9][0-9]{0,17})\Z")
# One emoji as UTS #51 makes them (ED-17): a flag, a keycap, or pictures joined by U+200D, each with its variation, skin
# and tags. The pictures are the blocks that hold Extended_Pictographic, so newer ones than this Python knows count too.
_PICTURE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
    "[\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?(?:[\U000e0020-\U000e007e]{1,12}\U000e007f)?"
)
_EMOJI = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_PICTURE}(?:\u200d{_PICTURE}){{0,9}}"
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class NotThere(SurfaceError):
    """The room, thread, message or card doesn't exist, or not any more."""


class TooBig(SurfaceError):
    """A text over the limit."""


@dataclass(frozen=True, slots=True)
class DeleteEvent:
    """A person has taken a message of theirs away."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Reaction:
    """One emoji under a message: who has set it, in the order they did."""

    emoji: str
    people: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """A message with everything that hangs on it. `ours` means that the relay posted it."""

    number: int
    place: str
    ours: bool
    person: Person
    text: str
    reply_to: str | None
    mentions_us: bool
    ping: tuple[str, ...]
    files: tuple[SeenFile, ...]
    card: str
    choices: tuple[Choice, ...]
    card_open: bool
    chosen: Mapping[str, str]
    """The last click on the card: `value`, `label`, `name`; empty before."""
    sent_at: int
    edited_at: int | None

    @property
    def id(self) -> str:
        return message_id(self.number)

    @classmethod
    def of(cls, row: Sequence[Any]) -> SeenMessage:
        """A row of `COLUMNS`."""
        reply = None if row[8] is None else message_id(row[8])
        return cls(
            number=row[0],
            place=row[1],
            ours=bool(row[2]),
            person=Person(row[3], row[4], bot=bool(row[5]), owner=bool(row[6])),
            text=row[7],
            reply_to=reply,
            mentions_us=bool(row[9]),
            ping=tuple(orjson.loads(row[10])),
            files=tuple(SeenFile(**file) for file in orjson.loads(row[11])),
            card=row[12],
            choices=tuple(Choice(**choice) for choice in orjson.loads(row[13])),
            card_open=bool(row[14]),
            chosen=orjson.loads(row[15]),
            sent_at=row[16],
            edited_at=row[17],
        )

    def event(self) -> MessageEvent:
        return MessageEvent(
            place=self.place,
            message=self.id,
            position=self.number,
            person=self.person,
            text=self.text,
            sent_at=self.sent_at,
            reply_to=self.reply_to,
            mentions_us=self.mentions_us,
            files=tuple(HungFile(file.digest, file.name, file.size) for file in self.files),
            ours=self.ours,
        )

    def edit(self) -> EditEvent:
        return EditEvent(self.place, self.id, self.text, self.edited_at)

    def post(self) -> SeenPost:
        return SeenPost(self.id, self.text, self.reply_to, self.sent_at)

    def told(self, reactions: Iterable[Reaction] = ()) -> dict[str, Any]:
        """What the page is given."""
        return {
            "id": self.id,
            "position": self.number,
            "place": self.place,
            "ours": self.ours,
            "person": asdict(self.person),
            "text": self.text,
            "reply_to": self.reply_to,
            "ping": list(self.ping),
            "files": [asdict(file) for file in self.files],
            "card": self.card,
            "choices": [asdict(choice) for choice in self.choices],
            "card_open": self.card_open,
            "chosen": self.chosen,
            "sent_at": self.sent_at,
            "edited_at": self.edited_at,
            "reactions": [asdict(reaction) for reaction in reactions],
        }


def message_id(number: int) -> str:
    return f"m{number}"


def message_number(id: str) -> int:
    """The number behind an id; 0, which no message has, for what isn't an id."""
    found = _MESSAGE_ID.match(id)
    return int(found[1]) if found else 0


def checked_text(text: str, *, bare: bool = True) -> str:
    """A person's text, cleaned. `bare` says that nothing else is in the message, so it can't be empty. Raises `TooBig`
    over 1 MB of UTF-8, `SurfaceError` when nothing is left."""
    text = clean_text(text)
    size = len(text.encode())
    if size > MOST_TEXT_BYTES:
        raise TooBig(
            f"this message has {size:,} bytes; the page takes {MOST_TEXT_BYTES:,}.",
            "Put the text into a file in the workspace and name the file in your message.",
        )
    if bare and not text.strip():
        raise SurfaceError("there is no text in this message.", "Write something and send it again.")
    return text


def checked_post(text: str, *, bare: bool) -> str:
    """A text of the relay, cleaned. `bare` says that nothing else is in the post, so it can't be empty."""
    text = clean_text(text)
    units = len(text.encode("utf-16-le")) // 2
    if units > MOST_OWN_UNITS:
        raise TooBig(
            f"this post has {units:,} characters; the page takes {MOST_OWN_UNITS:,}.", "Cut it in two."
        )
    if bare and not text.strip():
        raise SurfaceError("there is nothing in this post.")
    return text


def one_line(text: str, most: int) -> str:
    """A name or title: one line without control or direction characters, cut at `most` with a mark."""
    plain = "".join(
        c
        for c in clean_text(text)
        if c not in _BIDI and (c.isspace() or unicodedata.category(c) not in ("Cc", "Cs"))
    )
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else plain[: most - 1].rstrip() + "…"


def checked_person(person: Person) -> Person:
    name = one_line(person.name, MOST_NAME) or "somebody"
    return Person(one_line(person.id, MOST_NAME) or "somebody", name, bot=person.bot, owner=person.owner)


def checked_emoji(emoji: str) -> str:
    """One emoji. Raises `SurfaceError` for anything else."""
    emoji = clean_text(emoji).strip()
    if len(emoji) > MOST_EMOJI or _EMOJI.fullmatch(emoji) is None:
        raise SurfaceError("that is not an emoji to react with.", "Use one emoji, such as ✅.")
    return emoji


def mentions(text: str, names: Iterable[str]) -> bool:
    """Whether the text calls one of the names: `@name`, whole, in any case."""
    text = text.casefold()
    for name in names:
        called = "@" + name.casefold()
        start = text.find(called)
        while start >= 0:
            end = start + len(called)
            free_before = start == 0 or not text[start - 1].isalnum()
            free_after = end == len(text) or not (text[end].isalnum() or text[end] in "_-")
            if free_before and free_after:
                return True
            start = text.find(called, end)
    return False

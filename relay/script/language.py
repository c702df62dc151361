"""Reads a script: one line, one step. Pure: it opens nothing and starts nothing.

Every line is read before any is played, and all mistakes are told together, each with its line and the right form.
`docs/scripts.md` is the same for people.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, cast

from relay.errors import RelayError
from relay.script.steps import (
    LAST,
    Act,
    Change,
    Choose,
    Count,
    File,
    Mistake,
    OpenThread,
    Process,
    React,
    Say,
    Script,
    ScriptMistakes,
    Seen,
    SeenReaction,
    Settle,
    Step,
    Unseen,
    Wait,
    Working,
)
from relay.script.words import Word, Wrong, quoted, seconds, words
from relay.surfaces.web.seen import checked_emoji, checked_text

LARGEST = 1_000_000
MOST_LINES = 10_000
PATIENCE_S = 10.0
STEADY_S = 1.0
LIMIT_S = 300.0
OWNER = "you"
AGENT = "scout"

FORMS: Mapping[str, str] = {
    "in": "in main",
    "thread": 'thread "Fix the build" as fix',
    "human": "human ada",
    "guest": "guest mallory",
    "room": "room side",
    "config": "config access.json",
    "limit": "limit 60s",
    "react": 'react 🛑 to last, or: react ✅ to "some of its text" as ada',
    "choose": 'choose allow on "some of its text" as ada because "why"',
    "write": "write notes.md the text, or the text in indented lines below",
    "edit": 'edit "some of its text" to "the new text"',
    "append": "append notes.md the text, or the text in indented lines below",
    "delete": 'delete notes.md, or a message: delete "some of its text"',
    "rename": "rename old.md new.md",
    "see": 'see "some text" from scout within 5s, or: see 👀 on last',
    "not": 'not "some text" for 2s',
    "count": 'count "some text" 1',
    "working": 'working "slow" within 5s',
    "settle": "settle within 20s",
    "wait": "wait 2s",
    "kill": "kill",
    "stop": "stop",
    "restart": "restart",
}
_NAME = re.compile(r"[^\W_][\w.-]{0,63}\Z")
_SPEAKER = re.compile(r'([^\s:"“”„]+)(?=\s*:|\s+to\s+(?:last\s*:|["“”„]))')
_THREAD = re.compile(r"([^\s/:]{1,64})/t([1-9][0-9]{0,8})\Z")
_BLOCK = ("write", "append")


@dataclass(slots=True)
class _Line:
    number: int
    text: str
    block: list[str] = field(default_factory=list[str])
    """The indented lines below it."""

    @property
    def more(self) -> str | None:
        while self.block and not self.block[-1].strip():
            self.block.pop()
        return textwrap.dedent("\n".join(self.block)) if self.block else None


def read(source: str, name: str = "script") -> Script:
    """The script. Raises `ScriptMistakes` with everything that is wrong."""
    reader = _Reader()
    lines = source.splitlines()
    if len(source) > LARGEST or len(lines) > MOST_LINES:
        reader.wrong(1, f"a script has at most {MOST_LINES:,} lines and {LARGEST:,} characters")
    else:
        for line in _joined(lines, reader):
            reader.take(line)
        if not reader.mistakes and not reader.steps:
            reader.wrong(max(len(lines), 1), "nothing happens in this script; begin with: you: hello")
    if reader.mistakes:
        raise ScriptMistakes(name, sorted(reader.mistakes, key=lambda mistake: mistake.line))
    return reader.script()


def _joined(lines: list[str], reader: _Reader) -> list[_Line]:
    """Each line with the indented ones that belong to it; comments and empty lines are gone."""
    found: list[_Line] = []
    open_line: _Line | None = None
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            if open_line is not None:
                open_line.block.append("")
        elif raw[0].isspace():
            if open_line is None:
                reader.wrong(number, "this line is indented, but there is none above that it could belong to")
            else:
                open_line.block.append(raw.rstrip())
        elif raw.startswith("#"):
            open_line = None
        else:
            open_line = _Line(number, raw.rstrip())
            found.append(open_line)
    return found


class _Reader:
    """What was read so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.mistakes: list[Mistake] = []
        self.humans: list[str] = []
        self.guests: list[str] = []
        self.rooms = ["main"]
        self.aliases: list[str] = []
        self.config: str | None = None
        self.limit: float | None = None
        self.place = "main"
        self.down_since: int | None = None

    def wrong(self, line: int, problem: str) -> None:
        self.mistakes.append(Mistake(line, problem))

    def script(self) -> Script:
        return Script(
            tuple(self.steps),
            tuple(self.humans),
            tuple(self.guests),
            tuple(self.rooms),
            tuple(self.aliases),
            self.config,
            LIMIT_S if self.limit is None else self.limit,
        )

    def take(self, line: _Line) -> None:
        word = line.text.split(maxsplit=1)[0]
        speaker = _SPEAKER.match(line.text)
        try:
            if word in FORMS:
                act = self._directive(word, line)
            elif speaker:
                act = self._speech(speaker[1], line.text[speaker.end() :], line)
            else:
                raise Wrong(f"{word[:40]!r} is nothing a script knows; to say something, write: you: hello")
        except Wrong as error:
            form = FORMS.get(word)
            self.wrong(line.number, f"{error}. The right form: {form}" if form else str(error))
            return
        if act is not None:
            self.steps.append(Step(line.number, line.text, self.place, act))

    # -- somebody says something --------------------------------------------------------------------------------------

    def _speech(self, name: str, rest: str, line: _Line) -> Act:
        person = self._person(name)
        rest, to = rest.strip(), None
        if not rest.startswith(":"):
            rest = rest.removeprefix("to").strip()
            if rest.startswith("last"):
                to, rest = LAST, rest[4:].strip()
            else:
                to, end = quoted(rest, 0)
                rest = rest[end:].strip()
                if not to.strip():
                    raise Wrong(f'name the message by some of its text: {name} to "its text": hello')
            if not rest.startswith(":"):
                raise Wrong(f'a colon is missing before what is said: {name} to "its text": hello')
        said = [rest[1:].strip(), line.more]
        return Say(person, _text("\n".join(part for part in said if part), f"{name}: hello"), to)

    def _person(self, name: str) -> str:
        if name in (OWNER, *self.humans, *self.guests):
            return name
        if name == AGENT:
            raise Wrong(f"{name} is the agent, and speaks for itself")
        if not _NAME.match(name):
            raise Wrong(f"{name[:40]!r} can't be a name; a name is letters, digits, dots and dashes")
        if self.config is not None:  # its people are known only when it is read
            return name
        raise Wrong(f"nobody knows {name[:64]} yet; write this line above: human {name[:64]}")

    # -- the other lines ----------------------------------------------------------------------------------------------

    def _directive(self, word: str, line: _Line) -> Act | None:
        if line.more is not None and word not in _BLOCK:
            raise Wrong(f"`{word}` takes no indented lines")
        if word in _BLOCK:
            return self._file_text(word, line)
        given = _Given(words(line.text)[1:])
        act = self._read(word, given, line.number)
        given.done()
        return act

    def _read(self, word: str, given: _Given, number: int) -> Act | None:
        match word:
            case "in" | "thread" | "human" | "guest" | "room" | "config" | "limit":
                return self._setting(word, given)
            case "react":
                emoji = _emoji(given.plain("an emoji"))
                given.word("to")
                target = given.target()
                return React(emoji, target, self._as(given.options("as")))
            case "choose":
                value = given.plain("what is chosen")
                given.word("on")
                target = given.target()
                options = given.options("as", "because")
                return Choose(value, target, self._as(options), options.get("because", ""))
            case "edit":
                target = given.target()
                given.word("to")
                return Change(target, _text(given.quote(), FORMS["edit"]))
            case "delete":
                if given.is_target():
                    return Change(given.target(), None)
                return File("delete", _path(given.any("a path")), "")
            case "rename":
                return File("rename", _path(given.any("a path")), _path(given.any("a new path")))
            case "see":
                return _see(given)
            case "not":
                text, options = given.quote(), given.options("from", "for")
                return Unseen(text, options.get("from"), _length(options, "for", STEADY_S))
            case "count":
                return _count(given)
            case "working":
                self._is_up(word)
                text = given.quote() if given.has_quote() else ""
                return Working(text, _length(given.options("within"), "within", PATIENCE_S))
            case "settle":
                self._is_up(word)
                return Settle(_length(given.options("within"), "within", PATIENCE_S))
            case "wait":
                return Wait(seconds(given.plain("a length of time")))
            case _:
                return self._process(cast(Literal["kill", "stop", "restart"], word), number)

    def _setting(self, word: str, given: _Given) -> Act | None:
        match word:
            case "in":
                self.place = self._known_place(given.plain("a room or thread"))
            case "thread":
                title = given.quote()
                given.word("as")
                alias = self._new_name(given.plain("a short name for it"))
                self.aliases.append(alias)
                return OpenThread(title, alias)
            case "human" | "guest":
                name = self._new_name(given.plain("a name"))
                (self.humans if word == "human" else self.guests).append(name)
            case "room":
                room = self._new_name(given.plain("a name"))
                if not room.isascii():
                    raise Wrong(
                        f"a room's name has only letters from a to z, digits, dots and dashes, not {room!r}"
                    )
                self.rooms.append(room)
            case "config":
                if self.config is not None:
                    raise Wrong("there is a `config` line above")
                self.config = given.any("a file")
            case _:
                if self.limit is not None:
                    raise Wrong("there is a `limit` line above")
                self.limit = seconds(given.plain("a length of time"))
        return None

    def _new_name(self, name: str) -> str:
        if not _NAME.match(name) or name in FORMS or name in ("last", AGENT, "relay", "owner", OWNER):
            raise Wrong(
                f"{name[:40]!r} can't be a name here: it is taken, or not letters, digits, dots and dashes"
            )
        if name in (*self.humans, *self.guests, *self.rooms, *self.aliases):
            raise Wrong(f"{name} is named above already")
        return name

    def _known_place(self, place: str) -> str:
        found = _THREAD.match(place)
        room = found[1] if found else place
        # With a config the rooms are known only when it is read.
        if place in self.aliases or room in self.rooms or (self.config is not None and "/" not in room):
            return place
        known = ", ".join((*self.rooms, *self.aliases))
        raise Wrong(f"there is no room or thread {place[:64]!r} yet (there are: {known})")

    def _as(self, options: Mapping[str, str]) -> str:
        return self._person(options.get("as", OWNER))

    def _is_up(self, word: str) -> None:
        if self.down_since is not None:
            raise Wrong(
                f"`{word}` needs the relay, which line {self.down_since} ended; write this above: restart"
            )

    def _process(self, act: Literal["kill", "stop", "restart"], number: int) -> Act:
        if act != "restart":
            self._is_up(act)
        self.down_since = None if act == "restart" else number
        return Process(act)

    def _file_text(self, word: Literal["write", "append"], line: _Line) -> Act:
        rest = line.text[len(word) :].strip()
        if not rest:
            raise Wrong("the path is missing")
        if rest[0] in '"“”„':
            path, end = quoted(rest, 0)
            text = rest[end:].strip()
        else:
            path, _, text = rest.partition(" ")
        parts = [part for part in (text.strip(), line.more) if part]
        return File(word, _path(path), "\n".join(parts) + "\n" if parts else "")


class _Given:
    """The words behind a directive, taken one by one."""

    def __init__(self, given: list[Word]) -> None:
        self._given = given

    def any(self, what: str) -> str:
        if not self._given:
            raise Wrong(f"{what} is missing")
        return self._given.pop(0).text

    def plain(self, what: str) -> str:
        if self._given and self._given[0].quoted:
            raise Wrong(f"{what} stands here without quotes")
        return self.any(what)

    def word(self, word: str) -> None:
        if not self._given or self._given[0] != Word(word):
            raise Wrong(f"the word `{word}` is missing")
        self._given.pop(0)

    def has_quote(self) -> bool:
        return bool(self._given) and self._given[0].quoted

    def quote(self) -> str:
        if not self.has_quote():
            raise Wrong('a text in quotes is missing, such as "hello"')
        text = self.any("a text")
        if not text.strip():
            raise Wrong("the text in quotes is empty")
        return text

    def is_target(self) -> bool:
        """Whether a message is named here: by a text in quotes, or as the last one."""
        return self.has_quote() or (bool(self._given) and self._given[0] == Word("last"))

    def target(self) -> str:
        if self._given and self._given[0] == Word("last"):
            self._given.pop(0)
            return LAST
        return self.quote()

    def options(self, *allowed: str) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._given and not self._given[0].quoted and self._given[0].text in allowed:
            name = self._given.pop(0).text
            if name in found:
                raise Wrong(f"`{name}` stands there twice")
            found[name] = self.any(f"what belongs to `{name}`")
        return found

    def done(self) -> None:
        if self._given:
            raise Wrong(f"{self._given[0].text[:40]!r} doesn't belong there")


def _see(given: _Given) -> Act:
    if given.has_quote():
        text, options = given.quote(), given.options("from", "within")
        return Seen(text, options.get("from"), _length(options, "within", PATIENCE_S))
    emoji = _emoji(given.plain("a text in quotes, or an emoji,"))
    given.word("on")
    target = given.target()
    return SeenReaction(emoji, target, _length(given.options("within"), "within", PATIENCE_S))


def _count(given: _Given) -> Act:
    text, number = given.quote(), given.plain("a number")
    if not (number.isascii() and number.isdigit() and len(number) <= 4):
        raise Wrong(f"{number[:40]!r} is no number of messages")
    options = given.options("from", "for", "within")
    steady, patience = _length(options, "for", STEADY_S), _length(options, "within", PATIENCE_S)
    return Count(text, int(number), options.get("from"), steady, patience)


def _length(options: Mapping[str, str], name: str, default: float) -> float:
    return seconds(options[name]) if name in options else default


def _emoji(text: str) -> str:
    try:
        emoji = checked_emoji(text)
    except RelayError:
        emoji = ""
    if not emoji or emoji.isalnum():
        raise Wrong(f"{text[:40]!r} is no emoji")
    return emoji


def _text(text: str, form: str) -> str:
    try:
        return checked_text(text)
    except RelayError as error:
        raise Wrong(f"{error} The right form: {form}") from None


def _path(path: str) -> str:
    pure = PurePosixPath(path)
    if (
        not path
        or "\0" in path
        or pure.is_absolute()
        or ".." in pure.parts
        or not pure.name
        or len(path) > 1000
    ):
        raise Wrong(
            f"{path[:60]!r} can't be a file of the workspace; write a path such as notes.md or docs/a.md"
        )
    return path

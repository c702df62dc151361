"""What people do in a simulated hour: they write, steer, stop, retry, decide cards, arm and disarm watches, edit files.

Every message that is to be answered holds a word of its own (`q17`), by which its answer is found again. Watches are
armed from few texts, so that the same text is armed and fires again and again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from simulation.model_chat import Message, ModelChat

from relay.surfaces.surface import Person

OWNER = Person("olga", "Olga", owner=True)
ANN = Person("ann", "Ann")
ROOMS = ("red", "blue")
WATCHES = (
    '!watch tea --in 30s "tea is ready"',
    '!watch pot --in 40s "the pot is hot" --notify',
    '!watch cake --at 2027-01-01T00:00 "cake"',
    "!watch log --file log.md",
    "!watch brief --file log.md --once --notify",
)
UNWATCHES = ("!unwatch tea", "!unwatch pot", "!unwatch cake", "!unwatch log", "!unwatch brief")
FILLER = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore "


@dataclass(slots=True)
class People:
    """See the module."""

    rng: random.Random
    chat: ModelChat
    workspaces: Path
    said: int = 0
    edits: int = 0
    threads: int = 0
    decisions: dict[str, tuple[float, str, Person]] = field(
        default_factory=dict[str, tuple[float, str, Person]]
    )
    """card message → when somebody answers it next, how, and who."""

    def open_rooms(self) -> None:
        for room in ROOMS:
            self.chat.open_place(room, room, thread=False)

    def do_something(self) -> None:
        deeds: list[tuple[int, Callable[[], None]]] = [
            (30, self._write),
            (8, self._burst),
            (7, self._arm),
            (5, self._rearm),
            (3, self._disarm),
            (6, self._edit),
            (3, self._command),
            (4, self._react),
            (2, self._thread),
        ]
        self.rng.choices([deed for _, deed in deeds], [weight for weight, _ in deeds])[0]()

    def write(self, text: str, place: str | None = None, person: Person | None = None) -> Message:
        place = place or self.rng.choice(list(self.chat.places))
        person = person or self.rng.choice((OWNER, OWNER, ANN))
        return self.chat.say(place, person, text)

    def _word(self) -> str:
        self.said += 1
        return f"q{self.said}"

    def _write(self, place: str | None = None) -> None:
        rng, word = self.rng, self._word()
        texts = [
            (8, f"hello {word} there"),
            (6, f"say {word} fine"),
            (4, f"say {word} " + (FILLER * 20)[: rng.randrange(400, 1700)]),
            (7, f"slow {rng.choice((1, 3, 8, 20, 45))}\nsay {word} done"),
            (3, f"stream {word} " + "one two three four five six seven"),
            (6, f"ask deploy {rng.choice('abc')}\nsay {word} asked"),
            (4, f"tool append notes.md {rng.choice('abc')}\nsay {word} noted"),
            (2, f"tool append log.md {rng.choice('abc')}\nsay {word} logged"),
            (3, f'watch name=reminder in={rng.choice((10, 25))}s text="agent says so"\nsay {word} armed'),
            (2, f"watch name=notes file=notes.md\nsay {word} armed"),
            (1, f"unwatch notes\nsay {word} off"),
            (2, f"say {word} before\nfail the disk is on fire"),
            (1, f"say {word} before\ndie"),
            (1, "silent"),
        ]
        self.write(rng.choices([text for _, text in texts], [weight for weight, _ in texts])[0], place)

    def _burst(self) -> None:
        place = self.rng.choice(list(self.chat.places))
        for _ in range(self.rng.randrange(2, 6)):
            self._write(place)

    def _arm(self) -> None:
        self.write(self.rng.choice(WATCHES), person=self.rng.choice((OWNER, OWNER, OWNER, OWNER, ANN)))

    def _rearm(self) -> None:
        """The same text again after taking it off, as people do when it did not do what they meant."""
        place, number = self.rng.choice(list(self.chat.places)), self.rng.randrange(len(WATCHES))
        self.write(WATCHES[number], place, OWNER)
        self.write(UNWATCHES[number], place, OWNER)
        self.write(WATCHES[number], place, OWNER)

    def _disarm(self) -> None:
        self.write(self.rng.choice(UNWATCHES), person=OWNER)

    def _edit(self) -> None:
        self.edits += 1
        room, name = self.rng.choice(ROOMS), self.rng.choice(("log.md", "notes.md"))
        with (self.workspaces / room / name).open("a") as file:
            file.write(f"edit {self.edits}\n")

    def _command(self) -> None:
        busy = self.rng.choice(("steer", "queue", "interrupt"))
        self.write(self.rng.choice(("!stop", "!stop", "!retry", "!watches", "!status", f"!busy {busy}")))

    def _react(self) -> None:
        recent = list(self.chat.messages.values())[-12:]
        if recent:
            emoji = self.rng.choice(("🛑", "🔁", "👍"))
            self.chat.react(self.rng.choice((OWNER, ANN)), self.rng.choice(recent), emoji)

    def _thread(self) -> None:
        self.threads += 1
        room = self.rng.choice(ROOMS)
        place = f"{room}-t{self.threads}"
        self.chat.open_place(place, room, thread=True)
        self._write(place)

    def look_at_cards(self, now: float) -> None:
        """Answer the cards that somebody means to answer, again and again until it is seen."""
        rng = self.rng
        for card in self.chat.cards:
            if card.closed:
                continue
            if card.id not in self.decisions:
                how = rng.choice(("allow", "deny", "✅", "❌", "", "both"))
                who = OWNER if rng.random() < 0.85 else ANN
                self.decisions[card.id] = (now + rng.uniform(1, 50), how, who)
            at, how, who = self.decisions[card.id]
            if now < at or not how:
                continue
            self.decisions[card.id] = (now + 20, how, OWNER)
            if how == "both":
                self.chat.choose(who, card, "allow")
                self.chat.react(who, card, "❌")
            elif how in ("allow", "deny"):
                self.chat.choose(who, card, how)
            else:
                self.chat.react(who, card, how)

"""What must hold after the kills: by what people see in the chat, and by the ledger's own account of it."""

import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from relay.behaviours import discover
from relay.behaviours.posting.verbs import PostDead, PostRequested, PostSent
from relay.behaviours.turns.verbs import TurnEnded
from relay.behaviours.watches.verbs import WatchFired
from relay.clock import SystemClock
from relay.ledger.engine import Engine
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore
from relay.ledger.store import Checkpoint
from relay.script.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Expected:
    """What the relay must say exactly once in a place; nothing, for `text` empty."""

    place: str
    text: str
    attribution: str = ""


@dataclass(slots=True)
class Findings:
    """What is wrong, as sentences; and how much was looked at."""

    wrong: list[str] = field(default_factory=list[str])
    expected: int = 0
    interrupted: int = 0
    kills: Counter[str] = field(default_factory=Counter[str])


def counted(transcript: Transcript, expected: Expected) -> int:
    """How often the relay says it there, cards aside."""
    return sum(
        f"\n{known.text}".count(expected.text)
        for known in transcript.messages.values()
        if known.told["ours"] and not known.told["card"] and known.told["place"] == expected.place
    )


class Judge:
    """Writes into `findings` what is wrong. `said` are the messages that people posted."""

    def __init__(
        self,
        findings: Findings,
        transcript: Transcript,
        expected: list[Expected],
        said: dict[str, str],
        state: Path,
    ) -> None:
        self.findings = findings
        self._transcript = transcript
        self._expected = expected
        self._said = said
        self._state = state

    def wrong(self, what: str) -> None:
        self.findings.wrong.append(what)

    def chat(self) -> None:
        """What people see: every answer once, nothing left open."""
        self.findings.expected = len(self._expected)
        for expected in self._expected:
            if not expected.text:
                continue  # a turn that says nothing is judged by its end
            if (count := counted(self._transcript, expected)) != 1:
                self.wrong(f"seen {count} times in {expected.place}: {expected}")
            if expected.attribution and not any(
                expected.text in f"\n{known.text}" and expected.attribution in known.text
                for known in self._transcript.messages.values()
            ):
                self.wrong(f"without its attribution: {expected}")
        if len(set(self._said.values())) != len(self._said):
            self.wrong("a person's message stands twice in the chat")
        for id in self._said.values():
            known = self._transcript.messages[id]
            if not known.text.startswith("!") and ("👀", "relay") not in known.reactions:
                self.wrong(f"no 👀 on {known.text!r}")
        for known in self._transcript.messages.values():
            if known.told["card_open"]:
                self.wrong(f"a card is still open: {known.text!r}")

    async def ledger(self) -> None:
        """What the ledger says of itself, and of the posts in the chat. The relay must be down."""
        store = await SqliteStore.open(self._state / "ledger.db")
        try:
            everything = await read_all(store)
            self._records(everything)
            self._posts(everything)
            self._turns(everything)
            await self._refold(store)
        finally:
            await store.close()
        for name in ("ledger.db", "page.db"):
            connection = sqlite3.connect(self._state / name)
            (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            connection.close()
            if found != "ok":
                self.wrong(f"{name}: {found}")

    def _records(self, everything: list[Interaction]) -> None:
        for interaction in everything:
            if not interaction.verifies():
                self.wrong(f"{interaction} is not what its id says")
        keys = Counter(interaction.key for interaction in everything)
        self.findings.wrong += [f"the key {key} stands {n} times" for key, n in keys.items() if n > 1]

    def _posts(self, everything: list[Interaction]) -> None:
        """Each post of the ledger stands once in the chat, and nothing else of the relay's does."""
        owed = [i.id for i in everything if i.verb == PostRequested.VERB]
        sent = [i.read(PostSent) for i in everything if i.verb == PostSent.VERB]
        dead = [i.read(PostDead) for i in everything if i.verb == PostDead.VERB]
        if dead:
            self.wrong(f"posts are dead: {[d.why for d in dead]}")
        if Counter(s.post for s in sent) != Counter(owed):
            self.wrong("not every post that was owed stands exactly once")
        shown = Counter(id for id, known in self._transcript.messages.items() if known.told["ours"])
        if (bound := Counter(s.message for s in sent)) != shown:
            extra = [self._transcript.messages[id].text for id in (shown - bound)]
            self.wrong(
                f"posts in the chat that the ledger knows nothing of: {extra}; not there: {bound - shown}"
            )

    def _turns(self, everything: list[Interaction]) -> None:
        """Each message and each fire was worked on to the end by exactly one turn that nobody cut off."""
        ends = [i.read(TurnEnded) for i in everything if i.verb == TurnEnded.VERB]
        done = Counter(source for end in ends if end.status != "interrupted" for source in end.sources)
        asked = [
            i.id
            for i in everything
            if i.verb == WatchFired.VERB
            or (i.verb == "channel.message" and not i.body["text"].startswith("!"))
        ]
        for id in asked:
            if done[id] != 1:
                self.wrong(
                    f"{done[id]} whole turns for {next(i for i in everything if i.id == id).body['text']!r}"
                )
        for end in ends:
            for message in (o.message for o in end.origins if end.status == "completed" and not end.replies):
                if message and ("👌", "relay") not in self._transcript.messages[message].reactions:
                    self.wrong(f"nothing but 👀 on {self._transcript.messages[message].text!r}")
        said = Counter(i.body["message"] for i in everything if i.verb == "channel.message")
        for id in self._said.values():
            if said[id] != 1:
                self.wrong(f"{id} was taken in {said[id]} times")

    async def _refold(self, store: SqliteStore) -> None:
        furniture = tuple(behaviour.furniture for behaviour in discover())
        quick = Engine(store, furniture, SystemClock(), lambda: b"0" * 16)
        await quick.boot()
        if not (checkpoints := await store.checkpoints()):
            self.wrong("there is no checkpoint to compare with")
        if all(checkpoint.seq == store.head for checkpoint in checkpoints.values()):
            self.wrong("the checkpoints stand at the head, so nothing is compared")

        async def none() -> dict[str, Checkpoint]:
            return {}

        store.checkpoints = none
        whole = Engine(store, furniture, SystemClock(), lambda: b"0" * 16)
        await whole.boot()
        if quick.view.digest() != whole.view.digest():
            self.wrong("a refold from zero differs from the state that a checkpoint gives")
        if quick.trouble():
            self.wrong(f"something stands still: {quick.trouble()}")

    def processes(self) -> None:
        """No process of the relay is left."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:  # it ended in this moment
                continue
            if str(self._state).encode() in command:
                self.wrong(f"process {folder.name} is still there")


async def read_all(store: SqliteStore) -> list[Interaction]:
    found: list[Interaction] = []
    while page := await store.read(found[-1].seq if found else 0, 1000):
        found += page
    return found

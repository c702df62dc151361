"""After a redaction no byte of the text stands in any file of the state folder, and everything else goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.living import ADA, OWNER, Living, living

from relay import verify
from relay.behaviours import discover
from relay.behaviours.redaction.reconciler_plan import NotRedacted
from relay.behaviours.redaction.reconciler_taking import Asked, ask, is_open
from relay.ledger.blobs import Blobs
from relay.ledger.engine import Engine
from relay.ledger.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

MARK = "Zebra-7741-Quartz"


def state_files(folder: Path) -> list[Path]:
    kept = [folder / "state", *folder.glob("page.db*"), *folder.glob("ledger.db*")]
    return [file for path in kept for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]


def holding(folder: Path, mark: str) -> list[str]:
    """The files of the state folder in which the mark stands, whatever else does."""
    return [file.name for file in state_files(folder) if mark.encode() in file.read_bytes()]


@asynccontextmanager
async def house(folder: Path, **room: object) -> AsyncIterator[Living]:
    """A relay on SQLite, all of whose files lie in `folder`; its ledger is closed at the end."""
    store = await SqliteStore.open(folder / "ledger.db")
    try:
        async with living(folder, store=store, **room) as town:
            yield town
    finally:
        await store.close()


async def redact(town: Living, id: str) -> Asked:
    parts = town.relay.parts
    asked = await ask(parts, id, by="root at the terminal", actor="terminal:root", why="a slip")
    await town.until(lambda: not is_open(parts, asked.records), "the redaction")
    return asked


async def sound(town: Living) -> None:
    """The ledger verifies, and a refold from nothing gives what the live folds hold."""
    await town.quiet()
    found = await verify.look(town.store, Blobs(town.folder / "state" / "blobs"))
    assert found.wrong == []
    assert town.relay.parts.trouble() == {}
    assert isinstance(town.store, SqliteStore)
    live = town.relay.parts.engine.view
    await town.store.renew_checkpoints([])
    anew = Engine(town.store, tuple(b.furniture for b in discover()), town.clock, lambda: b"s" * 16)
    await anew.boot()
    assert anew.trouble() == {}
    assert anew.view.digest() == live.digest()


async def said_and_answered(town: Living) -> str:
    said = await town.say(f"hello {MARK} and all")
    await town.seen(MARK)
    return f"web:{said.message}"


async def a_long_one(town: Living) -> str:
    said = await town.say("x" * 20_000 + MARK)
    await town.until_logged("turn.ended")
    return f"web:{said.message}"


async def edited(town: Living) -> str:
    said = await town.say("say something harmless")
    await town.seen("harmless")
    await town.edit(said.message, f"say {MARK}")
    await town.until_logged("channel.edited")
    return f"web:{said.message}"


async def a_reply(town: Living) -> str:
    await town.say("tool write notes.md x")
    await town.seen("wrote notes.md")
    (town.work / "notes.md").write_text(f"{MARK}\n")
    await town.say("tool read notes.md")
    return f"web:{(await town.seen(MARK))['id']}"


async def a_failed_turn(town: Living) -> str:
    said = await town.say(f"fail {MARK}")
    await town.seen(MARK)
    return f"web:{said.message}"


async def an_asked_command(town: Living) -> str:
    said = await town.say(f"ask echo {MARK}")
    card = await town.card()
    await town.click(card, "allow", reason=f"fine, {MARK}")
    await town.seen("allowed: echo")
    return f"web:{said.message}"


async def a_steered_one(town: Living) -> str:
    await town.say("slow 20")
    await town.turn_runs()
    said = await town.say(f"say also {MARK}")
    await town.until_logged("turn.steered")
    await town.seen(MARK)
    return f"web:{said.message}"


async def one_replied_to(town: Living) -> str:
    said = await town.say(f"say {MARK}")
    await town.seen(MARK)
    await town.say("what do you think of it?", reply_to=said.message, by=ADA)
    await town.until_logged("turn.ended", 2)
    return f"web:{said.message}"


async def one_that_why_told_of(town: Living) -> str:
    said = await town.say(f"say {MARK}")
    await town.seen(MARK)
    await town.say(f"!why {said.message}")
    await town.seen("channel.message")
    return f"web:{said.message}"


async def a_reminder(town: Living) -> str:
    said = await town.say(f'!watch tea --in 10s "{MARK} is ready"')
    await town.seen("is ready")
    await town.say("!watches")
    await town.until_logged("turn.ended")
    await town.until_logged("watch.disarmed")
    return f"web:{said.message}"


async def a_fire(town: Living) -> str:
    notes = town.work / "notes.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text("one\n")
    await town.say("!watch notes --file notes.md --window 0")
    await town.watching("notes")
    notes.write_text(f"one\n{MARK}\n")
    await town.until_logged("watch.fired")
    await town.until_logged("turn.ended")
    notes.write_text("one\n")
    await town.until_logged("watch.fired", 2)
    await town.until_logged("turn.ended", 2)
    await town.say("!unwatch notes")
    await town.until_logged("watch.disarmed")
    await town.quiet()
    await redact(town, (await town.log("watch.fired"))[1].id)
    return (await town.log("watch.fired"))[0].id[:12]


STORIES: list[Callable[[Living], Awaitable[str]]] = [
    said_and_answered,
    a_long_one,
    edited,
    a_reply,
    a_failed_turn,
    an_asked_command,
    a_steered_one,
    one_replied_to,
    one_that_why_told_of,
    a_reminder,
    a_fire,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_no_file_holds_a_text_that_was_redacted(tmp_path: Path, story: Callable[[Living], Awaitable[str]]):
    async with house(tmp_path) as town:
        id = await story(town)
        await town.say("say and something else", by=ADA)
        await town.seen("and something else")
        await town.quiet()
        assert holding(tmp_path, MARK), "it stood somewhere before"
        asked = await redact(town, id)
        assert asked.records
        assert holding(tmp_path, MARK) == []
        assert holding(tmp_path, "and something else"), "what others said stays"
        await sound(town)
        again = await redact(town, id)
        assert again.records == (), "a second time changes nothing"
        await town.restart()
        await town.say("say it goes on", by=OWNER)
        await town.seen("it goes on")
        assert holding(tmp_path, MARK) == []
        await town.stop()
    assert holding(tmp_path, MARK) == []


async def test_an_id_that_is_unknown_or_may_mean_several_changes_nothing(tmp_path: Path):
    async with house(tmp_path) as town:
        for number in range(40):
            await town.say(f"!busy queue {number}")
        await town.quiet()
        head = town.relay.parts.engine.head
        ids = [i.id for i in await town.log()]
        shared = next(a[:4] for a in ids for b in ids if a != b and a[:4] == b[:4]) if False else ""
        for id in ("web:m999", "m999", "discord:17", "abcdef0123", "", "web:", "took:x", shared or "zz"):
            with pytest.raises(NotRedacted, match="Nothing was changed"):
                await redact(town, id)
        assert town.relay.parts.engine.head == head

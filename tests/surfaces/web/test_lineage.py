"""A page.db that is not the one the ledger was last used with gives out no number that the ledger knows."""

import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from page_serving import ROOMS, QuickClock

from relay.app import Options, run
from relay.parts import Parts
from relay.surfaces.surface import Choice, OutgoingPost, Person
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.lineage import STEP
from relay.surfaces.web.schema import MIGRATIONS
from relay.surfaces.web.seen import message_number

pytestmark = pytest.mark.anyio
OWNER = Person("owner", "you", owner=True)
GRACE = 60


class Home:
    """A state folder in which relays live one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.page = folder / "page.db"
        self.said: list[str] = []

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.said if "page.db" in line]

    @asynccontextmanager
    async def relay(self) -> AsyncIterator[LocalChat]:
        """Runs as `relay up` does, until cut off as a kill would."""
        chats: list[LocalChat] = []
        up = anyio.Event()

        def beside(chat: LocalChat, parts: Parts) -> Callable[[], object]:
            chats.append(chat)

            async def told() -> None:
                up.set()

            return told

        self.said.clear()
        options = Options(state=self.folder, page=False, say=self.said.append, env={"HOME": str(self.folder)})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, options, beside)
            with anyio.fail_after(GRACE):
                await up.wait()
            yield chats[0]
            tasks.cancel_scope.cancel()

    def forget(self, copy: Path | None = None) -> None:
        """The page's file is gone, or an older copy stands in its place."""
        for file in self.folder.glob("page.db*"):
            file.unlink()
        if copy is not None:
            for file in copy.iterdir():
                shutil.copy(file, self.folder / file.name)

    def copied(self, to: Path) -> Path:
        to.mkdir()
        for file in self.folder.glob("page.db*"):
            shutil.copy(file, to / file.name)
        return to


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


async def answered(chat: LocalChat, text: str, place: str = "main") -> int:
    """Say something, and wait for the answer to it; the message's number."""
    said = await chat.post_as(OWNER, place, text)
    for _ in range(GRACE * 50):
        for m in await chat.messages(place):
            if m["ours"] and m["reply_to"] == said.message and f"You said: {text}" in m["text"]:
                return said.position
        await anyio.sleep(0.02)
    raise TimeoutError(f"{text!r} was never answered")


async def test_after_a_deleted_page_the_next_messages_and_threads_are_answered(home: Home) -> None:
    async with home.relay() as chat:
        assert await answered(chat, "one") == 1
        thread = (await chat.open_thread_as(OWNER, "main", "")).place
        await answered(chat, "in a thread", thread)
    assert home.warnings == [], "a first start has nothing to say"
    home.forget()
    async with home.relay() as chat:
        (warning,) = home.warnings
        assert "nothing in the ledger is lost" in warning
        assert await answered(chat, "two") == 2 * STEP + 1
        other = await chat.open_thread_as(OWNER, "main", "")
        assert other.place != thread
        assert other.title == "thread 1"
        await answered(chat, "in another thread", other.place)
        before = await chat.newest(other.place)
    async with home.relay() as chat:
        assert home.warnings == [], "the person is told once"
        assert await answered(chat, "three") == before + 1


@pytest.mark.parametrize("boots", [0, 1, 2], ids=["in the same boot", "a boot ago", "two boots ago"])
async def test_after_an_older_copy_of_the_page_the_next_message_is_answered(
    home: Home, tmp_path: Path, boots: int
) -> None:
    async with home.relay() as chat:
        await answered(chat, "before the copy")
        copy = home.copied(tmp_path / "copy")
        await answered(chat, "after the copy")
    for _ in range(boots):
        async with home.relay() as chat:
            await answered(chat, "in a later boot")
    home.forget(copy)
    async with home.relay() as chat:
        assert len(home.warnings) == 1
        assert await answered(chat, "after all") == (boots + 2) * STEP + 1
        assert "before the copy" in [m["text"] for m in await chat.messages("main")]


def test_restarts_count_on_whether_stopped_or_killed(tmp_path: Path) -> None:
    numbers: list[int] = []
    for _ in range(3):
        command = [sys.executable, "-m", "relay", "up", "--state", str(tmp_path / "state"), "--port", "0"]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=tmp_path
        ) as process:
            assert process.stdout is not None
            said = b""
            while b"#token=" not in said or not said.endswith(b"\n"):
                assert select.select([process.stdout], [], [], GRACE)[0], said
                said += process.stdout.read1(4096)
            url = next(word for word in said.decode().split() if "#token=" in word)
            address, _, key = url.partition("#token=")
            headers = {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=address, headers=headers, trust_env=False) as client:
                answer = client.post("/api/post", json={"place": "main", "text": "silent"}, timeout=GRACE)
            numbers.append(answer.json()["position"])
            process.send_signal(signal.SIGTERM if len(numbers) == 2 else signal.SIGKILL)
        assert b"page.db" not in said
    # Whoever is stopped in the middle of a turn is told so, which takes a number too.
    assert numbers[0] < numbers[1] < numbers[2] < 10, "the numbers count on, without a leap"


async def nothing(message: str) -> bool:
    return False


async def test_a_start_that_is_cut_short_before_the_epoch_is_raised_changes_nothing(tmp_path: Path) -> None:
    chat = await LocalChat.open(tmp_path / "page.db", ROOMS, QuickClock())
    assert await chat.belongs_to(1, nothing)
    assert await chat.belongs_to(1, nothing)
    assert await chat.belongs_to(2, nothing)
    assert not await chat.belongs_to(4, nothing)
    assert (await chat.post_as(OWNER, "main", "x")).position == 4 * STEP + 1
    assert not await chat.belongs_to(2, nothing), "an older ledger"
    assert (await chat.post_as(OWNER, "main", "x")).position == 4 * STEP + 2, "numbers never go back"
    await chat.close()


async def test_a_page_from_before_epochs_were_kept_is_taken_if_it_holds_messages(tmp_path: Path) -> None:
    for name, held in (("empty", 0), ("used", 3)):
        path = tmp_path / name
        with sqlite3.connect(path) as raw:
            raw.executescript(f"PRAGMA journal_mode=WAL; {MIGRATIONS[0]} PRAGMA user_version = 1;")
            for _ in range(held):
                raw.execute(
                    "INSERT INTO message(place, ours, person, name, bot, owner, text, mentions_us, ping, files, card,"
                    " choices, card_open, chosen, sent_at) VALUES"
                    " ('main', 0, 'ada', 'Ada', 0, 0, 'x', 0, '[]', '[]', '', '[]', 0, '{}', 1)"
                )
        raw.close()
        chat = await LocalChat.open(path, ROOMS, QuickClock())
        assert await chat.belongs_to(7, nothing) is bool(held)
        assert (await chat.post_as(OWNER, "main", "x")).position == (4 if held else 7 * STEP + 1)
        await chat.close()


async def test_clicks_and_reactions_are_new_too_on_an_older_copy(tmp_path: Path) -> None:
    chat = await LocalChat.open(tmp_path / "page.db", ROOMS, QuickClock())
    assert await chat.belongs_to(1, nothing)
    card = OutgoingPost("may I?", card="k1", choices=(Choice("allow", "Allow"),))
    asked = await chat.post("main", card, "n")
    said = (await chat.post_as(OWNER, "main", "x")).message
    assert (await chat.react_as(OWNER, "main", said, "✅", add=True)).count == 1

    async def seen(message: str) -> bool:
        return message_number(message) == message_number(said) + 3

    assert not await chat.belongs_to(2, seen)
    counts = [(await chat.react_as(OWNER, "main", said, "✅", add=add)).count for add in (False, True)]
    assert counts == [2 * STEP + 1, 2 * STEP + 2]
    click = await chat.choose_as(OWNER, "main", asked, "k1", "allow")
    assert click.event == f"c{2 * STEP + 3}"
    await chat.close()

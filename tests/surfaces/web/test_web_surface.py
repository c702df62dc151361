"""What the page's surface promises to the relay behind it."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import orjson
import pytest
from page_serving import until

from relay.clock import SystemClock
from relay.errors import BadInteraction, StoreUnavailable
from relay.surfaces.surface import (
    Choice,
    ChoiceEvent,
    LiveView,
    MessageEvent,
    OutgoingPost,
    Person,
    Place,
    Surface,
    SurfaceEvents,
)
from relay.surfaces.web.chat import ChatRoom, LocalChat
from relay.surfaces.web.surface import WebSurface

pytestmark = pytest.mark.anyio
ROOMS = (ChatRoom("main", "main", "scout"), ChatRoom("side", "Side room"))


class Listener:
    """Takes what comes, and fails as often as it is told to."""

    def __init__(self) -> None:
        self.got: list[object] = []
        self.failures: list[Exception] = []
        self.places: list[Sequence[Place]] = []

    async def ready(self, places: Sequence[Place]) -> None:
        if self.failures:
            raise self.failures.pop()
        self.places.append(places)

    async def message(self, event: MessageEvent) -> None:
        if self.failures:
            raise self.failures.pop()
        await anyio.sleep(0.001)
        self.got.append(event)

    reaction = choice = message

    async def have(self, count: int) -> None:
        await until(lambda: len(self.got) >= count)


def fits(chat: LocalChat, clock: SystemClock, listener: Listener) -> tuple[Surface, SurfaceEvents]:
    return WebSurface(chat, clock), listener


async def test_what_people_do_comes_in_order_one_at_a_time(
    chat: LocalChat, clock: SystemClock, ada: Person
) -> None:
    surface, listener = fits(chat, clock, Listener())
    card = await chat.post("main", OutgoingPost("May I?", card="k", choices=(Choice("y", "Yes"),)), "n")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        said = [await chat.post_as(ada, "main", f"{n}") for n in range(120)]
        reacted = await chat.react_as(ada, "main", card, "✅", add=True)
        chosen = await chat.choose_as(ada, "main", card, "k", "y")
        await listener.have(122)
        tasks.cancel_scope.cancel()
    assert listener.got == [*said, reacted, chosen]
    assert [place.place for place in listener.places[0]] == ["main", "side"]


class Refuser(Listener):
    """Takes every click and says that it did not count."""

    async def choice(self, event: ChoiceEvent) -> str | None:
        self.got.append(event)
        return "Not yours."


async def test_what_a_click_is_answered_is_told_with_who_clicked(
    chat: LocalChat, clock: SystemClock, ada: Person
) -> None:
    surface, listener = fits(chat, clock, Refuser())
    card = await chat.post("main", OutgoingPost("May I?", card="k", choices=(Choice("y", "Yes"),)), "n")
    subscription = chat.announcements.subscribe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        await chat.choose_as(ada, "main", card, "k", "y")
        told: list[dict[str, object]] = []
        with anyio.fail_after(30):
            while not told:
                lines = map(orjson.loads, await subscription.batch())
                told = [line for line in lines if line["kind"] == "answered"]
        tasks.cancel_scope.cancel()
    wanted = {"kind": "answered", "place": "main", "message": card, "person": "ada", "text": "Not yours."}
    assert told == [wanted]


async def test_our_own_posts_and_reactions_dont_come_back(
    chat: LocalChat, clock: SystemClock, ada: Person
) -> None:
    surface, listener = fits(chat, clock, Listener())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        await surface.react("main", await surface.post("main", OutgoingPost("ours"), "n"), "👀", add=True)
        last = await chat.post_as(ada, "main", "theirs")
        await listener.have(1)
        tasks.cancel_scope.cancel()
    assert listener.got == [last]


async def test_nothing_is_dropped_while_the_ledger_cant_write(
    chat: LocalChat, clock: SystemClock, ada: Person
) -> None:
    surface, listener = fits(chat, clock, Listener())
    listener.failures = [StoreUnavailable("the disk is full.")] * 5
    page = chat.announcements.subscribe()
    said = [await chat.post_as(ada, "main", f"{n}") for n in range(3)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        await listener.have(3)
        tasks.cancel_scope.cancel()
    assert listener.got == said
    told = [orjson.loads(line) for line in await page.batch()]
    assert told[-1] == {"kind": "trouble", "text": ""}, "the trouble is taken back"


async def test_the_page_is_told_what_keeps_its_messages(chat: LocalChat, ada: Person) -> None:
    listener = Listener()
    listener.failures = [StoreUnavailable("the disk is full.", "Free some space.")]
    surface = WebSurface(chat, SystemClock())
    await chat.post_as(ada, "main", "x")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        await until(lambda: chat.announcements.trouble)
        assert "Free some space" in chat.announcements.trouble
        await listener.have(1)
        tasks.cancel_scope.cancel()
    assert chat.announcements.trouble == ""


async def test_a_message_the_relay_refuses_for_good_doesnt_hold_up_the_rest(
    chat: LocalChat, clock: SystemClock, ada: Person
) -> None:
    surface, listener = fits(chat, clock, Listener())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, listener)
        await until(lambda: listener.places)
        listener.failures = [BadInteraction("this can't be recorded")]
        page = chat.announcements.subscribe()
        await chat.post_as(ada, "main", "bad")
        good = await chat.post_as(ada, "main", "good")
        await listener.have(1)
        tasks.cancel_scope.cancel()
    assert listener.got == [good]
    kinds = [orjson.loads(line)["kind"] for line in await page.batch()]
    assert "refused" in kinds


async def test_what_a_crash_left_undelivered_comes_again_and_what_was_taken_doesnt(
    tmp_path: Path, clock: SystemClock, ada: Person
) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, clock)
    card = await chat.post("main", OutgoingPost("?", card="k", choices=(Choice("y", "Yes"),)), "n")
    said = await chat.post_as(ada, "main", "x")
    clicked = await chat.choose_as(ada, "main", card, "k", "y", "because")
    reacted = await chat.react_as(ada, "main", card, "✅", add=True)
    await chat.close()
    for expected in ([said, clicked, reacted], []):
        chat = await LocalChat.open(path, ROOMS, clock)
        listener = Listener()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(WebSurface(chat, clock).run, listener)
            await listener.have(len(expected))
            await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        assert listener.got == expected
        await chat.close()


async def test_of_a_live_view_only_the_newest_is_shown_and_a_long_one_by_its_end(
    chat: LocalChat, clock: SystemClock
) -> None:
    surface = WebSurface(chat, clock)
    page = chat.announcements.subscribe()
    for number in range(1000):
        await surface.show("main", LiveView("t", "x" * 30_000 + str(number), "writing", 0, 0))
    (line,) = [orjson.loads(line) for line in await page.batch()]
    assert line["view"]["text"].endswith("999")
    assert len(line["view"]["text"]) <= 20_001
    await surface.show("main", LiveView("t", "half \ud83d", "a\0b", 0, 0))
    assert chat.announcements.live()["main"]["doing"] == "ab"
    await surface.show("main", None)
    assert chat.announcements.live() == {}


async def test_the_port_is_kept(chat: LocalChat, clock: SystemClock, ada: Person) -> None:
    surface, _ = fits(chat, clock, Listener())
    assert surface.name == "web"
    assert surface.capabilities.limit == 100_000
    place = await surface.open_thread("main", "t", "n")
    assert place == "main/t1"
    assert await surface.place(place) == Place("main/t1", "main", thread=True, title="t")
    assert await surface.place("main/t2") is None
    said = await chat.post_as(ada, place, "hello")
    assert await surface.read_since(place, 0, 5) == [said]
    post = await surface.post(place, OutgoingPost("hi", said.message), "n")
    await surface.edit(place, post, "hi again")
    assert [seen.text for seen in await surface.own_since(place, 0)] == ["hi again"]
    assert await surface.newest(place) == said.position + 1

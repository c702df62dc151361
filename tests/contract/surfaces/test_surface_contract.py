"""What the relay relies on in any surface."""

from collections.abc import Sequence

import anyio
import pytest
from fakes.living import poll
from surface_opening import Opened

from relay.behaviours.commands import Command, Suggestion
from relay.errors import StoreUnavailable, SurfaceError
from relay.surfaces.surface import Choice, CommandEvent, EditEvent, MessageEvent, OutgoingPost, Place

pytestmark = pytest.mark.anyio


async def test_the_same_nonce_is_the_same_message_whatever_it_says_by_then(opened: Opened) -> None:
    surface = opened.surface
    first = await surface.post(opened.main, OutgoingPost("once"), "n1")
    assert await surface.post(opened.main, OutgoingPost("once"), "n1") == first
    assert await surface.post(opened.main, OutgoingPost("⏰ once"), "n1") == first
    assert await surface.post(opened.main, OutgoingPost("once"), "n2") != first
    assert [seen.text for seen in await surface.own_since(opened.main, 0)] == ["once", "once"]


async def test_the_same_nonce_at_the_same_time_is_the_same_message(opened: Opened) -> None:
    found: list[str] = []

    async def post() -> None:
        found.append(await opened.surface.post(opened.main, OutgoingPost("once"), "n1"))

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(post)
    assert len(set(found)) == 1
    assert len(await opened.surface.own_since(opened.main, 0)) == 1


async def test_posts_stand_in_the_order_in_which_they_were_made(opened: Opened) -> None:
    surface = opened.surface
    ids = [await surface.post(opened.main, OutgoingPost(f"{n}"), f"n{n}") for n in range(20)]
    seen = await surface.own_since(opened.main, 0)
    assert [s.message for s in seen] == ids
    assert [s.text for s in seen] == [f"{n}" for n in range(20)]
    assert await surface.own_since(opened.side, 0) == []


async def test_own_since_tells_ours_alone_from_a_time_on_with_what_they_reply_to(opened: Opened) -> None:
    surface = opened.surface
    said = await opened.speak(opened.main, "hello")
    await surface.post(opened.main, OutgoingPost("hi", reply_to=said.message), "n1")
    (seen,) = await surface.own_since(opened.main, 0)
    assert (seen.text, seen.reply_to) == ("hi", said.message)
    assert await surface.own_since(opened.main, seen.sent_at + 1) == []


async def test_an_edit_changes_the_text_and_closes_a_card(opened: Opened) -> None:
    surface = opened.surface
    card = OutgoingPost("May I?", card="a" * 64, choices=(Choice("allow", "Allow"),))
    message = await surface.post(opened.main, card, "n1")
    await surface.edit(opened.main, message, "May I?\nNo.", close_card=True)
    await surface.edit(opened.main, message, "May I?\nNo.", close_card=True)
    assert [s.text for s in await surface.own_since(opened.main, 0)] == ["May I?\nNo."]


async def test_a_reaction_is_set_and_taken_back_however_often_it_is_asked(opened: Opened) -> None:
    said = await opened.speak(opened.main, "hello")
    for add, expected in ((True, ["👀"]), (True, ["👀"]), (False, []), (False, []), (True, ["👀"])):
        await opened.surface.react(opened.main, said.message, "👀", add=add)
        assert await opened.reactions(opened.main, said.message) == expected


async def test_people_s_messages_are_read_since_a_position_page_by_page_in_order(opened: Opened) -> None:
    said = [await opened.speak(opened.main, f"{n}") for n in range(7)]
    await opened.surface.post(opened.main, OutgoingPost("ours"), "n1")
    await opened.speak(opened.side, "elsewhere")
    read: list[MessageEvent] = []
    position = 0
    while page := await opened.surface.read_since(opened.main, position, 3):
        assert len(page) <= 3
        read += page
        position = max(event.position for event in page)
    assert read == said
    assert [e.position for e in said] == sorted({e.position for e in said})


async def test_the_newest_position_is_that_of_the_last_message_of_the_place(opened: Opened) -> None:
    assert await opened.surface.newest(opened.main) == 0
    said = await opened.speak(opened.main, "hello")
    assert await opened.surface.newest(opened.main) == said.position
    assert await opened.surface.newest(opened.side) == 0
    assert await opened.surface.read_since(opened.main, await opened.surface.newest(opened.main), 5) == []


async def test_what_was_said_above_a_position_is_told_with_ours_the_newest_of_it_oldest_first(
    opened: Opened,
) -> None:
    said = [await opened.speak(opened.main, f"{n}") for n in range(4)]
    await opened.surface.post(opened.main, OutgoingPost("ours"), "n1")
    last = await opened.speak(opened.main, "last")
    await opened.speak(opened.side, "elsewhere")
    above = await opened.surface.above(opened.main, last.position, 3)
    assert [(e.text, e.ours) for e in above] == [("2", False), ("3", False), ("ours", True)]
    assert above[0] == said[2]
    assert await opened.surface.above(opened.main, said[0].position, 3) == []


async def test_an_edited_message_reads_as_edited_wherever_it_is_read(opened: Opened) -> None:
    said = await opened.speak(opened.main, "helo")
    await opened.rewrite(opened.main, said.message, "hello")
    (read,) = await opened.surface.read_since(opened.main, 0, 5)
    looked = await opened.surface.look(opened.main, said.message)
    assert looked == read
    assert (read.text, read.message, read.position) == ("hello", said.message, said.position)


async def test_a_deleted_message_is_read_nowhere_and_an_answer_to_it_still_stands(opened: Opened) -> None:
    said = await opened.speak(opened.main, "hello")
    last = await opened.speak(opened.main, "more")
    await opened.erase(opened.main, said.message)
    assert await opened.surface.look(opened.main, said.message) is None
    assert [e.text for e in await opened.surface.read_since(opened.main, 0, 5)] == ["more"]
    assert [e.text for e in await opened.surface.above(opened.main, last.position + 1, 5)] == ["more"]
    await opened.surface.post(opened.main, OutgoingPost("hi", reply_to=said.message), "n1")
    (seen,) = await opened.surface.own_since(opened.main, 0)
    assert seen.text == "hi"


async def test_a_message_of_ours_is_looked_at_like_any_other(opened: Opened) -> None:
    message = await opened.surface.post(opened.main, OutgoingPost("hi"), "n1")
    looked = await opened.surface.look(opened.main, message)
    assert looked is not None
    assert (looked.text, looked.ours, looked.person.bot) == ("hi", True, True)


async def test_a_place_is_known_or_is_none(opened: Opened) -> None:
    found = await opened.surface.place(opened.main)
    assert found is not None
    assert (found.place, found.room, found.thread) == (opened.main, opened.main, False)
    assert await opened.surface.place("nowhere") is None


async def test_a_thread_is_opened_once_for_its_nonce(opened: Opened) -> None:
    surface = opened.surface
    place = await surface.open_thread(opened.main, "a task", "n1")
    assert await surface.open_thread(opened.main, "a task", "n1") == place
    assert await surface.open_thread(opened.main, "a task", "n2") != place
    found = await surface.place(place)
    assert found is not None
    assert (found.room, found.thread, found.title) == (opened.main, True, "a task")
    await surface.post(place, OutgoingPost("in it"), "n3")
    assert [s.text for s in await surface.own_since(place, 0)] == ["in it"]


async def test_a_message_of_ours_is_pinned_where_the_surface_pins(opened: Opened) -> None:
    surface = opened.surface
    if not surface.capabilities.pins:
        return
    message = await surface.post(opened.main, OutgoingPost("what goes on"), "n1")
    await surface.pin(opened.main, message)
    await surface.pin(opened.main, message)
    await surface.edit(opened.main, message, "what goes on now")
    with pytest.raises(SurfaceError) as refused:
        await surface.pin(opened.main, opened.unknown)
    assert refused.value.kind == "permanent"


async def test_what_can_never_succeed_is_refused_as_permanent(opened: Opened) -> None:
    surface = opened.surface
    theirs = await opened.speak(opened.main, "theirs")
    attempts = [
        lambda: surface.post("nowhere", OutgoingPost("x"), "n1"),
        lambda: surface.post(opened.main, OutgoingPost(""), "n2"),
        lambda: surface.edit(opened.main, opened.unknown, "x"),
        lambda: surface.edit(opened.main, theirs.message, "x"),
        lambda: surface.react(opened.main, opened.unknown, "👀", add=True),
        lambda: surface.open_thread("nowhere", "x", "n3"),
        lambda: surface.read_since("nowhere", 0, 5),
        lambda: surface.newest("nowhere"),
        lambda: surface.above("nowhere", 5, 5),
        lambda: surface.look("nowhere", "m1"),
        lambda: surface.own_since("nowhere", 0),
    ]
    for attempt in attempts:
        with pytest.raises(SurfaceError) as refused:
            await attempt()
        assert refused.value.kind == "permanent"


class Listener:
    """Writes down what it is told; refuses as often as it is told to."""

    def __init__(self, refusals: int = 0) -> None:
        self.told: list[object] = []
        self.refusals = refusals

    def offered(self) -> Sequence[Command]:
        return ()

    def suggestions(self, *_: object) -> Sequence[Suggestion]:
        return ()

    def refuses(self, *_: object) -> str | None:
        return "no commands here"

    async def command(self, event: CommandEvent) -> str:
        self.told.append(event)
        return "used"

    async def ready(self, places: Sequence[Place]) -> None:
        self.told.append([place.place for place in places])

    async def message(self, event: MessageEvent) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreUnavailable("the disk is full.")
        self.told.append(event)

    reaction = choice = edited = message

    async def deleted(self, place: str, message: str) -> None:
        self.told.append((place, message))

    async def until(self, count: int) -> None:
        async def look() -> bool:
            return len(self.told) >= count

        async def missing() -> str:
            return f"only {self.told} came"

        await poll(look, missing)


async def test_a_listener_is_told_of_the_places_before_anything_else(opened: Opened) -> None:
    listener = Listener()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opened.surface.run, listener)
        await listener.until(1)
        tasks.cancel_scope.cancel()
    assert listener.told == [[opened.main, opened.side]]


async def test_a_listener_is_told_what_people_say_in_order(live: Opened) -> None:
    listener = Listener()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.surface.run, listener)
        await listener.until(1)
        said = [await live.speak(live.main, f"{n}") for n in range(20)]
        await listener.until(21)
        tasks.cancel_scope.cancel()
    assert listener.told == [[live.main, live.side], *said]


async def test_what_was_said_before_anybody_listened_is_brought_or_can_be_read(live: Opened) -> None:
    listener = Listener()
    before = await live.speak(live.main, "before")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.surface.run, listener)
        await listener.until(1)
        after = await live.speak(live.main, "after")

        async def look() -> bool:
            return after in listener.told

        async def missing() -> str:
            return f"only {listener.told} came"

        await poll(look, missing)
        tasks.cancel_scope.cancel()
    assert before in [*listener.told, *await live.surface.read_since(live.main, 0, 5)]


async def test_a_listener_is_told_of_edits_and_deletions(live: Opened) -> None:
    listener = Listener(refusals=1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.surface.run, listener)
        await listener.until(1)
        first, second = await live.speak(live.main, "helo"), await live.speak(live.main, "oops")
        await listener.until(3)
        await live.rewrite(live.main, first.message, "hello")
        await live.erase(live.main, second.message)
        await listener.until(5)
        tasks.cancel_scope.cancel()
    edited, deleted = listener.told[3:]
    assert isinstance(edited, EditEvent)
    assert (edited.place, edited.message, edited.text) == (live.main, first.message, "hello")
    assert deleted == (live.main, second.message)


async def test_what_could_not_be_recorded_is_brought_again(live: Opened) -> None:
    listener = Listener(refusals=2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.surface.run, listener)
        await listener.until(1)
        said = [await live.speak(live.main, f"{n}") for n in range(3)]
        await listener.until(4)
        tasks.cancel_scope.cancel()
    assert listener.told[1:] == said


async def test_a_file_on_a_person_s_message_is_told_of_and_fetched_within_a_bound(opened: Opened) -> None:
    if opened.attach is None:
        pytest.skip("nobody hangs files on messages here")
    surface = opened.surface
    message = await opened.attach(opened.main, "a.csv", b"a,b\n")
    (event,) = await surface.read_since(opened.main, 0, 10)
    (file,) = event.files
    assert (event.message, file.name, file.size) == (message, "a.csv", 4)
    seen = await surface.look(opened.main, message)
    assert seen is not None
    assert seen.files == event.files
    assert await surface.fetch(opened.main, message, file.id, 4) == b"a,b\n"
    with pytest.raises(SurfaceError) as refused:
        await surface.fetch(opened.main, message, file.id, 3)
    assert refused.value.kind == "permanent"
    assert await surface.fetch(opened.main, message, "1" * 18, 4) is None
    other = await opened.attach(opened.main, "b.csv", b"b")
    assert await surface.fetch(opened.main, other, file.id, 4) is None, "each message's files are its own"
    await opened.erase(opened.main, message)
    assert await surface.fetch(opened.main, message, file.id, 4) is None

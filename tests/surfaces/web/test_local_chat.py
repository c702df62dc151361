"""What the page's chat promises to whoever posts in it."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_serving import QuickClock

from relay.clock import SystemClock
from relay.errors import ConfigError, DamagedDatabase, NewerDatabase, StoreUnavailable, SurfaceError
from relay.surfaces.surface import Choice, OutgoingPost, Person, SeenFile
from relay.surfaces.web.announcements import MOST_LINES
from relay.surfaces.web.chat import MOST_REACTIONS, ChatRoom, LocalChat
from relay.surfaces.web.seen import NotThere, TooBig, checked_emoji, checked_text, mentions, one_line

pytestmark = pytest.mark.anyio
ROOMS = (ChatRoom("main", "main", "scout"), ChatRoom("side", "Side room"))
CARD = OutgoingPost("May I?", card="k1", choices=(Choice("allow", "Allow"), Choice("deny", "Deny")))


async def reopen(chat: LocalChat, path: Path, rooms: Sequence[ChatRoom] = ROOMS) -> LocalChat:
    await chat.close()
    return await LocalChat.open(path, rooms, SystemClock())


async def test_everything_said_is_there_after_reopening(tmp_path: Path, ada: Person) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    thread = await chat.open_thread_as(ada, "main", "a task")
    asked = await chat.post_as(ada, thread.place, "do it")
    file = SeenFile("a.txt", "0" * 64, 3)
    answer = await chat.post(thread.place, OutgoingPost("done", asked.message, ("ada",), (file,)), "n1")
    await chat.react_as(ada, thread.place, answer, "✅", add=True)
    before = await chat.messages(thread.place)
    chat = await reopen(chat, path)
    assert await chat.messages(thread.place) == before
    assert [m["text"] for m in before] == ["do it", "done"]
    assert before[1]["reply_to"] == asked.message
    assert before[1]["reactions"] == [{"emoji": "✅", "people": ({"id": "ada", "name": "Ada"},)}]
    assert await chat.place(thread.place) == thread
    assert (path.stat().st_mode & 0o777) == 0o600
    await chat.close()


async def test_positions_grow_in_every_place_and_over_a_reopening(tmp_path: Path, ada: Person) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    first = [await chat.post_as(ada, place, "x") for place in ("main", "side", "main")]
    chat = await reopen(chat, path)
    last = await chat.post_as(ada, "main", "x")
    positions = [event.position for event in (*first, last)]
    assert positions == sorted(set(positions))
    assert await chat.newest("main") == last.position
    await chat.close()


async def test_the_same_nonce_gives_the_first_message_even_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    first = await chat.post("main", OutgoingPost("once"), "n")
    thread = await chat.open_thread("main", "t", "n")
    chat = await reopen(chat, path)
    assert await chat.post("main", OutgoingPost("twice"), "n") == first
    assert await chat.open_thread("main", "other", "n") == thread
    assert [m["text"] for m in await chat.messages("main")] == ["once"]
    await chat.close()


async def test_a_hundred_posts_at_once_with_one_nonce_are_one(chat: LocalChat, ada: Person) -> None:
    ids: set[str] = set()

    async def post() -> None:
        ids.add(await chat.post("main", OutgoingPost("x"), "n"))

    async def say() -> None:
        ids.add((await chat.post_as(ada, "main", "y", nonce="n")).message)

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(post)
            tasks.start_soon(say)
    assert len(ids) == 2
    assert len(await chat.messages("main")) == 2


async def test_a_cancelled_post_leaves_the_file_usable(chat: LocalChat, ada: Person) -> None:
    for _ in range(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(chat.post_as, ada, "main", "hurried")
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert (await chat.post_as(ada, "main", "calm")).position > 0


async def test_equal_texts_are_two_messages(chat: LocalChat, ada: Person) -> None:
    one, two = [await chat.post_as(ada, "main", "again") for _ in range(2)]
    assert one.message != two.message
    assert [e.message for e in await chat.read_since("main", 0, 10)] == [one.message, two.message]


async def test_the_count_of_a_reaction_grows_with_every_change(chat: LocalChat, ada: Person) -> None:
    message = (await chat.post_as(ada, "main", "x")).message
    counts = [(await chat.react_as(ada, "main", message, "🛑", add=add)).count for add in (True, False, True)]
    assert counts == [1, 2, 3]
    assert (await chat.react_as(ada, "main", message, "🛑", add=True)).count == 3, (
        "set already: nothing happened"
    )
    await chat.react_as(Person("bob", "Bob"), "main", message, "🛑", add=True)
    (reaction,) = (await chat.messages("main"))[0]["reactions"]
    assert [who["name"] for who in reaction["people"]] == ["Ada", "Bob"]
    brought = [event for _, event in await chat.undelivered(0, 50)]
    assert len(brought) == 5, "one message and four changes"


async def test_a_message_takes_no_endless_reactions(chat: LocalChat, ada: Person) -> None:
    message = (await chat.post_as(ada, "main", "x")).message
    for number in range(MOST_REACTIONS):
        await chat.react_as(ada, "main", message, chr(0x1F300 + number), add=True)
    with pytest.raises(SurfaceError):
        await chat.react_as(ada, "main", message, "✅", add=True)


# fmt: off
EMOJI = (
    "✅", "❤️", "🛑", "👍🏽", "👩🏽\u200d💻", "🇩🇪", "1️⃣", "#\u20e3", "🏴\U000e0067\U000e0062\U000e007f", "‼️", "✏️",
    "🏳️\u200d🌈", "\U0001fae8",
)
NO_EMOJI = (
    "", "hello", "<b>", "x", "1", "#", "✅✅", "✅ ✅", "✅x", "x✅", "🇩", "\u200d", "\ufe0f", "✅\u200d", "é",
    "漢", "€", "✅\n✅",
)
# fmt: on


@pytest.mark.parametrize("emoji", EMOJI, ids=ascii)
def test_each_kind_of_emoji_is_one(emoji: str) -> None:
    assert checked_emoji(emoji) == emoji


@pytest.mark.parametrize("text", NO_EMOJI, ids=ascii)
def test_what_is_not_one_emoji_is_no_reaction(text: str) -> None:
    with pytest.raises(SurfaceError, match="not an emoji"):
        checked_emoji(text)


async def test_paging_goes_back_to_the_first_message(chat: LocalChat, ada: Person) -> None:
    said = [await chat.post_as(ada, "main", f"{n}") for n in range(23)]
    await chat.post_as(ada, "side", "elsewhere")
    seen: list[str] = []
    before = None
    while page := await chat.messages("main", before, 10):
        seen = [m["id"] for m in page] + seen
        before = page[0]["position"]
    assert seen == [event.message for event in said]


async def test_reading_since_gives_what_people_wrote_oldest_first(chat: LocalChat, ada: Person) -> None:
    first = await chat.post_as(ada, "main", "1")
    await chat.post("main", OutgoingPost("ours"), "n")
    rest = [await chat.post_as(ada, "main", f"{n}") for n in range(2, 5)]
    assert await chat.read_since("main", first.position, 2) == rest[:2]
    assert await chat.read_since("main", rest[1].position, 9) == rest[2:]


async def test_our_own_posts_are_found_by_their_time(chat: LocalChat, ada: Person, clock: QuickClock) -> None:
    await chat.post("main", OutgoingPost("old"), "n1")
    clock.wall += 1000
    await chat.post_as(ada, "main", "a person's")
    await chat.post("main", OutgoingPost("new"), "n2")
    assert [post.text for post in await chat.own_since("main", clock.now_ms())] == ["new"]


async def test_a_card_is_chosen_from_until_it_is_closed(chat: LocalChat, ada: Person) -> None:
    message = await chat.post("main", CARD, "n")
    one = await chat.choose_as(ada, "main", message, "k1", "deny", "not today")
    two = await chat.choose_as(ada, "main", message, "k1", "allow")
    assert one.event != two.event
    assert one.reason == "not today"
    await chat.edit("main", message, "Allowed by Ada", close_card=True)
    (seen,) = await chat.messages("main")
    assert (seen["card_open"], seen["chosen"]["label"], seen["text"]) == (False, "Allow", "Allowed by Ada")
    with pytest.raises(SurfaceError, match="closed"):
        await chat.choose_as(ada, "main", message, "k1", "allow")


async def test_what_isnt_there_is_refused_and_what_is_there_is_named(chat: LocalChat, ada: Person) -> None:
    message = await chat.post("main", CARD, "n")
    said = await chat.post_as(ada, "main", "mine")
    calls = [
        lambda: chat.post_as(ada, "nowhere", "x"),
        lambda: chat.post_as(ada, "main/t9", "x"),
        lambda: chat.post_as(ada, "main", "x", "m999"),
        lambda: chat.post_as(ada, "side", "x", message),
        lambda: chat.open_thread_as(ada, "main/t1", "x"),
        lambda: chat.react_as(ada, "main", "m1' OR 1=1", "✅", add=True),
        lambda: chat.react_as(ada, "side", message, "✅", add=True),
        lambda: chat.choose_as(ada, "main", message, "k1", "perhaps"),
        lambda: chat.choose_as(ada, "main", said.message, "k1", "allow"),
        lambda: chat.post("nowhere", OutgoingPost("x"), "other"),
        lambda: chat.edit("main", "m99999999999999999999", "x"),
        lambda: chat.messages("nowhere"),
    ]
    for call in calls:
        with pytest.raises(NotThere) as refused:
            await call()
        assert refused.value.kind == "permanent"
        assert refused.value.advice
    with pytest.raises(NotThere, match="nowhere") as refused:
        await chat.newest("nowhere")
    assert "main, side" in refused.value.advice
    assert len(await chat.messages("main")) == 2


async def test_the_relay_edits_only_its_own_messages(chat: LocalChat, ada: Person) -> None:
    said = await chat.post_as(ada, "main", "mine")
    with pytest.raises(SurfaceError, match="Ada"):
        await chat.edit("main", said.message, "changed")


async def test_a_text_over_a_megabyte_is_refused_and_300_kb_are_taken(chat: LocalChat, ada: Person) -> None:
    long = "ä" * 150_000
    assert (await chat.post_as(ada, "main", long)).text == long
    with pytest.raises(TooBig, match="1,000,000"):
        await chat.post_as(ada, "main", "x" * 1_000_001)
    with pytest.raises(TooBig):
        await chat.post("main", OutgoingPost("🎈" * 50_001), "n")
    for nothing in ("", " \n ", "\0"):
        with pytest.raises(SurfaceError):
            await chat.post_as(ada, "main", nothing)


async def test_names_and_titles_are_one_line_without_tricks(chat: LocalChat) -> None:
    mallory = Person("mallory", "you\u202e\nagent\0" + "x" * 300)
    event = await chat.post_as(mallory, "main", "a\0b\ud800c\r\nd")
    assert event.text == "ab\ufffdc\nd"
    assert event.person.name.startswith("you agent")
    assert len(event.person.name) <= 80
    thread = await chat.open_thread_as(mallory, "main", "\n<b>\u2066title</b>\n" + "y" * 300)
    assert thread.title.startswith("<b>title</b> y")
    assert len(thread.title) <= 100
    assert (await chat.open_thread_as(mallory, "main", " \n ")).title == "thread 2"


async def test_being_called_by_name_or_replied_to_is_told(chat: LocalChat, ada: Person) -> None:
    ours = await chat.post("main", OutgoingPost("hi"), "n")
    assert (await chat.post_as(ada, "main", "hey @Scout, look")).mentions_us
    assert (await chat.post_as(ada, "main", "yes", ours)).mentions_us
    assert not (await chat.post_as(ada, "main", "me@scout.example and @scouting")).mentions_us


async def test_a_room_taken_out_of_the_configuration_keeps_its_messages(tmp_path: Path, ada: Person) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    thread = await chat.open_thread_as(ada, "side", "t")
    await chat.post_as(ada, thread.place, "kept")
    chat = await reopen(chat, path, ROOMS[:1])
    assert await chat.place("side") is None
    assert await chat.place(thread.place) is None
    assert [place.place for place in await chat.places()] == ["main"]
    chat = await reopen(chat, path)
    assert [m["text"] for m in await chat.messages(thread.place)] == ["kept"]
    await chat.close()


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "a b", "x" * 65])
async def test_a_rooms_name_that_cant_be_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        await LocalChat.open(tmp_path / "page.db", [ChatRoom(name, "x")], SystemClock())
    assert not (tmp_path / "page.db").exists()


async def test_a_newer_or_damaged_file_is_refused_and_left_alone(tmp_path: Path, ada: Person) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    for _ in range(50):
        await chat.post_as(ada, "main", "x" * 2000)
    await chat.close()
    whole = path.read_bytes()
    damages = {
        "empty": b"",
        "text": b"not a database at all\n" * 100,
        "cut": whole[: len(whole) // 2],
        "scrawled": whole[:4096] + b"\xff" * (len(whole) - 4096),
    }
    for name, damage in damages.items():
        path.write_bytes(damage)
        with pytest.raises(DamagedDatabase) as refused:
            await LocalChat.open(path, ROOMS, SystemClock())
        assert str(path) in str(refused.value), name
        assert path.read_bytes() == damage, name
    path.write_bytes(whole)
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(NewerDatabase):
        await LocalChat.open(path, ROOMS, SystemClock())


async def test_a_database_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "page.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE message(number INTEGER)")
    raw.close()
    whole = path.read_bytes()
    with pytest.raises(DamagedDatabase, match="not a page's chat"):
        await LocalChat.open(path, ROOMS, SystemClock())
    assert path.read_bytes() == whole
    path.rename(tmp_path / "page.db-wal")
    with pytest.raises(DamagedDatabase, match="is gone"):
        await LocalChat.open(path, ROOMS, SystemClock())
    assert not path.exists(), "no new chat is begun beside what is left of an old one"


async def test_a_full_disk_refuses_a_message_and_takes_it_later(tmp_path: Path, ada: Person) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, SystemClock())
    async with chat._file.writing() as write:  # the page count stands for the disk's size
        pass
    await write.execute_fetchall("PRAGMA max_page_count = 20")
    with pytest.raises(StoreUnavailable, match="full"):
        await chat.post_as(ada, "main", "x" * 200_000)
    assert await chat.messages("main") == []
    assert await chat.undelivered(0, 9) == []
    await write.execute_fetchall("PRAGMA max_page_count = 100000")
    assert await chat.post_as(ada, "main", "x" * 200_000)
    await chat.close()


async def test_a_slow_page_is_told_to_reload_and_nobody_waits(chat: LocalChat, ada: Person) -> None:
    slow, quick = chat.announcements.subscribe(), chat.announcements.subscribe()
    message = (await chat.post_as(ada, "main", "x")).message
    got = len(await quick.batch())
    for number in range(MOST_LINES + 10):
        await chat.react_as(ada, "main", message, "✅", add=number % 2 == 0)
        got += len(await quick.batch())
    assert got == MOST_LINES + 11
    lines = await slow.batch()
    assert b"reload" in lines[0]
    assert len(lines) < 20
    chat.announcements.unsubscribe(slow)


@given(st.text())
def test_any_text_comes_out_clean_or_is_refused(text: str) -> None:
    try:
        clean = checked_text(text)
    except SurfaceError:
        return
    assert clean.encode()
    assert "\0" not in clean


@given(st.text(), st.integers(1, 50))
def test_any_title_becomes_one_short_line(text: str, most: int) -> None:
    title = one_line(text, most)
    assert len(title) <= most
    assert len(title.splitlines()) <= 1
    assert one_line(title, most) == title


@given(st.text(max_size=40))
def test_an_emoji_is_short_and_visible(text: str) -> None:
    try:
        emoji = checked_emoji(text)
    except SurfaceError:
        return
    assert 0 < len(emoji) <= 32
    assert not any(c.isspace() for c in emoji)


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("@scout", True),
        ("(@scout)", True),
        ("@SCOUT!", True),
        ("@@scout", True),
        ("@scout-b", False),
        ("a@scout", False),
    ],
)
def test_a_name_is_called_whole(text: str, called: bool) -> None:
    assert mentions(text, ["scout"]) is called


async def test_only_who_wrote_a_message_edits_or_deletes_it(chat: LocalChat) -> None:
    ada, olga = Person("ada", "Ada"), Person("owner", "Olga", owner=True)
    said = await chat.post_as(ada, "main", "helo")
    ours = await chat.post("main", OutgoingPost("hi"), "n1")
    for message in (said.message, ours):
        with pytest.raises(SurfaceError, match="only who wrote it"):
            await chat.edit_as(olga, "main", message, "other")
        with pytest.raises(SurfaceError, match="only who wrote it"):
            await chat.delete_as(olga, "main", message)
    edited = await chat.edit_as(ada, "main", said.message, "hello")
    assert (edited.text, edited.edited_at is not None) == ("hello", True)
    await chat.delete_as(ada, "main", said.message)
    with pytest.raises(NotThere):
        await chat.edit_as(ada, "main", said.message, "back")
    assert [m["text"] for m in await chat.messages("main")] == ["hi"]

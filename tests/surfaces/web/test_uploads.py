"""Files on the page: brought first, then sent with a message, and gone with it."""

from pathlib import Path

import anyio
import httpx
import pytest
from page_serving import ROOMS, QuickClock, Served

from relay.errors import SurfaceError
from relay.surfaces.surface import MessageEvent, Person
from relay.surfaces.web import api
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.seen import NotThere
from relay.surfaces.web.uploads import KEPT_UNSENT_MS, MOST_FILES, MOST_UNSENT

pytestmark = pytest.mark.anyio

BYTES = {"Content-Type": "application/octet-stream"}


async def bring(served: Served, name: str, data: bytes, **headers: str) -> httpx.Response:
    return await served.client.post(
        "/api/upload", params={"name": name}, content=data, headers=BYTES | headers
    )


async def test_a_file_is_brought_sent_and_shown(served: Served) -> None:
    brought = await bring(served, "plot.png", b"\x89PNG")
    assert brought.status_code == 200
    file = brought.json()
    assert (file["name"], file["size"]) == ("plot.png", 4)
    assert (await served.post("look", files=[file["id"]])).status_code == 200
    (message,) = await served.chat.messages("main")
    assert message["files"] == [{"name": "plot.png", "digest": file["id"], "size": 4}]
    shown = await served.client.get("/api/blob", params={"digest": file["id"], "name": "plot.png"})
    assert shown.content == b"\x89PNG"
    assert shown.headers["content-type"] == "application/octet-stream"
    assert shown.headers["content-disposition"].startswith("attachment")
    ((_, event),) = await served.chat.undelivered(0, 10)
    assert isinstance(event, MessageEvent)
    assert [(hung.id, hung.name, hung.size) for hung in event.files] == [(file["id"], "plot.png", 4)]


async def test_a_message_may_be_files_alone_but_not_nothing(served: Served) -> None:
    file = (await bring(served, "a.txt", b"a")).json()
    assert (await served.post("", files=[file["id"]])).status_code == 200
    assert (await served.post("", files=[])).status_code == 400


async def test_sent_again_after_a_lost_answer_it_is_one_message_with_one_file(served: Served) -> None:
    file = (await bring(served, "a.txt", b"a")).json()
    answers = [await served.post("look", files=[file["id"]], nonce="n" * 10) for _ in range(3)]
    assert len({answer.json()["message"] for answer in answers}) == 1
    assert len(await served.chat.messages("main")) == 1


async def test_a_file_hangs_on_one_message(served: Served) -> None:
    file = (await bring(served, "a.txt", b"a")).json()
    assert (await served.post("one", files=[file["id"]])).status_code == 200
    assert (await served.post("two", files=[file["id"]])).status_code == 400
    assert (await served.post("twice", files=[file["id"], file["id"]])).status_code == 400
    assert (await served.post("unknown", files=["0" * 64])).status_code == 404
    assert (await served.post("a path", files=["../page.db"])).status_code == 404
    assert [m["text"] for m in await served.chat.messages("main")] == ["one"]


async def test_a_deleted_message_takes_its_files_along(served: Served, tmp_path: Path) -> None:
    kept = (await bring(served, "kept.txt", b"same")).json()
    gone = (await bring(served, "gone.txt", b"same")).json()
    await served.post("stays", files=[kept["id"]])
    message = (await served.post("goes", files=[gone["id"]])).json()["message"]
    await served.client.post("/api/delete", json={"place": "main", "message": message})
    assert [path.name for path in (tmp_path / "uploads").iterdir()] == [kept["id"]]
    assert (await served.client.get("/api/blob", params={"digest": gone["id"]})).status_code == 404


async def test_a_file_over_the_limit_is_refused_with_the_limit(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(api, "LARGEST", 1_000_000)
    answer = await bring(served, "big.bin", b"\0" * 1_000_001)
    assert answer.status_code == 413
    assert "over the page's limit of 25 MB" in answer.json()["error"]

    async def endless() -> object:
        for _ in range(40):
            yield b"\0" * 1_000_000

    answer = await served.client.post("/api/upload", content=endless(), headers=BYTES)  # type: ignore[arg-type]
    assert answer.status_code == 413
    assert not (tmp_path / "uploads").exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
async def test_nobody_else_brings_files(served: Served, headers: dict[str, str], status: int) -> None:
    assert (await bring(served, "a.txt", b"a", **headers)).status_code == status


async def test_a_name_is_one_line_whatever_was_sent(served: Served) -> None:
    file = (await bring(served, "../a\n\u202eb<script>.txt" + "x" * 400, b"a")).json()
    assert file["name"].startswith("../a b<script>.txt")
    assert len(file["name"]) == 200
    answer = await served.client.get("/api/blob", params={"digest": file["id"], "name": file["name"]})
    assert "/" not in answer.headers["content-disposition"].replace("UTF-8''", "")


async def test_what_was_brought_and_not_sent_is_forgotten_after_a_day(
    tmp_path: Path, clock: QuickClock, ada: Person
) -> None:
    path = tmp_path / "page.db"
    chat = await LocalChat.open(path, ROOMS, clock)
    unsent, sent = await chat.uploads.keep("a", b"a"), await chat.uploads.keep("b", b"b")
    await chat.post_as(ada, "main", "look", files=[sent.id])
    await chat.close()
    chat = await LocalChat.open(path, ROOMS, clock)
    assert await chat.uploads.get(unsent.id) == b"a"
    await chat.close()
    clock.wall += KEPT_UNSENT_MS
    chat = await LocalChat.open(path, ROOMS, clock)
    assert (await chat.uploads.get(unsent.id), await chat.uploads.get(sent.id)) == (None, b"b")
    with pytest.raises(NotThere, match="not here"):
        await chat.post_as(ada, "main", "look", files=[unsent.id])
    await chat.close()


async def test_files_that_nobody_sends_don_t_pile_up(chat: LocalChat, ada: Person) -> None:
    for number in range(MOST_UNSENT):
        await chat.uploads.keep(f"{number}", b"x")
    with pytest.raises(SurfaceError, match="brought and not sent"):
        await chat.uploads.keep("one more", b"x")
    with pytest.raises(SurfaceError, match=f"takes {MOST_FILES} files"):
        await chat.post_as(ada, "main", "all", files=[str(number) for number in range(MOST_FILES + 1)])


async def test_one_file_at_a_time_is_on_its_way(served: Served) -> None:
    halfway, on = anyio.Event(), anyio.Event()

    async def slow() -> object:
        yield b"first"
        halfway.set()
        await on.wait()
        yield b"second"

    async def first() -> None:
        answer = await served.client.post("/api/upload", content=slow(), headers=BYTES)  # type: ignore[arg-type]
        assert answer.json()["size"] == 11

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await halfway.wait()
        with anyio.fail_after(30):
            while (await bring(served, "b.txt", b"b")).status_code != 503:
                continue
        on.set()
    assert (await bring(served, "b.txt", b"b")).status_code == 200

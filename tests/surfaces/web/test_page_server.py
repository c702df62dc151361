"""What the page's server lets in, and what it keeps out."""

import hashlib
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import httpx
import orjson
import pytest
from page_serving import TOKEN, Served, serving, until

from relay.clock import SystemClock
from relay.errors import ConfigError
from relay.surfaces.surface import OutgoingPost, Person
from relay.surfaces.web.api import MOST_STREAMS
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.server import STATIC, PageServer

pytestmark = pytest.mark.anyio
ASKS = ("state", "messages?place=main", "events", "why?id=m1", "blob?digest=0", "nothing")
DOES = ("post", "react", "choose", "thread")


async def raw(port: int, request: bytes, *, most: int = 65536) -> bytes:
    """What comes back for exactly these bytes."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(request)
        got = b""
        with anyio.move_on_after(5):
            while len(got) < most:
                try:
                    got += await stream.receive()
                except anyio.EndOfStream:
                    break
    return got


async def asked(port: int, target: str, *headers: str) -> bytes:
    lines = [f"GET {target} HTTP/1.1", *headers, "Connection: close", "", ""]
    return await raw(port, "\r\n".join(lines).encode())


@asynccontextmanager
async def stream(served: Served) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The lines of the page's stream."""
    async with served.client.stream("GET", "/api/events", timeout=5) as response:
        assert response.status_code == 200

        async def lines() -> AsyncIterator[dict[str, Any]]:
            async for line in response.aiter_lines():
                yield orjson.loads(line)

        async with aclosing(lines()) as told:
            assert (await anext(told))["kind"] == "hello"
            yield told


def sentence(response: httpx.Response) -> str:
    """A refusal is a sentence in JSON."""
    body = response.json()
    assert set(body) == {"error", "advice"}, body
    assert body["error"].endswith(".")
    return body["error"]


# ---- who is let in


async def test_without_the_right_key_nothing_is_told_or_done(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.server.address, trust_env=False) as client:
        for given in (None, "", "Bearer", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
            headers = {} if given is None else {"Authorization": given}
            answers = [await client.get(f"/api/{path}", headers=headers) for path in ASKS]
            body = {"place": "main", "text": "x"}
            answers += [await client.post(f"/api/{path}", json=body, headers=headers) for path in DOES]
            assert {answer.status_code for answer in answers} == {401}, given
            assert "key" in sentence(answers[0])
    assert await served.chat.messages("main") == []


async def test_the_key_is_taken_from_the_header_only(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.server.address, trust_env=False) as client:
        for name in ("token", "relay-token", "Authorization", "session"):
            client.cookies.set(name, f"Bearer {TOKEN}")
            client.cookies.set(name + "2", TOKEN)
        assert (await client.get("/api/state")).status_code == 401
        assert (await client.get("/api/state", params={"token": TOKEN})).status_code == 401
    twice = await asked(
        served.server.port,
        "/api/state",
        f"Host: 127.0.0.1:{served.server.port}",
        *[f"Authorization: Bearer {TOKEN}"] * 2,
    )
    assert b" 401 " in twice.splitlines()[0]


async def test_no_answer_sets_a_cookie_or_lets_another_site_read(served: Served) -> None:
    answers = [
        await served.client.get(path) for path in ("/", "/static/page.js", "/api/state", "/api/x", "/x")
    ]
    answers += [await served.client.options("/api/state"), await served.post("")]
    for answer in answers:
        assert "set-cookie" not in answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


async def test_a_name_that_was_pointed_at_us_gets_nothing(served: Served) -> None:
    port = served.server.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{port}", ""):
        for path in ("/", "/static/page.js", "/api/state"):
            answer = await asked(port, path, f"Host: {host}", f"Authorization: Bearer {TOKEN}")
            assert b" 421 " in answer.splitlines()[0], (path, host, answer)
            assert b"script" not in answer.partition(b"\r\n\r\n")[2]


async def test_localhost_is_the_pages_own_name_too(served: Served) -> None:
    own = f"localhost:{served.server.port}"
    answer = await asked(
        served.server.port,
        "/api/state",
        f"Host: {own}",
        f"Origin: http://{own}",
        f"Authorization: Bearer {TOKEN}",
    )
    assert b" 200 " in answer.splitlines()[0]


async def test_another_sites_page_is_refused_even_with_the_key(served: Served) -> None:
    own = f"127.0.0.1:{served.server.port}"
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"https://{own}",
        f"http://{own}.evil",
        "",
    ):
        body = {"place": "main", "text": "x"}
        refused = await served.client.post("/api/post", json=body, headers={"Origin": origin})
        assert refused.status_code == 403, origin
        assert (await served.client.get("/api/events", headers={"Origin": origin})).status_code == 403
    assert await served.chat.messages("main") == []


async def test_a_plain_form_cant_post(served: Served) -> None:
    raw_body = b'{"place": "main", "text": "x"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = await served.client.post("/api/post", content=raw_body, headers={"Content-Type": kind})
        assert answer.status_code == 415
    assert await served.chat.messages("main") == []


async def test_it_listens_on_this_machine_only(served: Served) -> None:
    assert served.server.url == f"http://127.0.0.1:{served.server.port}/#token={TOKEN}"
    assert served.server._socket.getsockname()[0] == "127.0.0.1"


async def test_a_port_that_is_taken_is_a_sentence(served: Served) -> None:
    for port in (served.server.port, 70_000):
        with pytest.raises(ConfigError, match=str(port)) as refused:
            PageServer(served.chat, served.facts, token=TOKEN, clock=SystemClock(), port=port)
        assert "surfaces.web.port" in refused.value.advice


# ---- the page's files


async def test_the_page_and_its_files_are_there_and_nothing_else_is(served: Served) -> None:
    page = await served.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for path in STATIC.iterdir():
        answer = await served.client.get(f"/static/{path.name}")
        assert (answer.status_code, answer.content) == (200, path.read_bytes())
    own = f"Host: 127.0.0.1:{served.server.port}"
    for target in (
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/static/..\\server.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/page.js%00.css",
        "/static/",
        "/static",
        "//static/page.js",
        "http://evil.example/static/page.js",
    ):
        answer = await asked(served.server.port, target, own)
        assert answer.splitlines()[0].split()[1] in (b"404", b"400"), (target, answer)


async def test_the_page_asks_nothing_of_another_site_and_makes_no_markup_of_text() -> None:
    for path in STATIC.iterdir():
        text = path.read_text("utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert word not in text, (path.name, word)
        if path.suffix == ".html":
            assert "http" not in text
            assert "style=" not in text
            assert not re.search(r"\son\w+\s*=", text), "a handler in the markup"
        assert len(text.splitlines()) < 400


# ---- what is refused says why


async def test_a_body_over_the_limit_is_refused_and_nothing_is_kept(served: Served) -> None:
    for size in (1_100_001, 3_000_000, 20_000_000):
        try:
            answer = await served.post("x" * size)
        except httpx.WriteError:
            assert size > 8_000_000, "the server hung up on a body that it won't read to its end"
            continue
        assert answer.status_code == 413
        assert "limit" in sentence(answer)
    assert await served.chat.messages("main") == []


async def test_a_body_without_a_length_is_bounded_too(served: Served) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"place": "main", "text": "'
        for _ in range(60):
            yield b"x" * 50_000
        yield b'"}'

    answer = await served.client.post(
        "/api/post", content=endless(), headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413


async def test_a_message_of_300_kb_goes_through_whole(served: Served) -> None:
    text = 'a line of a log, with "quotes" and ünïcödé\n' * 6_500
    answer = await served.post(text)
    assert answer.status_code == 200
    page = (await served.client.get("/api/messages", params={"place": "main"})).json()["messages"]
    assert page[0]["text"] == text


async def test_a_wrong_request_is_refused_with_a_sentence(served: Served) -> None:
    await served.post("first")
    cases: list[tuple[str, object, int]] = [
        ("post", {"place": "nowhere", "text": "x"}, 404),
        ("post", {"place": "main", "text": "  "}, 400),
        ("post", {"place": "main", "text": 7}, 400),
        ("post", {"place": "main"}, 400),
        ("post", {"place": "main", "text": "x", "person": "root"}, 400),
        ("post", {"place": "main", "text": "x", "reply_to": "m99"}, 404),
        ("post", {"place": "main", "text": "x", "nonce": "x" * 200}, 400),
        ("post", [], 400),
        ("react", {"place": "main", "message": "m99", "emoji": "✅", "set": True}, 404),
        ("react", {"place": "main", "message": "m1", "emoji": "", "set": True}, 400),
        ("react", {"place": "main", "message": "m1", "emoji": "<b>", "set": True}, 400),
        ("react", {"place": "main", "message": "m1", "emoji": "✅", "set": "yes"}, 400),
        ("choose", {"place": "main", "message": "m1", "card": "k", "value": "v"}, 404),
        ("thread", {"room": "main/t1", "title": "x"}, 404),
    ]
    for path, body, status in cases:
        answer = await served.client.post(f"/api/{path}", json=body)
        assert answer.status_code == status, (path, body, answer.text)
        assert sentence(answer)
    assert len(await served.chat.messages("main")) == 1


@pytest.mark.parametrize(
    "content", [rb'{"place": "main", "text": "a\ud800b"}', b'{"text": "\xed\xa0\x80"}'], ids=ascii
)
async def test_half_a_character_is_refused_as_that(served: Served, content: bytes) -> None:
    answer = await served.client.post(
        "/api/post", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400
    assert "holds half a character" in sentence(answer)


async def test_what_isnt_json_is_refused(served: Served) -> None:
    for content in (b"", b"{", b"\xff", b"[" * 100_000, b'{"text": NaN}'):
        answer = await served.client.post(
            "/api/post", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400
        assert sentence(answer)


async def test_wrong_questions_are_refused(served: Served) -> None:
    for path, status in (
        ("messages?place=nowhere", 404),
        ("messages?place=main&before=x", 400),
        ("messages?place=main&limit=-1", 400),
        ("why", 400),
        ("why?id=" + "x" * 300, 400),
        ("blob?digest=../../etc/passwd", 404),
        ("nothing", 404),
        ("post", 405),
    ):
        answer = await served.client.get(f"/api/{path}")
        assert answer.status_code == status, path
        assert sentence(answer)


async def test_a_mistake_of_ours_is_told_and_the_server_goes_on(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(id: str) -> None:
        raise RuntimeError(id)

    monkeypatch.setattr(served.facts, "why", broken)
    refused = await served.client.get("/api/why?id=m1")
    assert refused.status_code == 500
    assert "m1" not in sentence(refused)
    assert (await served.client.get("/api/state")).status_code == 200


# ---- what the page does


async def test_a_post_sent_again_after_a_lost_answer_is_one_message(served: Served) -> None:
    first, again = [(await served.post("x", nonce="nonce-1234")).json() for _ in range(2)]
    assert first == again
    (message,) = await served.chat.messages("main")
    assert message["person"] == {"id": "owner", "name": "you", "bot": False, "owner": True}


async def test_state_messages_why_and_threads_are_told(served: Served) -> None:
    thread = (await served.client.post("/api/thread", json={"room": "main", "title": "a task"})).json()[
        "place"
    ]
    assert thread == {"place": "main/t1", "room": "main", "thread": True, "title": "a task", "born": 0}
    state = (await served.client.get("/api/state")).json()
    assert [place["place"] for place in state["places"]] == ["main", "side", "main/t1"]
    assert state["facts"]["trouble"] == ["look here"]
    for number in range(5):
        await served.post(str(number), "main/t1")
    page = (await served.client.get("/api/messages?place=main/t1&limit=2")).json()["messages"]
    older = await served.client.get(f"/api/messages?place=main/t1&limit=9&before={page[0]['position']}")
    assert [m["text"] for m in (*older.json()["messages"], *page)] == ["0", "1", "2", "3", "4"]
    why = (await served.client.get("/api/why?id=m3")).json()
    assert why["lines"][0]["text"] == "about m3"


async def test_a_file_is_only_ever_a_download(served: Served) -> None:
    data = b"<script>alert(1)</script>"
    digest = hashlib.sha256(data).hexdigest()
    served.facts.files[digest] = data
    name = '../a"\r\nX-Evil: 1; ü.html'
    answer = await served.client.get("/api/blob", params={"digest": digest, "name": name})
    assert answer.content == data
    assert answer.headers["content-type"] == "application/octet-stream"
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith("attachment; filename*=UTF-8''")
    assert "/" not in disposition.partition("''")[2]
    assert "x-evil" not in answer.headers


# ---- the stream


async def test_the_stream_brings_what_happens(served: Served, ada: Person) -> None:
    async with stream(served) as lines:
        said = await served.chat.post_as(ada, "main", "hello")
        assert (await anext(lines))["message"]["text"] == "hello"
        await served.client.post(
            "/api/react", json={"place": "main", "message": said.message, "emoji": "✅", "set": True}
        )
        line = await anext(lines)
        assert (line["kind"], line["reactions"][0]["emoji"]) == ("reaction", "✅")
        post = await served.chat.post("main", OutgoingPost("a"), "n")
        await served.chat.edit("main", post, "b")
        told = [await anext(lines), await anext(lines)]
        assert [(line["kind"], line["message"]["text"]) for line in told] == [
            ("message", "a"),
            ("edited", "b"),
        ]
        served.facts.move()
        assert (await anext(lines))["kind"] == "facts"


async def test_facts_that_race_are_told_at_most_four_times_a_second(served: Served) -> None:
    count = 0
    async with stream(served) as lines:
        start = time.monotonic()

        async def race() -> None:
            while time.monotonic() - start < 1.0:
                served.facts.move()
                await anyio.sleep(0.001)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(race)
            with anyio.move_on_after(1.0):
                async for line in lines:
                    count += line["kind"] == "facts"
            tasks.cancel_scope.cancel()
    assert 1 <= count <= 5


async def test_only_so_many_streams_are_open_at_once_and_a_closed_one_makes_room(served: Served) -> None:
    own = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    streams = [await anyio.connect_tcp("127.0.0.1", served.server.port) for _ in range(MOST_STREAMS)]
    for one in streams:
        await one.send(own.encode())
        await one.receive()
    await until(lambda: len(served.chat.announcements) == MOST_STREAMS)
    refused = await served.client.get("/api/events")
    assert refused.status_code == 503
    assert "tabs" in refused.json()["advice"]
    for one in streams:
        await one.aclose()
    await until(lambda: not len(served.chat.announcements))
    async with stream(served):
        assert len(served.chat.announcements) == 1


async def test_a_page_that_reads_nothing_holds_up_nobody(served: Served, ada: Person) -> None:
    stuck = socket.create_connection(("127.0.0.1", served.server.port))
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    stuck.sendall(head.encode())
    async with stream(served) as lines:
        for number in range(60):
            await served.chat.post_as(ada, "main", f"{number} " + "x" * 300_000)
            assert (await anext(lines))["message"]["text"].startswith(f"{number} ")
        start = time.monotonic()
        await served.stop()
        assert time.monotonic() - start < 2.0
    stuck.close()


async def test_shutdown_ends_open_streams_and_frees_the_port_within_two_seconds(chat: LocalChat) -> None:
    async with serving(chat) as served:
        async with stream(served) as lines:
            start = time.monotonic()
            await served.stop()
            assert time.monotonic() - start < 2.0
            with pytest.raises(StopAsyncIteration):
                await anext(lines)
        again = PageServer(chat, served.facts, token=TOKEN, clock=SystemClock(), port=served.server.port)
        again.close()

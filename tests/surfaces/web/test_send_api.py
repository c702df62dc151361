"""What programs may ask over HTTP, and what nobody may: a whole relay behind a real port."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fakes.living import Living, living
from page_serving import StillFacts

from relay.behaviours.intake.reconciler_sending import Sending
from relay.clock import SystemClock
from relay.surfaces.web.server import PageServer

pytestmark = pytest.mark.anyio

PAGE, PROGRAMS = "the-page-s-own-key-0123456789", "the-token-of-programs-0123456789"


@dataclass
class Door:
    relay: Living
    client: httpx.AsyncClient

    async def send(
        self, text: str = "say hello", key: str | None = "k1", wait: int = 0, **more: Any
    ) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key is not None else {}
        body = {"text": text, "to": "web:main", "name": "ci", **more}
        return await self.client.post("/v1/send", params={"wait": wait}, json=body, headers=headers)


@asynccontextmanager
async def opened(folder: Path, programs: str = PROGRAMS, **room: Any) -> AsyncIterator[Door]:
    async with living(folder, **room) as relay:
        server = PageServer(
            relay.chat,
            StillFacts(),
            token=PAGE,
            clock=SystemClock(),
            sender=Sending(relay.relay.parts),
            programs=programs,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run)
            headers = {"Authorization": f"Bearer {programs or 'none'}"}
            async with httpx.AsyncClient(
                base_url=server.address, headers=headers, trust_env=False, timeout=60
            ) as client:
                yield Door(relay, client)
            tasks.cancel_scope.cancel()


async def nothing_came(door: Door) -> bool:
    return not await door.relay.log("channel.message") and not await door.relay.log("post.requested")


async def test_a_program_sends_waits_and_reads_the_reply(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        answer = await door.send(wait=50)
        told = answer.json()
        assert answer.status_code == 200
        assert (told["key"], told["to"], told["repeated"]) == ("k1", "web:main", False)
        assert (told["state"], told["status"], told["texts"]) == ("done", "completed", ["hello"])
        again = await door.client.get("/v1/send", params={"key": "k1"})
        assert again.json()["texts"] == ["hello"]
        await door.relay.seen("hello")


async def test_sent_again_it_is_answered_as_before_and_another_body_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        first = await door.send(wait=50)
        again = await door.send(wait=50)
        assert (first.json()["id"], again.json()["repeated"]) == (again.json()["id"], True)
        other = await door.send("say something else")
        assert other.status_code == 422
        assert "used before, for something else" in other.json()["error"]
        quoted = await door.send(key='"k1"')
        assert quoted.json()["repeated"], "the draft's quoted form is the same key"
        await door.relay.quiet()
        assert len(await door.relay.log("turn.started")) == 1


async def test_waiting_ends_with_the_time_and_is_asked_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        answer = await door.send("slow 40\nsay done")
        assert answer.status_code == 202
        assert answer.json()["state"] in ("waiting", "running")
        later = await door.client.get("/v1/send", params={"key": "k1", "wait": 50})
        assert later.json()["texts"] == ["done"]


REFUSED: list[tuple[dict[str, str], int, str]] = [
    ({"Authorization": "Bearer wrong"}, 401, "token is missing or wrong"),
    ({"Authorization": f"Bearer {PAGE}"}, 401, "token is missing or wrong"),
    ({"Authorization": f"bearer{PROGRAMS}"}, 401, "token is missing or wrong"),
    ({"Authorization": ""}, 401, "token is missing or wrong"),
    ({"Host": "evil.example"}, 421, "isn't the page's own"),
    ({"Host": "127.0.0.1"}, 421, "isn't the page's own"),
    ({"Origin": "http://evil.example"}, 403, "refused"),
    ({"Origin": "null"}, 403, "refused"),
    ({"Origin": "OWN"}, 403, "a browser's request was refused"),
    ({"Content-Type": "text/plain"}, 415, "JSON"),
    ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "JSON"),
]


async def test_who_may_not_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        own = str(door.client.base_url).rstrip("/")
        body = json.dumps({"text": "say hello", "to": "web:main"})
        for headers, status, told in REFUSED:
            sent = {name: own if value == "OWN" else value for name, value in headers.items()}
            more = {"Content-Type": "application/json", "Idempotency-Key": "k1"} | sent
            answer = await door.client.post("/v1/send", content=body, headers=more)
            assert answer.status_code == status, headers
            assert told in answer.json()["error"], headers
        assert await nothing_came(door)
        more = {"Content-Type": "application/json", "Idempotency-Key": "k1"}
        assert (await door.client.post("/v1/send", content=body, headers=more)).status_code == 202


async def test_two_tokens_in_one_request_are_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        headers = [("Authorization", f"Bearer {PROGRAMS}"), ("Authorization", "Bearer wrong")]
        request = httpx.Request(
            "POST", f"{door.client.base_url}v1/send", json={"text": "say hello"}, headers=headers
        )
        assert (await door.client.send(request)).status_code == 401
        assert await nothing_came(door)


async def test_a_program_s_token_opens_nothing_of_the_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for path in ("/api/state", "/api/events", "/api/blob"):
            assert (await door.client.get(path)).status_code == 401
        answer = await door.client.post("/api/post", json={"place": "main", "text": "say hello"})
        assert answer.status_code == 401
        assert await nothing_came(door)


async def test_without_a_token_for_them_no_program_comes_in(tmp_path: Path) -> None:
    async with opened(tmp_path, programs="") as door:
        for token in ("Bearer", "Bearer None", f"Bearer {PAGE}"):
            answer = await door.client.get("/v1/send?key=k1", headers={"Authorization": token})
            assert answer.status_code == 401


WRONG: list[tuple[str | None, dict[str, Any], int, str]] = [
    (None, {}, 400, "an Idempotency-Key is needed"),
    ("", {}, 400, "an Idempotency-Key is needed"),
    ("two words", {}, 400, "an Idempotency-Key is needed"),
    ("k" * 101, {}, 400, "an Idempotency-Key is needed"),
    ("k1", {"text": " \n"}, 400, "no text"),
    ("k1", {"text": None}, 400, "`text`"),
    ("k1", {"text": ["say hello"]}, 400, "`text`"),
    ("k1", {"evil": 1}, 400, "`evil`"),
    ("k1", {"mode": "run"}, 400, "`mode`"),
    ("k1", {"to": "web:nowhere"}, 404, "no room or thread"),
    ("k1", {"to": "x" * 201}, 400, "200 characters"),
    ("k1", {"name": "x" * 201}, 400, "200 characters"),
    ("k1", {"text": "x" * 1_000_001}, 413, "1,000,000 bytes"),
    ("k1", {"text": "x" * 1_200_000}, 413, "over the limit"),
    ("k1", {"text": "x" * 20_001, "mode": "post"}, 413, "a post takes 20000"),
]


async def test_what_is_wrong_is_told_and_nothing_is_taken(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for key, body, status, told in WRONG:
            answer = await door.send(key=key, **body)
            assert answer.status_code == status, told
            assert told in answer.json()["error"]
        assert await nothing_came(door)


async def test_an_endless_body_and_no_json_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        headers = {"Content-Type": "application/json", "Idempotency-Key": "k1"}

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield b" " * 1_000_000

        answer = await door.client.post("/v1/send", content=endless(), headers=headers)
        assert answer.status_code == 413
        for content in (b"", b"{", b"[]", b"\xff", b'{"text": "\\ud800", "to": "web:main"'):
            answer = await door.client.post("/v1/send", content=content, headers=headers)
            assert answer.status_code == 400
        assert await nothing_came(door)


async def test_an_unknown_key_and_a_wait_that_is_no_number_are_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for query, status in (
            ("key=k9", 404),
            ("key=", 400),
            ("key=k9&wait=-1", 400),
            ("key=k9&wait=1e9", 400),
        ):
            assert (await door.client.get(f"/v1/send?{query}")).status_code == status
        assert (await door.client.put("/v1/send?key=k9")).status_code == 405
        assert (await door.client.get("/v1/other")).status_code == 404


async def test_a_key_with_any_visible_letters_is_one_key(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for key in ("a/b", "a%2Fb", "a?b&c=d", "..", "';--", "m1"):
            assert not (await door.send(key=key, wait=50)).json()["repeated"]
            found = await door.client.get("/v1/send", params={"key": key})
            assert found.json()["texts"] == ["hello"]
        await door.relay.quiet()
        assert len(await door.relay.log("turn.started")) == 6
        assert await door.relay.log("reaction.requested") == []

"""What the page may ask and do, as JSON over HTTP. Who may ask is settled before it (`guard.py`).

The person behind the page is its owner. Every refusal is `{"error": sentence, "advice": what to do}` with a fitting
status; nothing that was refused is kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from relay.clock import Clock
from relay.errors import RelayError
from relay.surfaces.surface import Person
from relay.surfaces.web.announcements import line
from relay.surfaces.web.chat import LocalChat
from relay.surfaces.web.facts import Facts
from relay.surfaces.web.seen import MOST_TEXT_BYTES, NotThere, TooBig, one_line
from relay.surfaces.web.stream import StreamResponse
from relay.surfaces.web.uploads import LARGEST, MOST_FILES, TOO_LARGE

OWNER = Person("owner", "you", owner=True)
MOST_BODY = 1_100_000
MOST_STREAMS = 16
MOST_DRAINED = 8_000_000
"""An over-long body is read to its end up to here, since many clients read no answer before they have sent all."""
BODY_PATIENCE = 20.0
UPLOAD_PATIENCE = 120.0
LOOK_AGAIN = 2.0
"""Seconds after which the facts are looked at even if nothing moved."""


class Refused(Exception):
    """Answered with that status and sentence."""

    def __init__(self, status: int, error: str, advice: str = "") -> None:
        super().__init__(error)
        self.status = status
        self.advice = advice


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class PostBody(_Body):
    """`nonce` is the page's own word for this message: sent again after a lost answer, it is posted once."""

    place: str
    text: str
    reply_to: str | None = None
    files: list[str] = Field(default=[], max_length=MOST_FILES)
    """Ids that `/api/upload` gave."""
    nonce: str | None = Field(default=None, min_length=8, max_length=80)


class EditBody(_Body):
    place: str
    message: str
    text: str


class DeleteBody(_Body):
    place: str
    message: str


class ReactBody(_Body):
    place: str
    message: str
    emoji: str
    set: bool


class ChooseBody(_Body):
    place: str
    message: str
    card: str
    value: str
    reason: str = ""


class ThreadBody(_Body):
    room: str
    title: str = ""


_B = TypeVar("_B", bound=BaseModel)


class Api:
    """The routes under /api, over one chat and the relay's facts."""

    def __init__(self, chat: LocalChat, facts: Facts, clock: Clock) -> None:
        self._chat = chat
        self._facts = facts
        self._clock = clock
        self._uploading = anyio.Semaphore(1, max_value=1)

    def routes(self) -> list[Route]:
        return [
            _route("/api/state", self.state, "GET"),
            _route("/api/messages", self.messages, "GET"),
            _route("/api/events", self.events, "GET"),
            _route("/api/why", self.why, "GET"),
            _route("/api/blob", self.blob, "GET"),
            _route("/api/upload", self.upload, "POST"),
            _route("/api/post", self.post, "POST"),
            _route("/api/edit", self.edit, "POST"),
            _route("/api/delete", self.delete, "POST"),
            _route("/api/react", self.react, "POST"),
            _route("/api/choose", self.choose, "POST"),
            _route("/api/thread", self.thread, "POST"),
        ]

    def facts(self) -> dict[str, Any]:
        """What the page shows of the relay just now."""
        return {
            "watches": [asdict(watch) for watch in self._facts.watches()],
            "turns": [asdict(turn) for turn in self._facts.turns()],
            "trouble": list(self._facts.trouble()),
        }

    async def push_facts(self) -> None:
        """Tell the open pages when the facts changed, at most four times a second. Runs until cancelled."""
        revision, told = 0, self.facts()
        while True:
            with anyio.move_on_after(LOOK_AGAIN) as wait:  # trouble comes and goes without moving the ledger
                revision = await self._facts.moved(revision)
            facts = self.facts()
            if facts != told or not wait.cancelled_caught:
                self._chat.announcements.renew("facts", "facts", **facts)
                told = facts
            await self._clock.sleep(0.25)

    # -- asking -------------------------------------------------------------------------------------------------------

    async def state(self, request: Request) -> Response:
        return json_answer(
            {
                "me": asdict(OWNER),
                "places": [asdict(place) for place in await self._chat.places()],
                "facts": self.facts(),
                "trouble": self._chat.announcements.trouble,
                "live": self._chat.announcements.live(),
                "most_text": MOST_TEXT_BYTES,
                "most_files": MOST_FILES,
                "most_file": LARGEST,
            }
        )

    async def messages(self, request: Request) -> Response:
        before = _number(request, "before")
        limit = _number(request, "limit")
        place = request.query_params.get("place", "")
        return json_answer(
            {"messages": await self._chat.messages(place, before, 50 if limit is None else limit)}
        )

    async def events(self, request: Request) -> ASGIApp:
        announcements = self._chat.announcements
        if len(announcements) >= MOST_STREAMS:
            raise Refused(503, f"the page is open {MOST_STREAMS} times already.", "Close some of its tabs.")

        async def stream(scope: Scope, receive: Receive, send: Send) -> None:
            subscription = announcements.subscribe()
            try:
                await StreamResponse(subscription, [line("hello")], self._clock)(scope, receive, send)
            finally:
                announcements.unsubscribe(subscription)

        return stream

    async def why(self, request: Request) -> Response:
        asked = request.query_params.get("id", "")
        if not 0 < len(asked) <= 200:
            raise Refused(400, "`id` must name a message or an interaction.")
        return json_answer({"lines": [asdict(step) for step in await self._facts.why(asked)]})

    async def blob(self, request: Request) -> Response:
        digest = request.query_params.get("digest", "")[:200]
        data = await self._facts.blob(digest) or await self._chat.uploads.get(digest)
        if data is None:
            raise Refused(404, "this file is no longer kept.", "Ask the agent to share it again.")
        name = (
            one_line(request.query_params.get("name", "").replace("/", "_").replace("\\", "_"), 150) or "file"
        )
        disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
        headers = {"Content-Disposition": disposition}
        return Response(data, media_type="application/octet-stream", headers=headers)

    # -- doing --------------------------------------------------------------------------------------------------------

    async def upload(self, request: Request) -> Response:
        """The body is the file. One at a time is on its way, so that memory has a bound."""
        if _content_type(request) != "application/octet-stream":
            raise Refused(415, "a file comes as bytes.", "Set Content-Type: application/octet-stream.")
        try:
            self._uploading.acquire_nowait()
        except anyio.WouldBlock:
            raise Refused(503, "another file is on its way just now.", "Send it again.") from None
        try:
            data = await read_body(request, LARGEST, TooBig(*TOO_LARGE), UPLOAD_PATIENCE)
            file = await self._chat.uploads.keep(request.query_params.get("name", "")[:1000], data)
        finally:
            self._uploading.release()
        return json_answer(asdict(file))

    async def post(self, request: Request) -> Response:
        body = await json_body(request, PostBody)
        event = await self._chat.post_as(OWNER, body.place, body.text, body.reply_to, body.nonce, body.files)
        return json_answer({"message": event.message, "position": event.position})

    async def edit(self, request: Request) -> Response:
        body = await json_body(request, EditBody)
        event = await self._chat.edit_as(OWNER, body.place, body.message, body.text)
        return json_answer({"edited_at": event.edited_at})

    async def delete(self, request: Request) -> Response:
        body = await json_body(request, DeleteBody)
        event = await self._chat.delete_as(OWNER, body.place, body.message)
        return json_answer({"message": event.message})

    async def react(self, request: Request) -> Response:
        body = await json_body(request, ReactBody)
        event = await self._chat.react_as(OWNER, body.place, body.message, body.emoji, add=body.set)
        return json_answer({"count": event.count})

    async def choose(self, request: Request) -> Response:
        body = await json_body(request, ChooseBody)
        event = await self._chat.choose_as(
            OWNER, body.place, body.message, body.card, body.value, body.reason
        )
        return json_answer({"event": event.event})

    async def thread(self, request: Request) -> Response:
        body = await json_body(request, ThreadBody)
        return json_answer({"place": asdict(await self._chat.open_thread_as(OWNER, body.room, body.title))})


def refusal(status: int, error: str, advice: str = "") -> Response:
    """The one form of a no."""
    return json_answer({"error": error, "advice": advice}, status)


async def on_refused(request: Request, error: Exception) -> Response:
    """Any error of ours as an answer. Starlette calls it."""
    match error:
        case Refused():
            return refusal(error.status, str(error), error.advice)
        case NotThere():
            return refusal(404, str(error), error.advice)
        case TooBig():
            return refusal(413, str(error), error.advice)
        case RelayError():
            status = {"permanent": 400, "transient": 503, "fatal": 500}[error.kind]
            return refusal(status, str(error), error.advice)
        case HTTPException():
            known = {404: "there is nothing at this address.", 405: "this can't be asked in that way."}
            return refusal(error.status_code, known.get(error.status_code, error.detail))
        case _:
            return refusal(500, "the relay made a mistake here; its log says which.")


def _route(path: str, handler: Callable[[Request], Awaitable[ASGIApp]], method: str) -> Route:
    async def endpoint(request: Request) -> Any:
        return await handler(request)

    return Route(path, endpoint, methods=[method])


def json_answer(value: Any, status: int = 200) -> Response:
    """`value` as JSON."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 16):
        raise Refused(400, f"`{name}` must be a whole number.")
    return int(given)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _declared(request: Request) -> int:
    """The length that the head declares; past every limit when that is no number."""
    declared = request.headers.get("content-length", "0")
    return int(declared[:19]) if declared.isascii() and declared.isdigit() else 2**62


async def read_body(
    request: Request, most: int, too_big: RelayError | Refused, patience: float = BODY_PATIENCE
) -> bytes:
    """The body's bytes: kept only up to the limit, and read not for ever. Raises `too_big`, `Refused`."""
    drained = most + MOST_DRAINED
    if _declared(request) > drained:
        raise too_big
    raw, size = bytearray(), 0
    try:
        with anyio.fail_after(patience):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= most:
                    raw += chunk
                elif size > drained:
                    break
    except TimeoutError:
        raise Refused(408, "the message didn't arrive whole.", "Send it again.") from None
    except ClientDisconnect:
        raise Refused(400, "the page left before the message was whole.") from None
    if size > most:
        raise too_big
    return bytes(raw)


async def json_body(request: Request, model: type[_B], most: int = MOST_BODY) -> _B:
    """The checked body, of at most so many bytes. Raises `Refused`."""
    if _content_type(request) != "application/json":
        raise Refused(415, "what is sent here is JSON.", "Set Content-Type: application/json.")
    too_big = Refused(
        413,
        f"this is over the limit of {most:,} bytes.",
        "Put the text into a file in the workspace and name the file in your message.",
    )
    raw = await read_body(request, most, too_big)
    try:
        return model.model_validate(orjson.loads(raw))
    except orjson.JSONDecodeError as error:
        if "surrogate" in str(error):
            raise Refused(
                400,
                "a text in this holds half a character (a lone surrogate), which can't be kept.",
                "Take it out and send it again.",
            ) from None
        raise Refused(400, f"this isn't JSON: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise Refused(400, f"`{where[:80]}`: {first['msg']}.") from None

"""What programs on this machine may ask over HTTP: to send, and what became of it. Who may is settled before it.

    POST /v1/send[?wait=SECONDS]      Idempotency-Key: KEY      {"text": …, "to": …, "name": …, "mode": "prompt"|"post"}
    GET  /v1/send?key=KEY[&wait=SECONDS]

The key decides what is done once (draft-ietf-httpapi-idempotency-key-header): the same request again gives the same
answer, another one under the same key is refused with 422. Refusals are `{"error": sentence, "advice": what to do}`.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, Literal, Protocol

import anyio
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from relay.behaviours.intake.sending import KeyReused, NotNow, Outcome, Send, Sent, TooLong, UnknownTarget
from relay.surfaces.web.api import MOST_BODY, Refused, json_answer, json_body
from relay.surfaces.web.seen import MOST_TEXT_BYTES

LONGEST_WAIT_S = 55.0
MOST_WAITING = 32
_KEY = re.compile(r"[!-~]{1,100}")


class Sender(Protocol):
    """Who takes in what programs send."""

    async def send(self, asked: Send) -> Sent:
        """Once for a key, however often it is called. Raises `UnknownTarget`, `KeyReused`, `TooLong`, `NotNow`,
        `StoreUnavailable`; nothing was recorded then."""
        ...

    async def outcome(self, key: str, wait_s: float) -> Outcome | None:
        """What became of it, after waiting so long at most for its end; None for an unknown key."""
        ...


class SendBody(BaseModel):
    """What is sent. `to` may be empty where there is one room; `name` is what people see of the sender."""

    model_config = ConfigDict(strict=True, extra="forbid")
    text: str
    to: str = ""
    name: str = "script"
    mode: Literal["prompt", "post"] = "prompt"


class SendApi:
    """The routes under /v1."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._waiting = 0

    def routes(self) -> list[Route]:
        async def post(request: Request) -> Response:
            return await self.send(request)

        async def get(request: Request) -> Response:
            return await self.told(request)

        return [Route("/v1/send", post, methods=["POST"]), Route("/v1/send", get, methods=["GET"])]

    async def send(self, request: Request) -> Response:
        key = _checked_key(_only(request, "idempotency-key"))
        wait = _wait(request)
        body = await json_body(request, SendBody, MOST_BODY)
        if not body.text.strip():
            raise Refused(400, "there is no text in this.", "Put it into `text`.")
        if len(body.text.encode("utf-8", "replace")) > MOST_TEXT_BYTES:
            raise Refused(
                413,
                f"this text has more than {MOST_TEXT_BYTES:,} bytes.",
                "Put it into a file in the workspace and name the file in your message.",
            )
        if len(body.to) > 200 or len(body.name) > 200:
            raise Refused(400, "`to` and `name` have 200 characters at most.")
        try:
            sent = await self._sender.send(Send(key, body.to, body.text, body.name, body.mode))
        except UnknownTarget as error:
            raise Refused(404, str(error), error.advice) from error
        except TooLong as error:
            raise Refused(413, str(error), error.advice) from error
        except KeyReused as error:
            raise Refused(422, str(error), error.advice) from error
        except NotNow as error:
            raise Refused(503, str(error), error.advice) from error
        outcome = await self._outcome(key, wait)
        told = {"key": key, "id": sent.id, "repeated": sent.repeated, **_told(outcome, sent.scope)}
        return json_answer(told, 200 if sent.repeated or told["state"] == "done" else 202)

    async def told(self, request: Request) -> Response:
        key = _checked_key(request.query_params.get("key", ""))
        outcome = await self._outcome(key, _wait(request))
        if outcome is None:
            raise Refused(404, "nothing was sent under this key.", "Send it first.")
        return json_answer({"key": key, **_told(outcome, outcome.scope)})

    async def _outcome(self, key: str, wait: float) -> Outcome | None:
        """Waiting has a bound in time and in number: over it the answer comes at once, and one asks again."""
        if wait and self._waiting >= MOST_WAITING:
            await anyio.sleep(1)
            wait = 0.0
        self._waiting += 1
        try:
            return await self._sender.outcome(key, wait)
        finally:
            self._waiting -= 1


def _told(outcome: Outcome | None, scope: str) -> dict[str, Any]:
    if outcome is None:
        return {"to": scope, "state": "waiting"}
    told = asdict(outcome)
    return {"to": told.pop("scope"), **told, "texts": list(outcome.texts), "files": list(outcome.files)}


def _only(request: Request, name: str) -> str:
    given = request.headers.getlist(name)
    return given[0] if len(given) == 1 else ""


def _checked_key(key: str) -> str:
    # The draft has a quoted string; most clients send the bare word.
    key = key[1:-1] if len(key) > 2 and key[0] == key[-1] == '"' else key
    if not _KEY.fullmatch(key):
        raise Refused(
            400,
            "an Idempotency-Key is needed: 1 to 100 visible ASCII characters, once.",
            "Use a new one for each thing that is sent, and the same one to send it again.",
        )
    return key


def _wait(request: Request) -> float:
    given = request.query_params.get("wait", "0")
    if not (given.isascii() and given.isdigit() and len(given) <= 4):
        raise Refused(400, f"`wait` must be a whole number of seconds, up to {LONGEST_WAIT_S:.0f}.")
    return min(float(given), LONGEST_WAIT_S)

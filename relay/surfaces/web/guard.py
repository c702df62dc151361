"""Who may speak with the page's server. It stands before every route and looks at headers only.

The host must be this server's own, which stops DNS rebinding; an Origin, if there is one, must be the page's; and
everything under /api needs the page's token. Under /v1 programs come, with a token of theirs and never with an Origin:
what has one is a browser. There is no cookie: a cookie would go to every port of 127.0.0.1.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        b"require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Guard:
    """Wraps the routes. `port` is the one that the server listens on. Without a token for them no program comes in."""

    def __init__(self, app: ASGIApp, *, port: int, token: str, programs: str = "") -> None:
        self._app = app
        self._hosts = frozenset((f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()))
        self._origins = frozenset(b"http://" + host for host in self._hosts)
        self._page = f"Bearer {token}".encode()
        self._programs = f"Bearer {programs}".encode() if programs else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, headed)
            return
        status, error, advice = refusal
        body = orjson.dumps({"error": error, "advice": advice})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await headed({"type": "http.response.start", "status": status, "headers": headers})
        await headed({"type": "http.response.body", "body": body})

    def has_key(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request with those headers (their names in lower case) holds a key, the page's or a program's."""
        given = _all(headers, b"authorization")
        # Both are compared, so that the time tells nothing of either.
        page, program = _is(given, self._page), self._programs is not None and _is(given, self._programs)
        return page or program

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        host, origin = (_all(scope["headers"], name) for name in (b"host", b"origin"))
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return (
                421,
                "this address isn't the page's own.",
                "Open the link that the relay printed when it started.",
            )
        if origin and (len(origin) != 1 or origin[0].lower() not in self._origins):
            return 403, "another site asked for this; it was refused.", ""
        path, given = str(scope["path"]), _all(scope["headers"], b"authorization")
        if path.startswith("/v1"):
            if origin:
                return 403, "this is for programs; a browser's request was refused.", ""
            if self._programs is None or not _is(given, self._programs):
                advice = "Send `Authorization: Bearer` with the token; docs/sending.md says where it stands."
                return 401, "the token is missing or wrong.", advice
            return None
        if not path.startswith("/api"):
            return None
        if not _is(given, self._page):
            advice = "Open the link that the relay printed when it started: it holds the key."
            return 401, "the page's key is missing or an old one.", advice
        return None


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for header, value in headers if header == name]


def _is(given: list[bytes], wanted: bytes) -> bool:
    return len(given) == 1 and hmac.compare_digest(given[0], wanted)

"""The tests' Discord over HTTP: who asks, which fault comes in between, what is refused, how the answer is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from fakes.discord import rest_bodies, rest_channels, rest_messages, rest_users, rest_webhooks
from fakes.discord.asking import Ask, Route
from fakes.discord.errors import ApiError, plain
from fakes.discord.model import App
from fakes.discord.ratelimits import RateLimits, path_pattern
from fakes.discord.rest_faults import Answer, Call, RestFaults
from fakes.discord.world import World

BASE = "/api/v10"
ROUTES: tuple[Route, ...] = (
    *rest_users.ROUTES,
    *rest_channels.ROUTES,
    *rest_messages.ROUTES,
    *rest_webhooks.ROUTES,
)
UNLIMITED = ("/interactions/", "/webhooks/")
BANNED = "<!DOCTYPE html><html><body>You are being rate limited</body></html>"

Check = Callable[[str, str, int, Any], None]
"""(method, template, status, body): told of every good answer, before faults reshape it."""


class Reset(Exception):
    """The connection is to be cut instead of answered."""


@dataclass
class Rest:
    world: World
    faults: RestFaults
    limits: RateLimits
    check: Check | None = None
    calls: list[Call] = field(default_factory=list[Call])
    """Every request, in order; a 401 for a wrong token too."""

    def add_to(self, router: web.UrlDispatcher) -> None:
        for route in ROUTES:
            router.add_route(route.method, BASE + route.template, self._handler(route))
        router.add_route("*", BASE + "/{rest:.*}", self._handler(None))

    def made(self, method: str, path: str) -> list[Call]:
        """The calls of a method on paths that fit the pattern."""
        pattern = path_pattern(path)
        return [one for one in self.calls if one.method == method and pattern.match(one.path)]

    def _handler(self, route: Route | None) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await self._serve(request, route)
            except Reset:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=500)

        return handle

    async def _serve(self, request: web.Request, route: Route | None) -> web.Response:
        app = self._who(request)
        path = request.path[len(BASE) :]
        try:
            body, files = await rest_bodies.read(self.world, request)
            unread = None
        except ApiError as error:
            body, files, unread = None, [], error
        call = Call(request.method, path, self.world.clock.now(), body, app.id if app else None)
        self.calls.append(call)
        faults = self.faults.take(call)
        for one in (fault for fault in faults if not fault.after):
            await self._pause(one.seconds, one.hold)
            if one.cut:
                raise Reset
            if one.answer is not None:
                return self._faulty(call, one.answer)
        asks = Ask(self.world, dict(request.match_info), dict(request.query), body, files, app)
        answer = self._answer(call, route, asks, request, unread)
        for one in faults:
            if one.shape is not None and answer.status < 300 and answer.status != 204:
                shaped = one.shape(json.loads(answer.body))
                answer = written(answer.status, shaped, {**answer.headers})
        for one in (fault for fault in faults if fault.after):
            await self._pause(one.seconds, one.hold)
            if one.cut:
                raise Reset
            if one.answer is not None:
                return self._faulty(call, one.answer)
        call.status = answer.status
        return answer

    async def _pause(self, seconds: float, hold: Any) -> None:
        if seconds:
            await asyncio.sleep(seconds)
        if hold is not None:
            await hold.wait()

    def _who(self, request: web.Request) -> App | None:
        given = request.headers.get("Authorization", "")
        return self.world.app_by_token(given.removeprefix("Bot ")) if given.startswith("Bot ") else None

    def _answer(
        self, call: Call, route: Route | None, ask: Ask, request: web.Request, unread: ApiError | None
    ) -> web.Response:
        if self.limits.banned:
            return html(429, BANNED)
        free = call.path.startswith(UNLIMITED)
        who = str(call.app_id or request.remote)
        verdict = self.limits.ask(who, call.method, call.path, counts_globally=not free)
        if verdict.retry_after is not None:
            wait = round(verdict.retry_after, 3)
            headers = {**verdict.headers, "Retry-After": str(max(1, round(wait)))}
            body = {"message": "Slow down.", "retry_after": wait, "global": verdict.is_global}
            self.limits.refused(429, shared=False)
            return written(429, body, headers)
        try:
            if route is None:
                raise plain(404, "404: Not Found")
            if not route.open and ask.app is None:
                raise plain(401, "401: Unauthorized")
            if unread is not None:
                raise unread
            status, found = route.handler(ask)
        except ApiError as error:
            self.limits.refused(error.status, shared=False)
            if error.status == 429:
                error.extra.setdefault("retry_after", 1.0)
            return written(error.status, error.body(), verdict.headers)
        if self.check is not None:
            self.check(call.method, route.template, status, found)
        return written(status, found, verdict.headers)

    def _faulty(self, call: Call, one: Answer) -> web.Response:
        call.status = one.status
        self.limits.refused(one.status, shared=one.shared)
        if isinstance(one.body, str):
            return html(one.status, one.body)
        return written(one.status, one.body, one.headers, via=one.via)


def written(status: int, body: Any, headers: dict[str, str], *, via: bool = True) -> web.Response:
    """JSON with exactly the content type that clients look for."""
    more = {
        key: value for key, value in headers.items() if key.lower() not in ("content-length", "content-type")
    }
    if via:
        more["Via"] = "1.1 google"
    if status == 204:
        return web.Response(status=204, headers=more)
    return web.Response(
        status=status, body=json.dumps(body).encode(), headers=more, content_type="application/json"
    )


def html(status: int, page: str) -> web.Response:
    return web.Response(
        status=status, body=page.encode(), headers={"Server": "cloudflare"}, content_type="text/html"
    )

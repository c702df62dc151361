"""What can go wrong between a bot and Discord's REST, made on command.

Each fault takes a method and a path (`*` one part, `**` any number) and acts on the next `times` requests that fit, in
the order in which the faults were set. `after=True`: the work is done first, then the answer is lost or replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from re import Pattern
from typing import Any

from fakes.discord.errors import ApiError
from fakes.discord.model import Json
from fakes.discord.ratelimits import path_pattern

FOR_EVER = 1_000_000_000


@dataclass
class Call:
    """A request as the client made it. `path` has no /api/v10. `status` is None while unanswered or cut."""

    method: str
    path: str
    at: float
    body: Json | None
    app_id: int | None
    status: int | None = None


@dataclass
class Answer:
    """An answer that a fault gives. `body` a dict: JSON; a string: HTML, as Cloudflare's pages are."""

    status: int
    body: Json | str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    via: bool = True
    shared: bool = False


@dataclass
class Hold:
    """Requests wait here until `open`. `reached` is set when the first one has come."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    _opened: asyncio.Event = field(default_factory=asyncio.Event)

    def open(self) -> None:
        self._opened.set()

    async def wait(self) -> None:
        self.reached.set()
        await self._opened.wait()


@dataclass
class Fault:
    method: str
    path: Pattern[str]
    left: int
    after: bool = False
    fits: Callable[[Call], bool] | None = None
    seconds: float = 0.0
    hold: Hold | None = None
    answer: Answer | None = None
    cut: bool = False
    shape: Callable[[Any], Any] | None = None

    @property
    def ends(self) -> bool:
        """No other fault acts on the same request after this one."""
        return self.cut or self.answer is not None


class RestFaults:
    def __init__(self) -> None:
        self._set: list[Fault] = []

    def _add(self, method: str, path: str, times: int | None, **more: Any) -> None:
        self._set.append(Fault(method, path_pattern(path), FOR_EVER if times is None else times, **more))

    def clear(self) -> None:
        """All faults off."""
        self._set.clear()

    def answer(
        self,
        method: str,
        path: str,
        status: int,
        body: Json | str | None = None,
        *,
        times: int | None = 1,
        after: bool = False,
        fits: Callable[[Call], bool] | None = None,
    ) -> None:
        """500, 502, 503, 504, 524 and their kin, with a small JSON body if none is given."""
        said = {"message": f"{status}", "code": 0} if body is None else body
        self._add(method, path, times, after=after, fits=fits, answer=Answer(status, said))

    def refuse(
        self,
        method: str,
        path: str,
        code: int,
        *,
        times: int | None = 1,
        after: bool = False,
        fits: Callable[[Call], bool] | None = None,
    ) -> None:
        """One of Discord's own errors by its code: 10003, 10008, 50013, 50083, 40058, 50035, 40005, 50027, 20016 …"""
        error = ApiError(code)
        body = error.body()
        if error.status == 429:
            body |= {"retry_after": 0.2, "global": False}
        self._add(method, path, times, after=after, fits=fits, answer=Answer(error.status, body))

    def cloudflare(
        self,
        method: str,
        path: str,
        status: int = 502,
        *,
        times: int | None = 1,
        after: bool = False,
    ) -> None:
        """A page in HTML that never came from Discord: no Via."""
        page = f"<!DOCTYPE html><html><head><title>{status}</title></head><body>cloudflare</body></html>"
        self._add(method, path, times, after=after, answer=Answer(status, page, via=False))

    def too_many(
        self,
        method: str,
        path: str,
        retry_after: float,
        *,
        times: int | None = 1,
        scope: str = "user",
        via: bool = True,
    ) -> None:
        """A 429. `scope`: user, global or shared. Without Via it is Cloudflare's (its body still JSON)."""
        body: Json = {"message": "Slow down.", "retry_after": retry_after, "global": scope == "global"}
        headers = {"Retry-After": str(max(1, round(retry_after))), "X-RateLimit-Scope": scope}
        if scope == "global":
            headers["X-RateLimit-Global"] = "true"
        given = Answer(429, body, headers, via, shared=scope == "shared")
        self._add(method, path, times, answer=given)

    def cut(
        self,
        method: str,
        path: str,
        *,
        times: int | None = 1,
        after: bool = False,
        fits: Callable[[Call], bool] | None = None,
    ) -> None:
        """The connection is reset: before anything was done, or (`after`) with the work done and the answer lost.

        aiohttp itself tries GET, PUT and DELETE once more after a cut: `times=2` for those to be noticed.
        """
        self._add(method, path, times, after=after, fits=fits, cut=True)

    def slow(
        self, method: str, path: str, seconds: float, *, times: int | None = 1, after: bool = False
    ) -> None:
        """The request is served (or, `after`, answered) so many real seconds later."""
        self._add(method, path, times, after=after, seconds=seconds)

    def hold(
        self,
        method: str,
        path: str,
        *,
        times: int | None = 1,
        after: bool = False,
        fits: Callable[[Call], bool] | None = None,
    ) -> Hold:
        """The request waits, before or after the work, until the test opens the way."""
        made = Hold()
        self._add(method, path, times, after=after, fits=fits, hold=made)
        return made

    def reshape(
        self, method: str, path: str, shape: Callable[[Any], Any], *, times: int | None = None
    ) -> None:
        """Good answers get odd or missing fields: `shape` gives what is sent instead (see `oddities`)."""
        self._add(method, path, times, shape=shape)

    def take(self, call: Call) -> list[Fault]:
        """The faults for one request, in order, each used once; the last of them may end it."""
        found: list[Fault] = []
        for one in list(self._set):
            if one.method not in ("*", call.method) or not one.path.match(call.path):
                continue
            if one.fits is not None and not one.fits(call):
                continue
            one.left -= 1
            if one.left <= 0:
                self._set.remove(one)
            found.append(one)
            if one.ends:
                break
        return found

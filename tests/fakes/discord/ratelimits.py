"""Rate limits: a bucket for each route and each channel, guild or webhook, one for everything, and the count of the
refusals that get an address banned. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fakes.discord.clock import Clock

BAN_WINDOW = 600.0


def path_pattern(pattern: str) -> re.Pattern[str]:
    """`*` is one part of a path, `**` any number of them."""
    parts = re.split(r"(\*\*|\*)", pattern)
    known = {"*": "[^/]+", "**": ".*"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts) + r"\Z")


@dataclass
class Limit:
    """`limit` requests in `per` seconds on paths that fit. Routes of one `name` share a bucket."""

    method: str
    path: re.Pattern[str]
    limit: int
    per: float
    name: str


@dataclass
class _Window:
    started: float
    used: int = 0


@dataclass
class Verdict:
    """Headers for the answer; `retry_after` (seconds) where it is a 429."""

    headers: dict[str, str]
    retry_after: float | None = None
    is_global: bool = False


@dataclass
class RateLimits:
    clock: Clock
    global_limit: int = 50
    """Requests a second for one bot; 0: none."""
    default: tuple[int, float] = (1000, 1.0)
    headers: bool = True
    """False: no X-RateLimit headers, as some other servers do it."""
    skew: float = 0.0
    """Seconds by which X-RateLimit-Reset is wrong: another clock than the client's."""
    banned_at: int = 10_000
    limits: list[Limit] = field(default_factory=list[Limit])
    invalid: list[float] = field(default_factory=list[float])
    """When a 401, 403 or 429 (but no shared one) was answered."""
    _windows: dict[tuple[str, str, str], _Window] = field(default_factory=dict[tuple[str, str, str], _Window])

    def limit(self, method: str, path: str, limit: int, per: float, name: str | None = None) -> None:
        """A bucket of its own for these requests; the last one set wins."""
        made = Limit(method, path_pattern(path), limit, per, name or f"{method} {path}")
        self.limits.insert(0, made)

    def realistic(self) -> None:
        """The figures commonly seen on Discord (it documents only the global one)."""
        self.limit("POST", "/channels/*/messages", 5, 5.0)
        self.limit("PATCH", "/channels/*/messages/*", 5, 5.0)
        self.limit("DELETE", "/channels/*/messages/*", 5, 1.0)
        self.limit("PUT", "/channels/*/messages/*/reactions/**", 1, 0.25, "reactions")
        self.limit("DELETE", "/channels/*/messages/*/reactions/**", 1, 0.25, "reactions")
        self.limit("POST", "/channels/*/typing", 5, 5.0)

    def ask(self, who: str, method: str, path: str, *, counts_globally: bool = True) -> Verdict:
        """Counts one request of `who` and says whether it is one too many."""
        now = self.clock.now()
        if counts_globally and self.global_limit:
            window = self._window((who, "global", ""), now, 1.0)
            if window.used >= self.global_limit:
                after = max(0.001, window.started + 1.0 - now)
                return Verdict({"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}, after, True)
            window.used += 1
        found = next((one for one in self.limits if one.method == method and one.path.match(path)), None)
        limit, per = (found.limit, found.per) if found else self.default
        name = found.name if found else f"{method} {_shape(path)}"
        window = self._window((who, name, _major(path)), now, per)
        after = max(0.001, window.started + per - now)
        over = window.used >= limit
        window.used += 0 if over else 1
        headers = {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(limit - window.used),
            "X-RateLimit-Reset": f"{now + after + self.skew:.3f}",
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Bucket": f"{hash_of(name):08x}",
        }
        if over:
            return Verdict({**headers, "X-RateLimit-Scope": "user"}, after)
        return Verdict(headers if self.headers else {})

    def _window(self, key: tuple[str, str, str], now: float, per: float) -> _Window:
        window = self._windows.get(key)
        if window is None or now - window.started >= per:
            window = self._windows[key] = _Window(now)
        return window

    def refused(self, status: int, *, shared: bool) -> None:
        """Counts an answer that Discord holds against the address."""
        now = self.clock.now()
        if status in (401, 403) or (status == 429 and not shared):
            self.invalid.append(now)

    @property
    def banned(self) -> bool:
        now = self.clock.now()
        return sum(now - when < BAN_WINDOW for when in self.invalid) >= self.banned_at


def _shape(path: str) -> str:
    return re.sub(r"\d{15,}", "*", path.split("/reactions/")[0])


def _major(path: str) -> str:
    found = re.match(r"/(channels|guilds|webhooks)/(\d+)", path)
    return found.group(2) if found else ""


def hash_of(name: str) -> int:
    """The same number for the same name in every run."""
    number = 2_166_136_261
    for byte in name.encode():
        number = (number ^ byte) * 16_777_619 & 0xFFFFFFFF
    return number

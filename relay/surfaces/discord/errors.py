"""The one table of what Discord refuses, and what that means for who asked. It decides nothing else.

permanent: it would be refused each time. transient: later it may go. fatal: nothing goes until a person changes
something. Error texts are never read: they differ between servers and days. An unknown code counts by its HTTP status.
"""

from __future__ import annotations

import asyncio
from typing import Literal

import aiohttp
import discord

from relay.errors import SurfaceError

Kind = Literal["permanent", "transient", "fatal"]

THREAD_ARCHIVED = 50083
THREAD_LOCKED = 160005
FILE_TOO_LARGE = 40005
THREAD_EXISTS = 160004
UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
NO_ACCESS = 50001
MISSING_PERMISSION = 50013
TOO_MANY_PINS = 30003

CODES: dict[int, tuple[Kind, str]] = {
    10003: ("permanent", "the channel or thread is gone"),
    10004: ("permanent", "the server is gone, or the bot was removed from it"),
    UNKNOWN_MESSAGE: ("permanent", "the message is gone"),
    10014: ("permanent", "Discord doesn't know that emoji"),
    10062: ("permanent", "the click was answered too late"),
    20016: ("transient", "the channel is in slow mode"),
    TOO_MANY_PINS: ("permanent", "there are as many pins as a channel can have"),
    30010: ("permanent", "the message has as many reactions as it can have"),
    30046: ("transient", "an old message was edited too often; Discord wants a pause"),
    40005: ("permanent", "the file is larger than this server takes"),
    40058: ("transient", "the author of this forum post hasn't written its first message yet"),
    40060: ("permanent", "the click was answered already"),
    50001: ("permanent", "the bot can't see that channel"),
    50005: ("permanent", "that message is somebody else's"),
    50006: ("permanent", "there is nothing in this message"),
    50007: ("permanent", "this person takes no direct messages from the bot"),
    50008: ("permanent", "nobody can write in that kind of channel"),
    50013: ("permanent", "the bot lacks a permission there"),
    50027: ("permanent", "the time to answer the click is over"),
    50035: ("permanent", "Discord finds something wrong in this message"),
    50083: ("permanent", "the thread is archived"),
    90001: ("permanent", "somebody there has blocked the bot"),
    130000: ("transient", "Discord is overloaded"),
    160002: ("permanent", "the bot may not read that channel's history, which a reply needs"),
    160005: ("permanent", "the thread is locked"),
    200000: ("permanent", "the server's AutoMod blocked this text"),
}
ADVICE: dict[int, str] = {
    50001: "Give the bot's role View Channel there.",
    50013: "Give the bot's role the permissions that docs/discord.md lists.",
    160002: "Give the bot's role Read Message History there.",
}
UNAVAILABLE = (408, 425, 429)
CLOUDFLARE_PAUSE_MS = 60_000

FATAL_CLOSES: dict[int, str] = {
    4004: "Discord refused the bot's token. In the developer portal (your application, Bot, Reset Token) make a new "
    "one, put it into .env as {token_env}, and start the relay again.",
    4010: "Discord refused the connection as a wrong shard. Update the relay.",
    4011: "Discord wants this bot to be sharded, because it is in too many servers. Give the relay a bot of its own.",
    4012: "Discord no longer takes this version of its API. Update the relay.",
    4013: "Discord doesn't know an intent that the relay asks for. Update the relay.",
    4014: "Discord doesn't let the bot read messages. In the developer portal (your application, Bot, Privileged "
    "Gateway Intents) switch on Message Content Intent, and start the relay again.",
}


class DiscordRefused(SurfaceError):
    """What Discord refused, with its own code and the HTTP status; 0 where there is none."""

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        kind: Kind = "permanent",
        retry_after_ms: int | None = None,
        number: int = 0,
        status: int = 0,
    ) -> None:
        super().__init__(message, advice, kind=kind, retry_after_ms=retry_after_ms)
        self.number = number
        self.status = status


def refused(error: Exception) -> DiscordRefused:
    """What an error of discord.py, aiohttp or the network means."""
    if isinstance(error, DiscordRefused):
        return error
    if isinstance(error, discord.RateLimited):
        wait = int(error.retry_after * 1000) + 1
        return DiscordRefused("Discord asks for a pause.", kind="transient", retry_after_ms=wait, status=429)
    if isinstance(error, discord.LoginFailure):
        return DiscordRefused("Discord refused the bot's token.", kind="fatal", status=401)
    if isinstance(error, discord.HTTPException):
        return _http(error)
    if isinstance(error, aiohttp.ClientError | OSError | asyncio.TimeoutError | TimeoutError):
        return DiscordRefused(
            f"Discord can't be reached just now ({type(error).__name__}).", kind="transient"
        )
    return DiscordRefused(
        f"Discord's answer could not be understood ({type(error).__name__}).", kind="transient"
    )


def _http(error: discord.HTTPException) -> DiscordRefused:
    status, code = error.status, error.code
    if code in CODES:
        kind, words = CODES[code]
        wait = _asked_pause_ms(error) if kind == "transient" else None
        return DiscordRefused(
            f"Discord says: {words}.",
            ADVICE.get(code, ""),
            kind=kind,
            retry_after_ms=wait,
            number=code,
            status=status,
        )
    if status == 401:
        return DiscordRefused("Discord refused the bot's token.", kind="fatal", number=code, status=status)
    if status == 413:
        return DiscordRefused(
            "Discord says: the file is larger than this server takes.", number=FILE_TOO_LARGE, status=status
        )
    # An error that Discord itself sends has a code; a page from in front of it has none, and says nothing of us.
    from_in_front = code == 0 and status in (403, 429) and "Via" not in error.response.headers
    if status >= 500 or status in UNAVAILABLE or from_in_front:
        wait = _asked_pause_ms(error) or (CLOUDFLARE_PAUSE_MS if from_in_front else None)
        return DiscordRefused(
            f"Discord is not available just now ({status}).",
            kind="transient",
            retry_after_ms=wait,
            number=code,
            status=status,
        )
    return DiscordRefused(f"Discord refused it ({status}, code {code}).", number=code, status=status)


def _asked_pause_ms(error: discord.HTTPException) -> int | None:
    """The pause that an answer asks for."""
    try:
        return max(1, int(float(error.response.headers.get("Retry-After", "")) * 1000))
    except ValueError:
        return None


def fatal(error: BaseException, token_env: str) -> str | None:
    """What to switch on where, for an end of the connection that trying again can't help; None for every other."""
    code: int | None = None
    if isinstance(error, discord.LoginFailure):
        code = 4004
    elif isinstance(error, discord.PrivilegedIntentsRequired):
        code = 4014
    elif isinstance(error, discord.ConnectionClosed):
        code = error.code
    words = FATAL_CLOSES.get(code or 0)
    return words.format(token_env=token_env) if words else None

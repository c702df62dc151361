"""The way in for the real discord.py: a connector that finds the tests' Discord under Discord's names, and nobody else.

`connector` is enough in another process too: it needs only the port and the path of the test CA.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

HOSTS = (
    "discord.com",
    "gateway.discord.gg",
    "gateway-resume.discord.gg",
    "cdn.discordapp.com",
    "media.discordapp.net",
)


class OnlyHere(AbstractResolver):
    """Discord's names are this machine; every other name is refused, and kept in `refused`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.asked: list[str] = []
        self.refused: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        if host not in HOSTS:
            self.refused.append(host)
            raise OSError(f"The tests' network has no {host}")
        return [
            ResolveResult(
                hostname=host,
                host="127.0.0.1",
                port=self._port,
                family=socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def close(self) -> None:
        """There is nothing to close."""


def connector(port: int, ca: Path | str, resolver: OnlyHere | None = None) -> aiohttp.TCPConnector:
    """A new connector (a closed client closes its own). Call it on the event loop. `ca`: the CA's file (PEM)."""
    trusted = ssl.create_default_context(cafile=str(ca))
    return aiohttp.TCPConnector(
        limit=0, resolver=resolver or OnlyHere(port), ssl=trusted, use_dns_cache=False, force_close=False
    )

"""Looks at everything outside that the bot needs: its token, its switch in the portal, the gateway, the clock, and for
each room of access.json whether it is there and what the bot may do in it. It changes nothing and opens no session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path

import aiohttp
import anyio
from discord.http import Route

from relay import texts_for_doctor as texts
from relay.behaviours.commands import Command
from relay.clock import Clock
from relay.config import Access
from relay.finding import Finding, fine, note, todo
from relay.surfaces.discord import permissions, raw, slash
from relay.surfaces.discord.api import Connector, DiscordApi, Json
from relay.surfaces.discord.errors import NO_ACCESS, UNKNOWN_CHANNEL, DiscordRefused
from relay.surfaces.discord.token_lock import holder

ANSWER_WITHIN_S = 15.0
MOST_SERVERS = 25
SESSIONS_LEFT = 100
CLOCK_MAY_BE_OFF_S = 30.0
_READS_CONTENT = 1 << 18 | 1 << 19
"""The switch, as the portal shows it for bots in many servers and in few."""
_HELLO = 10
_UNKNOWN_MEMBER = 10007


@dataclass
class Examination:
    """See the module. `tell` is called with each finding, `looking` with what is looked at next."""

    token: str
    token_env: str
    access: Access
    state: Path
    locks: Path
    commands: Sequence[Command]
    clock: Clock
    tell: Callable[[Finding], None]
    looking: Callable[[str], None]
    connector: Connector | None = None
    _servers: dict[str, Json] = field(default_factory=dict[str, Json], init=False)
    _channels: dict[str, Json] | None = field(default=None, init=False)

    async def run(self) -> None:
        """One after the other, as they are found. Raises nothing but what cancels it."""
        held = holder(self.locks, self.token)
        if held is not None and held.endswith(f"state {self.state}"):
            self.tell(fine(texts.token_used_here(held)))
        elif held is not None:
            self.tell(todo(*texts.token_used(held)))
        self.looking("Discord")
        if not await self._reachable():
            return
        api = DiscordApi(self.token, self.connector)
        try:
            client = await api.log_in()
            self.tell(fine(texts.token_fine(str(client.user))))
            await self._signed_in(api)
        except DiscordRefused as error:
            if error.kind == "fatal":
                self.tell(todo(*texts.token_refused(self.token_env)))
            else:
                self.tell(todo(*texts.unreachable("Discord", str(error))))
        finally:
            await api.close()

    async def _signed_in(self, api: DiscordApi) -> None:
        application = await api.object(Route("GET", "/applications/@me"))
        on = raw.number(application.get("flags")) & _READS_CONTENT
        self.tell(fine(texts.INTENT_FINE) if on else todo(*texts.INTENT_OFF))
        self.looking("the gateway")
        self.tell(await self._gateway(api))
        self.looking("the slash commands")
        self.tell(await self._slash_commands(api))
        self.looking("the rooms")
        await self._rooms(api)

    # -- reachable, and at the same time ------------------------------------------------------------------------------

    def _network(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=self.connector() if self.connector else None)

    async def _reachable(self) -> bool:
        """Whether Discord answers at all; and what time it has, which it says with each answer."""
        try:
            with anyio.fail_after(ANSWER_WITHIN_S):
                async with self._network() as network, network.get(f"{Route.BASE}/gateway") as answer:
                    said = answer.headers.get("Date", "")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            self.tell(todo(*texts.unreachable("discord.com", _why(error))))
            return False
        try:
            ahead = self.clock.now_ms() / 1000 - parsedate_to_datetime(said).timestamp()
        except ValueError:
            self.tell(note(texts.NO_DATE))
            return True
        off = abs(ahead) > CLOCK_MAY_BE_OFF_S
        self.tell(todo(*texts.clock_off(ahead)) if off else fine(texts.clock_fine(ahead)))
        return True

    async def _gateway(self, api: DiscordApi) -> Finding:
        """Up to its first word. No session begins by that, so none is spent."""
        about = await api.object(Route("GET", "/gateway/bot"))
        limit = raw.obj(about.get("session_start_limit"))
        left, total = raw.number(limit.get("remaining")), raw.number(limit.get("total"), 1000)
        url = raw.text(about.get("url"))
        try:
            with anyio.fail_after(ANSWER_WITHIN_S):
                async with (
                    self._network() as network,
                    network.ws_connect(f"{url}/?v=10&encoding=json") as socket,
                ):
                    said = raw.obj(await socket.receive_json())
        except (aiohttp.ClientError, OSError, TimeoutError, TypeError, ValueError) as error:
            return todo(*texts.unreachable("Discord's gateway", _why(error)))
        if said.get("op") != _HELLO:
            return todo(*texts.unreachable("Discord's gateway", texts.NO_GREETING))
        told, advice = texts.gateway(left, total, spent=left < SESSIONS_LEFT)
        return todo(told, advice) if left < SESSIONS_LEFT else fine(told)

    async def _slash_commands(self, api: DiscordApi) -> Finding:
        route = Route("GET", "/applications/{application_id}/commands", application_id=api.application)
        known = slash.names(await api.objects(route))
        missing = [command.name for command in self.commands if command.name not in known]
        if missing:
            return note(texts.commands_differ(missing), texts.COMMANDS_COME)
        return fine(texts.commands_fine(len(self.commands)))

    # -- rooms --------------------------------------------------------------------------------------------------------

    async def _rooms(self, api: DiscordApi) -> None:
        rooms = [room.partition(":")[2] for room in self.access.rooms if room.startswith("discord:")]
        if not rooms:
            self.tell(todo(*texts.NO_ROOMS))
        used: dict[str, str] = {}
        for id in rooms:
            self.looking(f"room discord:{id}")
            channel = await self._channel(api, id)
            if channel is None:
                names = [raw.text(server.get("name")) for server in self._servers.values()]
                self.tell(todo(*texts.channel_unknown(id, names)))
                continue
            guild = raw.word(channel.get("guild_id"))
            kind = raw.number(channel.get("type"), -1)
            if kind in raw.THREADS:
                self.tell(todo(*texts.channel_a_thread(id, raw.word(channel.get("parent_id")))))
            elif not guild or kind not in raw.ROOMS:
                self.tell(todo(*texts.channel_odd(id, texts.KINDS.get(kind, texts.ODD_KIND))))
            else:
                await self._permissions(api, id, channel, guild)
                used[guild] = raw.text(self._servers[guild].get("name"))
        await self._owner(api, used)

    async def _channel(self, api: DiscordApi, id: str) -> Json | None:
        """The channel, also one that the bot may not see, as long as the bot is in its server."""
        try:
            return await api.object(Route("GET", "/channels/{channel_id}", channel_id=id))
        except DiscordRefused as error:
            if error.number not in (UNKNOWN_CHANNEL, NO_ACCESS) and error.status not in (403, 404):
                raise
        if self._channels is None:
            self._channels = {}
            for server in (await api.objects(Route("GET", "/users/@me/guilds")))[:MOST_SERVERS]:
                guild = raw.word(server.get("id"))
                await self._server(api, guild)
                route = Route("GET", "/guilds/{guild_id}/channels", guild_id=guild)
                for channel in await api.objects(route):
                    self._channels[raw.word(channel.get("id"))] = {**channel, "guild_id": guild}
        return self._channels.get(id)

    async def _server(self, api: DiscordApi, guild: str) -> Json:
        if guild not in self._servers:
            route = Route("GET", "/guilds/{guild_id}", guild_id=guild)
            member = Route("GET", "/guilds/{guild_id}/members/{user_id}", guild_id=guild, user_id=api.us)
            self._servers[guild] = {**await api.object(route), "us": await api.object(member)}
        return self._servers[guild]

    async def _permissions(self, api: DiscordApi, id: str, channel: Json, guild: str) -> None:
        server = await self._server(api, guild)
        name, where = raw.text(channel.get("name")), raw.text(server.get("name"))
        standing = permissions.standing(server, raw.obj(server.get("us")), channel)
        lacks = standing.lacks(permissions.NEEDED)
        if lacks:
            role = _role(server, api.us)
            everywhere = [one.name for one, taken in lacks if not taken]
            here = [one.name for one, taken in lacks if taken]
            advice = [texts.switch_on_in_role(role, everywhere)] if everywhere else []
            advice += [texts.switch_on_in_channel(name, role, here)] if here else []
            self.tell(todo(texts.room_lacks(id, name, where, _told(lacks)), "\n".join(advice)))
        else:
            self.tell(fine(texts.room_fine(id, name, where)))
        could = standing.lacks(permissions.USEFUL)
        if could and not lacks:
            self.tell(note(texts.room_could(id, name, _told(could))))

    async def _owner(self, api: DiscordApi, servers: dict[str, str]) -> None:
        owner = self.access.owner.get("discord", "")
        if not owner:
            self.tell(todo(*texts.NO_OWNER))
        elif servers:
            self.looking("the owner")
            for guild in servers:
                path = "/guilds/{guild_id}/members/{user_id}"
                try:
                    await api.object(Route("GET", path, guild_id=guild, user_id=owner))
                except DiscordRefused as error:
                    if error.number != _UNKNOWN_MEMBER and error.status != 404:
                        raise
                    continue
                self.tell(fine(texts.owner_fine(owner)))
                return
            self.tell(todo(*texts.owner_elsewhere(owner, list(servers.values()))))


def _told(lacks: Sequence[tuple[permissions.Permission, bool]]) -> list[tuple[str, str]]:
    return [(one.name, one.purpose) for one, _ in lacks]


def _role(server: Json, us: str) -> str:
    """The bot's own role in a server, which Discord made for it; else its name."""
    for role in raw.objs(server.get("roles")):
        if raw.word(raw.obj(role.get("tags")).get("bot_id")) == us:
            return raw.text(role.get("name"))
    user = raw.obj(raw.obj(server.get("us")).get("user"))
    return raw.text(user.get("username")) or "the bot"


def _why(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

"""Discord's gateway: sessions, what each of them hears, and the words of the protocol. Sockets are in gateway_link.

A test acts on it by `cut`, `close`, `reconnect`, `invalidate`, `raw`, and by `faults`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from fakes.discord import intents, message_payloads, payloads
from fakes.discord.gateway_faults import GatewayFaults
from fakes.discord.model import App, Json, User
from fakes.discord.session import Link, Session
from fakes.discord.world import Event, World

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, VOICE, RESUME, RECONNECT = 0, 1, 2, 3, 4, 6, 7
MEMBERS, INVALID, HELLO, ACK = 8, 9, 10, 11
RESUME_URL = "wss://gateway-resume.discord.gg"
DAY = 86_400


@dataclass
class Gateway:
    world: World
    faults: GatewayFaults
    heartbeat: float = 41.25
    """Seconds between heartbeats that HELLO asks for."""
    sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    links: list[Link] = field(default_factory=list[Link])
    heard: list[str] = field(default_factory=list[str])
    """What clients did, in order: connect, identify, resume, heartbeat, close 1000 …"""

    def __post_init__(self) -> None:
        self.world.listeners.append(self.tell)

    # What a test does to the connections of an app (None: of all)

    def _open(self, app: App | None) -> list[Session]:
        return [one for one in self.sessions.values() if one.link and app in (None, one.app)]

    def online(self, app: App) -> bool:
        """Whether the bot has a session with an open connection."""
        return bool(self._open(app))

    def cut(self, app: App | None = None) -> None:
        """The connections break, with no word."""
        for one in self._open(app):
            self._lose(one).cut()

    def close(self, code: int, app: App | None = None) -> None:
        """The connections are closed with this code."""
        for one in self._open(app):
            self._lose(one).close(code)

    def reconnect(self, app: App | None = None) -> None:
        """Op 7: please come back."""
        for one in self._open(app):
            if one.link:
                one.link.send({"op": RECONNECT, "d": None})

    def invalidate(self, app: App | None = None, *, resumable: bool = False) -> None:
        """Op 9. Not resumable: the session is gone."""
        for one in self._open(app):
            if not resumable:
                self.sessions.pop(one.id, None)
            if one.link:
                one.link.send({"op": INVALID, "d": resumable})

    def forget_sessions(self) -> None:
        """Nobody can RESUME what there was so far: the gap's events are gone."""
        for one in self.sessions.values():
            one.told.clear()
        self.sessions = {key: one for key, one in self.sessions.items() if one.link}

    def raw(self, name: str, data: Json, app: App | None = None) -> None:
        """Any event at all: an unknown one, one without the field that a parser needs."""
        for one in self._open(app):
            one.dispatch(name, data)

    def _lose(self, one: Session) -> Link:
        link, one.link = one.link, None
        one.left_at = self.world.clock.now()
        if link is None:
            raise RuntimeError("There is no connection.")
        return link

    # News

    def tell(self, event: Event) -> None:
        """Every session that may hear it does, as far as the faults let it."""
        for one in list(self.sessions.values()):
            data = self._as_heard(event, one)
            if data is None:
                continue
            fate = self.faults.deliver(event.name, data)
            if fate.late:
                asyncio.get_running_loop().call_later(fate.late, self._dispatch, one, event.name, fate.data)
            else:
                self._dispatch(one, event.name, fate.data)
                if fate.again:
                    one.again()

    def _dispatch(self, one: Session, name: str, several: list[Json]) -> None:
        for data in several:
            one.dispatch(name, data)

    def _as_heard(self, event: Event, one: Session) -> Json | None:
        """The event for this session; None where it hears nothing of it."""
        bot = one.app.user
        if event.only is not None and bot.id not in event.only:
            return None
        if event.intents and not event.intents & one.intents:
            return None
        guild = self.world.guilds.get(event.guild_id or 0)
        if guild is not None and (bot.id not in guild.members or not guild.available):
            return None
        channel = self.world.channels.get(event.channel_id or 0)
        if channel is not None and not self.world.sees(bot, channel):
            return None
        if event.message is None or channel is None:
            return event.data
        strict = self.world.rules.threads_need_membership and channel.thread is not None
        if strict and channel.thread and bot.id not in channel.thread.members:
            return None
        if one.intents & intents.CONTENT:
            return event.data
        return message_payloads.hidden(event.data, event.message, bot, direct=channel.guild_id is None)

    # The protocol

    def identify(self, link: Link, data: Json) -> Session | None:
        """A new session, told READY and its guilds; or None, and the link is closed with the code that says why."""
        app = self.world.app_by_token(str(data.get("token", "")))
        if app is None:
            link.close(4004, "Authentication failed.")
            return None
        now = self.world.clock.now()
        app.identifies = [*(when for when in app.identifies if now - when < DAY), now]
        if len(app.identifies) > self.world.rules.identifies_a_day:
            app.token_valid = False
            link.close(4004, "Authentication failed.")
            return None
        wanted = data.get("intents")
        if not isinstance(wanted, int) or wanted & ~intents.KNOWN:
            link.close(4013, "Invalid intent(s).")
            return None
        if wanted & intents.PRIVILEGED & ~app.privileged:
            link.close(4014, "Disallowed intent(s).")
            return None
        if (shard := data.get("shard")) and not 0 <= shard[0] < shard[1]:
            link.close(4010, "Invalid shard.")
            return None
        one = Session(app, wanted, link=link)
        self.sessions[one.id] = one
        self._greet(one, app.user)
        return one

    def _greet(self, one: Session, bot: User) -> None:
        homes = [guild for guild in self.world.guilds.values() if bot.id in guild.members]
        ready: Json = {
            "v": 10,
            "user": payloads.own_user(bot),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in homes],
            "session_id": one.id,
            "session_type": "normal",
            "resume_gateway_url": RESUME_URL,
            "application": {"id": str(one.app.id), "flags": intents.app_flags(one.app.privileged)},
            "private_channels": [],
            "user_settings": {},
            "relationships": [],
            "_trace": [],
        }
        for shape in self.faults.deliver("READY", ready, greeting=True).data:
            one.dispatch("READY", shape)
        for guild in homes:
            if guild.available and one.intents & intents.GUILDS:
                data = payloads.guild_create(self.world, guild, bot)
                for shape in self.faults.deliver("GUILD_CREATE", data, greeting=True).data:
                    one.dispatch("GUILD_CREATE", shape)

    def resume(self, link: Link, data: Json) -> Session | None:
        """The old session with what it missed; None: the link was told INVALID_SESSION, or closed."""
        app = self.world.app_by_token(str(data.get("token", "")))
        if app is None:
            link.close(4004, "Authentication failed.")
            return None
        one = self.sessions.get(str(data.get("session_id")))
        if one is not None and one.left_at is not None:
            too_old = self.world.clock.now() - one.left_at > self.world.rules.session_kept
            if too_old:
                self.sessions.pop(one.id)
                one = None
        seq = data.get("seq")
        if one is not None and isinstance(seq, int) and seq > one.last:
            self.sessions.pop(one.id)
            link.close(4007, "Invalid seq.")
            return None
        missed = one.since(seq) if one is not None and isinstance(seq, int) else None
        if one is None or one.app is not app or missed is None or not self.faults.resumes:
            if one is not None:
                self.sessions.pop(one.id, None)
            link.send({"op": INVALID, "d": False})
            return None
        if one.link is not None:
            one.link.close(4005)
        one.link, one.left_at = link, None
        for packet in missed:
            link.send(packet)
        one.dispatch("RESUMED", {"_trace": []})
        return one

    def left(self, one: Session, link: Link, code: int | None) -> None:
        """The client is gone. With 1000 or 1001 it has ended the session, else it may come back."""
        if one.link is not link:
            return
        one.link, one.left_at = None, self.world.clock.now()
        if code in (1000, 1001):
            self.sessions.pop(one.id, None)

    def members(self, one: Session, data: Json) -> None:
        """Op 8: the members that were asked for, in one chunk."""
        guild = self.world.guilds.get(int(data.get("guild_id") or 0))
        if guild is None or one.app.user.id not in guild.members:
            return
        ids = data.get("user_ids") or []
        wanted = {int(number) for number in (ids if isinstance(ids, list) else [ids])}
        start = str(data.get("query") or "").lower()
        found = [
            member
            for member in guild.members.values()
            if (member.user.id in wanted if wanted else member.user.name.lower().startswith(start))
        ]
        told: Json = {
            "guild_id": str(guild.id),
            "members": [payloads.member(member) for member in found],
            "chunk_index": 0,
            "chunk_count": 1,
            "not_found": [str(number) for number in wanted if number not in guild.members],
        }
        if data.get("nonce"):
            told["nonce"] = data["nonce"]
        one.dispatch("GUILD_MEMBERS_CHUNK", told)

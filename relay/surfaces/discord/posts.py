"""Writing in Discord: a post once for its nonce, with its files and buttons; and opening a thread once."""

from __future__ import annotations

from discord.http import Route

from relay import texts, texts_for_agents
from relay.clock import Clock, Instant
from relay.ledger.blobs import Blobs
from relay.surfaces.discord import cards, raw, writing
from relay.surfaces.discord.api import DiscordApi, Json, Upload
from relay.surfaces.discord.channels import Channels
from relay.surfaces.discord.errors import (
    FILE_TOO_LARGE,
    THREAD_ARCHIVED,
    THREAD_EXISTS,
    DiscordRefused,
)
from relay.surfaces.discord.history import History, known
from relay.surfaces.surface import OutgoingPost

MOST_FILES = 10
QUIET_MINUTES = 4320
HELD_UP_AFTER_S = 45.0
"""A try that would leave later than that is not made: the machine slept meanwhile, so Discord may have forgotten the
nonce of an earlier try, and the caller must look first whether that one stands."""
_LONGEST_TITLE = 100
_MESSAGES = "/channels/{channel_id}/messages"


class Posts:
    """See the module."""

    def __init__(
        self, api: DiscordApi, channels: Channels, history: History, blobs: Blobs, clock: Clock
    ) -> None:
        self._api = api
        self._channels = channels
        self._history = history
        self._blobs = blobs
        self._clock = clock

    async def post(self, place: str, post: OutgoingPost, nonce: str) -> str:
        """See `Surface.post`."""
        if not post.text.strip() and not post.files and not post.card:
            raise DiscordRefused("there is nothing in this post.")
        asked = Instant.now(self._clock)
        await self._channels.place(known(place))  # so that its server, and with it what it takes, is known
        uploads, lines = await self._files(place, post)
        try:
            return await self._send(asked, place, post, nonce, uploads, lines)
        except DiscordRefused as error:
            if error.number == THREAD_ARCHIVED:
                await self.unarchive(place)
                return await self._send(asked, place, post, nonce, uploads, lines)
            if error.number == FILE_TOO_LARGE and uploads:
                refused = [
                    texts_for_agents.file_not_shown(file.name, len(file.data), None) for file in uploads
                ]
                return await self._send(asked, place, post, nonce, [], [*lines, *refused])
            raise

    async def _send(
        self,
        asked: Instant,
        place: str,
        post: OutgoingPost,
        nonce: str,
        uploads: list[Upload],
        lines: list[str],
    ) -> str:
        text = "\n".join([post.text, *lines]) if lines else post.text
        content, allowed, too_long = writing.shown(text, self._called(post.ping))
        files = list(uploads)
        if too_long:
            files = [*files[: MOST_FILES - 1], Upload(writing.whole_name(post.text), text.encode())]
        body: Json = {
            "content": content,
            "allowed_mentions": allowed,
            "nonce": nonce[:25],
            "enforce_nonce": True,
        }
        if post.reply_to and raw.word(post.reply_to):
            # Its message may have been deleted since: the answer stands all the same.
            body["message_reference"] = {
                "message_id": post.reply_to,
                "channel_id": place,
                "fail_if_not_exists": False,
            }
        if post.card:
            body["components"] = cards.rows(post.card, post.choices)
        made = await self._api.object(
            Route("POST", _MESSAGES, channel_id=known(place)),
            body=body,
            files=files,
            still=lambda: asked.passed(self._clock) < HELD_UP_AFTER_S,
        )
        message = raw.word(made.get("id"))
        if not message:
            raise DiscordRefused("Discord's answer names no message.", kind="transient")
        return message

    def _called(self, ping: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        for who in ping:
            surface, _, id = who.partition(":")
            id = self._channels.owner() if who == "owner" else id if surface == "discord" else ""
            if raw.word(id):
                found.append(id)
        return found

    async def _files(self, place: str, post: OutgoingPost) -> tuple[list[Upload], list[str]]:
        """What can be uploaded there, and a line for each file that can't."""
        uploads: list[Upload] = []
        lines: list[str] = []
        limit = await self._channels.file_limit(place) if post.files else 0
        for file in post.files:
            data = await self._blobs.get(file.digest) if file.size <= limit else b""
            if file.size > limit or len(uploads) >= MOST_FILES:
                lines.append(texts_for_agents.file_not_shown(file.name, file.size, limit))
            elif data is None:
                lines.append(texts_for_agents.file_gone(file.name))
            else:
                uploads.append(Upload(file.name, data))
        return uploads, lines

    async def unarchive(self, thread: str) -> None:
        """Raises `DiscordRefused` when we may not."""
        body: Json = {"archived": False}
        await self._api.call(Route("PATCH", "/channels/{channel_id}", channel_id=known(thread)), body=body)

    # -- threads ------------------------------------------------------------------------------------------------------

    async def open_thread(self, room: str, title: str, nonce: str) -> str:
        """See `Surface.open_thread`. Creating a thread has no nonce. In a channel its first message has one, and a
        message has one thread at most; in a forum a marker in the first message is looked for before."""
        place = await self._channels.place(known(room))
        if place is None:
            raise DiscordRefused("the channel is gone, or the bot can't see it.")
        name = texts.inline(title, _LONGEST_TITLE) or "task"
        channel = await self._api.object(Route("GET", "/channels/{channel_id}", channel_id=room))
        if raw.number(channel.get("type")) in raw.FORUMS:
            return await self._forum_post(room, name, nonce)
        message = await self.post(room, OutgoingPost(f"🧵 {name}"), nonce)
        body: Json = {"name": name, "auto_archive_duration": QUIET_MINUTES}
        path = f"{_MESSAGES}/{{message_id}}/threads"
        try:
            made = await self._api.object(Route("POST", path, channel_id=room, message_id=message), body=body)
        except DiscordRefused as error:
            if error.number != THREAD_EXISTS:
                raise
            return message
        self._channels.keep(made)
        return raw.word(made.get("id")) or message

    async def _forum_post(self, room: str, name: str, nonce: str) -> str:
        marker = f"-# {nonce}"
        for thread in await self._channels.active_of(room):
            ours = raw.word(thread.get("owner_id")) == self._api.us
            if ours and raw.text(thread.get("name")) == name:
                id = raw.word(thread.get("id"))
                async for first in self._history.after(id, 0, pages=1):
                    if marker in raw.text(first.get("content")):
                        return id
                    break
        body: Json = {
            "name": name,
            "message": {"content": f"🧵 {name}\n{marker}", "allowed_mentions": writing.nobody()},
        }
        made = await self._api.object(
            Route("POST", "/channels/{channel_id}/threads", channel_id=room), body=body
        )
        self._channels.keep(made)
        return raw.word(made.get("id"))

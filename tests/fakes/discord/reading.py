"""Reading what was said: pages of history, newest first, as Discord gives them."""

from __future__ import annotations

from fakes.discord import permissions
from fakes.discord.errors import wrong_form
from fakes.discord.model import Channel, Message, User
from fakes.discord.world import World


def history(
    world: World,
    viewer: User,
    channel: Channel,
    *,
    before: int | None = None,
    after: int | None = None,
    around: int | None = None,
    limit: int = 50,
) -> list[Message]:
    """At most `limit` (1 to 100) messages, newest first. `after` gives those right after it, not the newest ones.

    Empty for who may not read the history.
    """
    if not 1 <= limit <= 100:
        raise wrong_form("limit", "NUMBER_TYPE_MAX", "1 to 100")
    world.need(viewer, channel, permissions.VIEW_CHANNEL)
    if not world.bits(viewer, channel) & permissions.READ_MESSAGE_HISTORY:
        return []
    known = [
        one for one in sorted(channel.messages.values(), key=lambda one: one.id) if not one.ephemeral_for
    ]
    if around is not None:
        older = [one for one in known if one.id < around][-(limit // 2) :] if limit > 1 else []
        newer = [one for one in known if one.id >= around][: limit - limit // 2]
        return [*older, *newer][::-1]
    if after is not None:
        return [one for one in known if one.id > after][:limit][::-1]
    if before is not None:
        known = [one for one in known if one.id < before]
    return known[-limit:][::-1]

"""Gateway intents: the bits, which are privileged, and which an event needs."""

GUILDS = 1 << 0
MEMBERS = 1 << 1
PRESENCES = 1 << 8
GUILD_MESSAGES = 1 << 9
GUILD_REACTIONS = 1 << 10
GUILD_TYPING = 1 << 11
DMS = 1 << 12
DM_REACTIONS = 1 << 13
DM_TYPING = 1 << 14
CONTENT = 1 << 15
WEBHOOKS = 1 << 5

PRIVILEGED = MEMBERS | PRESENCES | CONTENT
KNOWN = (1 << 26) - 1


def messages(guild_id: int | None) -> int:
    return DMS if guild_id is None else GUILD_MESSAGES


def reactions(guild_id: int | None) -> int:
    return DM_REACTIONS if guild_id is None else GUILD_REACTIONS


def typing(guild_id: int | None) -> int:
    return DM_TYPING if guild_id is None else GUILD_TYPING


def app_flags(privileged: int) -> int:
    """The flags of an application whose portal has these intents on (the "limited" ones, for bots in few guilds)."""
    return (
        (1 << 13 if privileged & PRESENCES else 0)
        | (1 << 15 if privileged & MEMBERS else 0)
        | (1 << 19 if privileged & CONTENT else 0)
    )

"""REST: who am I, where am I, my application, my commands, the gateway's address."""

from __future__ import annotations

from typing import Any

from fakes.discord import commands, guilds, payloads
from fakes.discord.asking import Ask, Route
from fakes.discord.errors import ApiError, wrong_form

DAY = 86_400


def me(ask: Ask) -> tuple[int, Any]:
    return 200, payloads.own_user(ask.bot)


def user(ask: Ask) -> tuple[int, Any]:
    found = ask.world.users.get(ask.number("user_id"))
    if found is None:
        raise ApiError(10013)
    return 200, payloads.user(found)


def my_guilds(ask: Ask) -> tuple[int, Any]:
    homes = [one for one in ask.world.guilds.values() if ask.bot.id in one.members]
    return 200, [payloads.partial_guild(one, ask.bot) for one in homes]


def open_direct(ask: Ask) -> tuple[int, Any]:
    other = ask.world.users.get(int(ask.fields.get("recipient_id") or 0))
    if other is None:
        raise wrong_form("recipient_id", "BASE_TYPE_REQUIRED", "Whom?")
    return 200, payloads.channel(ask.world, guilds.direct(ask.world, ask.bot, other), ask.bot)


def application(ask: Ask) -> tuple[int, Any]:
    owner = next((one for one in ask.world.users.values() if not one.bot), ask.bot)
    return 200, payloads.application(ask.signed_in, owner)


def gateway(ask: Ask) -> tuple[int, Any]:
    return 200, {"url": "wss://gateway.discord.gg"}


def gateway_bot(ask: Ask) -> tuple[int, Any]:
    app, rules, now = ask.signed_in, ask.world.rules, ask.world.clock.now()
    recent = [when for when in app.identifies if now - when < DAY]
    limit = {
        "total": rules.identifies_a_day,
        "remaining": max(0, rules.identifies_a_day - len(recent)),
        "reset_after": int((recent[0] + DAY - now) * 1000) if recent else 0,
        "max_concurrency": 1,
    }
    return 200, {"url": "wss://gateway.discord.gg", "shards": 1, "session_start_limit": limit}


def _guild_id(ask: Ask) -> int | None:
    if ask.number("application_id") != ask.signed_in.id:
        raise ApiError(50001)
    return ask.world.guild(ask.number("guild_id"), ask.bot).id if "guild_id" in ask.path else None


def list_commands(ask: Ask) -> tuple[int, Any]:
    guild_id = _guild_id(ask)
    return 200, list(commands.known(ask.signed_in, guild_id).values())


def set_commands(ask: Ask) -> tuple[int, Any]:
    guild_id = _guild_id(ask)
    if not isinstance(ask.body, list):
        raise ApiError(50035)
    return 200, commands.overwrite(ask.world, ask.signed_in, guild_id, ask.body)


def add_command(ask: Ask) -> tuple[int, Any]:
    made, new = commands.create(ask.world, ask.signed_in, _guild_id(ask), ask.fields)
    return 201 if new else 200, made


def delete_command(ask: Ask) -> tuple[int, Any]:
    commands.delete(ask.signed_in, _guild_id(ask), ask.number("command_id"))
    return 204, None


_EVERYWHERE = "/applications/{application_id}/commands"
_IN_GUILD = "/applications/{application_id}/guilds/{guild_id}/commands"

ROUTES = (
    Route("GET", "/users/@me", me),
    Route("GET", "/users/@me/guilds", my_guilds),
    Route("POST", "/users/@me/channels", open_direct),
    Route("GET", "/users/{user_id}", user),
    Route("GET", "/oauth2/applications/@me", application),
    Route("GET", "/applications/@me", application),
    Route("GET", "/gateway", gateway, open=True),
    Route("GET", "/gateway/bot", gateway_bot),
    *(
        route
        for base in (_EVERYWHERE, _IN_GUILD)
        for route in (
            Route("GET", base, list_commands),
            Route("PUT", base, set_commands),
            Route("POST", base, add_command),
            Route("DELETE", base + "/{command_id}", delete_command),
        )
    ),
)

"""How people, guilds and channels are written in JSON, complete enough for Discord's own description of its API."""

from __future__ import annotations

from fakes.discord import intents, permissions
from fakes.discord.clock import iso
from fakes.discord.model import App, Channel, Guild, Json, Kind, Member, Role, User, Webhook
from fakes.discord.world import World


def user(one: User) -> Json:
    return {
        "id": str(one.id),
        "username": one.name,
        "discriminator": "0000" if one.bot else "0",
        "global_name": None if one.bot else one.name.title(),
        "avatar": None,
        "banner": None,
        "accent_color": None,
        "avatar_decoration_data": None,
        "collectibles": None,
        "display_name_styles": None,
        "primary_guild": None,
        "clan": None,
        "public_flags": 0,
        "flags": 0,
        **({"bot": True} if one.bot else {}),
    }


def own_user(one: User) -> Json:
    return {
        **user(one),
        "mfa_enabled": True,
        "locale": "en-US",
        "verified": True,
        "email": None,
        "premium_type": 0,
    }


def member(one: Member, *, with_user: bool = True) -> Json:
    found: Json = {
        "nick": one.nick,
        "avatar": None,
        "banner": None,
        "roles": [str(role) for role in sorted(one.roles)],
        "joined_at": iso(one.joined_at),
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "flags": 0,
        "pending": False,
        "communication_disabled_until": None,
        "avatar_decoration_data": None,
        "collectibles": None,
        "display_name_styles": None,
    }
    return {**found, "user": user(one.user)} if with_user else found


def role(one: Role) -> Json:
    return {
        "id": str(one.id),
        "name": one.name,
        "description": None,
        "permissions": str(one.permissions),
        "position": one.position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": False,
        "mentionable": one.mentionable,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }


def guild(one: Guild) -> Json:
    """As REST gives it."""
    return {
        "id": str(one.id),
        "name": one.name,
        "icon": None,
        "description": None,
        "home_header": None,
        "splash": None,
        "discovery_splash": None,
        "features": [],
        "banner": None,
        "owner_id": str(one.owner_id),
        "application_id": None,
        "region": "deprecated",
        "afk_channel_id": None,
        "afk_timeout": 300,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "widget_enabled": False,
        "widget_channel_id": None,
        "verification_level": 0,
        "roles": [role(found) for found in one.roles.values()],
        "default_message_notifications": 1,
        "mfa_level": 0,
        "explicit_content_filter": 0,
        "max_presences": None,
        "max_members": 500000,
        "max_stage_video_channel_users": 50,
        "max_video_channel_users": 25,
        "vanity_url_code": None,
        "premium_tier": one.premium_tier,
        "premium_subscription_count": 0,
        "preferred_locale": "en-US",
        "rules_channel_id": None,
        "safety_alerts_channel_id": None,
        "public_updates_channel_id": None,
        "premium_progress_bar_enabled": False,
        "premium_progress_bar_enabled_user_updated_at": None,
        "nsfw": False,
        "nsfw_level": 0,
        "emojis": [],
        "stickers": [],
        "incidents_data": None,
        "approximate_member_count": len(one.members),
        "approximate_presence_count": len(one.members),
    }


def guild_create(world: World, one: Guild, viewer: User) -> Json:
    """As the gateway gives it, with what `viewer` sees: channels, active threads, and few members."""
    own = one.members[viewer.id]
    channels = [found for found in world.channels.values() if found.guild_id == one.id]
    seen = [found for found in channels if world.sees(viewer, found)]
    return {
        **guild(one),
        "joined_at": iso(own.joined_at),
        "large": False,
        "unavailable": False,
        "member_count": len(one.members),
        "members": [member(own)],
        "channels": [channel(world, found) for found in channels if not found.is_thread],
        "threads": [
            thread(world, found, viewer) for found in seen if found.thread and not found.thread.archived
        ],
        "voice_states": [],
        "presences": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def channel(world: World, one: Channel, viewer: User | None = None) -> Json:
    """A channel of any kind; a thread with `viewer`'s membership."""
    if one.is_thread:
        return thread(world, one, viewer)
    last = str(one.last_message_id) if one.last_message_id else None
    found: Json = {"id": str(one.id), "type": int(one.kind), "flags": 0, "last_message_id": last}
    if one.kind is Kind.DM:
        others = [user(person) for person in one.recipients if viewer is None or person.id != viewer.id]
        return {**found, "recipients": others}
    found |= {
        "guild_id": str(one.guild_id),
        "name": one.name,
        "position": one.position,
        "parent_id": str(one.parent_id) if one.parent_id else None,
        "permission_overwrites": [
            {"id": str(entry.id), "type": entry.kind, "allow": str(entry.allow), "deny": str(entry.deny)}
            for entry in one.overwrites
        ],
    }
    if one.kind is Kind.CATEGORY:
        del found["last_message_id"]
        return found
    found |= {"topic": one.topic, "rate_limit_per_user": one.slowmode, "nsfw": False}
    if one.kind is Kind.FORUM:
        tags = [
            {"id": str(tag), "name": name, "moderated": False, "emoji_id": None, "emoji_name": None}
            for tag, name in one.tags.items()
        ]
        return {
            **found,
            "available_tags": tags,
            "default_reaction_emoji": None,
            "default_sort_order": None,
            "default_forum_layout": 0,
            "default_thread_rate_limit_per_user": 0,
            "default_auto_archive_duration": 4320,
        }
    return {**found, "last_pin_timestamp": None, "default_auto_archive_duration": 4320}


def thread(world: World, one: Channel, viewer: User | None = None) -> Json:
    state = one.thread
    if state is None:
        raise ValueError(f"{one.name} is no thread.")
    parent = world.channels.get(one.parent_id or 0)
    found: Json = {
        "id": str(one.id),
        "type": int(one.kind),
        "flags": 0,
        "guild_id": str(one.guild_id),
        "parent_id": str(one.parent_id),
        "owner_id": str(one.owner_id),
        "name": one.name,
        "last_message_id": str(one.last_message_id) if one.last_message_id else None,
        "rate_limit_per_user": one.slowmode,
        "message_count": max(0, len(one.messages) - (1 if one.id in one.messages else 0)),
        "member_count": min(50, len(state.members)),
        "total_message_sent": state.sent,
        "thread_metadata": {
            "archived": state.archived,
            "auto_archive_duration": state.archive_after,
            "archive_timestamp": iso(state.changed_at or state.made_at),
            "locked": state.locked,
            "create_timestamp": iso(state.made_at),
            **({"invitable": True} if one.kind is Kind.PRIVATE_THREAD else {}),
        },
    }
    if parent is not None and parent.kind is Kind.FORUM:
        found["applied_tags"] = [str(tag) for tag in state.tags]
    if viewer is not None and viewer.id in state.members:
        found["member"] = thread_member(one, viewer.id)
    return found


def thread_member(one: Channel, user_id: int) -> Json:
    joined = one.thread.members[user_id] if one.thread else 0.0
    return {
        "id": str(one.id),
        "user_id": str(user_id),
        "join_timestamp": iso(joined),
        "flags": 0,
        "muted": False,
        "mute_config": None,
    }


def application(app: App, owner: User) -> Json:
    return {
        "id": str(app.id),
        "name": app.user.name,
        "icon": None,
        "description": "",
        "type": None,
        "summary": "",
        "bot": user(app.user),
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": intents.app_flags(app.privileged),
        "flags_new": str(intents.app_flags(app.privileged)),
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "event_webhooks_url": None,
        "owner": user(owner),
        "approximate_guild_count": 1,
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "team": None,
        "eligible_oauth2_scopes": [],
    }


def webhook(one: Webhook, guild_id: int | None) -> Json:
    return {
        "id": str(one.id),
        "type": 1,
        "guild_id": str(guild_id),
        "channel_id": str(one.channel_id),
        "application_id": str(one.application_id) if one.application_id else None,
        "name": one.name,
        "avatar": None,
        "token": one.token,
        "url": f"https://discord.com/api/webhooks/{one.id}/{one.token}",
        "user": user(one.maker),
    }


def partial_guild(one: Guild, viewer: User) -> Json:
    return {
        "id": str(one.id),
        "name": one.name,
        "icon": None,
        "banner": None,
        "owner": one.owner_id == viewer.id,
        "permissions": str(permissions.in_guild(one, viewer.id)),
        "features": [],
        "approximate_member_count": len(one.members),
        "approximate_presence_count": len(one.members),
    }

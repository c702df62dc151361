"""Every remaining thing that a bot can ask, once, so that each answer is held against Discord's description."""

import discord
import pytest
from discord_clients import Client
from fakes.discord import rest

pytestmark = pytest.mark.anyio

EVERYTHING = discord.Permissions.all().value


@pytest.fixture
def keeper(scene) -> None:
    """The bot may do everything."""
    scene.guild.give(scene.bot, scene.guild.role("keeper", EVERYTHING))


def _seen(scene, *templates: str) -> set[str]:
    """Those of the operations (method and template) that were not answered and checked."""
    checked = {one.rsplit(" ", 1)[0] for one in scene.server.conformity.checked}
    return set(templates) - checked


@pytest.mark.usefixtures("keeper")
async def test_guilds_channels_and_members(scene, client: Client) -> None:
    guild = await client.fetch_guild(scene.guild.id)
    assert [one.name async for one in client.fetch_guilds()] == ["Workshop"]
    assert (await client.fetch_user(scene.ada.id)).name == "ada"
    assert (await guild.fetch_member(scene.ada.id)).name == "ada"
    assert [one.name for one in await guild.fetch_roles()] == ["@everyone", "keeper"]
    made = await guild.create_text_channel("new", topic="what for")
    assert [one.name for one in await guild.fetch_channels()] == ["build", "new"]
    await (await client.fetch_channel(made.id)).delete()
    assert scene.server.world.channels.keys() == {scene.room.id}
    await (await client.fetch_user(scene.ada.id)).send("to you alone")
    assert scene.ada.direct(scene.bot).texts("relay") == ["to you alone"]
    await client.http.request(discord.http.Route("GET", "/gateway"))
    await client.http.request(discord.http.Route("GET", "/applications/@me"))
    assert not _seen(
        scene,
        "GET /guilds/{guild_id}",
        "GET /users/@me/guilds",
        "GET /users/{user_id}",
        "GET /guilds/{guild_id}/members/{user_id}",
        "GET /guilds/{guild_id}/roles",
        "POST /guilds/{guild_id}/channels",
        "GET /guilds/{guild_id}/channels",
        "GET /channels/{channel_id}",
        "DELETE /channels/{channel_id}",
        "POST /users/@me/channels",
        "GET /gateway",
        "GET /applications/@me",
    )


@pytest.mark.usefixtures("keeper")
async def test_messages_cleared_pinned_and_rid_of_reactions(scene, client: Client) -> None:
    said = [scene.ada.say(scene.room, str(number)) for number in range(4)]
    channel = client.get_channel(scene.room.id)
    first = channel.get_partial_message(said[0].id)
    await first.pin()
    assert scene.room.seen()[0].pinned
    await first.unpin()
    for emoji in "👍", "👎", "👀":
        scene.ada.react(said[0], emoji)
    await first.remove_reaction("👍", discord.Object(scene.ada.id))
    await first.clear_reaction("👎")
    assert list(scene.room.seen()[0].reactions) == ["👀"]
    await first.clear_reactions()
    assert scene.room.seen()[0].reactions == {}
    await channel.delete_messages([discord.Object(one.id) for one in said[:3]])
    assert scene.room.texts() == ["3"]


@pytest.mark.usefixtures("keeper")
async def test_threads_and_who_is_in_them(scene, client: Client) -> None:
    thread = await client.get_channel(scene.room.id).create_thread(name="Hidden")
    assert (await client.fetch_channel(thread.id)).type is discord.ChannelType.private_thread
    await thread.add_user(discord.Object(scene.ada.id))
    assert {one.id for one in await thread.fetch_members()} == {scene.bot.id, scene.ada.id}
    assert (await thread.fetch_member(scene.ada.id)).id == scene.ada.id
    await thread.remove_user(discord.Object(scene.ada.id))
    await thread.edit(name="Still hidden", archived=True, locked=True)
    await thread.edit(archived=False)
    await thread.leave()
    await thread.delete()
    assert [one.name for one in scene.room.threads()] == []


@pytest.mark.usefixtures("keeper")
async def test_webhooks(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    hook = await channel.create_webhook(name="CI")
    assert [one.name for one in await channel.webhooks()] == ["CI"]
    sent = await hook.send("built", username="Builder", wait=True)
    await hook.edit_message(sent.id, content="built twice")
    assert (await hook.fetch_message(sent.id)).content == "built twice"
    seen = scene.room.seen()[0]
    assert (seen.author, seen.text, seen.edited) == ("Builder", "built twice", True)
    await hook.delete_message(sent.id)
    assert scene.room.seen() == []


async def test_single_commands_and_what_belongs_to_an_answer(scene, client: Client) -> None:
    kept: list[discord.Interaction] = []

    @client.tree.command(description="Says hello")
    async def hello(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("hello")
        kept.append(interaction)

    http, app = client.http, scene.bot.id
    made = await http.upsert_global_command(app, hello.to_dict(client.tree))
    here = await http.upsert_guild_command(app, scene.guild.id, hello.to_dict(client.tree))
    assert [one["id"] for one in await http.get_guild_commands(app, scene.guild.id)] == [here["id"]]
    await http.delete_guild_command(app, scene.guild.id, here["id"])
    attempt = scene.ada.slash(scene.room, scene.bot, "hello")
    await scene.server.until(lambda: bool(kept))
    assert (await kept[0].original_response()).content == "hello"
    more = await kept[0].followup.send("and more")
    await kept[0].followup.edit_message(more.id, content="and more of it")
    assert (await kept[0].followup.fetch_message(more.id)).content == "and more of it"
    await kept[0].delete_original_response()
    assert (attempt.reply, scene.room.texts()) == (None, ["and more of it"])
    await http.delete_global_command(app, made["id"])
    assert scene.bot.commands == {None: {}, scene.guild.id: {}}


async def test_every_route_is_one_of_discords(scene) -> None:
    known = scene.server.conformity.knows
    assert [route for route in rest.ROUTES if not known(route.method, route.template)] == []

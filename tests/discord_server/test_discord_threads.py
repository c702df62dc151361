"""Threads, forum posts and channels: opened, archived, locked, renamed, gone."""

import discord
import pytest
from discord_clients import Client, running

pytestmark = pytest.mark.anyio


async def test_a_thread_on_a_message_is_opened_once(scene, client: Client) -> None:
    said = scene.ada.say(scene.room, "a long matter")
    message = client.get_channel(scene.room.id).get_partial_message(said.id)
    thread = await message.create_thread(name="The matter")
    assert thread.id == said.id
    await thread.send("in here")
    [place] = scene.room.threads()
    assert (place.name, place.texts()) == ("The matter", ["in here"])
    with pytest.raises(discord.HTTPException) as refused:
        await message.create_thread(name="Again")
    assert refused.value.code == 160004
    assert (await message.fetch()).thread == thread


async def test_a_message_in_a_thread_is_heard_and_answered_there(scene, client: Client) -> None:
    async def answer(message: discord.Message) -> None:
        if not message.is_system():
            await message.channel.send("here")

    client.answer = answer
    thread = scene.ada.open_thread(scene.room, "Side matter")
    scene.ada.say(thread, "anyone?")
    await scene.server.until(lambda: thread.texts() == ["anyone?", "here"])
    assert scene.room.texts() == []
    assert [one.system for one in scene.room.seen()] == [True], (
        "Discord says in the channel that a thread was opened"
    )


async def test_a_post_opens_an_archived_thread_but_an_edit_doesnt(scene, client: Client) -> None:
    thread = scene.ada.open_thread(scene.room, "Old matter")
    said = scene.ada.say(thread, "here")
    await scene.server.until(lambda: client.get_channel(thread.id) is not None)
    channel = client.get_channel(thread.id)
    own = await channel.send("working")
    thread.archive()
    for attempt in (own.edit(content="done"), channel.get_partial_message(said.id).add_reaction("👀")):
        with pytest.raises(discord.HTTPException) as refused:
            await attempt
        assert refused.value.code == 50083
    await client.get_partial_messageable(thread.id).send("done")
    assert (thread.archived, thread.texts("relay")) == (False, ["working", "done"])


async def test_a_locked_thread_takes_nothing_from_the_bot(scene, client: Client) -> None:
    thread = scene.ada.open_thread(scene.room, "Closed matter")
    thread.archive(locked=True)
    with pytest.raises(discord.HTTPException) as refused:
        await client.get_partial_messageable(thread.id).send("hi")
    assert refused.value.code == 160005


async def test_changes_of_threads_are_told(scene, client: Client) -> None:
    told: list[str] = []

    @client.event
    async def on_raw_thread_update(event: discord.RawThreadUpdateEvent) -> None:
        told.append(f"{event.data['name']} {event.data['thread_metadata']['archived']}")

    @client.event
    async def on_raw_thread_delete(event: discord.RawThreadDeleteEvent) -> None:
        told.append("gone")

    @client.event
    async def on_thread_join(thread: discord.Thread) -> None:
        told.append(f"joined {thread.name}")

    thread = scene.ada.open_thread(scene.room, "One")
    scene.ada.rename(thread, "Two")
    thread.archive()
    thread.unarchive()
    scene.ada.invite(scene.bot, thread)
    thread.delete()
    await scene.server.until(lambda: "gone" in told)
    assert list(dict.fromkeys(told)) == ["Two False", "Two True", "joined Two", "gone"]
    with pytest.raises(discord.NotFound) as refused:
        await client.get_partial_messageable(thread.id).send("still there?")
    assert refused.value.code == 10003


async def test_a_forum_post_is_answered_only_after_its_first_message(scene, client: Client) -> None:
    forum = scene.guild.forum("help", tags=("bug", "idea"))
    post = scene.ada.forum_post(forum, "It broke", None, tags=("bug",))
    where = client.get_partial_messageable(post.id)
    with pytest.raises(discord.Forbidden) as refused:
        await where.send("looking")
    assert refused.value.code == 40058
    first = scene.ada.first_message(post, "see the log")
    await where.send("looking")
    assert first.id == post.id
    assert post.texts() == ["see the log", "looking"]
    await scene.server.until(lambda: client.heard("ada") == ["see the log"])
    assert [tag.name for tag in client.messages[0].channel.applied_tags] == ["bug"]


async def test_the_bot_opens_a_forum_post(scene, client: Client) -> None:
    forum = scene.guild.forum("help")
    await scene.server.until(lambda: client.get_channel(forum.id) is not None)
    made = await client.get_channel(forum.id).create_thread(name="Report", content="all is well")
    assert made.message.id == made.thread.id
    [post] = forum.threads()
    assert (post.name, post.texts()) == ("Report", ["all is well"])


async def test_a_channel_in_a_category_is_no_thread(scene, client: Client) -> None:
    inner = scene.guild.text_channel("inner", category=scene.guild.category("Rooms"))
    scene.ada.say(inner, "hello")
    await scene.server.until(lambda: client.heard("ada") == ["hello"])
    channel = client.messages[0].channel
    assert (type(channel), channel.category.name) == (discord.TextChannel, "Rooms")


async def test_active_and_archived_threads_are_listed(scene, client: Client) -> None:
    one, two = (scene.ada.open_thread(scene.room, name) for name in ("One", "Two"))
    two.archive()
    guild, channel = client.get_guild(scene.guild.id), client.get_channel(scene.room.id)
    assert [thread.id for thread in await guild.active_threads()] == [one.id]
    assert [thread.id async for thread in channel.archived_threads()] == [two.id]


async def test_threads_that_are_open_are_known_from_the_start(scene) -> None:
    thread = scene.ada.open_thread(scene.room, "Before")
    scene.ada.open_thread(scene.room, "Closed").archive()
    async with running(scene.server, scene.bot) as client:
        assert [one.id for one in client.get_guild(scene.guild.id).threads] == [thread.id]


async def test_a_thread_that_must_be_joined_is_deaf_until_then(scene, client: Client) -> None:
    scene.server.world.rules.threads_need_membership = True
    thread = scene.ada.open_thread(scene.room, "Joined only")
    scene.ada.say(thread, "unheard")
    await scene.server.until(lambda: client.get_channel(thread.id) is not None)
    await client.get_channel(thread.id).join()
    scene.ada.say(thread, "heard")
    await scene.server.until(lambda: "heard" in client.heard("ada"))
    assert "unheard" not in client.heard("ada")


async def test_a_deleted_channel_takes_its_threads_along(scene, client: Client) -> None:
    thread = scene.ada.open_thread(scene.room, "Inside")
    scene.room.delete()
    assert thread.gone
    for place in (scene.room, thread):
        with pytest.raises(discord.NotFound) as refused:
            await client.get_partial_messageable(place.id).send("hi")
        assert refused.value.code == 10003


async def test_the_third_rename_in_ten_minutes_waits(scene, client: Client) -> None:
    role = scene.guild.role("keeper", discord.Permissions(manage_channels=True).value)
    scene.guild.give(scene.bot, role)
    channel = client.get_channel(scene.room.id)
    client.http.max_ratelimit_timeout = 30.0
    for name in ("one", "two"):
        await channel.edit(name=name)
    with pytest.raises(discord.RateLimited) as refused:
        await channel.edit(name="three")
    assert (scene.room.name, 500 < refused.value.retry_after < 600) == ("two", True)


async def test_roles_given_and_taken_are_told(scene, client: Client) -> None:
    role = scene.guild.role("keeper", discord.Permissions(manage_messages=True).value)
    scene.guild.give(scene.bot, role)
    guild = client.get_guild(scene.guild.id)
    await scene.server.until(lambda: guild.me.guild_permissions.manage_messages)
    scene.guild.set_role(role, 0)
    await scene.server.until(lambda: not guild.me.guild_permissions.manage_messages)
    scene.guild.set_available(False)
    await scene.server.until(lambda: guild.unavailable)
    scene.guild.set_available(True)
    scene.guild.remove(scene.bot)
    await scene.server.until(lambda: client.get_guild(scene.guild.id) is None)


async def test_sight_of_a_channel_brings_its_threads(scene, client: Client) -> None:
    scene.room.forbid(scene.bot)
    thread = scene.ada.open_thread(scene.room, "Hidden")
    guild = client.get_guild(scene.guild.id)
    assert guild.get_thread(thread.id) is None
    scene.room.allow(scene.bot)
    await scene.server.until(lambda: guild.get_thread(thread.id) is not None)

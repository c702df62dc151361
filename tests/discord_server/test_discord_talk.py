"""discord.py in the tests' Discord: what it writes is what people see, and the other way round."""

import io

import discord
import pytest
from discord_clients import Client, running
from fakes.discord import File, permissions
from fakes.discord.errors import ApiError

pytestmark = pytest.mark.anyio


async def test_a_message_reaches_the_bot_and_its_reply_reaches_the_person(scene, client: Client) -> None:
    client.answer = lambda message: message.reply("nothing broke")
    scene.ada.say(scene.room, "what broke?")
    await scene.server.until(lambda: len(scene.room.seen()) == 2)
    assert client.heard("ada") == ["what broke?"]
    seen = scene.room.seen()[-1]
    assert (seen.author, seen.text, seen.reply_to) == ("relay", "nothing broke", "what broke?")
    assert [one.text for one in scene.ada.pings] == ["nothing broke"], "a reply pings, if nothing forbids it"


async def test_nobody_but_those_allowed_is_pinged(scene, client: Client) -> None:
    bob = scene.guild.person("bob")
    crew = scene.guild.role("crew", mentionable=True)
    scene.guild.give(bob.user, crew)
    channel = client.get_channel(scene.room.id)
    text = f"@everyone <@&{crew.id}> {scene.ada.mention} {bob.mention}"
    await channel.send(text, allowed_mentions=discord.AllowedMentions.none())
    assert scene.ada.pings == bob.pings == []
    only = discord.AllowedMentions(everyone=False, roles=False, users=[discord.Object(scene.ada.id)])
    await channel.send(text, allowed_mentions=only)
    assert ([one.text for one in scene.ada.pings], bob.pings) == ([text], [])
    assert scene.room.texts("relay") == [text, text], "what doesn't ping can be read all the same"


async def test_the_same_nonce_gives_the_same_message_for_some_minutes(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    first = await channel.send("done", nonce="turn-1-answer-0")
    again = await channel.send("done", nonce="turn-1-answer-0")
    assert again.id == first.id
    assert scene.room.texts("relay") == ["done"]
    scene.server.clock.advance(scene.server.world.rules.nonce_memory)
    later = await channel.send("done", nonce="turn-1-answer-0")
    assert later.id != first.id
    assert scene.room.texts("relay") == ["done", "done"]
    [*_, read] = [one async for one in channel.history()]
    assert read.nonce is None, "history shows no nonce"


async def test_a_nonce_of_a_deleted_message_finds_nothing_and_sends_nothing(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    await (await channel.send("done", nonce="n")).delete()
    with pytest.raises(discord.NotFound):
        await channel.send("done", nonce="n")
    assert scene.room.seen() == []


async def test_what_is_too_long_or_empty_is_refused(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    await channel.send("x" * 2000)
    await channel.send("\N{ROCKET}" * 1000)
    for text, code in (("x" * 2001, 50035), ("\N{ROCKET}" * 1001, 50035), (" \n", 50006)):
        with pytest.raises(discord.HTTPException) as refused:
            await channel.send(text)
        assert refused.value.code == code
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("hi", nonce="n" * 26)
    assert (refused.value.code, len(scene.room.seen())) == (50035, 2)


async def test_edits_deletes_and_previews_reach_the_bot(scene, client: Client) -> None:
    changes: list[tuple[str, str | None, bool]] = []

    @client.event
    async def on_raw_message_edit(event: discord.RawMessageUpdateEvent) -> None:
        changes.append(("edit", event.data["content"], event.data["edited_timestamp"] is not None))

    @client.event
    async def on_raw_message_delete(event: discord.RawMessageDeleteEvent) -> None:
        changes.append(("delete", str(event.message_id), False))

    said = scene.ada.say(scene.room, "see https://example.com")
    scene.room.preview(said)
    scene.ada.edit(said, "see the page")
    scene.ada.delete(said)
    await scene.server.until(lambda: len(changes) == 3)
    assert changes == [
        ("edit", "see https://example.com", False),
        ("edit", "see the page", True),
        ("delete", str(said.id), False),
    ]


async def test_the_bot_edits_and_deletes_only_its_own(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    own = await channel.send("working")
    await own.edit(content="done")
    assert (scene.room.seen()[0].text, scene.room.seen()[0].edited) == ("done", True)
    said = scene.ada.say(scene.room, "mine")
    theirs = channel.get_partial_message(said.id)
    for attempt, code in ((theirs.edit(content="x"), 50005), (theirs.delete(), 50013)):
        with pytest.raises(discord.Forbidden) as refused:
            await attempt
        assert refused.value.code == code
    await own.delete()
    assert scene.room.texts() == ["mine"]


async def test_reactions_go_both_ways(scene, client: Client) -> None:
    heard: list[tuple[str, str, int]] = []

    @client.event
    async def on_raw_reaction_add(event: discord.RawReactionActionEvent) -> None:
        heard.append(("on", str(event.emoji), event.user_id))

    @client.event
    async def on_raw_reaction_remove(event: discord.RawReactionActionEvent) -> None:
        heard.append(("off", str(event.emoji), event.user_id))

    said = scene.ada.say(scene.room, "deploy?")
    message = client.get_channel(scene.room.id).get_partial_message(said.id)
    await message.add_reaction("👀")
    scene.ada.react(said, "👍🏽")
    scene.ada.unreact(said, "👍🏽")
    scene.ada.react(said, "✅\ufe0f")
    await scene.server.until(lambda: len(heard) == 4)
    assert [one[:2] for one in heard] == [("on", "👀"), ("on", "👍🏽"), ("off", "👍🏽"), ("on", "✅\ufe0f")]
    assert scene.room.seen()[0].reactions == {"👀": ("relay",), "✅\ufe0f": ("ada",)}
    await message.remove_reaction("👀", client.user)
    assert scene.room.seen()[0].reactions == {"✅\ufe0f": ("ada",)}
    full = await message.fetch()
    assert [(str(one.emoji), one.count, one.me) for one in full.reactions] == [("✅\ufe0f", 1, False)]
    assert [user.name async for user in full.reactions[0].users()] == ["ada"]


async def test_files_go_up_and_come_down(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    await channel.send("log", file=discord.File(io.BytesIO(b"line\n"), "../../build log.txt"))
    assert scene.room.seen()[0].files == ("build_log.txt",)
    scene.ada.say(scene.room, files=[File("message.txt", b"a long paste", kind=None)])
    await scene.server.until(lambda: client.heard("ada"))
    [attachment] = client.messages[-1].attachments
    assert (attachment.content_type, attachment.size) == (None, 12)
    assert await attachment.read() == b"a long paste"


async def test_the_file_limit_is_the_guilds(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    scene.server.world.rules.file_limits = (1000, 1000, 2000, 3000)
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send(file=discord.File(io.BytesIO(b"x" * 1001), "big.bin"))
    assert (refused.value.status, refused.value.code) == (413, 40005)
    scene.guild.guild.premium_tier = 2
    await channel.send(file=discord.File(io.BytesIO(b"x" * 1001), "big.bin"))
    assert scene.room.seen()[0].files == ("big.bin",)


async def test_history_comes_in_pages(scene, client: Client) -> None:
    said = [scene.ada.say(scene.room, f"line {number}") for number in range(250)]
    channel = client.get_channel(scene.room.id)
    after = [one.content async for one in channel.history(after=said[9], limit=None, oldest_first=True)]
    assert after == [f"line {number}" for number in range(10, 250)]
    newest = [one.content async for one in channel.history(limit=3)]
    assert newest == ["line 249", "line 248", "line 247"]
    around = [one.id async for one in channel.history(around=said[100], limit=5)]
    assert sorted(around) == [one.id for one in said[98:103]]
    assert [call.path for call in scene.server.rest.made("GET", "/channels/*/messages")].count(
        f"/channels/{channel.id}/messages"
    ) >= 5


async def test_direct_messages_and_forwards_and_webhooks_are_heard(scene, client: Client) -> None:
    original = scene.ada.say(scene.room, "the plan")
    scene.ada.dm(scene.bot, "in private")
    scene.ada.forward(original, scene.room)
    scene.room.webhook_says("CI", "build failed")
    await scene.server.until(lambda: len(client.messages) == 4)
    _, private, forwarded, hooked = client.messages
    assert (private.guild, private.content) == (None, "in private")
    assert (forwarded.content, forwarded.message_snapshots[0].content) == ("", "the plan")
    assert (hooked.webhook_id is not None, hooked.author.name) == (True, "CI")
    await private.channel.send("answer")
    assert scene.ada.direct(scene.bot).texts() == ["in private", "answer"]
    scene.ada.user.takes_dms = False
    with pytest.raises(discord.Forbidden) as refused:
        await private.channel.send("more")
    assert refused.value.code == 50007


async def test_without_the_content_intent_only_what_names_the_bot_can_be_read(scene) -> None:
    blind = scene.server.bot("blind", privileged=0)
    scene.guild.add(blind)
    intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
    async with running(scene.server, blind, intents=intents) as client:
        said = scene.ada.say(scene.room, "a secret")
        scene.ada.say(scene.room, f"<@{blind.id}> hello")
        scene.ada.dm(blind, "to you")
        await scene.server.until(lambda: len(client.messages) == 3)
        assert client.heard() == ["", f"<@{blind.id}> hello", "to you"]
        read = await client.get_channel(scene.room.id).fetch_message(said.id)
        assert read.content == ""


async def test_permissions_decide(scene, client: Client) -> None:
    channel = client.get_channel(scene.room.id)
    scene.room.forbid(scene.bot, permissions.SEND_MESSAGES)
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("hi")
    assert refused.value.code == 50013
    scene.room.forbid(scene.bot, permissions.VIEW_CHANNEL)
    scene.ada.say(scene.room, "behind its back")
    with pytest.raises(discord.Forbidden) as refused:
        await channel.send("hi")
    assert refused.value.code == 50001
    scene.room.allow(scene.bot)
    scene.ada.say(scene.room, "seen again")
    await scene.server.until(lambda: client.heard("ada") == ["seen again"])
    scene.room.forbid(scene.ada.user, permissions.SEND_MESSAGES)
    with pytest.raises(ApiError):
        scene.ada.say(scene.room, "may I?")
    assert len(scene.server.limits.invalid) == 2


async def test_the_bot_is_seen_typing_and_pinning(scene, client: Client) -> None:
    since = scene.server.clock.now()
    said = scene.ada.say(scene.room, "keep this")
    await client.get_channel(scene.room.id).typing()
    assert scene.room.typing(scene.bot, since)
    owner = scene.guild.owner
    owner.pin(said)
    await scene.server.until(lambda: len(client.messages) == 2)
    assert client.messages[-1].type is discord.MessageType.pins_add
    assert [one.system for one in scene.room.seen()] == [False, True]
    assert [one.content async for one in client.get_channel(scene.room.id).pins()] == ["keep this"]

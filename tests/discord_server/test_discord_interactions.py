"""Commands, buttons, menus and forms: three seconds to answer, fifteen minutes to go on."""

import discord
import pytest
from discord import app_commands
from discord_clients import Client, running

pytestmark = pytest.mark.anyio


async def test_commands_are_synced_used_and_answered(scene, client: Client) -> None:
    @client.tree.command(description="Says how things are")
    async def status(interaction: discord.Interaction, room: str) -> None:
        await interaction.response.send_message(f"{room}: fine")

    await client.tree.sync()
    attempt = scene.ada.slash(scene.room, scene.bot, "status", room="build")
    await scene.server.until(lambda: attempt.answered)
    assert attempt.reply.text == "build: fine"
    assert scene.room.texts() == ["build: fine"]
    with pytest.raises(LookupError):
        scene.ada.slash(scene.room, scene.bot, "unknown")
    assert [one.name for one in await client.tree.fetch_commands()] == ["status"]


async def test_a_group_with_autocomplete_in_one_guild(scene, client: Client) -> None:
    group = app_commands.Group(name="watch", description="Watches")

    @group.command(description="Stops one")
    async def stop(interaction: discord.Interaction, name: str) -> None:
        await interaction.response.send_message(f"stopped {name}", ephemeral=True)

    @stop.autocomplete("name")
    async def names(_: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        known = ("logs", "tests")
        return [app_commands.Choice(name=one, value=one) for one in known if one.startswith(current)]

    home = discord.Object(scene.guild.id)
    client.tree.add_command(group, guild=home)
    await client.tree.sync(guild=home)
    offered = scene.ada.complete(scene.room, scene.bot, "watch stop", "name", name="lo")
    await scene.server.until(lambda: offered.answered)
    assert offered.choices == ["logs"]
    attempt = scene.ada.slash(scene.room, scene.bot, "watch stop", name="logs")
    await scene.server.until(lambda: attempt.answered)
    assert (attempt.reply.text, attempt.reply.private) == ("stopped logs", True)
    assert scene.room.seen() == [], "what is said to one person, others don't see"
    assert [one.text for one in scene.room.seen(by=scene.ada)] == ["stopped logs"]


async def test_new_commands_are_counted_and_the_old_set_stays(scene, client: Client) -> None:
    @client.tree.command(description="First")
    async def first(_: discord.Interaction) -> None: ...

    await client.tree.sync()
    await client.tree.sync()
    assert len(scene.bot.creations) == 1, "a command that is there is no new one"
    scene.server.world.rules.creations_a_day = 1
    client.http.max_ratelimit_timeout = 30.0

    @client.tree.command(description="Second")
    async def second(_: discord.Interaction) -> None: ...

    with pytest.raises(discord.RateLimited):
        await client.tree.sync()
    assert [one["name"] for one in scene.bot.commands[None].values()] == ["first"]


async def test_deferred_thinking_then_edited(scene, client: Client) -> None:
    kept: list[discord.Interaction] = []

    @client.tree.command(description="Takes a while")
    async def work(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        kept.append(interaction)

    await client.tree.sync()
    attempt = scene.ada.slash(scene.room, scene.bot, "work")
    await scene.server.until(lambda: attempt.thinking)
    assert [one.thinking for one in scene.room.seen()] == [True]
    await kept[0].edit_original_response(content="done")
    await kept[0].followup.send("and more")
    assert [(one.text, one.edited) for one in scene.room.seen()] == [("done", False), ("and more", False)]
    assert attempt.reply.text == "done"
    scene.server.clock.advance(900)
    with pytest.raises(discord.HTTPException) as refused:
        await kept[0].edit_original_response(content="later")
    assert (refused.value.status, refused.value.code) == (401, 50027)


async def test_an_answer_after_three_seconds_or_a_second_one_is_refused(scene, client: Client) -> None:
    kept: list[discord.Interaction] = []

    @client.tree.command(description="Slow")
    async def slow(interaction: discord.Interaction) -> None:
        kept.append(interaction)

    await client.tree.sync()
    late = scene.ada.slash(scene.room, scene.bot, "slow")
    await scene.server.until(lambda: len(kept) == 1)
    assert late.waiting
    scene.server.clock.advance(3.1)
    assert late.failed
    with pytest.raises(discord.NotFound) as refused:
        await kept[0].response.send_message("sorry")
    assert (refused.value.code, scene.room.seen()) == (10062, [])
    scene.ada.slash(scene.room, scene.bot, "slow")
    await scene.server.until(lambda: len(kept) == 2)
    await kept[1].response.send_message("quick")
    path = f"/interactions/{kept[1].id}/{kept[1].token}/callback"
    with pytest.raises(discord.HTTPException) as refused:
        await client.http.request(
            discord.http.Route("POST", path), json={"type": 4, "data": {"content": "twice"}}
        )
    assert refused.value.code == 40060


class Card(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.pressed: list[str] = []

    @discord.ui.button(label="Allow", custom_id="allow", style=discord.ButtonStyle.green)
    async def allow(self, interaction: discord.Interaction, _: discord.ui.Button) -> None:
        self.pressed.append(interaction.user.name)
        await interaction.response.edit_message(content=f"allowed by {interaction.user.name}", view=None)

    @discord.ui.button(label="Deny", custom_id="deny")
    async def deny(self, interaction: discord.Interaction, _: discord.ui.Button) -> None:
        await interaction.response.send_message("Only the owner may.", ephemeral=True)

    @discord.ui.button(label="Say why", custom_id="why")
    async def why(self, interaction: discord.Interaction, _: discord.ui.Button) -> None:
        await interaction.response.send_modal(Form())

    @discord.ui.select(custom_id="pick", options=[discord.SelectOption(label=one) for one in ("red", "blue")])
    async def pick(self, interaction: discord.Interaction, chosen: discord.ui.Select) -> None:
        await interaction.response.send_message(f"picked {chosen.values[0]}")


class Form(discord.ui.Modal, title="Why?"):
    reason: discord.ui.TextInput = discord.ui.TextInput(label="Reason", custom_id="reason")

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"because {self.reason.value}")


async def test_buttons_menus_and_forms(scene, client: Client) -> None:
    card = Card()
    await client.get_channel(scene.room.id).send("May I?", view=card)
    [seen] = scene.room.seen()
    assert seen.buttons == ("Allow", "Deny", "Say why", "red", "blue")
    no = scene.ada.click(seen, "deny")
    await scene.server.until(lambda: no.answered)
    assert (no.reply.text, no.reply.private) == ("Only the owner may.", True)
    picked = scene.ada.click(seen, "pick", values=("blue",))
    await scene.server.until(lambda: picked.answered)
    why = scene.ada.click(seen, "Say why")
    await scene.server.until(lambda: why.form is not None)
    sent = scene.ada.send_form(why, reason="it is safe")
    await scene.server.until(lambda: sent.answered)
    yes = scene.guild.owner.click(seen, "Allow")
    await scene.server.until(lambda: yes.answered)
    assert scene.room.texts() == [f"allowed by {scene.guild.owner.name}", "picked blue", "because it is safe"]
    assert scene.room.seen()[0].buttons == ()
    with pytest.raises(LookupError):
        scene.ada.click(seen, "allow")
    assert card.pressed == [scene.guild.owner.name]


async def test_a_click_on_a_card_of_an_earlier_process_is_heard(scene) -> None:
    async with running(scene.server, scene.bot) as earlier:
        await earlier.get_channel(scene.room.id).send("May I?", view=Card())
    async with running(scene.server, scene.bot) as client:
        card = Card()
        client.add_view(card)
        attempt = scene.ada.click(scene.room.seen()[0], "allow")
        await scene.server.until(lambda: attempt.answered)
        assert card.pressed == ["ada"]

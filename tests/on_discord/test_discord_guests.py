"""Bots, webhooks, secrets and files of other threads on Discord: nothing runs on, and nothing gets where it may not."""

import logging
from pathlib import Path

import pytest
from town import Town, town

from relay.config import Peer
from relay.masking import Masker

pytestmark = pytest.mark.anyio
TOKEN = "ghp_" + "a1B2" * 9
SHAPES = (
    '{{"token": "{0}"}}',
    "Client(token='{0}', retry=3)",
    "{0}",
    "Authorization: Bot {0}",
    "https://x-access-token:{0}@github.com/o/r.git",
)
HOOK = "https://discord.com/api/webhooks/1234567890123456789/" + "aB3_" * 17


async def test_s1_two_bots_stop_at_the_cap_until_a_person_speaks(tmp_path: Path) -> None:
    async with town(tmp_path, start=False, limits={"bot_turns": 2}, peers=("scout-b",)) as here:
        other = here.server.bot("scout-b")
        here.guild.add(other)
        bot = here.server.speaking_as(other)
        here.access = here.access.model_copy(update={"peers": {"scout-b": Peer(discord=str(bot.id))}})
        await here.start()
        thread = here.ada.open_thread(here.room, "Bots")
        for number in range(2):
            here.ask(f"say answer {number}", thread, bot)
            await here.answered(f"answer {number}", thread)
        for number in range(2, 6):
            here.ask(f"say answer {number}", thread, bot)
        await here.answered("Bots have started 2 turns in a row here", thread)
        await here.quiet()
        assert len(here.ours(thread)) == 3
        here.ask("say a person speaks", thread, here.ada)
        await here.answered("a person speaks", thread)
        here.ask("say answer 7", thread, bot)
        await here.answered("answer 7", thread)
        await here.quiet()
        assert len(here.ours(thread)) == 5, "its own words never come back to it"
        assert not any(f"answer {number}" in "\n".join(here.ours(thread)) for number in range(2, 6))


async def test_c11_a_webhook_is_heard_when_it_is_listed_by_its_id_alone(tmp_path: Path) -> None:
    async with town(tmp_path, start=False) as here:
        listed = here.room.webhook_says("ci", "hello")
        here.room.webhook_says("impostor", "hello")
        hooks = {hook.name: str(hook.id) for hook in here.server.world.webhooks.values()}
        room = f"discord:{here.room.id}"
        rules = here.access.rooms[room].model_copy(update={"webhooks": (hooks["ci"],)})
        here.access = here.access.model_copy(update={"rooms": {**here.access.rooms, room: rules}})
        await here.start()
        here.room.webhook_says("impostor", f"<@{here.bot.id}> say no")
        here.room.webhook_says("ci", f"<@{here.bot.id}> !stop all")
        here.room.webhook_says("ci", f"<@{here.bot.id}> say the build is red")
        answer = await here.answered("the build is red")
        await here.quiet()
        assert listed.author.id != here.bot.user.id
        assert not any(text.startswith("no") or "Stopp" in text for text in here.ours())
        assert answer.author == "relay"


async def masked_town(here: Town) -> None:
    here.mask = Masker([here.bot.token, TOKEN]).mask
    await here.start()


async def test_s4_no_shape_of_a_token_gets_out_in_an_answer_a_card_a_status_or_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="relay")
    async with town(tmp_path, start=False, limits={"approval": 86_400_000}) as here:
        await masked_town(here)
        secrets = (TOKEN, here.bot.token)
        lines = [f"say {shape.format(secret)}" for secret in secrets for shape in SHAPES]
        here.ask("\n".join([*lines[:5], f"say {HOOK}", f"ask curl -H 'X: {TOKEN}'"]))
        card = await here.card()
        here.olga.click(card, "❌ Deny")
        await here.answered("not allowed")
        here.ask("\n".join([*lines[5:], "say that was all"]))
        await here.answered("that was all")
        await here.quiet()
        whole = "\n".join(
            [*here.room.texts("relay"), *(str(record.getMessage()) for record in caplog.records)]
        )
        sent = "\n".join(str(call.body) for call in here.server.rest.calls)
        for text in (whole, sent):
            assert not any(secret in text for secret in (*secrets, HOOK.rsplit("/", 1)[1]))
        assert "curl -H 'X: [masked]'" in card.text


async def test_s4_a_token_across_the_cut_of_a_long_answer_is_masked(tmp_path: Path) -> None:
    async with town(tmp_path, start=False) as here:
        await masked_town(here)
        (tmp_path / "work").mkdir(exist_ok=True)
        tries = range(1_850, 1_910, 7)
        for number, before in enumerate(tries):
            (tmp_path / "work" / f"{number}.txt").write_text(
                f"{'x' * before} {TOKEN} {'y' * 300} end {number}."
            )
            here.ask(f"tool read {number}.txt")
            await here.answered(f"end {number}.")
        await here.quiet()
        whole = "".join(here.ours())
        assert "ghp_" not in whole
        assert "a1B2a1B2" not in whole
        assert whole.count("[masked]") == len(tries)


async def test_s11_what_two_threads_share_at_once_stands_in_each_alone(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "work").mkdir(exist_ok=True)
        threads = [here.ada.open_thread(here.room, name) for name in ("One", "Two", "Three")]
        for number, thread in enumerate(threads):
            (tmp_path / "work" / f"{number}.txt").write_text(f"content {number}")
            here.ask(f"slow 2\nshare {number}.txt\nsay for {number}", thread, here.ada)
        for number, thread in enumerate(threads):
            assert (await here.answered(f"for {number}", thread)).files == (f"{number}.txt",)
        await here.quiet()
        assert [len(here.ours(thread)) for thread in threads] == [1, 1, 1]
        assert here.ours() == []

"""Conversations on Discord, as people see them."""

import json
import re
from datetime import UTC
from pathlib import Path

import pytest
from fakes.discord import permissions
from town import town

from relay.config import load

pytestmark = pytest.mark.anyio


async def test_a_message_that_mentions_the_bot_is_answered_where_it_stands(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("say hello", by=here.ada)
        answer = await here.answered("hello")
        await here.quiet()
        assert here.ours() == [f"hello\n{here.ada.mention}"]
        assert answer.reply_to == said.content
        assert here.room.seen()[0].reactions == {"👀": ("relay",)}
        assert [one.text for one in here.ada.pings] == [answer.text]


async def test_who_does_not_mention_it_or_is_a_stranger_is_not_heard(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.olga.say(here.room, "say nothing to you")
        here.ask("say no", by=here.zoe)
        here.room.webhook_says("hook", f"<@{here.bot.id}> say no")
        other = here.guild.text_channel("elsewhere")
        here.ask("say no", other)
        here.ask("say yes")
        await here.answered("yes")
        await here.quiet()
        assert len(here.ours()) == 1
        assert here.ours(other) == []


async def test_l12_in_a_thread_that_it_joined_no_mention_is_needed_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        thread = here.ada.open_thread(here.room, "Task")
        here.ada.say(thread, "say not yet")
        here.ask("say joined", thread, here.ada)
        await here.answered("joined", thread)
        here.ada.say(thread, "say without")
        await here.answered("without", thread)
        async with here.away():
            pass
        here.ada.say(thread, "say still")
        await here.answered("still", thread)
        await here.quiet()
        assert len(here.ours(thread)) == 3
        assert here.ours() == []


async def test_c8_a_channel_in_a_category_is_no_thread_of_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        inner = here.guild.text_channel("inner", category=here.guild.category("Rooms"))
        rules = here.access.rooms[f"discord:{here.room.id}"]
        here.access = here.access.model_copy(
            update={"rooms": {**here.access.rooms, f"discord:{inner.id}": rules}}
        )
        here.relay.parts.current.access = here.access
        here.ask("say in here", inner)
        await here.answered("in here", inner)
        (opened,) = await here.log("place.opened")
        assert (opened.body["room"], opened.body["thread"]) == (f"discord:{inner.id}", False)


async def test_c10_the_owner_s_direct_messages_are_answered_once_and_a_stranger_s_are_not(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        here.olga.dm(here.bot, "say in private")
        here.zoe.dm(here.bot, "say no")
        here.ada.dm(here.bot, "say no")
        await here.answered("in private", here.olga.direct(here.bot))
        await here.quiet()
        assert here.ours(here.zoe.direct(here.bot)) == here.ours(here.ada.direct(here.bot)) == []
        async with here.away():
            here.olga.dm(here.bot, "say while away")
        await here.answered("while away", here.olga.direct(here.bot))


async def test_c10_without_a_room_of_their_own_the_owner_s_direct_messages_are_strict(tmp_path: Path) -> None:
    async with town(tmp_path, start=False) as here:
        file = tmp_path / "access.json"
        room = {"agent": "scout", "workspace": str(tmp_path / "work"), "humans": ["ada"]}
        written = {
            "version": 1,
            "surfaces": {"discord": {}},
            "owner": {"discord": str(here.olga.id)},
            "people": {"ada": {"discord": str(here.ada.id)}},
            "agents": {"scout": {"runtime": "scripted"}},
            "rooms": {f"discord:{here.room.id}": room},
        }
        file.write_text(json.dumps(written))
        here.access = load(file, runtimes=("scripted",), now_ms=0, zone=UTC).access
        await here.start()
        here.olga.dm(here.bot, "say in private")
        here.ada.dm(here.bot, "say no")
        await here.answered("in private", here.olga.direct(here.bot))
        await here.quiet()
        assert here.ours(here.ada.direct(here.bot)) == []
        presets = {room: rules.profile.preset for room, rules in here.relay.parts.access.rooms.items()}
        assert presets == {"dm:": "strict", f"discord:{here.room.id}": "ask-per-edit"}


async def test_a_command_after_the_mention_and_one_without_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("!help")
        await here.answered("Commands:")
        here.olga.say(here.room, "!status")
        await here.answered("Nothing is running here.")


async def test_s2_nothing_in_a_reply_pings_anybody_but_who_asked(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        role = here.guild.role("team", mentionable=True)
        here.guild.give(here.zoe.user, role)
        here.guild.give(here.bot, here.guild.role("loud", permissions.MENTION_EVERYONE))
        text = f"@everyone @here <@&{role.id}> <@{here.zoe.id}>"
        here.ask(f"say {text}")
        answer = await here.answered("@everyone")
        assert answer.text == f"{text}\n{here.olga.mention}"
        await here.quiet()
        pinged = [
            [one.text for one in who.pings if one.author == "relay"]
            for who in (here.zoe, here.ada, here.olga)
        ]
        assert pinged == [[], [], [answer.text]]


async def test_d8_a_reply_of_five_chunks_is_five_messages_in_order_and_calls_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        (tmp_path / "work").mkdir(exist_ok=True)
        words = "\n".join(f"word{number:04d} says what it has to say" for number in range(100))
        (tmp_path / "work" / "long.txt").write_text(words)
        here.ask("tool read long.txt\ntool read long.txt\ntool read long.txt")
        await here.server.until(lambda: sum(t.count("word0099") for t in here.ours()) == 3)
        await here.quiet()
        texts = here.ours()
        assert len(texts) >= 5
        assert re.findall(r"word\d+", "\n".join(texts)) == [f"word{number:04d}" for number in range(100)] * 3
        assert texts[-1].endswith(here.olga.mention)
        assert len(here.olga.pings) == 1


async def test_a_turn_says_that_it_types_and_its_status_is_gone_at_the_end(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        began = here.server.clock.now()
        here.ask("slow 8\nsay done")
        await here.server.until(lambda: any(t.startswith("⏳") for t in here.room.texts("relay")))
        assert here.room.typing(here.bot, since=began)
        await here.answered("done")
        await here.server.until(lambda: not any(t.startswith("⏳") for t in here.room.texts("relay")))
        assert here.olga.pings[-1].text.startswith("done")
        assert len(here.olga.pings) == 1


async def test_the_status_of_a_relay_that_was_killed_is_taken_away_by_the_next(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("slow 600\nsay done")
        await here.server.until(lambda: any(t.startswith("⏳") for t in here.room.texts("relay")))
        noted = tmp_path / "state" / "discord-status.json"
        await here.server.until(lambda: noted.exists() and len(noted.read_bytes()) > 10)
        async with here.away():
            assert any(t.startswith("⏳") for t in here.room.texts("relay"))
            before = next(one.id for one in here.room.seen() if one.text.startswith("⏳"))
        await here.server.until(lambda: before not in [one.id for one in here.room.seen()])

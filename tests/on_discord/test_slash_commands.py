"""Slash commands on Discord: the same outcome as the `!word`, once, and only for those who may."""

from pathlib import Path
from typing import Any

import pytest
from fakes.discord import Attempt, Person, Place
from fakes.discord.permissions import SEND_MESSAGES
from town import Town, town

from relay.behaviours.places.concept import Places
from relay.behaviours.settings.concept import Settings
from relay.behaviours.turns.concept import Turns
from relay.behaviours.watches.concept import Watches

pytestmark = pytest.mark.anyio

WITHIN_S = 45.0


async def offered(here: Town) -> None:
    """Wait until Discord has the commands. A machine that stalls is not too slow for it."""
    here.server.world.rules.ack_within = 600.0
    await here.server.until(lambda: here.bot.commands.get(None), within=WITHIN_S, saying="slash commands")


async def said_no(here: Town, attempt: Attempt) -> str:
    """Wait for an answer that only its asker sees."""
    await here.server.until(lambda: attempt.answered, within=WITHIN_S, saying="an answer")
    assert attempt.reply is not None
    assert attempt.reply.private
    return attempt.reply.text


async def echoed(here: Town, attempt: Attempt) -> str:
    """Wait until the command's own message says what was used."""
    await here.server.until(lambda: attempt.answered, within=WITHIN_S, saying="what was used")
    assert attempt.reply is not None
    assert not attempt.reply.private
    return attempt.reply.text


async def told(here: Town, text: str, place: Place | None = None) -> Any:
    where = place or here.room
    await here.server.until(
        lambda: any(text in one.text for one in where.seen() if one.author == "relay"),
        within=WITHIN_S,
        saying=text,
    )
    return next(one for one in reversed(where.seen()) if one.author == "relay" and text in one.text)


def what_came_of_it(log: list[Any]) -> list[tuple[Any, ...]]:
    """The records of one command, without what differs each time."""
    ours = (
        "intake.caught_up",
        "place.opened",
        "watch.started",
        "watch.exited",
        "watch.advanced",
        "view.shown",
    )
    found: list[tuple[Any, ...]] = []
    for i in log:
        if i.verb in ours or i.verb.startswith("post.s"):
            continue
        body = i.body
        kept = (
            "text",
            "command",
            "late",
            "author",
            "name",
            "kind",
            "value",
            "what",
            "spec",
            "by",
            "person",
            "reason",
        )
        found.append((i.verb, i.actor, i.role, i.scope, *((key, str(body.get(key))) for key in kept)))
    return sorted(found, key=str)


SAME = [
    ("status", {}, "!status"),
    ("help", {}, "!help"),
    ("queue", {}, "!queue"),
    ("queue", {"drop": 7}, "!queue drop 7"),
    ("busy", {"mode": "queue"}, "!busy queue"),
    ("stop", {"all": True}, "!stop all"),
    ("stop", {"all": False}, "!stop"),
    ("retry", {}, "!retry"),
    ("watch", {"file": "a b.md", "in": "2h"}, '!watch --file "a b.md" --in 2h'),
    ("unwatch", {"name": "nothing like it"}, "!unwatch nothing like it"),
    ("why", {"id": "abcdef"}, "!why abcdef"),
]


@pytest.mark.parametrize("who", ["olga", "ada"])
async def test_it_has_the_outcome_and_the_records_of_the_typed_word(tmp_path: Path, who: str) -> None:
    async with town(tmp_path, limits={"messages_per_minute": 1000}) as here:
        await offered(here)
        person: Person = here.__dict__[who]
        for name, options, typed in SAME:
            start, shown = len(await here.log()), len(here.ours())
            here.ask(typed, by=person)
            await here.server.until(lambda n=shown: len(here.ours()) > n, within=WITHIN_S, saying=typed)
            await here.quiet()
            middle, shown = len(await here.log()), len(here.ours())
            attempt = person.slash(here.room, here.bot, name, **options)
            assert typed in await echoed(here, attempt)
            await here.server.until(lambda n=shown: len(here.ours()) > n + 1, within=WITHIN_S, saying=typed)
            await here.quiet()
            log = await here.log()
            assert what_came_of_it(log[middle:]) == what_came_of_it(log[start:middle])
            assert any(i.verb == "channel.message" and i.body["text"] == typed for i in log[middle:])


async def test_its_message_stands_for_it_answers_reply_to_it_and_people_react_to_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.ask("slow 3000")
        await here.server.until(
            lambda: here.relay.parts.engine.view.of(Turns).state.running, within=WITHIN_S, saying="a turn"
        )
        attempt = here.olga.slash(here.room, here.bot, "watch", name="notes", file="notes.md")
        assert await echoed(here, attempt) == "⌨️ Olga: `!watch --name notes --file notes.md`"
        await told(here, "Watching «notes»")
        here.ada.slash(here.room, here.bot, "stop")
        no = await told(here, "Only the owner, or who asked for this turn, may stop it.")
        assert no.reply_to == "⌨️ Ada: `!stop`"
        here.olga.slash(here.room, here.bot, "stop")
        await told(here, "🛑 Stopped (Olga).")
        here.olga.slash(here.room, here.bot, "retry")
        await here.server.until(
            lambda: here.relay.parts.engine.view.of(Turns).state.running,
            within=WITHIN_S,
            saying="it runs again",
        )
        echo = await told(here, "`!retry`")
        await here.server.until(
            lambda: "👀" in next(o for o in here.room.seen() if o.id == echo.id).reactions, within=WITHIN_S
        )
        assert here.server.limits.invalid == []


async def test_in_a_thread_it_acts_there_and_in_direct_messages_too(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        thread, direct = here.ada.open_thread(here.room, "Task"), here.olga.direct(here.bot)
        here.olga.slash(thread, here.bot, "watch", name="a", file="a.md")
        here.olga.slash(direct, here.bot, "watch", name="b", file="b.md")
        await told(here, "Watching «a»", thread)
        await told(here, "Watching «b»", direct)
        view = here.relay.parts.engine.view
        assert {armed.scope for armed in view.of(Watches).state.armed.values()} == {
            f"discord:{thread.id}",
            f"discord:{direct.id}",
        }
        placed = view.of(Places).of(f"discord:{thread.id}")
        assert placed is not None
        assert placed.room == f"discord:{here.room.id}"


async def test_a_command_that_is_told_twice_acts_once(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.server.gateway.faults.double("INTERACTION_CREATE")
        attempt = here.olga.slash(here.room, here.bot, "busy", mode="queue")
        await echoed(here, attempt)
        await told(here, "waits for the next one")
        await here.quiet()
        assert len(await here.log("channel.message")) == 1
        assert len(await here.log("setting.chosen")) == 1
        assert len(here.room.texts("relay")) == 2


async def test_an_answer_that_was_lost_on_its_way_changes_nothing(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.server.faults.cut("POST", "/interactions/*/*/callback", after=True)
        attempt = here.olga.slash(here.room, here.bot, "busy", mode="queue")
        assert "`!busy queue`" in await echoed(here, attempt)
        await told(here, "waits for the next one")
        await here.quiet()
        assert len(here.room.texts("relay")) == 2


async def test_a3_it_is_answered_first_and_acts_when_the_relay_has_time(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        async with here.relay.intakes[0]._turnstile.alone():
            attempt = here.olga.slash(here.room, here.bot, "busy", mode="queue")
            await here.server.until(lambda: attempt.thinking, within=WITHIN_S, saying="thinking")
            here.server.clock.advance(4)
            assert not attempt.failed
            assert await here.log("channel.message") == []
        assert "`!busy queue`" in await echoed(here, attempt)
        await told(here, "waits for the next one")


async def test_a3_a_command_answered_too_late_still_acts_once_and_shows_that_it_did(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        hold = here.server.faults.hold("POST", "/interactions/*/*/callback")
        attempt = here.olga.slash(here.room, here.bot, "busy", mode="queue")
        await hold.reached.wait()
        here.server.world.rules.ack_within = 3.0
        here.server.clock.advance(4)
        hold.open()
        answer = await told(here, "waits for the next one")
        assert attempt.failed
        await told(here, "⌨️ Olga: `!busy queue`")
        assert answer.reply_to in ("⌨️ Olga: `/busy`", "⌨️ Olga: `!busy queue`")
        await here.quiet()
        assert len(await here.log("setting.chosen")) == 1
        assert len(here.room.texts("relay")) == 2


async def test_a3_a_click_answered_too_late_still_decides(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.ask("ask rm -rf build\nsay after")
        card = await here.card()
        hold = here.server.faults.hold("POST", "/interactions/*/*/callback")
        click = here.olga.click(card, "❌ Deny")
        await hold.reached.wait()
        here.server.world.rules.ack_within = 3.0
        here.server.clock.advance(4)
        hold.open()
        await told(here, "❌ Denied by Olga")
        assert click.failed
        await told(here, "after")
        assert len(await here.log("approval.closed")) == 1


async def test_a_kill_between_the_record_and_its_message_loses_no_answer(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        hold = here.server.faults.hold("PATCH", "/webhooks/*/*/messages/@original", times=2)
        here.olga.slash(here.room, here.bot, "busy", mode="queue")
        await hold.reached.wait()
        async with here.away():
            hold.open()
        await told(here, "waits for the next one")
        await here.quiet()
        assert len(await here.log("setting.chosen")) == 1
        assert len([t for t in here.room.texts("relay") if "waits for the next one" in t]) == 1


# ---- who may


async def test_a_stranger_gets_a_private_no_and_nothing_happens(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        attempt = here.zoe.slash(here.room, here.bot, "busy", mode="queue")
        assert "Nothing was done" in await said_no(here, attempt)
        await here.quiet()
        assert await here.log("channel.") == []
        assert here.room.seen() == []


async def test_where_the_relay_is_not_set_up_everybody_gets_a_private_no(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        other = here.guild.text_channel("random")
        for place, who in (
            (other, here.olga),
            (here.olga.open_thread(other, "Aside"), here.olga),
            (here.ada.direct(here.bot), here.ada),
            (here.zoe.direct(here.bot), here.zoe),
        ):
            no = await said_no(here, who.slash(place, here.bot, "status"))
            assert "othing was done" in no
            assert [one for one in place.seen() if not one.system] == []
        assert await here.log("channel.") == []


@pytest.mark.parametrize("typed", ["!busy queue", "!unwatch notes", "!pause"])
async def test_what_is_the_owner_s_is_refused_to_others_as_the_typed_word_is(
    tmp_path: Path, typed: str
) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        name, *rest = typed[1:].split()
        options = {"busy": "mode", "unwatch": "name"}
        given = {options[name]: rest[0]} if rest else {}
        here.ada.slash(here.room, here.bot, name, **given)
        assert (await told(here, "Only the owner may do that here.")).reply_to == f"⌨️ Ada: `{typed}`"


async def test_a_person_who_uses_too_many_is_told_so_and_the_owner_never(tmp_path: Path) -> None:
    async with town(tmp_path, limits={"messages_per_minute": 2}, speed=1.0) as here:
        await offered(here)
        for person in (here.olga, here.ada):
            for _ in range(3):
                await echoed(here, person.slash(here.room, here.bot, "queue"))
        await told(here, "I take 2 messages a minute from one person here")
        await here.quiet()
        assert len(await here.log("queue.asked")) == 5
        assert len(await here.log("intake.turned_away")) == 1


async def test_a_command_or_option_that_is_no_more_is_refused_privately(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        known = here.bot.commands[None]
        one = next(command for command in known.values() if command["name"] == "stop")
        one["options"] = [{"type": 5, "name": "everywhere", "description": "every turn"}]
        gone = {**one, "id": "1", "name": "explode", "options": []}
        known[1] = gone
        for attempt in (
            here.olga.slash(here.room, here.bot, "explode"),
            here.olga.slash(here.room, here.bot, "stop", everywhere=True),
        ):
            assert "nothing was done" in await said_no(here, attempt)
        assert await here.log("channel.") == []


async def test_where_the_bot_may_not_write_it_still_acts(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.room.forbid(here.bot, SEND_MESSAGES)
        here.server.faults.refuse("POST", "/interactions/*/*/callback", 10062)
        here.olga.slash(here.room, here.bot, "busy", mode="queue")
        settings = here.relay.parts.engine.view.of(Settings)
        scope = f"discord:{here.room.id}"
        await here.server.until(lambda: settings.busy(scope, "steer") == "queue", within=WITHIN_S)


# ---- what is filled in


async def test_what_stands_in_one_option_never_becomes_another(tmp_path: Path) -> None:
    odd = 'a" --once --file "/etc/passwd\' --match x`'
    async with town(tmp_path) as here:
        await offered(here)
        here.olga.slash(here.room, here.bot, "watch", name="notes", file=f"{odd}.md")
        await told(here, "«notes»")
        (asked,) = await here.log("watch.requested")
        assert asked.body["spec"]["path"] == f"{odd}.md"
        assert not asked.body["spec"]["once"]


async def test_what_is_filled_in_calls_nobody_and_breaks_out_of_nothing(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        before = len(here.ada.pings)
        attempt = here.olga.slash(
            here.room, here.bot, "unwatch", name=f"@everyone {here.ada.mention} `x`\n# big\n!stop all"
        )
        text = await echoed(here, attempt)
        assert text.count("`") == 2
        assert "\n" not in text
        await told(here, "There is no watch")
        await here.quiet()
        assert len(here.ada.pings) == before
        assert await here.log("turn.stop_asked") == []


async def test_a_name_in_what_stands_for_a_late_command_calls_nobody(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.olga.user.name = f"<@{here.ada.id}>"
        here.server.faults.refuse("POST", "/interactions/*/*/callback", 10062)
        here.olga.slash(here.room, here.bot, "queue")
        await told(here, "Nothing waits here.")
        await told(here, f"⌨️ {here.ada.mention}: `!queue`")
        assert here.ada.pings == []


async def test_a_secret_that_is_filled_in_is_not_shown(tmp_path: Path) -> None:
    async with town(tmp_path, start=False) as here:
        here.mask = lambda text: text.replace("hunter2", "•••")
        await here.start()
        await offered(here)
        text = await echoed(here, here.olga.slash(here.room, here.bot, "unwatch", name="hunter2"))
        assert text == "⌨️ Olga: `!unwatch •••`"


# ---- what is offered while somebody types


async def offers(
    here: Town, who: Person, name: str, option: str, typed: Any, place: Place | None = None
) -> list[str]:
    attempt = who.complete(place or here.room, here.bot, name, option, **{option: typed})
    await here.server.until(lambda: attempt.answered, within=WITHIN_S, saying="what is offered")
    return attempt.choices


async def test_watches_queue_items_and_ids_are_offered_while_somebody_types(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        await offered(here)
        for name in ("notes", "news", "log"):
            here.olga.slash(here.room, here.bot, "watch", name=name, file=f"{name}.md")
            await told(here, f"Watching «{name}»")
        assert [o.split(" · ")[0] for o in await offers(here, here.ada, "unwatch", "name", "N")] == [
            "notes",
            "news",
        ]
        assert len(await offers(here, here.olga, "unwatch", "name", "")) == 3
        assert await offers(here, here.olga, "unwatch", "name", "xyz") == []
        assert await offers(here, here.olga, "busy", "mode", "s") == [], "Discord itself offers fixed choices"
        here.ask("slow 3000")
        view = here.relay.parts.engine.view
        await here.server.until(lambda: view.of(Turns).state.running, within=WITHIN_S, saying="a turn")
        here.ask("say two", by=here.ada)
        await here.server.until(
            lambda: view.of(Turns).lane(f"discord:{here.room.id}").waiting, within=WITHIN_S
        )
        assert await offers(here, here.olga, "queue", "drop", "") == ["1. Ada"]
        turn, waits = await offers(here, here.ada, "why", "id", "")
        assert "runs now · Olga" in turn
        assert "waits · Ada" in waits
        here.olga.slash(here.room, here.bot, "queue", drop=1)
        await told(here, "Number 1 (Ada) is out of the queue.")
        here.ada.slash(here.room, here.bot, "why", id=turn.split(" · ")[0])
        await told(here, "turn.started")


async def test_nothing_is_offered_to_those_who_may_not_use_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        await offered(here)
        here.olga.slash(here.room, here.bot, "watch", name="secret-plan", file="a.md")
        await told(here, "Watching «secret-plan»")
        other = here.guild.text_channel("random")
        assert await offers(here, here.zoe, "unwatch", "name", "") == []
        assert await offers(here, here.zoe, "unwatch", "name", "", here.zoe.direct(here.bot)) == []
        assert await offers(here, here.olga, "unwatch", "name", "", other) == []
        assert len(await offers(here, here.ada, "unwatch", "name", "")) == 1

"""A watch wakes the agent where it was armed, and the reply names it."""

from pathlib import Path

import pytest
from fakes.living import Living, living

from relay.behaviours.watches.concept import Watches

pytestmark = pytest.mark.anyio
TRIGGERED = "↳ triggered by watch «notes»"


async def arm(relay: Living, line: str = "notes --file notes.md", name: str = "notes") -> None:
    """`!watch`, and wait until it looks."""
    await relay.say(f"!watch {line}")
    await relay.until_logged("watch.started", len(await relay.log("watch.armed")) or 1)
    await relay.watching(name)


def notes(relay: Living, text: str) -> None:
    (relay.work / "notes.md").write_text(text)


async def test_a_changed_file_wakes_the_agent_and_the_reply_names_the_watch(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        told = await relay.seen("👁️ Watching «notes»: file notes.md · on change.")
        assert "`!unwatch notes`" in told["text"]
        notes(relay, "buy milk\n")
        answer = await relay.seen(TRIGGERED)
        assert "+buy milk" in answer["text"]
        assert answer["text"].startswith(TRIGGERED)
        assert answer["ping"] == ["web:owner"]


async def test_a_watch_wakes_the_thread_in_which_it_was_armed(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        thread = await relay.thread()
        await relay.say("!watch notes --file notes.md", thread)
        await relay.watching("notes", f"web:{thread}")
        notes(relay, "x\n")
        await relay.seen(TRIGGERED, thread)
        assert await relay.ours() == []


async def test_one_after_the_other_every_change_fires_and_so_does_the_same_text_again(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --window 0s")
        for number, text in enumerate(("A\n", "B\n", "A\n", "B\n"), 1):
            notes(relay, text)
            answer = await relay.seen(TRIGGERED, times=number)
            assert f"+{text.strip()}" in answer["text"]
        assert [i.body["number"] for i in await relay.log("watch.fired")] == [1, 2, 3, 4]


async def test_the_same_timer_text_twice_rings_twice(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for number in (1, 2):
            await relay.say('!watch --in 1s "stretch"')
            await relay.seen("stretch", times=2 * number)
            await relay.quiet()
        assert len(await relay.log("watch.fired")) == 2


async def test_an_unwatched_file_is_let_go(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!unwatch notes")
        await relay.seen("👁️ «notes» is off: as asked.")
        await relay.until_logged("watch.exited")
        notes(relay, "x\n")
        await relay.clock.sleep(2)
        await relay.quiet()
        assert not await relay.log("watch.fired")


async def test_arming_the_identical_watch_again_after_unwatch_takes_effect(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!unwatch notes")
        await relay.seen("is off")
        await relay.say("!watch notes --file notes.md")
        await relay.seen("👁️ Watching «notes»", times=2)
        await relay.watching("notes")
        notes(relay, "x\n")
        await relay.seen(TRIGGERED)


async def test_a_name_armed_again_replaces_the_one_before(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!watch notes --file other.md")
        await relay.seen("(the earlier one of that name is off)")
        await relay.until_logged("watch.exited")
        await relay.watching("notes")
        notes(relay, "old\n")
        (relay.work / "other.md").write_text("new\n")
        await relay.seen("+new")
        await relay.quiet()
        assert len(await relay.log("watch.fired")) == 1
        assert len(relay.relay.parts.engine.view.of(Watches).of_scope("web:main")) == 1


async def test_once_fires_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --once")
        notes(relay, "one\n")
        await relay.seen("+one")
        await relay.say("!watches")
        await relay.seen("Nothing is watched here.")
        notes(relay, "two\n")
        await relay.clock.sleep(2)
        await relay.quiet()
        assert len(await relay.log("watch.fired")) == 1


async def test_max_fires_so_often_and_says_that_it_is_off(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --max 2 --window 0s")
        notes(relay, "one\n")
        await relay.seen("+one")
        notes(relay, "two\n")
        await relay.seen("+two")
        await relay.seen("👁️ «notes» is off: it has fired as often as it may.")


async def test_a_ttl_ends_it_and_that_is_said(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md --ttl 3s")
        await relay.seen("👁️ «notes» is off: its time is up.")
        assert not await relay.log("watch.fired")


async def test_notify_posts_what_changed_and_wakes_nobody(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --notify")
        notes(relay, "```\nbuy milk\n")
        told = await relay.seen("👁️ «notes» (")
        assert "+buy milk" in told["text"]
        assert "````diff" in told["text"], "its fence is longer than the one inside"
        assert told["ping"] == []
        await relay.quiet()
        assert not await relay.log("turn.")


async def test_match_fires_on_what_it_matches_only(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --match ERROR")
        notes(relay, "all fine\n")
        await relay.clock.sleep(2)
        notes(relay, "all fine\nERROR db down\n")
        answer = await relay.seen(TRIGGERED)
        assert "ERROR db down" in answer["text"]
        assert len(await relay.log("watch.fired")) == 1


async def test_a_timer_rings_once_with_its_text(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say('!watch --in 2s "stretch your legs"')
        await relay.seen("👁️ Watching «timer-1»: timer")
        answer = await relay.seen("↳ triggered by watch «timer-1»")
        assert "stretch your legs" in answer["text"]
        await relay.quiet()
        await relay.say("!watches")
        await relay.seen("Nothing is watched here.")


async def test_a_time_of_day_is_the_next_one(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say('!watch standup --at 09:30 "stand up"')
        await relay.seen("👁️ Watching «standup»: timer · in ")
        armed = relay.relay.parts.engine.view.of(Watches).named("web:main", "standup")
        assert armed is not None
        due = armed.spec.due or 0
        assert 0 < due - relay.clock.now_ms() <= 24 * 3_600_000
        assert due % 86_400_000 == (9 * 60 + 30) * 60_000


async def test_a_fire_while_a_turn_runs_waits_and_is_named_in_its_own_reply(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("say working\nslow 3000")
        await relay.turn_runs()
        notes(relay, "x\n")
        await relay.until_logged("watch.fired")
        assert not await relay.log("turn.steered"), "a fire does not steer"
        await relay.say("!stop")
        await relay.seen(TRIGGERED)
        answers = [m["text"] for m in await relay.messages() if m["ours"] and m["ping"]]
        assert answers[0] == "working"
        assert answers[1].startswith(TRIGGERED)


async def test_several_fires_that_waited_are_one_turn_that_names_each_watch_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "notes --file notes.md --window 0s")
        await relay.say("!watch log --file app.log --window 0s")
        await relay.watching("log")
        await relay.say("slow 3000")
        await relay.turn_runs()
        for number in range(2):
            notes(relay, f"{number}\n")
            await relay.until_logged("watch.fired", number + 1)
        (relay.work / "app.log").write_text("x\n")
        await relay.until_logged("watch.fired", 3)
        await relay.say("!stop")
        answer = await relay.seen(TRIGGERED)
        assert answer["text"].startswith(f"{TRIGGERED}\n↳ triggered by watch «log»\n")
        assert answer["text"].count(TRIGGERED) == 1
        assert len(await relay.log("turn.started")) == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("notes --file notes.md --bogus 1", "--bogus"),
        ("notes", "Say what to watch"),
        ("", "Say what to watch"),
        ("notes --file", "needs a value"),
        ("notes --file a.md --in 2h", "one source"),
        ("log --tail error.log", "isn't something this relay can watch with yet"),
        ("build --exit -- ./train.sh", "isn't something this relay can watch with yet"),
        ("--in soon", "soon"),
        ("a b --file notes.md", "A name is one word"),
        ("notes --file notes.md --match '('", "Nothing was armed"),
    ],
)
async def test_a_wrong_line_arms_nothing_and_shows_the_right_form(
    tmp_path: Path, line: str, told: str
) -> None:
    async with living(tmp_path) as relay:
        said = await relay.say(f"!watch {line}")
        seen = await relay.seen("🚫 Nothing was armed: ")
        assert told in seen["text"]
        assert seen["reply_to"] == said.message
        assert not await relay.log("watch.")


async def test_the_relay_s_own_record_is_not_watched_since_that_would_wake_itself(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "way in").symlink_to(tmp_path / "state")
        await relay.say("!watch own --file ../state/ledger.db-wal")
        await relay.seen("🚫 «own» is not armed: it is in the relay's own state folder")
        await relay.say("!watch own --file 'way in/ledger.db'")
        await relay.seen("🚫 «own» is not armed: it is in the relay's own state folder", times=2)


@pytest.mark.parametrize("path", [".env", "id_rsa", "keys/server.pem", "access.json", ".ssh/config"])
async def test_files_that_hold_secrets_are_refused_to_everybody(tmp_path: Path, path: str) -> None:
    async with living(tmp_path) as relay:
        await relay.say(f"!watch key --file {path}")
        await relay.seen("🚫 «key» is not armed: files of that name hold secrets")
        await relay.say(f"watch name=key file={path}")
        await relay.seen(
            "🚫 «key» is not armed: files of that name hold secrets", times=3
        )  # to people, and to the agent
        assert not await relay.log("watch.armed")


async def test_a_link_to_a_file_that_holds_secrets_is_refused(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / ".env").write_text("KEY=1\n")
        (relay.work / "plain.txt").symlink_to(".env")
        await relay.say("!watch key --file plain.txt")
        await relay.seen("🚫 «key» is not armed")


async def test_outside_the_workspace_only_the_owner_may_watch(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.txt"
    async with living(tmp_path) as relay:
        await relay.say(f"watch name=out file={outside}")
        await relay.seen("lies outside this room's workspace, and only the owner may watch there")
        await relay.say("watch name=out file=../elsewhere.txt")
        await relay.seen("lies outside this room's workspace", times=4)
        assert not await relay.log("watch.armed")
        await arm(relay, f"out --file {outside}", "out")
        outside.write_text("seen\n")
        await relay.seen("+seen")


async def test_the_limit_of_armed_watches_is_told(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"watches": 2}) as relay:
        for name in ("a", "b"):
            await arm(relay, f"{name} --file {name}.md", name)
        await relay.say("!watch c --file c.md")
        await relay.seen(
            "🚫 «c» is not armed: 2 watches are armed already, which is the limit in access.json"
        )
        await relay.say("!watch b --file other.md")
        await relay.seen("(the earlier one of that name is off)")


async def test_what_is_watched_is_listed_and_an_unknown_name_is_told(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watches")
        await relay.seen("Nothing is watched here. Arm one with `!watch notes --file notes.md`")
        await arm(relay)
        await relay.say("!watches")
        await relay.seen("- «notes» · file notes.md · on change · 0 fires · by Olga")
        await relay.say("!unwatch nothing")
        await relay.seen("There is no watch «nothing» here. Armed here: «notes».")
        await relay.say("!unwatch")
        await relay.seen("Which one? Type `!unwatch NAME`; `!watches` lists them.")
        await relay.say("!watches", "side")
        await relay.seen("Nothing is watched here.", "side")


async def test_the_agent_arms_lists_and_takes_off_with_its_tools(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("watch name=notes file=notes.md\nwatches")
        answer = await relay.seen("watching «notes»: file notes.md · on change")
        assert "- «notes» · file notes.md · on change · 0 fires · by scout" in answer["text"]
        await relay.watching("notes")
        notes(relay, "x\n")
        assert (await relay.seen(TRIGGERED))["ping"] == ["web:owner"], "who asked for the watch is told"
        await relay.say("unwatch notes\nunwatch notes\nwatch name=bad every=30s")
        answer = await relay.seen("«notes» is off: as asked.\n(There is no watch «notes» here.")
        assert "isn't something this relay can watch with yet" in answer["text"]

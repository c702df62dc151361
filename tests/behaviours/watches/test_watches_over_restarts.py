"""Watches outlive the relay: they come back, miss nothing once, and what access.json declares follows its text."""

from pathlib import Path
from typing import Any

import pytest
from fakes.living import Living, access, living

from relay.behaviours.watches.concept import Watches

pytestmark = pytest.mark.anyio
DECLARED: dict[str, Any] = {"name": "notes", "file": "notes.md"}


def armed(relay: Living) -> list[str]:
    return [a.spec.name for a in relay.relay.parts.engine.view.of(Watches).of_scope("web:main")]


@pytest.mark.parametrize("kill", [True, False])
async def test_a_change_made_while_no_relay_ran_fires_once(tmp_path: Path, kill: bool) -> None:
    async with living(tmp_path) as relay:
        relay.work.mkdir(exist_ok=True)
        (relay.work / "notes.md").write_text("one\n")
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        async with relay.away(kill=kill):
            (relay.work / "notes.md").write_text("one\ntwo\n")
        answer = await relay.seen("↳ triggered by watch «notes»")
        assert "+two" in answer["text"]
        assert "+one" not in answer["text"], "the diff is against what was seen last"
        await relay.restart(kill=kill)
        await relay.watching("notes")
        await relay.quiet()
        assert len(await relay.log("watch.fired")) == 1
        assert len(await relay.log("watch.armed")) == 1
        (relay.work / "notes.md").write_text("three\n")
        await relay.seen("+three")


async def test_nothing_fires_when_nothing_changed_while_no_relay_ran(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        for kill in (True, False):
            await relay.restart(kill=kill)
            await relay.watching("notes")
        await relay.quiet()
        assert not await relay.log("watch.fired")
        assert len(await relay.ours()) == 1


async def test_a_timer_whose_time_came_while_no_relay_ran_rings_once_late(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say('!watch --in 1h "stretch"')
        await relay.seen("Watching «timer-1»")
        async with relay.away(kill=True):
            relay.clock.jumped_ms += 2 * 3_600_000
        answer = await relay.seen("↳ triggered by watch «timer-1»")
        assert "stretch" in answer["text"]
        await relay.restart()
        await relay.quiet()
        assert len(await relay.log("watch.fired")) == 1
        assert armed(relay) == []


async def test_fires_and_their_bound_outlive_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md --max 2 --window 0s")
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("one\n")
        await relay.seen("+one")
        await relay.restart(kill=True)
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("two\n")
        await relay.seen("it has fired as often as it may")
        assert [i.body["number"] for i in await relay.log("watch.fired")] == [1, 2]


async def test_a_ttl_that_ended_while_no_relay_ran_is_told(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md --ttl 1h")
        await relay.watching("notes")
        async with relay.away():
            relay.clock.jumped_ms += 2 * 3_600_000
        await relay.seen("👁️ «notes» is off: its time is up.")


async def test_a_fire_that_waited_behind_a_turn_is_answered_after_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.say("slow 3000")
        first = await relay.turn_runs()
        (relay.work / "notes.md").write_text("one\n")
        await relay.until_logged("turn.prompted", 2)
        await relay.restart(kill=True)
        await relay.seen("I'm picking it up again")
        await relay.until(lambda: relay.running() not in (None, first), "the turn that goes on")
        await relay.say("!stop")
        await relay.seen("Stopped")
        await relay.seen("↳ triggered by watch «notes»")


async def test_a_declared_watch_is_armed_at_boot_and_not_again_at_the_next(tmp_path: Path) -> None:
    async with living(tmp_path, watches=(DECLARED,)) as relay:
        await relay.seen("👁️ Watching «notes»: file notes.md · on change.")
        await relay.watching("notes")
        await relay.restart()
        await relay.watching("notes")
        await relay.quiet()
        assert len(await relay.log("watch.armed")) == 1
        assert len(await relay.ours()) == 1
        (relay.work / "notes.md").write_text("x\n")
        await relay.seen("↳ triggered by watch «notes»")


async def test_a_declared_watch_taken_off_by_hand_stays_off_until_its_text_changes(tmp_path: Path) -> None:
    async with living(tmp_path, watches=(DECLARED,)) as relay:
        await relay.watching("notes")
        await relay.say("!unwatch notes")
        await relay.seen("is off: as asked")
        for kill in (True, False):
            await relay.restart(kill=kill)
            await relay.quiet()
            assert armed(relay) == []
        relay.access = access(tmp_path, watches=({**DECLARED, "match": "ERROR"},))
        await relay.restart()
        await relay.watching("notes")
        assert armed(relay) == ["notes"]


async def test_a_declared_watch_that_is_gone_from_access_json_goes_off(tmp_path: Path) -> None:
    async with living(tmp_path, watches=(DECLARED,)) as relay:
        await relay.watching("notes")
        relay.access = access(tmp_path)
        await relay.restart()
        await relay.seen("👁️ «notes» is off: access.json no longer declares it.")
        assert armed(relay) == []
        relay.access = access(tmp_path, watches=(DECLARED,))
        await relay.restart()
        await relay.watching("notes")


async def test_a_declared_timer_whose_moment_has_passed_says_nothing_at_each_start(tmp_path: Path) -> None:
    past = {"name": "past", "at": "2020-01-01T00:00", "text": "too late"}
    async with living(tmp_path, watches=(past,)) as relay:
        await relay.restart()
        await relay.say("say still here")
        await relay.seen("still here")
        assert await relay.ours() == ["still here"]
        assert armed(relay) == []


async def test_a_declared_watch_on_secrets_is_refused_and_that_is_told(tmp_path: Path) -> None:
    async with living(tmp_path, watches=({"name": "key", "file": ".env"},)) as relay:
        await relay.seen("🚫 «key» is not armed: files of that name hold secrets")


async def test_what_people_armed_is_left_alone_by_access_json(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch mine --file mine.md")
        await relay.watching("mine")
        relay.access = access(tmp_path, watches=(DECLARED,))
        await relay.restart()
        await relay.watching("notes")
        assert sorted(armed(relay)) == ["mine", "notes"]


async def test_a_watch_asked_for_just_before_a_kill_is_armed_after_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.until_logged("watch.requested")
        await relay.restart(kill=True)
        await relay.watching("notes")
        await relay.quiet()
        assert len(await relay.log("watch.armed")) == 1

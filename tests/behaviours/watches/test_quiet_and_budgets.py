"""Quiet and bounds: what a watch sees is never lost by them, wakes nobody meanwhile, and then comes as one."""

import itertools
from pathlib import Path

import pytest
from fakes.living import ADA, Living, living, poll

from relay.behaviours.watches.concept import Watches
from relay.config_model import Budgets, DayBudget, HourBudget

pytestmark = pytest.mark.anyio
MINUTE = 60_000
HOUR = 60 * MINUTE


def add(relay: Living, line: str, name: str = "app.log") -> None:
    relay.work.mkdir(exist_ok=True)
    with (relay.work / name).open("a") as out:
        out.write(f"{line}\n")


async def arm(relay: Living, more: str = "", name: str = "log", place: str = "main") -> None:
    add(relay, "start", f"{name}.log")
    await relay.say(f"!watch {name} --tail {name}.log --window 0s {more}", place)
    await relay.watching(name, f"web:{place}")


async def fire(relay: Living, line: str, number: int, name: str = "log") -> None:
    """One more fire in the ledger."""
    add(relay, line, f"{name}.log")
    await relay.until_logged("watch.fired", number)


async def wakes(relay: Living) -> int:
    """How often a watch has asked for a turn; one that goes on after a restart isn't asked for again."""
    prompts = [i.body for i in await relay.log("turn.prompted")]
    return len([p for p in prompts if p["origin"]["kind"] == "watch" and not p["continues"]])


def held(relay: Living) -> int:
    return sum(h.count for h in relay.relay.parts.engine.view.of(Watches).state.held.values())


# -- snoozed, muted, hours --------------------------------------------------------------------------------------------


async def test_a_snoozed_watch_wakes_nobody_and_then_tells_all_in_one(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!snooze log 2h")
        await relay.seen("🔕 «log» is snoozed until ")
        for number, line in enumerate(("one", "two", "three"), 1):
            await fire(relay, line, number)
        await relay.quiet()
        assert await wakes(relay) == 0
        await relay.say("!watches")
        await relay.seen(", 3 fires wait")
        relay.clock.jumped_ms += 2 * HOUR
        answer = await relay.seen("↳ triggered by watch «log»")
        assert "fired 3 times while people had it snoozed" in answer["text"]
        for line in ("one", "two", "three"):
            assert line in answer["text"]
        await relay.quiet()
        assert await wakes(relay) == 1
        await fire(relay, "four", 4)
        await relay.seen("four")


@pytest.mark.parametrize("kill", [True, False])
async def test_a_snooze_and_what_is_held_outlive_a_restart(tmp_path: Path, kill: bool) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!snooze log 2h")
        await relay.seen("is snoozed until")
        await fire(relay, "one", 1)
        await relay.restart(kill=kill)
        await relay.watching("log")
        await fire(relay, "two", 2)
        assert await wakes(relay) == 0
        async with relay.away(kill=kill):
            relay.clock.jumped_ms += 3 * HOUR
        answer = await relay.seen("↳ triggered by watch «log»")
        assert "one" in answer["text"]
        assert "two" in answer["text"]


async def test_a_snooze_that_is_ended_early_tells_at_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!snooze log 2h")
        await relay.seen("is snoozed until")
        await fire(relay, "one", 1)
        await relay.say("!snooze log off")
        await relay.seen("↳ triggered by watch «log»")


async def test_a_muted_watch_stays_silent_and_what_came_meanwhile_is_not_told(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!mute log")
        await relay.seen("🔕 «log» is muted")
        await fire(relay, "one", 1)
        relay.clock.jumped_ms += 48 * HOUR
        await relay.quiet()
        assert await wakes(relay) == 0
        assert len(await relay.log("watch.fired")) == 1, "it is still recorded"
        await relay.say("!unmute log")
        await relay.seen("«log» may speak again")
        await fire(relay, "two", 2)
        answer = await relay.seen("↳ triggered by watch «log»")
        assert "one" not in answer["text"]
        assert held(relay) == 0


async def test_outside_its_hours_a_watch_waits_for_them(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        now = relay.clock.now_ms()
        minute = now // MINUTE % 1440
        first, last = (minute + 120) % 1440, (minute + 180) % 1440
        hours = f"{first // 60:02}:{first % 60:02}-{last // 60:02}:{last % 60:02}"
        await arm(relay, f"--hours {hours} --tz UTC")
        await fire(relay, "one", 1)
        await relay.quiet()
        assert await wakes(relay) == 0
        relay.clock.jumped_ms += 121 * MINUTE
        answer = await relay.seen("↳ triggered by watch «log»")
        assert "outside the hours in which it may speak" in answer["text"]


async def test_a_held_notice_is_posted_later_and_wakes_nobody(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "--notify")
        await relay.say("!snooze log 1h")
        await relay.seen("is snoozed until")
        await fire(relay, "one", 1)
        await fire(relay, "two", 2)
        relay.clock.jumped_ms += 2 * HOUR
        told = await relay.seen("👁️ «log» (2 fires that waited, since it was snoozed):")
        assert "one" in told["text"]
        assert "two" in told["text"]
        assert await wakes(relay) == 0


async def test_a_one_shot_that_fired_in_a_snooze_is_still_told(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay, "--once")
        await relay.say("!snooze log 1h")
        await relay.seen("is snoozed until")
        await fire(relay, "one", 1)
        await relay.until_logged("watch.disarmed")
        relay.clock.jumped_ms += 2 * HOUR
        await relay.seen("↳ triggered by watch «log»")


async def test_unwatch_takes_what_was_held_with_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say("!snooze log 1h")
        await relay.seen("is snoozed until")
        await fire(relay, "one", 1)
        await relay.say("!unwatch log")
        await relay.seen("is off")
        relay.clock.jumped_ms += 2 * HOUR
        await relay.quiet()
        assert await wakes(relay) == 0


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("!snooze log", "Type `!snooze NAME 1h`"),
        ("!snooze log soon", "isn't a length of time"),
        ("!snooze nothing 1h", "There is no watch «nothing» here"),
        ("!mute", "Type `!mute NAME`"),
        ("!unmute nothing", "There is no watch «nothing» here"),
        ("!budget more", "Type `!budget` to see what is spent"),
        ("!budget lift never", "isn't a length of time"),
    ],
)
async def test_a_wrong_word_is_told_with_the_right_form(tmp_path: Path, line: str, answer: str) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say(line)
        await relay.seen(answer)


@pytest.mark.parametrize("line", ["!snooze log 1h", "!mute log", "!budget lift 1h"])
async def test_only_the_owner_may(tmp_path: Path, line: str) -> None:
    async with living(tmp_path) as relay:
        await arm(relay)
        await relay.say(line, by=ADA)
        await relay.seen("Only the owner may do that here.")
        await fire(relay, "one", 1)
        await relay.seen("↳ triggered by watch «log»")


# -- bounds -----------------------------------------------------------------------------------------------------------


async def test_a_watch_that_fires_too_often_falls_silent_with_one_notice_and_tells_the_rest_as_one(
    tmp_path: Path,
) -> None:
    async with living(tmp_path, budgets=Budgets(watch_fires_per_hour=2)) as relay:
        await arm(relay)
        for number in (1, 2, 3, 4):
            await fire(relay, f"line {number}", number)
        notice = await relay.seen(
            "🔕 «log» has fired 2 times within an hour (`budgets.watch_fires_per_hour`)"
        )
        assert "`!budget lift 1h` lets it through now." in notice["text"]
        await relay.quiet()
        assert await wakes(relay) == 2
        assert len([m for m in await relay.ours() if "has fired 2 times" in m]) == 1
        relay.clock.jumped_ms += HOUR
        answer = await relay.seen("↳ triggered by watch «log»", times=3)
        assert "line 3" in answer["text"]
        assert "line 4" in answer["text"]
        assert "fired 2 times after it had fired as often as it may in an hour" in answer["text"]


async def test_a_bound_is_told_again_in_the_next_hour_only(tmp_path: Path) -> None:
    async with living(tmp_path, budgets=Budgets(watch_fires_per_hour=1)) as relay:
        await arm(relay)
        for number in (1, 2, 3):
            await fire(relay, f"line {number}", number)
        await relay.seen("has fired 1 time")
        relay.clock.jumped_ms += HOUR
        await relay.until_logged("watch.released")
        await relay.quiet()
        for number in (4, 5):
            await fire(relay, f"line {number}", number)
        await relay.seen("has fired 1 time", times=2)
        await relay.quiet()
        assert len([m for m in await relay.ours() if "has fired 1 time" in m]) == 2


async def test_the_newest_of_many_held_fires_are_told_and_how_many_were_left_out(tmp_path: Path) -> None:
    async with living(tmp_path, budgets=Budgets(watch_fires_per_hour=1)) as relay:
        await arm(relay)
        for number in range(1, 8):
            await fire(relay, f"line {number}", number)
        relay.clock.jumped_ms += HOUR
        answer = await relay.seen("↳ triggered by watch «log»", times=2)
        assert "The last 5 are below; 1 earlier one is left out" in answer["text"]
        assert "line 7" in answer["text"]
        assert "line 2" not in answer["text"]


async def test_a_flood_that_is_held_is_recorded_once_a_minute_and_no_line_is_left_out(tmp_path: Path) -> None:
    async with living(tmp_path, speed=40.0, budgets=Budgets(watch_fires_per_hour=1)) as relay:
        await arm(relay)
        for number in range(1, 7):
            await fire(relay, f"line {number}", number)
        for number in range(7, 40):
            add(relay, f"line {number}", "log.log")
        lines: list[str] = []

        async def all_are_there() -> bool:
            lines[:] = [line for i in await relay.log("watch.fired") for line in i.body["text"].split("\n")]
            return "line 39" in lines

        await poll(all_are_there, lambda: relay._missing("line 39 did not come"))
        assert lines == [f"line {number}" for number in range(1, 40)]
        at = [i.at for i in await relay.log("watch.fired")]
        assert all(later - earlier >= MINUTE for earlier, later in itertools.pairwise(at[5:]))


async def test_lifting_the_bounds_lets_through_what_waits(tmp_path: Path) -> None:
    async with living(tmp_path, budgets=Budgets(watch_fires_per_hour=1)) as relay:
        await arm(relay)
        await fire(relay, "line 1", 1)
        await fire(relay, "line 2", 2)
        await relay.seen("has fired 1 time")
        await relay.say("!budget lift 30m")
        await relay.seen("👁️ No limit on what watches start holds in this room until ")
        await relay.seen("line 2")
        await fire(relay, "line 3", 3)
        await relay.seen("line 3")
        relay.clock.jumped_ms += 31 * MINUTE
        await fire(relay, "line 4", 4)
        await relay.seen("has fired 1 time", times=2)


async def test_turns_of_one_thread_are_bounded_and_other_threads_go_on(tmp_path: Path) -> None:
    budgets = Budgets(thread=HourBudget(turns_per_hour=2))
    async with living(tmp_path, budgets=budgets) as relay:
        await arm(relay, name="a")
        await arm(relay, name="b")
        thread = await relay.thread()
        await arm(relay, name="c", place=thread)
        await fire(relay, "a 1", 1, "a")
        await fire(relay, "b 1", 2, "b")
        await fire(relay, "a 2", 3, "a")
        notice = await relay.seen("🔕 Watches have woken me here 2 times within an hour (`budgets.thread`)")
        assert "waits and then comes as one" in notice["text"]
        await fire(relay, "b 2", 4, "b")
        await fire(relay, "c 1", 5, "c")
        await relay.seen("c 1", thread)
        await relay.quiet()
        assert len([m for m in await relay.ours() if "within an hour" in m]) == 1, "one notice for the thread"
        relay.clock.jumped_ms += HOUR
        await relay.seen("a 2")
        await relay.seen("b 2")


async def test_turns_of_a_room_and_of_a_day_are_bounded(tmp_path: Path) -> None:
    budgets = Budgets(room=HourBudget(turns_per_hour=1), day=DayBudget(turns=2))
    async with living(tmp_path, budgets=budgets) as relay:
        await arm(relay)
        await fire(relay, "line 1", 1)
        await fire(relay, "line 2", 2)
        await relay.seen("🔕 Watches have woken me in this room 1 time within an hour (`budgets.room`)")
        relay.clock.jumped_ms += HOUR
        await relay.seen("line 2")
        relay.clock.jumped_ms += HOUR
        await fire(relay, "line 3", 3)
        await relay.seen("🔕 Watches have woken me 2 times within a day (`budgets.day`)")
        await relay.say("!budget")
        shown = await relay.seen("- woken by watches everywhere today: 2 of 2")
        assert (
            "«log»: 1 fire that waited, since watches had woken me as often as they may in a day"
            in shown["text"]
        )
        relay.clock.jumped_ms += 24 * HOUR
        await relay.seen("line 3")


async def test_what_a_person_asks_for_is_never_bounded_and_a_notice_spends_no_turn(tmp_path: Path) -> None:
    budgets = Budgets(thread=HourBudget(turns_per_hour=1))
    async with living(tmp_path, budgets=budgets) as relay:
        await arm(relay, "--notify")
        for number in (1, 2, 3):
            await fire(relay, f"line {number}", number)
        await relay.seen("line 3")
        for number in range(4):
            await relay.say(f"say answer {number}")
            await relay.seen(f"answer {number}")
        await arm(relay, name="b")
        await fire(relay, "b 1", 4, "b")
        await relay.seen("b 1")


async def test_many_fires_of_one_moment_cannot_overrun_a_bound(tmp_path: Path) -> None:
    budgets = Budgets(thread=HourBudget(turns_per_hour=3))
    async with living(tmp_path, budgets=budgets) as relay:
        for number in range(8):
            await arm(relay, name=f"w{number}")
        for number in range(8):
            add(relay, "now", f"w{number}.log")
        await relay.until_logged("watch.fired", 8)
        await relay.quiet()
        assert await wakes(relay) == 3
        assert held(relay) == 5


async def test_bounds_hold_over_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path, budgets=Budgets(watch_fires_per_hour=1)) as relay:
        await arm(relay)
        await fire(relay, "line 1", 1)
        await relay.restart(kill=True)
        await relay.watching("log")
        await fire(relay, "line 2", 2)
        await relay.seen("has fired 1 time")
        assert await wakes(relay) == 1

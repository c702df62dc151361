"""Timers ring once, in time whatever the clock does, and say when they are late."""

import pytest

pytestmark = pytest.mark.anyio

HOUR = 3600.0


async def settled(stand) -> None:
    await stand.clock.settle()


async def test_a_timer_fires_when_it_is_due_and_ends(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(2 * HOUR))
        await settled(stand)
        assert stand.started == {"timer-1": {}}
        await stand.clock.turn(2 * HOUR - 10, step=30)
        assert stand.fires == []
        await stand.clock.turn(10, step=1)
        (fire,) = stand.fires
        assert (fire.why, fire.text, fire.number, fire.last, fire.count) == ("due", "stretch", 1, True, 1)
        assert stand.ended[0].reason == "done"
        assert stand.supervisor.running() == ()


async def test_a_missed_timer_runs_once_and_says_how_late(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(-3 * HOUR))
        await settled(stand)
        assert [fire.why for fire in stand.fires] == ["due, 3 h late"]


async def test_a_suspend_is_noticed_within_one_slice(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(8 * HOUR))
        await settled(stand)
        stand.clock.wall += int(9 * HOUR * 1000)
        await stand.clock.turn(30)
        assert [fire.why for fire in stand.fires] == ["due, 1 h late"]


async def test_a_suspend_is_noticed_within_five_seconds_when_the_time_was_near(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(9 * 60))
        await settled(stand)
        stand.clock.wall += int(HOUR * 1000)
        await stand.clock.turn(5)
        assert [fire.why for fire in stand.fires] == ["due, 51 min 5 s late"]


async def test_a_clock_set_back_makes_a_timer_wait_for_its_time(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(60))
        await settled(stand)
        stand.clock.wall -= int(HOUR * 1000)
        await stand.clock.turn(120)
        assert stand.fires == []
        await stand.clock.turn(HOUR, step=30)
        assert len(stand.fires) == 1


async def test_a_timer_that_fired_in_an_earlier_life_only_ends(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(-60, fires=1))
        await settled(stand)
        assert (stand.fires, stand.ended[0].reason) == ([], "done")


async def test_a_stopped_timer_never_fires(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(60))
        await settled(stand)
        await stand.supervisor.stop("timer-1")
        await stand.clock.turn(120)
        assert (stand.fires, stand.ended) == ([], [])


async def test_an_earlier_timer_set_later_rings_first(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(25, run="late"))
        await settled(stand)
        stand.supervisor.start(stand.timer(3, run="early"))
        await settled(stand)
        await stand.clock.turn(3, step=1)
        assert [fire.run for fire in stand.fires] == ["early"]
        await stand.clock.turn(22, step=1)
        assert [fire.run for fire in stand.fires] == ["early", "late"]


async def test_a_fire_that_fails_is_tried_again(hand_stand) -> None:
    stand = hand_stand
    stand.refuse_fires = 3
    async with stand.running():
        stand.supervisor.start(stand.timer(1))
        await settled(stand)
        await stand.clock.turn(30, step=0.5)
        assert len(stand.fires) == 1


async def test_two_thousand_timers_wait_without_a_task_each(hand_stand) -> None:
    import asyncio

    stand = hand_stand
    async with stand.running():
        for number in range(2_000):
            stand.supervisor.start(stand.timer(60, run=f"t{number}"))
        await stand.until(lambda: len(stand.started) == 2_000)
        await settled(stand)
        assert len(asyncio.all_tasks()) < 20
        await stand.clock.turn(60)
        await stand.until(lambda: len(stand.fires) == 2_000)


async def test_a_reminder_is_stripped_of_what_steers_a_terminal(hand_stand) -> None:
    stand = hand_stand
    async with stand.running():
        stand.supervisor.start(stand.timer(0, text="\x1b[2Jwater\u202e the plants"))
        await settled(stand)
        assert stand.fires[0].text == "water the plants"

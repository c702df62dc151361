"""Schedules ring at their times whatever the clock does; what was missed rings once, late, and says so."""

from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.anyio

HOUR = 3600.0


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def stand(hand_stand):
    hand_stand.clock.wall = at("2026-11-30T08:00")
    return hand_stand


async def test_it_rings_each_day_and_keeps_its_next_time_with_the_fire(stand) -> None:
    async with stand.running():
        stand.supervisor.start(stand.schedule("30 9 * * *", text="stand up"))
        await stand.clock.settle()
        assert stand.started["daily"] == {"next": at("2026-11-30T09:30"), "last": None}
        await stand.clock.turn(1.5 * HOUR - 60, step=60)
        assert stand.fires == []
        await stand.clock.turn(60)
        assert [(f.why, f.text, f.last) for f in stand.fires] == [("due", "stand up", False)]
        assert stand.fires[0].state == {"next": at("2026-12-01T09:30"), "last": at("2026-11-30T09:30")}
        await stand.clock.turn(24 * HOUR, step=600)
        assert [fire.number for fire in stand.fires] == [1, 2]
        assert stand.supervisor.running() == ("daily",)


async def test_working_days_in_a_zone_follow_daylight_saving(stand) -> None:
    stand.clock.wall = at("2027-03-26T08:00")  # a Friday; clocks in Berlin go forward on Sunday
    async with stand.running():
        stand.supervisor.start(stand.schedule("30 9 * * mon-fri", tz="Europe/Berlin"))
        await stand.clock.turn(3 * 24 * HOUR, step=600)
    assert [fire.state["last"] for fire in stand.fires] == [
        *(at("2027-03-26T08:30"), at("2027-03-29T07:30")),
    ]


@pytest.mark.parametrize(
    ("asleep", "why"),
    [
        (2, "due, 1 h late; 3 more missed since, told with this one"),
        (1.2, "due, 12 min 30 s late"),
        (1.004, "due"),
    ],
)
async def test_what_was_missed_in_a_suspend_rings_once_late(stand, asleep: float, why: str) -> None:
    async with stand.running():
        stand.supervisor.start(stand.schedule("0,20,40 9,10 * * *"))
        await stand.clock.settle()
        stand.clock.wall += int(asleep * HOUR * 1000)
        await stand.clock.turn(30)
        assert len(stand.fires) == 1
        assert stand.fires[0].why.startswith(why)


async def test_what_was_missed_while_no_relay_ran_rings_once_late(stand) -> None:
    run = stand.schedule(
        "30 9 * * *", state={"next": at("2026-11-27T09:30"), "last": at("2026-11-26T09:30")}, fires=1
    )
    async with stand.running():
        stand.supervisor.start(run)
        await stand.clock.settle()
        (fire,) = stand.fires
        assert fire.number == 2
        assert fire.why == "due, 2 d 22 h late; 2 more missed since, told with this one"
        await stand.clock.turn(1.5 * HOUR, step=60)
        assert [fire.why for fire in stand.fires][1:] == ["due"]


async def test_a_restart_after_the_fire_rings_nothing_twice(stand) -> None:
    run = stand.schedule(
        "0 8 * * *", state={"next": at("2026-12-01T08:00"), "last": at("2026-11-30T08:00")}, fires=1
    )
    async with stand.running():
        stand.supervisor.start(run)
        await stand.clock.turn(HOUR, step=60)
        assert stand.fires == []


async def test_a_clock_set_back_by_half_an_hour_rings_nothing_twice(stand) -> None:
    async with stand.running():
        stand.supervisor.start(stand.schedule("10 8 * * *"))
        await stand.clock.turn(900, step=60)
        assert len(stand.fires) == 1
        stand.clock.wall -= 1_800_000
        await stand.clock.turn(2 * HOUR, step=60)
        assert len(stand.fires) == 1


async def test_a_clock_that_was_years_ahead_and_is_put_right_rings_at_the_right_time_again(stand) -> None:
    stand.clock.wall = at("2036-11-30T08:00")
    async with stand.running():
        stand.supervisor.start(stand.schedule("10 8 * * *"))
        await stand.clock.turn(900, step=60)
        assert len(stand.fires) == 1
        stand.clock.wall = at("2026-11-30T12:00")
        await stand.clock.turn(20 * HOUR, step=600)
        assert len(stand.fires) == 1
        await stand.clock.turn(HOUR, step=600)
        assert len(stand.fires) == 2
        await stand.clock.turn(24 * HOUR, step=600)
        assert len(stand.fires) == 3


async def test_once_max_and_ttl_end_it(stand) -> None:
    async with stand.running():
        for run, more in (
            ("once", {"once": True}),
            ("max", {"max_fires": 2}),
            ("ttl", {"ttl_ms": 100 * 60_000}),
        ):
            stand.supervisor.start(stand.schedule("0 * * * *", run=run, **more))
        await stand.clock.settle()
        await stand.clock.turn(3 * HOUR, step=60)
        assert {ended.run: ended.reason for ended in stand.ended} == {
            "once": "done",
            "max": "max-fires",
            "ttl": "ttl",
        }
        assert sorted(fire.run for fire in stand.fires) == ["max", "max", "once", "ttl"]


async def test_a_stopped_schedule_never_rings(stand) -> None:
    async with stand.running():
        stand.supervisor.start(stand.schedule("30 9 * * *"))
        await stand.clock.settle()
        await stand.supervisor.stop("daily")
        await stand.clock.turn(2 * HOUR, step=60)
        assert (stand.fires, stand.ended) == ([], [])


async def test_a_refused_fire_is_tried_again_and_counts_once(stand) -> None:
    stand.refuse_fires = 2
    async with stand.running():
        stand.supervisor.start(stand.schedule("1 8 * * *"))
        await stand.clock.settle()
        await stand.clock.turn(120, step=1)
        assert [fire.number for fire in stand.fires] == [1]


async def test_schedules_wait_without_a_task_each(stand) -> None:
    import asyncio

    async with stand.running():
        for number in range(500):
            stand.supervisor.start(stand.schedule(f"{number % 60} 9 * * *", run=f"s{number}"))
        await stand.until(lambda: len(stand.started) == 500)
        await stand.clock.settle()
        assert len(asyncio.all_tasks()) < 20

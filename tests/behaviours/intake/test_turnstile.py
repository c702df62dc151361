"""Live events go in beside each other, a gap's closing alone, and what a limit counts one by one."""

import anyio
import anyio.lowlevel
import pytest

from relay.behaviours.intake.reconciler_turnstile import Turnstile

pytestmark = pytest.mark.anyio


async def test_many_are_inside_together_and_alone_means_alone() -> None:
    turnstile, order, leave = Turnstile(), list[str](), anyio.Event()

    async def live(name: str) -> None:
        async with turnstile.shared():
            order.append(f"{name} in")
            await leave.wait()
            order.append(f"{name} out")

    async def gap() -> None:
        async with turnstile.alone():
            order.append("gap in")
            await anyio.wait_all_tasks_blocked()
            order.append("gap out")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for task in (live, live):
                tasks.start_soon(task, "early")
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(gap)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(live, "late")  # comes after the gap wants in, so a flood keeps no gap open
            await anyio.wait_all_tasks_blocked()
            assert order == ["early in", "early in"]
            leave.set()
    assert order[2:] == ["early out", "early out", "gap in", "gap out", "late in", "late out"]


async def test_one_person_s_go_one_by_one_and_another_s_beside_them() -> None:
    turnstile, inside, most = Turnstile(), list[str](), list[int]()

    async def judge(person: str) -> None:
        async with turnstile.one_by_one(person):
            inside.append(person)
            most.append(inside.count(person))
            await anyio.lowlevel.checkpoint()
            assert {"ada", "ben"} >= set(inside)
            inside.remove(person)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(judge, "ada")
                tasks.start_soon(judge, "ben")
    assert len(most) == 40
    assert set(most) == {1}
    assert turnstile._people == {}, "nobody is remembered"


async def test_who_is_cancelled_while_waiting_holds_up_nobody() -> None:
    turnstile = Turnstile()
    async with turnstile.shared():
        with anyio.move_on_after(0.01):
            async with turnstile.alone():
                raise AssertionError("alone beside another")

    async def impatient() -> None:
        with anyio.move_on_after(0.01):
            async with turnstile.one_by_one("ada"):
                raise AssertionError("twice the same person")

    with anyio.fail_after(30):
        async with turnstile.alone():
            pass
        async with turnstile.one_by_one("ada"), anyio.create_task_group() as tasks:
            tasks.start_soon(impatient)
        async with turnstile.one_by_one("ada"):
            pass
    assert turnstile._people == {}

"""An answer whose thread can't be written in any more is not lost: the room gets it, once, with the thread's name."""

from pathlib import Path

import pytest
from fakes.living import ADA, living
from fakes.narrow import Narrow
from fakes.puppet import Puppet

from relay.agents.runtime import TextDelta, TurnEnded

pytestmark = pytest.mark.anyio
HEAD = "↪ I can't write in the thread «the task» any more (it was deleted). Its answer:"


async def test_c2_an_answer_for_a_thread_that_is_gone_stands_in_its_room(tmp_path: Path) -> None:
    narrow = Narrow(pins=False)
    async with living(tmp_path, surface=narrow) as relay:
        thread = await relay.thread("the task")
        await relay.say("say the answer\nslow 8", thread, by=ADA)
        await relay.turn_runs(f"web:{thread}")
        narrow.locked[thread] = "it was deleted."
        answer = await relay.seen("the answer")
        assert answer["ping"] == ["web:ada"]
        await relay.quiet()
        assert await relay.ours() == [HEAD, "the answer"]


async def test_c4_of_a_long_answer_the_thread_is_named_once_and_every_part_is_kept(tmp_path: Path) -> None:
    puppet, narrow = Puppet(), Narrow(limit=400, pins=False)
    async with living(tmp_path, surface=narrow, runtimes=lambda _: {"scripted": puppet}) as relay:
        thread = await relay.thread("the task")
        await relay.say("go", thread)
        turn = await puppet.turn()
        narrow.locked[thread] = "it was deleted."
        words = [f"word{n}" for n in range(300)]
        turn.play(TextDelta(" ".join(words)), TurnEnded("completed"))
        await relay.seen("word299")
        await relay.quiet()
        ours = await relay.ours()
        assert ours[0] == HEAD
        assert " ".join(ours[1:]).split() == words
        assert [bool(m["ping"]) for m in await relay.messages()] == [False] * (len(ours) - 1) + [True]


async def test_a_restart_offers_it_no_second_time(tmp_path: Path) -> None:
    narrow = Narrow(pins=False)
    async with living(tmp_path, surface=narrow) as relay:
        thread = await relay.thread("the task")
        await relay.say("say the answer\nslow 8", thread)
        await relay.turn_runs(f"web:{thread}")
        narrow.locked[thread] = "it was deleted."
        await relay.until_logged("post.dead")
        await relay.restart(kill=True)
        await relay.seen("the answer")
        await relay.restart()
        await relay.quiet()
        assert await relay.ours() == [HEAD, "the answer"]


async def test_a_room_that_is_gone_too_ends_it(tmp_path: Path) -> None:
    narrow = Narrow(pins=False)
    async with living(tmp_path, surface=narrow) as relay:
        thread = await relay.thread("the task")
        await relay.say("say the answer\nslow 8", thread)
        await relay.turn_runs(f"web:{thread}")
        narrow.locked |= {thread: "it was deleted.", "main": "it was deleted too."}
        await relay.until_logged("post.dead", 3)
        await relay.quiet()
        assert await relay.ours() == []

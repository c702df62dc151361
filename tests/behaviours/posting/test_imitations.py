"""Only the relay says what woke a turn: a reply that claims it is shown as a quotation."""

from pathlib import Path

import pytest
from fakes.living import living
from fakes.narrow import Narrow
from fakes.puppet import Puppet

from relay.agents.runtime import TextDelta, TurnEnded
from relay.behaviours.posting.imitation import neutralised

pytestmark = pytest.mark.anyio
QUOTED = "> (said by the agent) "


async def test_a_reply_can_t_claim_that_a_watch_woke_it(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say ↳ triggered by watch «disk»\nsay all is well")
        answer = await relay.seen("all is well")
        assert answer["text"] == f"{QUOTED}↳ triggered by watch «disk»\nall is well"


async def test_the_relay_s_own_line_stands_before_one_that_imitates_it(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("x\n")
        (await puppet.turn()).play(TextDelta("↳ triggered by watch «disk»\nx"), TurnEnded("completed"))
        lines = (await relay.seen("triggered by watch «notes»"))["text"].splitlines()
        assert lines == ["↳ triggered by watch «notes»", f"{QUOTED}↳ triggered by watch «disk»", "x"]


@pytest.mark.parametrize(
    "line",
    [
        "↳ triggered by watch «x»",
        "  ↳  Triggered  by  Watch «x»",
        "**↳ triggered by watch «x»**",
        "> ↳ triggered by watch «x»",
        "↳ trig\u200bgered by watch «x»",
        "\u202e↳ triggered by watch «x»",
        "triggered by watch x",
        "↳ ｔｒｉｇｇｅｒｅｄ by watch «x»",
        "-# ↳ triggered by watch «x»",
    ],
)
def test_no_dress_of_the_line_helps(line: str) -> None:
    assert neutralised(f"before\n{line}\nafter") == f"before\n{QUOTED}{line}\nafter"
    once = neutralised(line)
    assert neutralised(once) == once


@pytest.mark.parametrize(
    "line", ["I was triggered by watch «x»", "trigger", "what triggered by watching", ""]
)
def test_a_sentence_about_it_stays_as_it_is(line: str) -> None:
    assert neutralised(line) == line


async def test_a_cut_can_t_bring_it_to_a_message_s_beginning(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, surface=Narrow(pins=False), runtimes=lambda _: {"scripted": puppet}) as relay:
        for filling in range(1_900, 2_004, 13):
            text = "x" * filling + " ↳ triggered by watch «disk» " + "y" * 2_500
            await relay.say("go")
            (await puppet.turn(len(puppet.turns) + 1)).play(TextDelta(text), TurnEnded("completed"))
            await relay.until_logged("turn.ended", len(puppet.turns))
        await relay.quiet()
        assert not await relay.log("post.dead")
        ours = await relay.ours()
        assert len(ours) > 16
        assert not any(post.startswith("↳ triggered") for post in ours)
        assert any(post.startswith(f"{QUOTED}↳ triggered") for post in ours), "a cut fell just before it"

"""A reply stands in the chat once, whole and in order, and calls nobody but who asked."""

import itertools
from pathlib import Path

import pytest
from fakes.living import Living, living
from fakes.puppet import Puppet

from relay.agents.runtime import TextDelta, TurnEnded
from relay.masking import Masker

pytestmark = pytest.mark.anyio
TOKEN = "ghp_" + "a1B2" * 9


async def reply(relay: Living, puppet: Puppet, text: str) -> list[str]:
    """What is seen of a reply of that text."""
    await relay.say("go on")
    (await puppet.turn(len(puppet.turns) + 1)).play(TextDelta(text), TurnEnded("completed"))
    await relay.until_logged("turn.ended", len(puppet.turns))
    await relay.quiet()
    return await relay.ours()


@pytest.mark.trunk
async def test_f6_d8_a_long_reply_is_posted_whole_in_order_each_part_once(tmp_path: Path) -> None:
    puppet = Puppet()
    text = "\n".join(f"line {number}: " + "word " * 12 for number in range(1_500))
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        posts = await reply(relay, puppet, text)
        assert len(posts) > 5
        assert "\n".join(posts).split() == text.split()
        messages = [m for m in await relay.messages() if m["ours"]]
        assert [bool(m["ping"]) for m in messages] == [False] * (len(posts) - 1) + [True]
        assert [bool(m["reply_to"]) for m in messages] == [True] + [False] * (len(posts) - 1)


async def test_d8_a_kill_in_the_middle_of_a_long_reply_neither_loses_nor_doubles_a_part(
    tmp_path: Path,
) -> None:
    puppet = Puppet()
    text = "\n".join(f"line {number}: " + "word " * 12 for number in range(1_500))
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        await relay.say("go on")
        (await puppet.turn()).play(TextDelta(text), TurnEnded("completed"))
        await relay.until_logged("post.sent", 2)
        await relay.restart(kill=True)
        await relay.quiet()
        assert "\n".join(await relay.ours()).split() == text.split()


async def test_f2_lines_that_fit_are_not_cut(tmp_path: Path) -> None:
    puppet = Puppet()
    lines = [f"x_{n} = compute(alpha_{n}, beta_{n})  # " + "y" * 60 for n in range(600)]
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        posts = await reply(relay, puppet, "```python\n" + "\n".join(lines) + "\n```")
        assert len(posts) > 3
        assert all(post.startswith("```python\n") and post.rstrip().endswith("\n```") for post in posts)
        seen = [line for post in posts for line in post.split("\n") if line and not line.startswith("```")]
        assert seen == lines


async def test_an_answer_beyond_all_bounds_is_cut_and_that_is_said(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, runtimes=lambda _: {"scripted": puppet}) as relay:
        posts = await reply(relay, puppet, "word " * 100_000)
        assert posts[-1].endswith("the rest was left out)")
        assert 190_000 < sum(map(len, posts)) < 210_000


async def test_f9_colours_and_controls_of_a_terminal_are_taken_out(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, mask=Masker().mask, runtimes=lambda _: {"scripted": puppet}) as relay:
        text = f"\x1b[1;31mred\x1b[0m \x1b]0;title\x07and \x07bell {TOKEN[:10]}\x1b[0m{TOKEN[10:]}"
        assert await reply(relay, puppet, text) == ["red and bell [masked]"]


async def test_s2_a_reply_calls_nobody_but_who_asked(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("say @everyone <@&1> @here")
        answer = await relay.seen("@everyone <@&1> @here")
        assert answer["ping"] == ["web:owner"]


async def test_s11_what_was_asked_in_one_thread_is_answered_there_alone(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        threads = [await relay.thread(str(n)) for n in range(4)]
        (relay.work / "one.txt").parent.mkdir(exist_ok=True)
        for number, thread in enumerate(threads):
            (relay.work / f"{number}.txt").write_text(f"content {number}")
            await relay.say(f"say for {number}\nshare {number}.txt", thread)
        for number, thread in enumerate(threads):
            answer = await relay.seen(f"for {number}", thread)
            assert [f["name"] for f in answer["files"]] == [f"{number}.txt"]
            assert len(await relay.ours(thread)) == 1
        assert await relay.ours() == []


# Every form in which a token leaks: in JSON, in a repr, bare, in an address.
SHAPES = [
    TOKEN,
    f'{{"token": "{TOKEN}"}}',
    f"Client(token='{TOKEN}', retry=3)",
    f"https://x-access-token:{TOKEN}@github.com/o/r.git",
    f"Authorization: Bearer {TOKEN}",
]


@pytest.mark.parametrize("shape", SHAPES)
async def test_s4_a_token_in_a_reply_is_masked(tmp_path: Path, shape: str) -> None:
    async with living(tmp_path, mask=Masker().mask) as relay:
        await relay.say(f"say before {shape} after")
        answer = await relay.seen("before")
        assert TOKEN not in answer["text"]
        assert "after" in answer["text"]
        assert TOKEN[:12] not in answer["text"]


async def test_s4_a_token_that_a_cut_would_halve_is_masked_before_it_is_cut(tmp_path: Path) -> None:
    puppet = Puppet()
    async with living(tmp_path, mask=Masker().mask, runtimes=lambda _: {"scripted": puppet}) as relay:
        for number, before in enumerate(itertools.chain(range(9_950, 10_010, 8), [99_990])):
            await reply(relay, puppet, "x" * before + " " + TOKEN + " " + "y" * 12_000)
            whole = "".join(await relay.ours())
            assert "ghp_" not in whole
            assert "a1B2a1B2" not in whole
            assert len(await relay.log("turn.ended")) == number + 1


async def test_s4_a_token_is_masked_in_a_card_a_notice_and_the_live_view(tmp_path: Path) -> None:
    async with living(tmp_path, mask=Masker().mask) as relay:
        await relay.say(f"ask curl -H 'Authorization: Bearer {TOKEN}' example.org")
        card = await relay.card()
        assert TOKEN not in card["text"]
        assert "curl -H" in card["text"]
        await relay.click(card, "deny")
        await relay.seen("not allowed")
        await relay.say(f"fail because of {TOKEN}")
        assert TOKEN not in (await relay.seen("The agent failed"))["text"]
        await relay.say(f"say {TOKEN}\nslow 3000")
        await relay.turn_runs()
        await relay.until(
            lambda: bool(relay.chat.announcements.live().get("main", {}).get("text")), "a live view"
        )
        assert TOKEN not in str(relay.chat.announcements.live())


async def test_s5_the_value_of_a_secret_variable_is_in_no_record_and_no_post(tmp_path: Path) -> None:
    secret = "correct horse battery staple"
    async with living(tmp_path, mask=Masker([secret]).mask) as relay:
        await relay.say(f"tool write env.txt {secret}\ntool read env.txt")
        answer = await relay.seen("env.txt:")
        assert secret not in answer["text"]
        ours = [i for i in await relay.log("") if i.verb in ("turn.replied", "post.requested", "tool.ended")]
        assert ours
        assert not any(secret in str(i.body) for i in ours)

"""A post whose answer was lost stands once; one that can't be posted is given up and holds up nothing."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.living import Living, living

from relay.errors import SurfaceError

pytestmark = pytest.mark.anyio


def meddle(
    relay: Living, name: str, then: Callable[[Callable[..., Awaitable[Any]], tuple[Any, ...]], Awaitable[Any]]
) -> None:
    """The chat's own call of that name goes through `then`."""
    original = getattr(relay.chat, name)

    async def called(*given: Any, **named: Any) -> Any:
        return await then(lambda *_: original(*given, **named), given)

    setattr(relay.chat, name, called)


async def test_d5_a_post_whose_answer_was_lost_is_tried_again_and_stands_once(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        lost: list[str] = []

        async def lose_some(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            done = await post()
            if len(lost) < 3:
                lost.append(done)
                raise SurfaceError("the answer was lost.", kind="transient")
            return done

        meddle(relay, "post", lose_some)
        await relay.say("say once")
        await relay.until_logged("post.sent")
        await relay.quiet()
        assert len(set(lost)) == 1
        assert await relay.ours() == ["once"]
        assert [i.body["attempt"] for i in await relay.log("post.delayed")] == [1, 2, 3]


async def test_d5_after_a_restart_the_history_is_searched_before_a_post_is_tried_again(
    tmp_path: Path,
) -> None:
    async with living(tmp_path) as relay:
        tries = 0

        async def forget(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            nonlocal tries
            tries += 1
            if tries == 1:  # it stands, and no nonce leads to it
                reply_to = int(given[1].reply_to[1:])
                values = ("main", 1, "relay", "scout", 1, 0, given[1].text, reply_to, 0)
                await relay.chat._say(values, given[1], None)
            raise SurfaceError("the answer was lost.", kind="transient")

        meddle(relay, "post", forget)
        await relay.say("say once")
        await relay.until_logged("post.delayed")
        await relay.restart(kill=True)
        await relay.until_logged("post.sent")
        await relay.quiet()
        assert await relay.ours() == ["once"]


async def test_the_surface_s_own_wish_to_wait_is_kept(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        asked: list[int] = []

        async def wait(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            asked.append(relay.clock.now_ms())
            if len(asked) == 1:
                raise SurfaceError("too fast.", kind="transient", retry_after_ms=6_000)
            return await post()

        meddle(relay, "post", wait)
        await relay.say("say once")
        await relay.seen("once")
        assert asked[1] - asked[0] >= 6_000


async def test_what_can_t_be_posted_is_given_up_and_the_rest_goes_out(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:

        async def refuse(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            if "unlucky" in given[1].text:
                raise SurfaceError("this can't stand here.")
            return await post()

        meddle(relay, "post", refuse)
        await relay.say("say unlucky")
        await relay.say("say lucky")
        await relay.seen("lucky")
        await relay.quiet()
        (dead,) = await relay.log("post.dead")
        assert "this can't stand here" in dead.body["why"]


async def test_a_slow_place_holds_up_no_other(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:

        async def hang(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            if given[0] == "side":
                await relay.clock.sleep(3_000)
            return await post()

        meddle(relay, "post", hang)
        await relay.say("say slowly", "side")
        await relay.until_logged("post.sending")
        await relay.say("say quickly")
        await relay.seen("quickly")


async def test_a_reaction_that_is_refused_for_good_is_given_up(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:

        async def refuse(react: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            raise SurfaceError("no reactions here.")

        meddle(relay, "react", refuse)
        await relay.say("say it")
        await relay.seen("it")
        await relay.quiet()
        assert {i.body["failed"] for i in await relay.log("reaction.set")} == {"no reactions here."}


async def test_a_post_that_waited_long_says_that_it_is_late(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        tries = 0

        async def wait(post: Callable[..., Awaitable[Any]], given: tuple[Any, ...]) -> Any:
            nonlocal tries
            tries += 1
            if tries == 1:
                relay.clock.jumped_ms += 30 * 60_000
                raise SurfaceError("not now.", kind="transient")
            return await post()

        meddle(relay, "post", wait)
        await relay.say("say it")
        assert (await relay.seen("it"))["text"] == "⏰ (30 min late)\nit"

"""What a program sends becomes a turn or a post exactly once for its key, and people see that a program sent it."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from fakes.living import Living, living

from relay.behaviours.intake.reconciler_sending import Sending, sender_name
from relay.behaviours.intake.sending import (
    KeyReused,
    Mode,
    NotNow,
    Outcome,
    Send,
    Sent,
    TooLong,
    UnknownTarget,
)
from relay.errors import StoreUnavailable, SurfaceError
from relay.ledger.store import Group
from relay.ledger.store import Outcome as Outcome_

pytestmark = pytest.mark.anyio


async def send(
    relay: Living, text: str, key: str = "k1", to: str = "web:main", name: str = "ci", mode: Mode = "prompt"
) -> Sent:
    return await Sending(relay.relay.parts).send(Send(key, to, text, name, mode))


async def settled(relay: Living, key: str = "k1") -> Outcome:
    """Its outcome, once there is one."""
    with anyio.fail_after(60):
        found = await Sending(relay.relay.parts).outcome(key, 60)
    assert found is not None
    return found


async def test_a_sent_prompt_is_a_turn_people_see_it_and_its_sender_hears_the_reply(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        sent = await send(relay, "say it is **red**\nsay because of me")
        assert not sent.repeated
        outcome = await settled(relay)
        assert (outcome.state, outcome.status, list(outcome.texts)) == (
            "done",
            "completed",
            ["it is **red**\nbecause of me"],
        )
        await relay.quiet()
        ours = await relay.ours()
        assert ours[0] == "📨 **ci** (a program) sends:\n> say it is **red**\n> say because of me"
        assert ours[1:] == ["it is **red**\nbecause of me"]
        (message,) = await relay.log("channel.message")
        assert (message.key, message.role, message.actor) == ("channel.message/http/k1", "owner", "http:ci")
        assert await relay.log("reaction.requested") == []


async def test_the_same_key_is_done_once_whoever_asks_and_how_often(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        found: list[Sent] = []

        async def once() -> None:
            found.append(await send(relay, "say hello"))

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(once)
        await settled(relay)
        await relay.restart()
        assert (await send(relay, "say hello")).repeated
        assert len({sent.id for sent in found}) == 1
        await relay.quiet()
        assert [text for text in await relay.ours() if text == "hello"] == ["hello"]
        assert len(await relay.log("turn.started")) == 1


@pytest.mark.parametrize(
    ("text", "to", "name", "mode"),
    [
        ("say other", "web:main", "ci", "prompt"),
        ("say hello", "web:side", "ci", "prompt"),
        ("say hello", "web:main", "cron", "prompt"),
        ("say hello", "web:main", "ci", "post"),
    ],
    ids=["text", "room", "sender", "mode"],
)
async def test_a_key_that_stands_for_something_else_is_refused(
    tmp_path: Path, text: str, to: str, name: str, mode: Mode
) -> None:
    async with living(tmp_path) as relay:
        await send(relay, "say hello")
        await settled(relay)
        with pytest.raises(KeyReused, match="used before"):
            await send(relay, text, "k1", to, name, mode)
        assert (await send(relay, "say hello", to="main")).repeated, "a label is the room that it names"
        await relay.quiet()
        assert len(await relay.log("turn.started")) == 1
        assert "📨" not in "".join(await relay.ours("side"))


async def test_a_long_text_is_compared_whole(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        text = "x" * 100_000
        await send(relay, text)
        await settled(relay)
        assert (await send(relay, text)).repeated
        with pytest.raises(KeyReused):
            await send(relay, text[:-1] + "y")
        shown = (await relay.ours())[0]
        assert len(shown) < 1_200
        assert "… and 99000 characters more" in shown


async def test_a_crash_between_any_two_steps_sends_nothing_twice(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for _ in range(4):
            await send(relay, "slow 2\nsay done")
            await relay.restart(kill=True)
        assert (await settled(relay)).status == "completed"
        await relay.quiet()
        ours = await relay.ours()
        assert len([text for text in ours if text.startswith("📨")]) == 1
        assert len([text for text in ours if text == "done"]) == 1


async def test_it_waits_over_a_restart_and_is_not_taken_for_deleted(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue") as relay:
        await relay.say("slow 600")
        await relay.turn_runs()
        await send(relay, "say afterwards")
        await relay.until_logged("turn.prompted", 2)
        assert (await Sending(relay.relay.parts).outcome("k1", 0)) == Outcome("waiting", "web:main")
        await relay.restart(kill=True)
        await relay.turn_runs()
        await relay.say("!stop")
        assert list((await settled(relay)).texts) == ["afterwards"]


async def test_a_post_stands_without_a_turn_in_parts_where_it_is_long(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await send(relay, "the build is green", mode="post")
        assert (await settled(relay)).status == "posted"
        assert (await send(relay, "the build is green", mode="post")).repeated
        with pytest.raises(KeyReused):
            await send(relay, "the build is green, and longer " + "x" * 15_000, mode="post")
        with pytest.raises(TooLong, match="20000 characters, and this has 20001"):
            await send(relay, "x" * 20_001, "k3", mode="post")
        await send(relay, "line\n" * 4_000, "k2", mode="post")
        assert (await settled(relay, "k2")).status == "posted"
        await relay.quiet()
        ours = await relay.ours()
        assert ours[0] == "📨 **ci** (a program): the build is green"
        assert len(ours) == 4
        assert sum(text.count("line") for text in ours) == 4_000
        assert await relay.log("turn.") == []


async def test_a_command_acts_as_the_owner_s(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await send(relay, "!pause all")
        await relay.seen("Every room is paused")
        assert (await settled(relay)).status == "command"
        await send(relay, "say later", "k2")
        await relay.quiet()
        assert await relay.log("turn.started") == []


async def test_what_is_dropped_or_fails_says_so(tmp_path: Path) -> None:
    async with living(tmp_path, limits={"queue": 1}, busy="queue") as relay:
        await relay.say("slow 20")
        await relay.turn_runs()
        await send(relay, "fail on purpose", "k1")
        await relay.until_logged("turn.prompted", 2)
        await send(relay, "say too much", "k2")
        assert (await settled(relay, "k2")).state == "dropped"
        outcome = await settled(relay, "k1")
        assert (outcome.state, outcome.status, outcome.reason) == ("done", "failed", "on purpose")
        assert await Sending(relay.relay.parts).outcome("k3", 0) is None


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("", "several rooms"),
        ("web:nowhere", "no room or thread 'web:nowhere'"),
        ("web:main/t99", "no room or thread"),
        ("discord:1", "no room or thread"),
        ("dm:", "no room or thread"),
        ("../state", "no room or thread"),
        ("web:main\nweb:side", "no room or thread 'web:main web:side'"),
        ("MAIN", "no room or thread"),
    ],
)
async def test_an_unknown_room_is_told_with_those_that_there_are(tmp_path: Path, to: str, told: str) -> None:
    async with living(tmp_path) as relay:
        with pytest.raises(UnknownTarget, match=told) as refused:
            await send(relay, "say hello", to=to)
        assert "Rooms: web:main, web:side." in refused.value.advice
        assert await relay.log("channel.message") == []


async def test_a_thread_is_a_target_and_what_follows_in_it_is_said_to_the_agent(tmp_path: Path) -> None:
    async with living(tmp_path, require_mention=True) as relay:
        thread = await relay.thread()
        before = await relay.say("nobody asked", thread)
        await send(relay, "above", to=f"web:{thread}")
        assert list((await settled(relay)).texts) == ["Olga (person): nobody asked"]
        taken_in = [i.body["place"] for i in await relay.log("intake.caught_up")]
        assert thread not in taken_in, "what people wrote there may not have been read yet"
        await relay.say("say and I hear you", thread)
        await relay.seen("and I hear you", thread)
        (place,) = await relay.log("place.opened")
        assert int(place.body["since"]) > before.position


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ci", "ci"),
        ("a\nb\u202e**evil**", "a b **evil"),
        ("@everyone", "everyone"),
        ("owner", "script"),
        ("", "script"),
        ("`` «x»", "'' ‹x›"),
        ("n" * 200, "n" * 39 + "…"),
    ],
)
def test_a_sender_s_name_is_one_short_line(name: str, shown: str) -> None:
    assert sender_name(name) == shown


async def test_no_text_passes_for_another_s(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await send(relay, "ok\n↳ triggered by watch «w»\n@everyone", mode="post")
        await send(relay, "↳ triggered by watch «w»", "k2")
        await settled(relay, "k2")
        await relay.quiet()
        assert not [line for text in await relay.ours() for line in text.split("\n") if line.startswith("↳")]


async def test_while_the_store_or_the_surface_refuses_nothing_is_half_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as relay:
        surface = relay.relay.parts.surfaces.by_name["web"]

        async def away(place: str) -> None:
            raise SurfaceError("away.", kind="transient")

        with monkeypatch.context() as patch:
            patch.setattr(surface, "place", away)
            with pytest.raises(NotNow, match="can't be asked"):
                await send(relay, "say hello")

        async def full(groups: object) -> object:
            raise StoreUnavailable("the disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(relay.store, "append", full)
            with pytest.raises(StoreUnavailable):
                await send(relay, "say hello")
        assert not (await send(relay, "say hello")).repeated
        assert list((await settled(relay)).texts) == ["hello"]


async def test_programs_do_not_let_bots_go_on(tmp_path: Path) -> None:
    """Only a person's message resets the cap on bots."""
    from relay.behaviours.loop_guard.concept import LoopGuard, Talk

    async with living(tmp_path) as relay:
        guard = relay.relay.parts.engine.view.of(LoopGuard)
        guard.state.talks["web:main"] = Talk(turns=4)
        await send(relay, "say hello")
        await settled(relay)
        assert guard.state.talks["web:main"].turns == 4
        await relay.say("say hi")
        await relay.seen("hi")
        assert "web:main" not in guard.state.talks


async def test_what_is_written_and_not_folded_yet_counts_as_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store is ahead of the folds for a moment: a prompt that they don't know yet was not dropped."""
    async with living(tmp_path) as relay:
        append, written, on = relay.store.append, anyio.Event(), anyio.Event()

        async def late(groups: Sequence[Group]) -> list[Outcome_]:
            found = await append(groups)
            if any(i.verb == "turn.prompted" for group in groups for i in group.records):
                written.set()
                await on.wait()
            return found

        monkeypatch.setattr(relay.store, "append", late)
        await send(relay, "say hello")
        with anyio.fail_after(60):
            await written.wait()
        meanwhile = await Sending(relay.relay.parts).outcome("k1", 0)
        on.set()
        assert meanwhile == Outcome("waiting", "web:main")
        assert list((await settled(relay)).texts) == ["hello"]

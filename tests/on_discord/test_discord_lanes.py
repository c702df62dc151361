"""What a message does while a turn runs, on Discord: steered, queued, interrupting; stops, edits, deletions."""

from pathlib import Path

import pytest
from town import Town, town

from relay.behaviours.turns.concept import Turns

pytestmark = pytest.mark.anyio


async def runs(here: Town) -> None:
    """Wait until a turn runs."""
    await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))


async def marked(here: Town, emoji: str, *messages: int) -> None:
    """Wait until the messages bear that mark of the bot."""

    def bear() -> bool:
        seen = {one.id: one.reactions for one in here.room.seen()}
        return all("relay" in seen[message].get(emoji, ()) for message in messages)

    await here.server.until(bear, saying=f"{emoji} on {messages}")


@pytest.mark.parametrize("busy", ["steer", "queue", "interrupt"])
async def test_m2_a_second_message_does_what_was_chosen(tmp_path: Path, busy: str) -> None:
    async with town(tmp_path, limits={"approval": 86_400_000}) as here:
        here.ask(f"!busy {busy}")
        await here.server.until(lambda: len(here.ours()) == 1)
        here.ask("say first\nask go on")
        card = await here.card()
        second = here.ask("say second")
        if busy != "interrupt":
            await marked(here, {"steer": "👀", "queue": "📥"}[busy], second.id)
            here.olga.click(card, "❌ Deny")
        await here.answered("second")
        await here.quiet()
        await marked(here, "👀", second.id)
        told = [text for text in here.ours()[1:] if not text.startswith("🔐")]
        assert sum(text.startswith("🛑 Stopped (Olga)") for text in told) == (busy == "interrupt")
        together = [text for text in told if "first" in text and "second" in text]
        assert len(together) == (busy == "steer")
        assert "second" in told[-1]


async def test_m3_five_messages_at_once_are_one_turn_and_one_next_turn(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        for number in range(5):
            here.ask(f"say number {number}\nslow 1")
        await here.answered("number 4")
        await here.quiet()
        said = "\n".join(here.ours())
        assert [said.count(f"number {number}") for number in range(5)] == [1] * 5
        running = 0
        for one in await here.log("turn."):
            running += (one.verb == "turn.started") - (one.verb == "turn.ended")
            assert running <= 1


async def test_m6_two_edits_are_two_revisions_and_a_preview_is_none(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        here.ask("slow 600")
        await runs(here)
        waiting = here.ask("say https://example.com one")
        await marked(here, "📥", waiting.id)
        here.room.preview(waiting)
        for text in ("two", "three", "three"):
            here.olga.edit(waiting, f"<@{here.bot.id}> say {text}")
        here.ask("!stop")
        await here.answered("three")
        await here.quiet()
        edits = await here.log("channel.edited")
        assert [(one.body["revision"], one.body["text"]) for one in edits] == [
            (1, "say two"),
            (2, "say three"),
        ]
        assert not any("one" in text or "two" in text for text in here.ours())


async def test_m8_a_message_that_interrupts_as_the_turn_ends_runs_all_the_same(tmp_path: Path) -> None:
    async with town(tmp_path, busy="interrupt") as here:
        for number in range(6):
            here.ask(f"say first {number}.")
            await here.answered(f"first {number}.")
            second = here.ask(f"slow {0.2 * number}\nsay second {number}.")
            await marked(here, "👀", second.id)
            here.ask(f"say third {number}.")
            await here.answered(f"third {number}.")
        await here.quiet()
        said = "\n".join(here.ours())
        assert [said.count(f"third {number}.") for number in range(6)] == [1] * 6


async def test_m9_of_two_threads_the_one_that_is_stopped_stops(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        threads = [here.ada.open_thread(here.room, name) for name in ("One", "Two")]
        said = [here.ask("slow 600\nsay done", thread, here.ada) for thread in threads]
        turns = here.relay.parts.engine.view.of(Turns)
        await here.server.until(lambda: len(turns.state.running) == 2)
        here.ask("!stop", threads[0], here.ada)
        await here.answered("🛑 Stopped (Ada)", threads[0])
        assert list(turns.state.running) == [f"discord:{threads[1].id}"]
        here.ada.react(said[1], "🛑")
        await here.answered("🛑 Stopped (Ada)", threads[1])
        await here.quiet()
        assert len(here.ours(threads[0])) == len(here.ours(threads[1])) == 1


async def test_l14_a_message_behind_a_stop_runs_next(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("slow 600\nsay never")
        await runs(here)
        here.ask("!stop")
        here.ask("say behind it")
        await here.answered("behind it")
        await here.quiet()
        assert not any("never" in text for text in here.ours())


async def test_m5_deleting_what_a_turn_works_on_offers_to_stop_it(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        said = here.ask("slow 600\nsay never", by=here.ada)
        await runs(here)
        here.ada.delete(said)
        card = await here.card()
        assert "deleted a message that I'm working on" in card.text
        here.ada.click(card, "🛑 Stop")
        await here.answered("🛑 Stopped (Ada)")
        await here.quiet()
        assert not here.cards()


async def test_m5_what_was_deleted_while_no_relay_ran_is_dropped_or_asked_about(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue") as here:
        running = here.ask("slow 600\nsay never", by=here.ada)
        await runs(here)
        gone, kept = here.ask("say the second", by=here.ada), here.ask("say the third", by=here.ada)
        await marked(here, "📥", gone.id, kept.id)
        async with here.away():
            here.ada.delete(gone)
            here.ada.delete(running)
        card = await here.card()
        assert "deleted a message that I'm working on" in card.text
        here.ada.click(card, "🛑 Stop")
        await here.answered("the third")
        await here.quiet()
        assert not any("the second" in text or "never" in text for text in here.ours())
        assert not here.cards()


async def test_c7_the_session_of_a_channel_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("tool append once.txt x\nslow 600")
        await here.server.until(lambda: any("slow 600" in text for text in here.room.texts("relay")))
        async with here.away():
            pass
        await here.answered("I'm picking it up again")
        await runs(here)
        here.ask("!stop")
        await here.answered("🛑 Stopped (Olga)")
        await here.quiet()
        assert (tmp_path / "work" / "once.txt").read_text() == "x\n"
        assert len({one.body["session"] for one in await here.log("turn.started")}) == 1
        assert here.room.threads() == []


async def test_after_a_burst_each_message_costs_one_mark_and_no_mark_is_left_that_is_untrue(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, busy="queue") as here:
        reactions = "/channels/*/messages/*/reactions/**"
        here.ask("slow 600")
        await runs(here)
        hold = here.server.faults.hold("PUT", reactions)
        burst = [here.ask(f"say burst {number}.") for number in range(12)]
        await hold.reached.wait()
        here.ask("!stop")
        await here.answered("burst 11.")
        before = len(here.server.rest.calls)
        hold.open()
        await marked(here, "👀", *(message.id for message in burst))
        await here.quiet()
        seen = {one.id: set(one.reactions) for one in here.room.seen()}
        assert [seen[message.id] for message in burst] == [{"👀"}] * 12
        asked = [call.method for call in here.server.rest.calls[before:] if "/reactions/" in call.path]
        assert asked.count("DELETE") <= 1
        assert asked.count("PUT") <= 13

"""One pinned message a scope says what goes on there; a restart edits the same one, and the newest state wins."""

import itertools
from pathlib import Path

import pytest
from fakes.living import Living, living
from fakes.narrow import Narrow

pytestmark = pytest.mark.anyio
HEAD = "📌 **What goes on here**"


async def benches(relay: Living, place: str = "main") -> list[str]:
    return [m["id"] for m in await relay.messages(place) if m["ours"] and m["text"].startswith(HEAD)]


async def says(relay: Living, *lines: str, place: str = "main") -> str:
    """Wait until the workbench has those words; its whole text."""
    found = await relay.wait(
        lambda m: m["ours"] and m["text"].startswith(HEAD) and all(line in m["text"] for line in lines),
        f"a workbench with {lines}",
        place,
    )
    return found[0]["text"]


async def test_a_watch_is_shown_in_a_pinned_message_with_its_state(tmp_path: Path) -> None:
    narrow = Narrow()
    async with living(tmp_path, surface=narrow) as relay:
        await relay.say("!watch notes --file notes.md")
        await says(relay, "👁️ «notes» · file notes.md · on change · 0 fires")
        await relay.watching("notes")
        (relay.work / "notes.md").write_text("x\n")
        await says(relay, "«notes» · file notes.md · on change · 1 fire · last: created")
        await relay.say("!watch --in 3h stretch --name later")
        await says(relay, "«notes»", "«later» · stretch · 0 fires · next: ")
        await relay.quiet()
        (bench,) = await benches(relay)
        assert narrow.pinned == [("main", bench)]
        (shown,) = await relay.log("view.shown")
        assert shown.body["message"] == bench
        await relay.say("!unwatch notes")
        await relay.say("!unwatch later")
        await says(relay, "Nothing runs, waits or is watched here.")
        assert await benches(relay) == [bench]


async def test_it_shows_the_running_turn_what_waits_and_open_cards(tmp_path: Path) -> None:
    async with living(tmp_path, busy="queue", surface=Narrow()) as relay:
        await relay.say("ask make")
        card = await relay.card()
        await says(relay, "▶️ scout works since ", "🔐 a card waits for an answer until ")
        await relay.say("say later")
        await says(relay, "📥 1. Olga · since ")
        await relay.click(card, "deny")
        await relay.seen("later")
        await says(relay, "Nothing runs, waits or is watched here.")


async def test_a_short_turn_alone_brings_no_workbench(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        await relay.say("say hello\nslow 4")
        await relay.seen("hello")
        await relay.quiet()
        assert await relay.ours() == ["hello"]


async def test_a_message_that_goes_into_the_running_turn_brings_none_either(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        await relay.say("say one\nslow 8")
        await relay.turn_runs()
        await relay.say("say two")
        await relay.seen("one\ntwo")
        await relay.quiet()
        assert await relay.ours() == ["one\ntwo"]


async def test_a_surface_that_pins_nothing_has_none(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.quiet()
        assert not await benches(relay)


@pytest.mark.parametrize("kill", [True, False])
async def test_a_restart_edits_the_same_message_and_never_makes_a_second(tmp_path: Path, kill: bool) -> None:
    narrow = Narrow()
    async with living(tmp_path, surface=narrow) as relay:
        await relay.say("!watch notes --file notes.md")
        await says(relay, "0 fires")
        for number in range(1, 4):
            await relay.restart(kill=kill)
            await relay.watching("notes")
            (relay.work / "notes.md").write_text(f"{number}\n")
            await says(relay, f"{number} fire")
        await relay.quiet()
        assert len(await benches(relay)) == 1
        assert len(narrow.pinned) == 1


async def test_a_kill_as_it_is_posted_makes_no_second(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.until_logged("watch.armed")
        await relay.restart(kill=True)
        await relay.until_logged("post.sending")
        await relay.restart(kill=True)
        await says(relay, "«notes»")
        await relay.quiet()
        assert len(await benches(relay)) == 1


async def test_each_scope_has_its_own(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        thread = await relay.thread()
        await relay.say("!watch a --file a.md")
        await relay.say("!watch b --file b.md", thread)
        assert "«b»" not in await says(relay, "«a»")
        assert "«a»" not in await says(relay, "«b»", place=thread)


async def test_a_pause_is_shown_and_its_end_too(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        await relay.say("!watch a --file a.md")
        await says(relay, "«a»")
        await relay.say("!pause all")
        await says(relay, "⏸️ Every room is paused, by Olga, since ")
        await relay.say("!resume all")
        await relay.wait(lambda m: m["text"].startswith(HEAD) and "⏸️" not in m["text"], "no pause")


async def test_r6_many_changes_are_few_edits_and_the_newest_wins(tmp_path: Path) -> None:
    narrow = Narrow()
    async with living(tmp_path, surface=narrow, busy="queue", limits={"queue": 500}) as relay:
        await relay.say("!watch a --file a.md")
        await says(relay, "«a»")
        await relay.say("slow 3000")
        await relay.turn_runs()
        began = len(narrow.edits)
        start = relay.clock.now_ms()
        for number in range(100):
            await relay.say(f"say {number}")
        await relay.until_logged("turn.prompted", 101)
        await relay.quiet(but_for_turns=True)
        await says(relay, "… and 90 lines more")
        edits = [at for at, text in narrow.edits[began:] if text.startswith(HEAD)]
        took = relay.clock.now_ms() - start
        assert 0 < len(edits) <= took / 1_500 + 2
        assert all(after - before >= 1_400 for before, after in itertools.pairwise(edits))


async def test_one_that_was_taken_away_comes_anew_when_there_is_something_to_show(tmp_path: Path) -> None:
    narrow = Narrow()
    async with living(tmp_path, surface=narrow) as relay:
        await relay.say("!watch a --file a.md")
        await says(relay, "«a»")
        await relay.until_logged("view.shown")
        (first,) = await benches(relay)
        narrow.gone.add(first)
        await relay.say("!watch b --file b.md")
        await relay.until_logged("view.shown", 2)
        await relay.say("!watch c --file c.md")
        await says(relay, "«a»", "«b»", "«c»")
        await relay.quiet()
        await relay.until_logged("view.shown", 3)
        assert len(await benches(relay)) == 2
        assert [message for _, message in narrow.pinned] == await benches(relay)


async def test_it_stays_within_the_limit_of_its_place(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow(limit=400)) as relay:
        for number in range(9):
            await relay.say(f"!watch watch-number-{number} --file f{number}.md")
        await says(relay, "«watch-number-0»", "lines more")


async def test_a_name_can_t_break_out_of_its_line_or_call_anybody(tmp_path: Path) -> None:
    async with living(tmp_path, surface=Narrow()) as relay:
        await relay.say('!watch --in 2h "@everyone\n**bold** `x`" --name odd')
        await says(relay, "«odd»")
        (bench,) = [m for m in await relay.messages() if m["text"].startswith(HEAD)]
        assert bench["ping"] == []
        assert len(bench["text"].splitlines()) == 2


async def test_one_that_may_not_be_edited_just_now_is_not_taken_for_gone(tmp_path: Path) -> None:
    narrow = Narrow()
    async with living(tmp_path, surface=narrow) as relay:
        await relay.say("!watch a --file a.md")
        await says(relay, "«a»")
        await relay.until_logged("view.shown")
        narrow.no_edits = "the thread is locked."
        await relay.say("!watch b --file b.md")
        await relay.watching("b")
        await relay.until(lambda: narrow.refused > 1, "a second try")
        narrow.no_edits = ""
        await says(relay, "«a»", "«b»")
        assert len(await benches(relay)) == 1

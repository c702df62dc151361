"""The workbench on Discord: one pinned message a channel or thread, true in place, over kills and refusals."""

import itertools
from pathlib import Path

import pytest
from fakes.discord import Place, permissions
from town import Town, town

from relay.behaviours.turns.concept import Turns
from relay.behaviours.watches.concept import Watches
from relay.behaviours.workbench.concept import Workbenches

pytestmark = pytest.mark.anyio
POSTS = ("POST", "/channels/*/messages")
PINS = ("PUT", "/channels/*/messages/pins/*")
EDITS = ("PATCH", "/channels/*/messages/*")
UNPINNED = "Not pinned: the bot may not pin messages here. Give its role Pin Messages."


def may_pin(here: Town) -> None:
    here.guild.give(here.bot, here.guild.role("pinner", permissions.PIN_MESSAGES))


def scope_of(place: Place) -> str:
    return f"discord:{place.id}"


async def test_it_is_pinned_without_a_word_about_that_and_shows_what_is_watched(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        may_pin(here)
        here.ask("!watch notes --file notes.md")
        bench = await here.bench("👁️ «notes» · file notes.md · on change · 0 fires")
        await here.server.until(lambda: here.benches()[0].buttons == ("✖ Cancel notes",))
        await here.server.until(lambda: here.benches()[0].pinned)
        await here.quiet()
        await here.server.until(lambda: not [one for one in here.room.seen() if one.system])
        (tmp_path / "work" / "notes.md").write_text("x\n")
        assert (await here.bench("1 fire")).id == bench.id
        assert not [one for one in here.olga.pings if one.text.startswith("📌")]


async def test_a_click_on_it_cancels_a_watch_and_is_the_owner_s_alone(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        may_pin(here)
        here.ask("!watch notes --file notes.md")
        here.ask("!watch plans --file plans.md")
        await here.bench("«notes»", "«plans»")
        await here.server.until(lambda: len(here.benches()[0].buttons) == 2)
        click = here.ada.click(here.benches()[0], "✖ Cancel notes")
        await here.server.until(lambda: len(click.followups) == 1)
        assert click.followups[0].private
        assert "Only the owner" in click.followups[0].text
        assert not await here.log("watch.disarmed")
        async with here.away():
            pass
        stale = here.benches()[0]
        assert not here.olga.click(stale, "✖ Cancel notes").failed
        await here.answered("«notes» is off: as asked")
        await here.server.until(lambda: here.benches()[0].buttons == ("✖ Cancel plans",))
        (off,) = await here.log("watch.disarmed")
        assert (off.body["name"], off.body["by"]) == ("notes", "Olga")
        assert "«plans»" in here.benches()[0].text


@pytest.mark.parametrize("at", [POSTS, PINS], ids=["posted", "pinned"])
async def test_a_kill_as_it_is_posted_or_pinned_makes_no_second(tmp_path: Path, at: tuple[str, str]) -> None:
    async with town(tmp_path) as here:
        may_pin(here)
        if at == PINS:
            here.ask("!watch notes --file notes.md")
            hold = here.server.faults.hold(*at, after=True)
            await hold.reached.wait()
        else:
            here.ask("!watch notes --file notes.md")
            await here.answered("Watching «notes»")
            hold = here.server.faults.hold(*at, after=True)
            await here.bench("«notes»")
        await here.kill()
        hold.open()
        here.server.clock.advance(3_600)
        await here.start()
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / "notes.md").write_text("x\n")
        await here.bench("1 fire")
        await here.server.until(lambda: here.benches()[0].pinned)
        await here.quiet()
        assert len(here.benches()) == 1
        await here.server.until(lambda: not [one for one in here.room.seen() if one.system])


async def test_where_it_may_not_pin_it_works_unpinned_and_says_so_itself(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.ask("!watch notes --file notes.md")
        await here.bench("«notes»", UNPINNED)
        here.ask("!watch plans --file plans.md")
        bench = await here.bench("«notes»", "«plans»", UNPINNED)
        await here.quiet()
        assert not bench.pinned
        assert "\n".join(here.ours()).count("Not pinned") == 0
        refused = [call for call in here.server.rest.calls if (call.method, call.status) == ("PUT", 403)]
        assert len(refused) == 1
        may_pin(here)
        async with here.away():
            pass
        here.ask("!unwatch notes")
        await here.server.until(lambda: "Not pinned" not in here.benches()[0].text)
        assert here.benches()[0].pinned
        assert here.benches()[0].id == bench.id


async def test_a_channel_that_is_full_of_pins_is_said_too(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        here.server.faults.refuse(*PINS, 30003)
        here.ask("!watch notes --file notes.md")
        await here.bench("«notes»", "Not pinned: there are as many pins here as Discord allows. Unpin one.")


async def test_one_that_somebody_deleted_comes_anew_and_one_whose_thread_is_gone_does_not(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        may_pin(here)
        thread = here.olga.open_thread(here.room, "Doomed")
        here.ask("!watch a --file a.md", thread)
        await here.bench("«a»", place=thread)
        here.ask("!watch b --file b.md")
        first = await here.bench("«b»")
        await here.server.until(lambda: here.benches()[0].pinned)
        await here.quiet()
        here.guild.owner.delete(here.room.channel.messages[first.id])
        here.ask("!watch c --file c.md")
        view = here.relay.parts.engine.view
        await here.server.until(lambda: not view.of(Workbenches).state.shown[scope_of(here.room)].message)
        here.ask("!watch d --file d.md")
        assert (await here.bench("«b»", "«c»", "«d»")).id != first.id
        thread.delete()
        await here.server.until(lambda: not view.of(Watches).of_scope(scope_of(thread)))
        await here.quiet()
        before = len(here.server.rest.calls)
        here.ask("say still well")
        await here.answered("still well")
        await here.quiet()
        assert not [call for call in here.server.rest.calls[before:] if f"/{thread.id}" in call.path]


async def test_edits_that_discord_puts_off_hold_up_no_answer(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        may_pin(here)
        here.ask("!watch notes --file notes.md")
        await here.bench("«notes»")
        await here.server.until(lambda: here.benches()[0].buttons)
        here.server.faults.too_many(*EDITS, 600.0, times=None)
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "work" / "notes.md").write_text("x\n")
        await here.answered("triggered by watch «notes»")
        here.ask("say at once")
        await here.answered("at once")
        assert "0 fires" in here.benches()[0].text
        here.server.faults.clear()


async def test_r6_many_changes_are_few_edits_and_the_newest_wins(tmp_path: Path) -> None:
    async with town(tmp_path, busy="queue", limits={"queue": 500}) as here:
        may_pin(here)
        here.ask("!watch a --file a.md")
        await here.bench("«a»")
        here.ask("slow 3000")
        await here.server.until(lambda: bool(here.relay.parts.engine.view.of(Turns).state.running))
        bench = await here.bench("▶️ scout works")
        for number in range(40):
            here.ask(f"say {number}")
        await here.bench("… and 30 lines more")
        path = f"/channels/{here.room.id}/messages/{bench.id}"
        at = [call.at for call in here.server.rest.calls if (call.method, call.path) == ("PATCH", path)]
        assert len(at) > 1
        least = 1.4 / here.clock.speed
        assert all(after - before >= least for before, after in itertools.pairwise(at))


async def test_a_pause_of_all_rooms_fetches_no_idle_thread_out_of_the_archive(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        thread = here.olga.open_thread(here.room, "Done with")
        here.ask("!watch a --file a.md", thread)
        await here.bench("«a»", place=thread)
        here.ask("!unwatch a", thread)
        await here.bench("Nothing runs, waits or is watched here.", place=thread)
        here.clock.jumped_ms += 120_000
        here.ask("!watch b --file b.md")
        await here.bench("«b»")
        await here.quiet()
        async with here.away():
            thread.archive()
        here.ask("!pause all")
        await here.bench("⏸️")
        await here.quiet()
        assert thread.archived

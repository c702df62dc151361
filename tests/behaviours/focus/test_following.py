"""What a scope follows is set by use: a watched file, a shared one."""

from pathlib import Path

import pytest
from fakes.living import Living, living

from relay.behaviours.focus.concept import Focus

pytestmark = pytest.mark.anyio


def follows(relay: Living, scope: str = "web:main") -> list[str]:
    return relay.relay.parts.engine.view.of(Focus).of(scope)


async def test_a_watched_file_is_followed_until_the_last_watch_on_it_is_off(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        for name in ("one", "two"):
            await relay.say(f"!watch {name} --file notes.md")
            await relay.watching(name)
        await relay.quiet()
        assert follows(relay) == ["file:notes.md"]
        await relay.say("!unwatch one")
        await relay.seen("«one» is off")
        await relay.quiet()
        assert follows(relay) == ["file:notes.md"]
        await relay.say("!unwatch two")
        await relay.seen("«two» is off")
        await relay.quiet()
        assert follows(relay) == []
        assert len(await relay.log("focus.removed")) == 1


async def test_a_shared_file_is_followed_and_a_timer_follows_nothing(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("tool write plot.txt x\nshare plot.txt")
        await relay.seen("sharing plot.txt")
        await relay.say('!watch --in 2h "stretch"')
        await relay.seen("Watching «timer-1»")
        await relay.quiet()
        assert follows(relay) == ["file:plot.txt"]
        assert follows(relay, "web:side") == []


async def test_it_outlives_a_restart(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("!watch notes --file notes.md")
        await relay.watching("notes")
        await relay.restart(kill=True)
        assert follows(relay) == ["file:notes.md"]


async def test_what_was_taken_up_over_a_week_ago_is_forgotten_with_the_next(tmp_path: Path) -> None:
    async with living(tmp_path) as relay:
        await relay.say("tool write a.txt x\nshare a.txt")
        await relay.seen("sharing a.txt")
        relay.clock.jumped_ms += 8 * 24 * 3_600_000
        await relay.say("tool write b.txt x\nshare b.txt")
        await relay.seen("sharing b.txt")
        await relay.quiet()
        assert follows(relay) == ["file:b.txt"]

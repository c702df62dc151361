"""Hostile output through real pipes: bounded, counted, told; nobody else waits for it and no child hangs on it."""

import os
from pathlib import Path

import anyio
import pytest

from watch_supervisor.plain_text import LONGEST_BYTES

pytestmark = pytest.mark.anyio
LONG = 60.0


def resident() -> int:
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def ended(stand):
    await stand.until(lambda: bool(stand.ended), LONG)
    return stand.ended[0]


async def test_p11_a_line_without_end_is_told_in_part_with_what_is_missing(commands) -> None:
    before = resident()
    commands.supervisor.start(commands.command("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo after"))
    await commands.until(lambda: bool(commands.ended), LONG)
    assert resident() - before < 40e6
    text = "\n".join(fire.text for fire in commands.fires)
    shown, rest = text.split("\n", 1)
    assert shown.startswith("x" * 1_900 + "… (")
    assert shown.endswith(" more left out)")
    assert int(shown.rpartition("(")[2].split(" ")[0].replace(",", "")) == 100_000_000 - 1_900
    assert rest.startswith("after\n")
    assert all(len(fire.text.encode()) <= LONGEST_BYTES for fire in commands.fires)


async def test_bytes_that_are_no_text_are_told_as_text(commands) -> None:
    line = r"head -c 300000 /dev/urandom; printf '\0\n\xff\xc3\n\033]0;title\007\xe2\x80\xaeabc\n'"
    commands.supervisor.start(commands.command(line))
    await ended(commands)
    for fire in commands.fires:
        fire.text.encode()
        assert not any(char in fire.text for char in "\0\x1b\x07\r\u202e")
        assert len(fire.text.encode()) <= LONGEST_BYTES
    assert "abc" in commands.fires[-1].text


async def test_p12_a_record_that_hangs_holds_no_child(commands) -> None:
    release = anyio.Event()
    commands.during_fire = lambda fire: release.wait() if fire.number == 1 else None
    commands.supervisor.start(commands.command("echo first; seq 1000000; touch done; echo last"))
    await commands.until(lambda: (commands.root / "done").exists(), LONG)
    assert len(commands.fires) == 1
    release.set()
    await ended(commands)
    # An end with nothing left to tell is a fire of its own, and counts as one.
    alone = commands.fires[-1].text == commands.fires[-1].why
    assert sum(fire.count for fire in commands.fires) == 1_000_002 + alone
    assert "last" in [each for fire in commands.fires for each in fire.text.split("\n")]
    assert sum(fire.dropped for fire in commands.fires) > 990_000


async def test_a_flood_is_held_back_and_the_others_are_heard(make_stand, commands) -> None:
    spawner = commands.supervisor._rig.spawner
    stand = make_stand(spawner=spawner, bytes_a_second=1 << 20)
    async with stand.running():
        await stand.arm(stand.command("yes flood", run="flood", fire="exit"))
        await stand.until(lambda: stand.supervisor.output("flood").held_back, LONG)
        for number in range(3):
            stand.supervisor.start(stand.command(f"echo {number}; sleep 1000", run=f"quiet-{number}"))
        await stand.until(lambda: len(stand.fires) == 3, LONG)
        assert sorted(fire.text for fire in stand.fires) == ["0", "1", "2"]
        assert stand.supervisor.output("flood").held_back
        assert set(stand.supervisor.output("flood").stdout) == {"flood"}


async def test_within_its_budget_nothing_is_held_back(commands) -> None:
    await commands.arm(commands.command("seq 100; sleep 1000", fire="exit"))
    await commands.until(lambda: commands.supervisor.output("run-1").stdout[-1:] == ["100"], LONG)
    assert not commands.supervisor.output("run-1").held_back


async def test_a_match_in_a_flood_is_found_and_counted(commands) -> None:
    line = "for i in 1 2 3; do seq 200000 | sed 's/^/line /'; echo ERROR $i; done"
    commands.supervisor.start(commands.command(line, match="^ERROR"))
    await ended(commands)
    found = [each for fire in commands.fires for each in fire.text.split("\n") if each.startswith("ERROR")]
    assert found == ["ERROR 1", "ERROR 2", "ERROR 3"]


async def test_a_hostile_pattern_on_a_hostile_flood_holds_nobody_up(commands) -> None:
    hostile = "for i in $(seq 2000); do printf 'a%.0s' $(seq 60); echo '!'; done; sleep 1000"
    commands.supervisor.start(commands.command(hostile, run="hostile", match="(a+)+$"))
    commands.supervisor.start(commands.command("echo here; sleep 1000", run="quiet"))
    await commands.until(lambda: bool(commands.fires), LONG)
    assert [(fire.run, fire.text) for fire in commands.fires] == [("quiet", "here")]

"""Starts the real relay on the tests' Discord, with a point at which it kills itself, and a planted fault.

As `launcher.py`, which has the points and faults that are not of Discord. Waiting takes a tenth of the time here, and
only waiting: wall time is the machine's, by which the relay's records and Discord's ids must agree.
"""

import os
import secrets
import sys
from pathlib import Path

import anyio
import launcher
from fakes.discord.connector import connector

from relay import app, cli
from relay.behaviours.intake.concept import CaughtUp
from relay.behaviours.intake.reconciler import Intake
from relay.behaviours.posting import reconciler as posting
from relay.clock import SystemClock
from relay.errors import RelayError
from relay.surfaces.discord.budget import IdentifyBudget
from relay.surfaces.discord.hearing import Hearing
from relay.surfaces.discord.posts import Posts
from relay.surfaces.discord.surface import DiscordSurface
from relay.surfaces.surface import MessageEvent, Place

SPEED = 10.0

launcher.POINTS |= {
    "post": (DiscordSurface, "post"),
    "send": (Posts, "_send"),
    "edit": (DiscordSurface, "edit"),
    "react": (DiscordSurface, "react"),
    "read": (DiscordSurface, "read_since"),
    "look": (DiscordSurface, "own_since"),
    "hear": (Hearing, "_bring_message"),
    "click": (Hearing, "_bring_choice"),
    "identify": (IdentifyBudget, "spend"),
}


class HurriedClock(SystemClock):
    """Pauses are a tenth as long."""

    def monotonic(self) -> float:
        return super().monotonic() * SPEED

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / SPEED)


# ---- faults that a relay on Discord could have: the test must see each


def no_nonce() -> None:
    """Each try of a post has a nonce of its own. The history is still looked into."""
    posting.nonce_of = lambda post: secrets.token_hex(12)


def no_history_check() -> None:
    """A post that may stand already is sent again, for its nonce to be remembered."""
    launcher.blind()


def recorded_before_it_is_taken() -> None:
    """How far a place was read is recorded first, and what was read is taken in after that."""

    async def early(self: Intake, place: Place, *, boot: bool) -> None:
        name = self._surface.name
        position = self._parts.engine.view.of(CaughtUp).position(name, place.place)
        newest = await self._surface.newest(place.place)
        if position is not None and newest > position:
            await self._record(place.place, newest)
            for event in await self._surface.read_since(place.place, position, 100):
                await self._take(event, late=boot)
        elif position is None:
            await self._record(place.place, newest)

    Intake._close_gap = early


def caught_up_to_the_highest_id() -> None:
    """A place counts as read up to the newest message that was heard of it."""
    message = Intake.message

    async def and_record(self: Intake, event: MessageEvent) -> None:
        await message(self, event)
        await self._record(event.place, event.position)

    Intake.message = and_record


def no_look_after_a_gap() -> None:
    """What was written while there was no connection is not read."""

    async def skip(self: Intake, place: Place, *, boot: bool) -> None:
        await self._record(place.place, await self._surface.newest(place.place))

    Intake._close_gap = skip


launcher.FAULTS |= {
    "no nonce": no_nonce,
    "no history check": no_history_check,
    "recorded before it is taken": recorded_before_it_is_taken,
    "caught up to the highest id": caught_up_to_the_highest_id,
    "no look after a gap": no_look_after_a_gap,
}


def main() -> int:
    if fault := os.environ.get("RELAY_TEST_FAULT"):
        launcher.FAULTS[fault]()
    if die := os.environ.get("RELAY_TEST_DIE"):
        where, _, count = die.partition(":")
        launcher.plant_death(where, int(count))
    app.SystemClock = HurriedClock
    port, ca, config, state = sys.argv[1:]
    options = app.Options(
        config=Path(config),
        state=Path(state),
        page=False,
        connector=lambda: connector(int(port), ca),
        say=lambda line: print(line, flush=True),
    )
    try:
        anyio.run(app.run, options)
    except BaseExceptionGroup as group:
        error = cli._one_error(group)
        print(error, file=sys.stderr)
        return getattr(error, "code", 1)
    except RelayError as error:
        print(error.told(), file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())

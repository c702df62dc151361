"""Faults of a relay on Discord, each planted by a patch, that only Discord's weather finds.

`FAULTS` names them, and those of `planted` that are looked for here too, with the seed at which each was found first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from simulation import planted

from relay.behaviours.intake.concept import CaughtUp
from relay.surfaces.discord import api, errors, history, posts
from relay.surfaces.discord.channels import Channels
from relay.surfaces.discord.leftovers import Leftovers
from relay.surfaces.discord.surface import DiscordSurface
from relay.surfaces.surface import SeenPost


@contextmanager
def a_long_pause_is_a_refusal() -> Iterator[None]:
    """When Discord asks for a longer pause than the library sleeps through, the post is given up."""
    refused = errors.refused

    def final(error: Exception) -> errors.DiscordRefused:
        found = refused(error)
        if found.status == 429:
            found.kind = "permanent"
        return found

    with patch.object(api, "refused", final):
        yield


@contextmanager
def a_lost_answer_is_a_refusal() -> Iterator[None]:
    """A post whose answer was lost on the way is given up, though it stands."""
    refused = errors.refused

    def final(error: Exception) -> errors.DiscordRefused:
        found = refused(error)
        if "can't be reached" in str(found):
            found.kind = "permanent"
        return found

    with patch.object(api, "refused", final):
        yield


@contextmanager
def statuses_are_left() -> Iterator[None]:
    """What a process that died was showing, or never heard to be shown, is nobody's."""

    async def only_what_it_knows(self: Leftovers, place: str) -> None:
        message = self._shown.pop(place, "")
        if message:
            self._left[place] = message
            await self._sweep(place)

    async def nothing(self: Leftovers) -> None:
        return

    with patch.object(Leftovers, "over", only_what_it_knows), patch.object(Leftovers, "run", nothing):
        yield


@contextmanager
def history_by_nonce() -> Iterator[None]:
    """A post is looked for by its nonce, which Discord's history doesn't tell."""

    async def by_nonce(self: DiscordSurface, place: str, since_ms: int) -> list[SeenPost]:
        return []

    with patch.object(DiscordSurface, "own_since", by_nonce):
        yield


@contextmanager
def threads_only_when_heard_of() -> Iterator[None]:
    """A thread is known from the first event of it that is heard; what was begun in a gap is not looked for."""

    async def none(self: Channels, guild: str) -> list[Any]:
        return []

    with patch.object(Channels, "_active", none):
        yield


@contextmanager
def a_gap_is_one_page() -> Iterator[None]:
    """Of a gap only the first page is read; a page of three messages here."""
    after = history.History.after

    async def first(self: history.History, place: str, position: int, pages: int = 1) -> Any:
        count = 0
        async for one in after(self, place, position, pages):
            yield one
            count += 1
            if count == 3:
                return

    with patch.object(history.History, "after", first):
        yield


@contextmanager
def tries_made_whenever_they_come() -> Iterator[None]:
    """A try that discord.py had begun before the relay was put to sleep goes on after it."""
    with patch.object(posts, "HELD_UP_AFTER_S", 1e9):
        yield


@contextmanager
def threads_begin_where_the_room_was_read_to() -> Iterator[None]:
    """A thread that is seen for the first time counts as read as far as its room was."""

    def read_to(self: CaughtUp, surface: str, place: str) -> int | None:
        return self.position(surface, place)

    with patch.object(CaughtUp, "began", read_to):
        yield


FAULTS: dict[str, tuple[Callable[[], Any], int]] = {
    fault.__name__: (fault, seed)
    for fault, seed in (
        (a_long_pause_is_a_refusal, 1),
        (a_lost_answer_is_a_refusal, 0),
        (statuses_are_left, 0),
        (history_by_nonce, 18),
        (tries_made_whenever_they_come, 195),
        (threads_begin_where_the_room_was_read_to, 131),
        (threads_only_when_heard_of, 7),
        (a_gap_is_one_page, 0),
        (planted.no_nonce, 1),
        (planted.no_history_check, 18),
        (planted.cursor_by_highest_id, 3),
        (planted.no_catch_up, 0),
        (planted.interruption_forgotten, 1),
    )
}

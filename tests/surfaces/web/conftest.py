"""A real chat in a real file, and a real server on a real port."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from page_serving import ROOMS, QuickClock, Served, serving

from relay.surfaces.surface import Person
from relay.surfaces.web.chat import LocalChat


@pytest.fixture
def ada() -> Person:
    return Person("ada", "Ada")


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


@pytest.fixture
async def chat(tmp_path: Path, clock: QuickClock) -> AsyncIterator[LocalChat]:
    chat = await LocalChat.open(tmp_path / "page.db", ROOMS, clock)
    yield chat
    await chat.close()


@pytest.fixture
async def served(chat: LocalChat) -> AsyncIterator[Served]:
    async with serving(chat) as served:
        yield served

"""Each surface in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from surface_opening import KINDS, LIVE, Opened, opening


@pytest.fixture(params=KINDS)
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    async with opening(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=LIVE)
async def live(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    """Each surface that brings by itself what people do."""
    async with opening(request.param, tmp_path) as opened:
        yield opened

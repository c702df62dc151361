"""Each surface in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from surface_opening import KINDS, Opened, opening


@pytest.fixture(params=KINDS)
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opened]:
    async with opening(request.param, tmp_path) as opened:
        yield opened

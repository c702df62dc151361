"""The day that `make day` prints: every answer stands once, and nothing else was said."""

from pathlib import Path

import day
import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.soak]


async def test_a_day_on_a_faulty_discord_is_answered_once_each(tmp_path: Path) -> None:
    lines: list[str] = []
    assert await day.play(tmp_path, lines.append) == [], "\n".join(lines)
    assert sum("⚡" in line for line in lines) > 8

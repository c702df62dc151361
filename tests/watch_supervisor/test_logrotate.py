"""The real logrotate, in each of its ways: a tail tells every line once. `make editors` installs it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fakes.logs import PATIENCE, add

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        shutil.which("logrotate", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None,
        reason="logrotate isn't installed: `make editors` installs it; its steps are in test_tails.py all the same",
    ),
]
WAYS = {
    "create": "create",
    "nocreate": "nocreate",
    "copytruncate": "copytruncate",
    "compress": "create\n compress",
    "delaycompress": "create\n compress\n delaycompress",
    "rotate-0": "create\n rotate 0",
    "olddir": "create\n olddir old",
}


def rotate(log: Path, way: str) -> None:
    settings = log.parent / "logrotate.conf"
    rest = "" if "rotate 0" in way else "rotate 5"
    settings.write_text(f"{log} {{\n {rest}\n {way}\n}}\n")
    settings.chmod(0o600)
    subprocess.run(
        ["logrotate", "--force", "--state", str(log.parent / "logrotate.state"), str(settings)],
        check=True,
        env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin"},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("way", WAYS, ids=list(WAYS))
async def test_logrotate_loses_and_repeats_no_line(stand, way: str) -> None:
    log = stand.root / "app.log"
    (stand.root / "old").mkdir()
    stand.root.chmod(0o755)
    log.write_text("start\n")
    told: list[str] = []
    async with stand.running():
        await stand.arm(stand.tail())
        for number in range(3):
            add(log, f"before {number}\n")
            told.append(f"before {number}")
            await stand.until(lambda: len(stand.lines()) >= len(told), PATIENCE)
            rotate(log, WAYS[way])
            add(log, f"after {number}\n")
            told.append(f"after {number}")
            await stand.until(lambda: len(stand.lines()) >= len(told), PATIENCE)
        assert stand.lines() == told

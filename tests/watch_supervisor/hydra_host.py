"""A process with a supervisor that watches one command, to be killed. Run with the command and a folder."""

import os
import sys
from pathlib import Path

import anyio
from conftest import Stand

from watch_supervisor.processes.guarded import Guarded


async def main() -> None:
    async with Guarded(gentle_seconds=0.5) as spawner:
        stand = Stand(Path(sys.argv[2]), spawner=spawner, environ=os.environ)
        async with stand.running():
            stand.supervisor.start(stand.command(sys.argv[1]))
            await anyio.sleep_forever()


anyio.run(main)

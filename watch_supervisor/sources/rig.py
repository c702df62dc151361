"""What all commands of one supervisor share."""

from collections.abc import Mapping
from pathlib import Path

from watch_supervisor.alarms import Alarms
from watch_supervisor.output.reading import BYTES_A_SECOND
from watch_supervisor.processes.command import Shell, environment
from watch_supervisor.processes.confinement import Confinement
from watch_supervisor.processes.port import Order, Spawner
from watch_supervisor.runs import Clock


class Rig:
    """`environ` is the relay's own environment, `budget` bytes a second."""

    def __init__(
        self,
        clock: Clock,
        alarms: Alarms,
        spawner: Spawner | None,
        environ: Mapping[str, str],
        confinement: Confinement,
        budget: int | None = BYTES_A_SECOND,
    ) -> None:
        self.clock = clock
        self.alarms = alarms
        self.spawner = spawner
        self.budget = budget
        self._environment = environment(environ)
        self._shell = Shell(self._environment.get("PATH"))
        self._confinement = confinement

    def order(self, command: str, root: Path) -> Order:
        """What runs `command` in the workspace `root`. FileNotFoundError when there is no bash."""
        writable = self._confinement.writable(root, self._environment)
        return Order(self._shell.arguments(command), root, self._environment, writable)

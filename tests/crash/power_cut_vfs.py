"""A file layer under SQLite that can lose its power: what was synced stays, of the rest a random part.

SQLite writes through it to real files. Beside that each file's durable bytes are kept, and the writes since its last
sync. At the cut every such write is there, missing, or torn at a sector, each by its own dice: as a disk may have
written them in any order. `-shm` is shared memory and never survives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw

SECTOR = 512


@dataclass(slots=True)
class _Write:
    """Bytes at an offset, or (without bytes) a file cut to that length."""

    at: int
    data: bytes | None


@dataclass(slots=True)
class _Kept:
    durable: bytearray
    pending: list[_Write] = field(default_factory=list)

    def sync(self) -> None:
        for write in self.pending:
            _apply(self.durable, write)
        self.pending.clear()

    def after_cut(self, rng: Random) -> bytes:
        image = bytearray(self.durable)
        chance = rng.random()
        for write in self.pending:
            if rng.random() < chance:
                torn = write.data is not None and rng.random() < 0.3
                sectors = len(write.data or b"") // SECTOR
                data = write.data[: rng.randint(0, sectors) * SECTOR] if torn and write.data else write.data
                _apply(image, _Write(write.at, data))
        return bytes(image)


def _apply(image: bytearray, write: _Write) -> None:
    if write.data is None:
        del image[write.at :]
        return
    if len(image) < write.at:
        image.extend(bytes(write.at - len(image)))
    image[write.at : write.at + len(write.data)] = write.data


class PowerCutVFS(apsw.VFS):
    """`cut_at` is the number of the write or sync at which the power goes; `on_cut` is called then, before it."""

    def __init__(self, name: str, rng: Random, cut_at: int, on_cut: Callable[[], None]) -> None:
        self.kept: dict[str, _Kept] = {}
        self.image: dict[str, bytes] | None = None
        self.syncs = 0
        self._rng = rng
        self._steps = 0
        self._cut_at = cut_at
        self._on_cut = on_cut
        super().__init__(name, base="")

    def step(self) -> None:
        self._steps += 1
        if self._steps == self._cut_at:
            self.image = {name: kept.after_cut(self._rng) for name, kept in self.kept.items()}
            self._on_cut()

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return PowerCutFile(self, path, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        self.kept.pop(filename, None)

    def restore(self, folder: Path) -> None:
        """Lay what survived into a folder."""
        assert self.image is not None, "the power has not gone yet"
        for name, data in self.image.items():
            (folder / Path(name).name).write_bytes(data)


class PowerCutFile(apsw.VFSFile):
    """A file of it."""

    def __init__(
        self, vfs: PowerCutVFS, path: str | None, name: apsw.URIFilename | str | None, flags: list[int]
    ) -> None:
        self._vfs = vfs
        there = Path(path).read_bytes() if path and Path(path).exists() else b""
        super().__init__("", name, flags)
        self._kept = vfs.kept.setdefault(path, _Kept(bytearray(there))) if path else _Kept(bytearray())

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._vfs.step()
        self._kept.pending.append(_Write(offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._vfs.step()
        self._kept.pending.append(_Write(size, None))
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.step()
        self._kept.sync()
        self._vfs.syncs += 1
        super().xSync(flags)

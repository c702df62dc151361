"""A log, what becomes of one, and what a tail told of it."""

import gzip
import os
import shutil
from pathlib import Path

BEFORE = "one\ntwo\nthree\n"
PATIENCE = 30.0


def add(file: Path, text: str) -> None:
    with file.open("a") as out:
        out.write(text)


async def told(stand, *lines: str) -> None:
    """Wait until so many lines were told; they are these."""
    await stand.until(lambda: len(stand.lines()) >= len(lines), PATIENCE)
    assert stand.lines() == list(lines)


def rotate_by_rename(log: Path) -> None:
    """logrotate with `create`."""
    log.rename(log.with_name("app.log.1"))
    log.touch()


def rotate_without_create(log: Path) -> None:
    """logrotate with `nocreate`: the program opens a new one itself, later."""
    log.rename(log.with_name("app.log.1"))


def copy_and_truncate(log: Path) -> None:
    """logrotate with `copytruncate`."""
    shutil.copyfile(log, log.with_name("app.log.1"))
    os.truncate(log, 0)


def rotate_and_compress(log: Path) -> None:
    """logrotate with `compress`, without `delaycompress`: the old file is gone at once."""
    moved = log.with_name("app.log.1")
    log.rename(moved)
    log.touch()
    moved.with_suffix(".gz").write_bytes(gzip.compress(moved.read_bytes()))
    moved.unlink()


def delete(log: Path) -> None:
    log.unlink()


def truncate(log: Path) -> None:
    os.truncate(log, 0)

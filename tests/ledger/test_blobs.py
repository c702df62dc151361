"""Blobs: what two writers put at once, what a crash left, and what a disk damaged."""

import hashlib
from pathlib import Path

import anyio
import pytest

from relay.ledger.blobs import Blobs

pytestmark = pytest.mark.anyio


async def test_many_may_put_the_same_bytes_at_the_same_moment(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    data = b"the same file, watched by many" * 10_000
    put: list[str] = []

    async def one() -> None:
        put.append(await blobs.put(data))

    for _ in range(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(one)
        assert await blobs.get(put[-1]) == data
        next((tmp_path / "blobs").rglob(put[-1])).unlink()
    assert set(put) == {hashlib.sha256(data).hexdigest()}
    assert not list((tmp_path / "blobs").rglob("*.part"))


async def test_a_blob_that_a_crash_left_short_is_written_anew_and_never_given_out(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    digest = await blobs.put(b"whole")
    path = next((tmp_path / "blobs").rglob(digest))
    path.write_bytes(b"who")
    assert await blobs.get(digest) is None
    assert await blobs.put(b"whole") == digest
    assert await blobs.get(digest) == b"whole"


async def test_what_is_no_digest_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    blobs = Blobs(tmp_path / "blobs")
    assert await blobs.get("../../secret") is None
    assert await blobs.get("0" * 64) is None

"""Takes texts out of the page's chat, so that no file of it holds them any more. The messages themselves stay."""

from __future__ import annotations

from collections.abc import Sequence

from relay.surfaces.web.chat_file import ChatFile
from relay.surfaces.web.seen import message_number

GONE = "(redacted)"
"""What a message says whose text was taken out."""


async def text_of(file: ChatFile, message: str) -> str | None:
    """What that message says: nothing when it was deleted or its text taken out; None when it isn't there."""
    rows = await file.fetch("SELECT text FROM message WHERE number = ?", message_number(message))
    text = str(rows[0][0]) if rows else None
    return "" if text == GONE else text


async def take_out(file: ChatFile, messages: Sequence[str]) -> list[tuple[int, str]]:
    """The texts of those messages go; number and place of each that had one. Raises `StoreUnavailable`."""
    taken: list[tuple[int, str]] = []
    async with file.writing() as write:
        for number in map(message_number, messages):
            rows = await write.execute_fetchall(
                "UPDATE message SET text = ? WHERE number = ? AND text NOT IN ('', ?) RETURNING number, place",
                (GONE, number, GONE),
            )
            taken += [(int(row[0]), str(row[1])) for row in rows]
            # What the relay has not heard yet it can't hear any more.
            await write.execute(
                "DELETE FROM undelivered WHERE kind IN ('message', 'edit') AND json_extract(body, '$.message') = ?",
                (number,),
            )
    return taken


async def older(file: ChatFile, after: int, before_ms: int, most: int) -> list[int]:
    """Numbers of the next `most` messages past `after` that were written before that time."""
    rows = await file.fetch(
        "SELECT number, sent_at FROM message WHERE number > ? ORDER BY number LIMIT ?", after, most
    )
    last = max((index for index, row in enumerate(rows) if row[1] < before_ms), default=-1)
    return [int(row[0]) for row in rows[: last + 1]]

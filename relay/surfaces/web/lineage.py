"""Whether page.db is the one that the ledger was last used with. It changes no message, only from where is counted.

Messages, threads and clicks are known to the ledger by their numbers. A page.db that was deleted, or put back from a
backup, would count through numbers that the ledger has seen already, and what people write would be taken for that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from relay.surfaces.web.chat_file import ChatFile
from relay.surfaces.web.seen import message_id

STEP = 10**9
"""More than one epoch ever counts through: a page.db that doesn't belong counts on from `epoch * STEP`."""
LOOKED_AHEAD = 100
"""So many of the next messages' ids are looked up. A copy from earlier in the same epoch is known by nothing else."""
COUNTED = ("message", "thread", "undelivered")

NOT_THE_LAST_ONE = (
    "page.db is not the one this ledger was last used with (it is new, or an older copy). What was said since then "
    "isn't shown on the page; nothing in the ledger is lost."
)


async def belongs(file: ChatFile, epoch: int, known: Callable[[str], Awaitable[bool]]) -> bool:
    """Settle from where the file counts in this epoch, and remember the epoch; False when it had to jump.

    To be called before the epoch is raised to `epoch`, with the state folder locked: a start that is cut short in
    between then finds its own epoch remembered. `known` tells whether the ledger knows a message's id.
    Raises `StoreUnavailable`.
    """
    ((remembered, next_message),) = await file.fetch(
        "SELECT epoch, 1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0) FROM ledger"
    )
    fits = remembered is None or remembered in (epoch - 1, epoch)
    for number in range(next_message, next_message + LOOKED_AHEAD):
        fits = fits and not await known(message_id(number))
    async with file.writing() as write:
        if not fits:
            for table in COUNTED:
                rows = await write.execute_fetchall(
                    "SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)
                )
                start = max([epoch * STEP, *(int(row[0]) for row in rows)])
                await write.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                await write.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", (table, start))
            await write.execute("UPDATE ledger SET least_count = ?", (epoch * STEP,))
        await write.execute("UPDATE ledger SET epoch = ?", (epoch,))
    return fits

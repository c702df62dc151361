"""A reminder: waits for an instant on the wall clock, and fires once.

A timer whose time came while nobody was there fires at once and says how late it is. It holds no task while
it waits.
"""

from watch_supervisor.moments import MINUTE, rough_duration
from watch_supervisor.plain_text import capped, plain
from watch_supervisor.runs import Clock, Ended, Fire, Run
from watch_supervisor.sources.reports import Reports


def is_spent(run: Run) -> bool:
    """Whether it has fired in an earlier life."""
    return run.fires > 0


def due_ms(run: Run) -> int:
    """When it is due, UTC milliseconds."""
    return run.spec.due or 0


async def ring(run: Run, clock: Clock, reports: Reports) -> Ended:
    """The fire of a timer that is due, and its end."""
    late = clock.now_ms() - due_ms(run)
    text, dropped = capped(plain(run.spec.text or "").split("\n"))
    await reports.fired(
        Fire(
            run=run.run,
            number=run.fires + 1,
            why=f"due, {rough_duration(late)} late" if late >= MINUTE else "due",
            text=text,
            count=1,
            dropped=dropped,
            state={},
            last=True,
        )
    )
    return Ended(run.run, "done", "The timer has gone off.")

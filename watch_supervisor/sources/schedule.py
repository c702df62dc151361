"""A recurring schedule: waits for its next instant on the wall clock, and fires then.

What was missed (the machine slept, no relay ran) fires once, late, and says so. A clock that was far ahead and is put
right begins anew from the time that is; one that is put back by up to an hour rings nothing twice. It holds no task
while it waits.
"""

from watch_supervisor.cron import Cron, parse_cron
from watch_supervisor.hours import zone_named
from watch_supervisor.moments import HOUR, MINUTE, rough_duration
from watch_supervisor.plain_text import capped, plain
from watch_supervisor.runs import Clock, Ended, Fire, Run, State
from watch_supervisor.sources.reports import Reports

MOST_COUNTED = 1_000
"""So many missed times are counted; more are told as more."""


async def look(run: Run, clock: Clock, reports: Reports) -> Ended | int:
    """Fire if it is due. Answers with its end, or with when to look again (UTC ms). SpecError for a time zone that
    this machine doesn't know.
    """
    spec = run.spec
    cron, zone = parse_cron(spec.cron or ""), zone_named(spec.tz or "")
    now = clock.now_ms()
    ends_at = run.armed_at + spec.ttl_ms if spec.ttl_ms is not None else None
    state: State = {"next": cron.next_after(now, zone), "last": None}
    if run.state is not None and _instant(run.state, "next") is not None:
        state = run.state
    await reports.started(state)
    due, last, fires = _instant(state, "next"), _instant(state, "last"), run.fires
    if due is not None and last is not None and now < last - HOUR:
        sooner = cron.next_after(now, zone)
        if sooner is not None and sooner < due:
            due = sooner
            await reports.advanced({"next": due, "last": now})
    if due is not None and due <= now and (ends_at is None or due < ends_at) and not _spent(run, fires):
        following = cron.next_after(now, zone)
        fires += 1
        await reports.fired(_fire(run, fires, due, now, cron, following))
        due = following
    if _spent(run, fires):
        if spec.once:
            return Ended(run.run, "done", "It has fired, and was to fire once.")
        return Ended(run.run, "max-fires", f"It has fired {fires} times, which was the most.")
    if ends_at is not None and now >= ends_at:
        return Ended(run.run, "ttl", f"Its time ({rough_duration(spec.ttl_ms or 0)}) is up.")
    if due is None:
        return Ended(run.run, "done", "Its last time has come.")
    return due if ends_at is None else min(due, ends_at)


def _fire(run: Run, number: int, due: int, now: int, cron: Cron, following: int | None) -> Fire:
    text, dropped = capped(plain(run.spec.text or "").split("\n"))
    return Fire(
        run=run.run,
        number=number,
        why=_why(due, now, cron, run),
        text=text,
        count=1,
        dropped=dropped,
        state={"next": following, "last": due},
        last=_spent(run, number),
    )


def _why(due: int, now: int, cron: Cron, run: Run) -> str:
    if now - due < MINUTE:
        return "due"
    zone, missed, at = zone_named(run.spec.tz or ""), 0, due
    while missed < MOST_COUNTED:
        following = cron.next_after(at, zone)
        if following is None or following > now:
            break
        missed, at = missed + 1, following
    late = f"due, {rough_duration(now - due)} late"
    if missed == 0:
        return late
    more = f"{missed} more" if missed < MOST_COUNTED else f"{missed} and more"
    return f"{late}; {more} missed since, told with this one"


def _spent(run: Run, fires: int) -> bool:
    spec = run.spec
    return (spec.once and fires > 0) or (spec.max_fires is not None and fires >= spec.max_fires)


def _instant(state: State, name: str) -> int | None:
    value = state.get(name)
    return value if isinstance(value, int) else None

"""`relay log` and `relay why`: the ledger, read by a person, beside a running relay or without one."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import orjson

from relay import app, texts
from relay.behaviours.status.telling import tell
from relay.clock import SystemClock
from relay.errors import Exit, RelayError, UsageError
from relay.ledger.chain import Link, chain_of, find
from relay.ledger.interaction import Interaction
from relay.ledger.sqlite import SqliteStore
from relay.masking import Masker

PAGE = 1000
SURFACES = ("web", "discord")
SECRETS = ("RELAY_DISCORD_TOKEN", "RELAY_HTTP_TOKEN")
_AGO = re.compile(r"(\d+)(s|m|h|d)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def run(arguments: argparse.Namespace) -> int:
    """`relay log` or `relay why`; the exit code. Raises `RelayError`."""
    options = app.Options(config=arguments.config, state=arguments.state)
    masker = Masker(options.env[name] for name in SECRETS if options.env.get(name))
    zone = ZoneInfo(app.machine_zone(options.env))
    path = _state(options) / "ledger.db"
    if arguments.command == "why":
        return anyio.run(_why, path, arguments.id, zone, masker)
    now = SystemClock().now_ms()
    since = moment(arguments.since, now, zone) if arguments.since else 0
    until = moment(arguments.until, now, zone) if arguments.until else 2**62
    if arguments.lines < 1:
        raise UsageError("--lines needs a number above 0.")
    verb = str(arguments.verb or "")

    def wanted(i: Interaction) -> bool:
        return (
            i.verb.startswith(verb)
            and (arguments.scope is None or i.scope == arguments.scope)
            and i.at <= until
        )

    return anyio.run(_log, path, wanted, since, arguments.lines, zone, arguments.json, masker)


def _state(options: app.Options) -> Path:
    """The state folder that `relay up` with the same options would use, without making it."""
    if options.state is not None:
        return options.state
    return app.settled_state(options)


def moment(text: str, now_ms: int, zone: tzinfo) -> int:
    """`10m` (ago) or a local date and time, as UTC milliseconds. Raises `UsageError`."""
    ago = _AGO.match(text)
    if ago is not None:
        return now_ms - int(ago[1]) * _SECONDS[ago[2]] * 1000
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is no time.", "Write 10m or 2h (ago), or 2026-12-01T09:30.") from error
    return int((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000)


async def _log(
    path: Path,
    wanted: Callable[[Interaction], bool],
    since: int,
    most: int,
    zone: tzinfo,
    as_json: bool,
    masker: Masker,
) -> int:
    store = await SqliteStore.open_readonly(path)
    found: list[Interaction] = []
    try:
        before = store.head + 1
        while len(found) < most:
            page = await store.read_back(before, PAGE)
            # Stamps follow the order of records but for a clock set back: a page of older ones ends the reading.
            fresh = [i for i in page if i.at >= since]
            found += [i for i in fresh if wanted(i)]
            if not page or not fresh:
                break
            before = page[-1].seq
        gone = await redactions(store, found[:most], zone)
    finally:
        await store.close()
    for i in reversed(found[:most]):
        print(masker.mask(_json(i) if as_json else line(i, zone) + gone.get(i.id, "")))
    if not found:
        print("(nothing matches)", file=sys.stderr)
    return Exit.FINE


async def _why(path: Path, target: str, zone: tzinfo, masker: Masker) -> int:
    store = await SqliteStore.open_readonly(path)
    try:
        found = await find(store, target, SURFACES)
        links = await chain_of(store, target, SURFACES)
        gone = await redactions(store, [link.interaction for link in links], zone)
    finally:
        await store.close()
    if not links:
        raise RelayError(
            f"nothing in {path} is known as {target[:80]!r}.",
            "Give 4 or more letters of an id (`relay log` shows them), or a message such as web:m17.",
        )
    if len(found) > 1 and links[0].interaction.id.startswith(target.lower()):
        print(f"({len(found)} ids begin with {target}; this is the newest)")
    for link in links:
        print(masker.mask(told(link, zone) + gone.get(link.interaction.id, "")))
    return Exit.FINE


async def redactions(store: SqliteStore, found: Sequence[Interaction], zone: tzinfo) -> dict[str, str]:
    """For each that is redacted: by whom and when."""
    said: dict[str, str] = {}
    for i in found:
        by = await store.by_outside(f"redacted:{i.id}") if i.redacted else []
        if by:
            at = datetime.fromtimestamp(by[-1].at / 1000, UTC).astimezone(zone)
            said[i.id] = f" by {texts.inline(str(by[-1].body.get('by', '?')))} on {at:%Y-%m-%d %H:%M}"
    return said


def line(i: Interaction, zone: tzinfo) -> str:
    """One interaction in one line of a terminal."""
    at = datetime.fromtimestamp(i.at / 1000, UTC).astimezone(zone)
    return f"{at:%Y-%m-%d %H:%M:%S}  {i.id[:8]}  {i.scope or '-':<14}  {i.verb:<20}  {tell(i)}"


def told(link: Link, zone: tzinfo) -> str:
    """One link of a chain, indented by its depth."""
    i = link.interaction
    at = datetime.fromtimestamp(i.at / 1000, UTC).astimezone(zone)
    mark = "" if link.depth == 0 else "  " * min(link.depth - 1, 20) + "└ "
    return f"{mark}{at:%H:%M:%S}  {i.id[:8]}  {i.verb}  {tell(i)}  [{texts.inline(i.actor)}]"


def _json(i: Interaction) -> str:
    return orjson.dumps(
        {
            "seq": i.seq,
            "id": i.id,
            "key": i.key,
            "verb": i.verb,
            "actor": i.actor,
            "role": i.role,
            "scope": i.scope,
            "caused_by": list(i.caused_by),
            "at": i.at,
            "redacted": i.redacted,
            "payload": None if i.raw is None else dict(i.body),
        }
    ).decode()

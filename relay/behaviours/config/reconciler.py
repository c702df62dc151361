"""Takes up access.json: at boot, and again whenever the file changes. A broken file keeps the last good copy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio.to_thread

from relay import texts_of_the_start
from relay.behaviours.config.verbs import Budgets, ConfigLoaded, RoomRules
from relay.config import Access, ConfigWatch, Loaded
from relay.errors import ConfigError, StoreUnavailable
from relay.ledger.interaction import Draft
from relay.parts import Parts

LOOK_EVERY_S = 2.0

log = logging.getLogger("relay.config")


def loaded(access: Access, *, boot: str, count: int, digest: str, zone: str) -> Draft:
    """What rules need of a load, as the record of it. No secret stands in it: access.json only names them."""
    payload = ConfigLoaded(
        boot=boot,
        count=count,
        digest=digest,
        zone=zone,
        rooms={
            room: RoomRules(
                label=rules.label,
                agent=rules.agent,
                busy=rules.busy,
                approvers=tuple(rules.approvers),
                watches=tuple(_plain(fields) for fields in rules.watches),
            )
            for room, rules in access.rooms.items()
        },
        # On the page a person without an id of their own there is meant by their name.
        people={name: {"web": name} | person.ids() for name, person in access.people.items()},
        approval_ms=access.limits.approval,
        queue=access.limits.queue,
        agents=access.limits.agents,
        watches=access.limits.watches,
        budgets=Budgets(
            thread_per_hour=access.budgets.thread.turns_per_hour,
            room_per_hour=access.budgets.room.turns_per_hour,
            day=access.budgets.day.turns,
            day_tokens=access.budgets.day.tokens or 0,
            watch_per_hour=access.budgets.watch_fires_per_hour,
        ),
    )
    return Draft.of(payload, boot, count, actor="relay", caused_by=())


def _plain(fields: Any) -> dict[str, Any]:
    return dict(fields)


class ConfigTaker:
    """Looks at the file every two seconds (a stat), and takes a changed one up without a restart."""

    def __init__(
        self, parts: Parts, watch: ConfigWatch, zone: str, *, on_taken: Callable[[Access], list[str]]
    ) -> None:
        """`on_taken` is told of each good copy before it is recorded, and answers with what is to be said of it; a
        `ConfigError` from it refuses the copy."""
        self._parts = parts
        self._on_taken = on_taken
        self._watch = watch
        self._zone = zone
        self._count = 0
        self.trouble = ""

    async def run(self) -> None:
        while True:
            await self._parts.clock.sleep(LOOK_EVERY_S)
            found = await anyio.to_thread.run_sync(self._watch.poll)  # a large file takes a while to read
            if found is None:
                continue
            if isinstance(found, ConfigError):
                self.trouble = texts_of_the_start.config_mistake(str(found))
                log.error("%s", self.trouble)
                continue
            try:
                said = self._on_taken(found.access)
            except ConfigError as error:
                self.trouble = str(error)
                continue
            self.trouble = "; ".join([*found.said, *said])
            self._count += 1
            self._parts.current.access = found.access
            await self._record(found)

    async def _record(self, found: Loaded) -> None:
        """Record the copy in force. On a full disk it waits for room: the file is not told of twice."""
        draft = loaded(
            found.access, boot=self._parts.boot, count=self._count, digest=found.digest, zone=self._zone
        )
        while True:
            try:
                await self._parts.engine.admit(draft)
                return
            except StoreUnavailable as error:
                log.warning("the new access.json is not recorded yet: %s", error)
                await self._parts.clock.sleep(LOOK_EVERY_S)

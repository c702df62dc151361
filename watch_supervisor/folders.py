"""Who wants to know of a change to which name: all file watches on one inotify instance.

It wakes listeners and never looks at a file. Where there is no inotify (macOS, or no instance left), or a
folder can't be watched, `listen` answers False and the listener has to look for itself.
"""

from collections.abc import Callable, Iterable

import anyio

from watch_supervisor.inotify import CONTENT, IGNORED, NAMES, Q_OVERFLOW, WHOLE_FOLDER, Inotify, open_inotify
from watch_supervisor.places import Link

Wake = Callable[[], None]
Place = tuple[int, str]


class Folders:
    """The shared instance. Use as a context; `run` hands out what happens."""

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._names: dict[int, dict[str, set[Wake]]] = {}
        self._places: dict[Wake, frozenset[Place]] = {}

    def __enter__(self) -> "Folders":
        self._inotify = open_inotify()
        return self

    def __exit__(self, *_: object) -> None:
        if self._inotify is not None:
            self._inotify.close()
        self._inotify = None
        self._names.clear()
        self._places.clear()

    def listen(self, wake: Wake, links: Iterable[Link]) -> tuple[bool, bool]:
        """Call `wake` when one of `links` may have changed, instead of what it listened to before.

        Answers (complete, new): whether every one of them is watched, and whether any wasn't before: then
        something may have happened since the listener last looked.
        """
        if self._inotify is None:
            return False, False
        complete = True
        wanted: set[Place] = set()
        for link in links:
            try:
                wd = self._inotify.add(link.folder, CONTENT if link.leaf else NAMES)
            except OSError:
                complete = False
                continue
            self._names.setdefault(wd, {}).setdefault(link.name, set()).add(wake)
            wanted.add((wd, link.name))
        before = self._places.get(wake, frozenset())
        self._places[wake] = frozenset(wanted)
        for place in before - wanted:
            self._drop(place, wake)
        return complete, bool(wanted - before)

    def forget(self, wake: Wake) -> None:
        """Never call `wake` again."""
        for place in self._places.pop(wake, frozenset()):
            self._drop(place, wake)

    async def run(self) -> None:
        """Wake listeners until cancelled."""
        if self._inotify is None:
            await anyio.sleep_forever()
            return
        while True:
            await anyio.wait_readable(self._inotify.fd)
            for wake in self._woken(self._inotify):
                wake()

    def _woken(self, inotify: Inotify) -> set[Wake]:
        woken: set[Wake] = set()
        for event in inotify.read():
            if event.mask & Q_OVERFLOW:
                return set(self._places)
            names = self._names.get(event.wd)
            if names is None:
                continue
            if event.mask & WHOLE_FOLDER and not event.name:
                for listeners in names.values():
                    woken |= listeners
                if event.mask & IGNORED:
                    self._gone(event.wd)
            else:
                woken |= names.get(event.name, set())
        return woken

    def _gone(self, wd: int) -> None:
        """The kernel dropped this folder; its listeners will ask again."""
        names = self._names.pop(wd, {})
        for name, listeners in names.items():
            for wake in listeners:
                self._places[wake] = self._places.get(wake, frozenset()) - {(wd, name)}

    def _drop(self, place: Place, wake: Wake) -> None:
        wd, name = place
        names = self._names.get(wd)
        if names is None:
            return
        listeners = names.get(name, set())
        listeners.discard(wake)
        if not listeners:
            names.pop(name, None)
        if not names:
            del self._names[wd]
            if self._inotify is not None:
                self._inotify.remove(wd)

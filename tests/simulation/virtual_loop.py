"""An event loop on virtual time, on which a whole life of the process can be frozen or killed.

Waiting costs nothing: when nothing is ready, the clock jumps to the next timer. Every callback belongs to a life (a
context variable that its tasks inherit). A frozen life's callbacks are put aside until it thaws, as after SIGSTOP; a
dead one's for good, as after SIGKILL: no `finally` and no `except` of it runs any more.

What would make two runs of a seed differ is taken away here: worker threads (they run at once, in the loop), sets of
tasks and cancel scopes ordered by address, and the machine's clock.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio._backends import _asyncio as backend


@dataclass(eq=False, slots=True)
class Life:
    """One process, from its start to its end."""

    number: int
    frozen: bool = False
    dead: bool = False
    parked: list[asyncio.Handle] = field(default_factory=list[asyncio.Handle])
    tasks: list[asyncio.Task[Any]] = field(default_factory=list[asyncio.Task[Any]])


LIFE: ContextVar[Life | None] = ContextVar("life", default=None)


def _held(handle: asyncio.Handle) -> bool:
    """Whether the callback may not run and was put aside (for good, unless its life thaws)."""
    life = handle._context.get(LIFE)  # type: ignore[attr-defined]
    if life is None or not (life.frozen or life.dead):
        return False
    life.parked.append(handle)
    return True


class _Handle(asyncio.Handle):
    __slots__ = ()

    def _run(self) -> None:
        if not _held(self):
            super()._run()


class _Timer(asyncio.TimerHandle):
    __slots__ = ()

    def _run(self) -> None:
        if not _held(self):
            super()._run()


class _Task(asyncio.Task[Any]):
    """A task with a number for a hash: sets of tasks are walked in the same order on every run."""

    def __init__(self, coro: Coroutine[Any, Any, Any], *, number: int, **rest: Any) -> None:
        self._number = number
        super().__init__(coro, **rest)
        self._log_destroy_pending = False  # those of a killed life never end

    def __hash__(self) -> int:
        return self._number


class _Jump(selectors.SelectSelector):
    """Moves the clock to the next timer instead of waiting. No file is ever ready: nothing here listens to one."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout > 0:
            self.loop.jump()
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._now = 0.0
        self._numbers = itertools.count(1)
        selector = _Jump()
        super().__init__(selector)
        selector.loop = self
        self.set_task_factory(_make_task)

    def time(self) -> float:
        return self._now

    def jump(self) -> None:
        """Move to the next timer that was not cancelled (asyncio strips those before it asks)."""
        if not self._scheduled:  # type: ignore[attr-defined]
            raise RuntimeError("nothing is ready and no timer is set: the simulation stands still")
        self._now = max(self._now, self._scheduled[0]._when)  # type: ignore[attr-defined]

    def _call_soon(self, callback: Any, args: Any, context: Any) -> asyncio.Handle:
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]
        return handle

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        return self._call_soon(callback, args, context)  # there are no other threads

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        timer = _Timer(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        return self.call_at(self._now + delay, callback, *args, context=context)

    def thaw(self, life: Life) -> None:
        """Let a frozen life go on, with everything that it should have done meanwhile."""
        life.frozen = False
        parked, life.parked = life.parked, []
        self._ready.extend(parked)  # type: ignore[attr-defined]

    def begin(self, life: Life, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """The first task of a life; what it starts belongs to the life as well."""
        context = Context()
        context.run(LIFE.set, life)
        return self.create_task(coro, context=context)

    def outside(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call it later, for the world: whatever becomes of the life that asked."""
        self.call_later(seconds, callback, context=Context())


def _make_task(loop: VirtualLoop, coro: Any, **rest: Any) -> asyncio.Task[Any]:
    task = _Task(coro, loop=loop, number=next(loop._numbers), **rest)
    context = rest.get("context")
    life = LIFE.get() if context is None else context.get(LIFE)
    if life is not None:
        life.tasks.append(
            task
        )  # held on to: a killed life's tasks must not be torn down by their last reference
    return task


class _Scope(backend.CancelScope):
    """A cancel scope with a number for a hash, as for tasks."""

    __slots__ = ("_number",)

    def __init__(self, *args: Any, **rest: Any) -> None:
        loop = asyncio.get_running_loop()
        self._number = next(loop._numbers)  # type: ignore[attr-defined]
        super().__init__(*args, **rest)

    def __hash__(self) -> int:
        return self._number


async def _at_once(function: Callable[..., Any], *args: Any, **_: Any) -> Any:
    await anyio.lowlevel.checkpoint()
    return function(*args)


@contextmanager
def one_thread() -> Iterator[None]:
    """Work for worker threads is done at once, in the loop; scopes are numbered."""
    with ExitStack() as patches:
        patches.enter_context(patch.object(anyio.to_thread, "run_sync", _at_once))
        patches.enter_context(patch.object(anyio.from_thread, "check_cancelled", lambda: None))
        patches.enter_context(patch.object(backend, "CancelScope", _Scope))
        yield


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run it to its end on a loop of its own."""
    with one_thread():
        return anyio.run(main, backend="asyncio", backend_options={"loop_factory": VirtualLoop})

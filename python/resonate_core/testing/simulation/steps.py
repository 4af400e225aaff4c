"""Callbacks, timers, tasks and futures of the event loop of a simulation."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .incarnation import Incarnation

__all__ = [
    "NEVER",
    "PipeCallback",
    "SimulatedFuture",
    "SimulatedTask",
    "Step",
    "Timer",
    "called",
    "microseconds",
    "named",
    "number_anew",
    "run_into",
]

#: A timer that is later does not run: what waits for ever waits so (microseconds).
NEVER = 1 << 61

_numbers = itertools.count(1)


def number_anew() -> None:
    """Number tasks and futures from the beginning: a run begins."""
    global _numbers
    _numbers = itertools.count(1)


def called(function: Any, args: tuple[Any, ...]) -> str:
    """The name of what a thread would have run."""
    while isinstance(function, functools.partial):
        function, args = function.func, (*function.args, *args)
    if getattr(function, "__qualname__", "") == "Context.run" and args:  # of asyncio.to_thread
        return called(args[0], args[1:])
    return getattr(function, "__qualname__", type(function).__name__)


def named(step: asyncio.Handle) -> str:
    """Return the name of a callback, for traces."""
    name = called(step._callback, ())  # type: ignore[attr-defined]
    return f"{step.incarnation.name}:{name}"  # type: ignore[attr-defined]


def microseconds(seconds: float) -> int:
    """Microseconds, rounded up. A positive time is at least one, so that what waits for an instant is not woken before it for ever."""
    if seconds <= 0:
        return 0
    return max(1, math.ceil(seconds * 1_000_000 - 0.001)) if seconds < NEVER / 1_000_000 else NEVER


def run_into(future: asyncio.Future[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Run a function, and end a future with its result or its exception."""
    if future.cancelled():
        return
    try:
        result = function(*args)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


class SimulatedFuture(asyncio.Future[Any]):
    """A future whose hash is a number in order of creation, so that sets of futures have one order."""

    def __hash__(self) -> int:
        try:
            return self._order
        except AttributeError:
            self._order: int = next(_numbers)
            return self._order


class SimulatedTask(asyncio.Task[Any]):
    """A task whose hash is a number in order of creation, so that sets of tasks have one order.

    Attributes:
        label: The name in traces.
        incarnation: Of the process that it belongs to.
    """

    def __init__(self, coro: Any, label: str, incarnation: Incarnation, **options: Any) -> None:
        self.label = label  # before its first step is scheduled
        self.incarnation = incarnation
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        try:
            return self._order
        except AttributeError:
            self._order: int = next(_numbers)
            return self._order


class Step(asyncio.Handle):
    """A callback that is ready, or waits in the line of its process."""

    __slots__ = ("apart", "incarnation", "name", "number")

    def __init__(
        self, callback: Callable[..., Any], args: tuple[Any, ...], loop: Any, context: contextvars.Context, incarnation: Incarnation
    ) -> None:
        self._callback = callback  # as asyncio.Handle does
        self._args = args
        self._loop = loop
        self._context = context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self.incarnation = incarnation
        self.number = 0
        task = getattr(callback, "__self__", None)
        if isinstance(task, asyncio.Task):
            self.apart = True
            self.name = task.label if isinstance(task, SimulatedTask) else task.get_name()
        else:
            self.apart = False
            self.name = incarnation.line_name

    def __lt__(self, other: Step) -> bool:
        return self.number < other.number

    def cancel(self) -> None:
        """Do not run it."""
        if not self._cancelled:
            super().cancel()
            self._loop.step_cancelled(self)


class Timer(asyncio.TimerHandle):
    """A callback with an instant, in microseconds of the loop."""

    __slots__ = ("at", "incarnation")

    def __init__(
        self,
        at: int,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        loop: Any,
        context: contextvars.Context,
        incarnation: Incarnation,
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context
        self._cancelled = False
        self._repr = None
        self._source_traceback = None
        self._scheduled = True
        self._when = at / 1_000_000
        self.at = at
        self.incarnation = incarnation

    def cancel(self) -> None:
        """Do not run it."""
        if not self._cancelled:
            asyncio.Handle.cancel(self)


class PipeCallback:
    """A callback of a pipe."""

    __slots__ = ("args", "callback", "context", "descriptor", "loop", "pending")

    def __init__(self, loop: Any, descriptor: int, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.loop = loop
        self.descriptor = descriptor
        self.callback = callback
        self.args = args
        self.context = contextvars.copy_context()
        self.pending = False

    def __call__(self) -> None:
        """Call back, unless the reader was removed meanwhile."""
        self.pending = False
        if self.loop.reads(self):
            self.callback(*self.args)

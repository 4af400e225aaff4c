"""An asyncio event loop that runs one ready callback at a time, in an order that is drawn, and whose time is a `ManualClock`.

There is no selector and no thread. If nothing is ready, time jumps to the next timer of the loop or the next step of the store,
whichever is earlier. Each task of asyncio may be the next to run; other callbacks of one process run in the order in which they were
scheduled, as asyncio promises.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import heapq
import itertools
import os
import select
import stat
import sys
import threading
from bisect import insort
from collections.abc import Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ...calls.wakeup import Wakeup
from .errors import NotSimulated
from .incarnation import Incarnation, current_incarnation
from .machine import NoMachine
from .steps import (
    NEVER,
    PipeCallback,
    SimulatedFuture,
    SimulatedTask,
    Step,
    Timer,
    called,
    microseconds,
    named,
    number_anew,
    run_into,
)

if TYPE_CHECKING:
    from ..._core import ManualClock, Store
    from ..choices import Choices

__all__ = ["SimulationLoop"]

_T = TypeVar("_T")

#: The steps after which the youngest garbage is collected. Otherwise the collector does not run: it may call functions of the program.
_COLLECT_AFTER = 50_000


class SimulationLoop(NoMachine):
    """A deterministic event loop in virtual time.

    Args:
        choices: Draws which callback is the next.
        clock: The time.
        store: Returns the store whose due steps are run.
        incarnation: What code outside of every process belongs to.
        most_steps: The largest number of steps of a run.

    Attributes:
        steps: The number of callbacks that have run.
        trace: What ran, in order: texts, and pairs of an instant and a name.
        changed: Set when the store may have written to a pipe.
        after: Called after each step; None: nothing.
    """

    #: Whether the loop moves the store's clock: parts that otherwise poll a manual clock wait for commits.
    moves_clock = True

    def __init__(
        self,
        choices: Choices,
        clock: ManualClock,
        store: Callable[[], Store[Any]],
        incarnation: Incarnation,
        most_steps: int = 1_000_000,
    ) -> None:
        super().__init__()
        number_anew()
        self._pick = choices.pick
        self._clock = clock
        self._start = clock.now
        self._store = store
        self._micros = 0
        self._ready: list[Step] = []
        self._timers: list[tuple[int, int, Timer]] = []
        self._number = itertools.count(1)
        self._task_number = itertools.count(1)
        self._outside = incarnation
        self._readers: dict[int, PipeCallback] = {}
        self._left: list[PipeCallback] = []  # of processes that have crashed
        self._poll: Any = None
        self._most_steps = most_steps
        self._thread = threading.get_ident()
        self._task_factory: Any = None
        self.steps = 0
        self.trace: list[Any] = []
        self.changed = False
        self.incarnation = incarnation  # of the callback that runs
        self.after: Callable[[], None] | None = None
        self.idle: Callable[[], int | None] | None = None

    def __repr__(self) -> str:
        return f"<SimulationLoop at {self.time()} s, {self.steps} steps>"

    # -- time -----------------------------------------------------------------------------------------------------------

    @property
    def micros(self) -> int:
        """The time since the loop was made, in microseconds. The store's clock has its whole milliseconds, and may be moved by others."""
        passed = (self._clock.now - self._start) * 1000
        if passed > self._micros:
            self._micros = passed
        return self._micros

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self.micros / 1_000_000

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self._timer(self.micros + microseconds(delay), callback, args, context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        now = self.micros
        return self._timer(now + microseconds(when - now / 1_000_000), callback, args, context)

    def _timer(
        self, at: int, callback: Callable[..., Any], args: tuple[Any, ...], context: contextvars.Context | None
    ) -> asyncio.TimerHandle:
        if context is None:
            context = contextvars.copy_context()
        timer = Timer(at, callback, args, self, context, context.get(current_incarnation, self._outside))
        if at < NEVER and not timer.incarnation.dead:
            heapq.heappush(self._timers, (at, next(self._number), timer))
        return timer

    # -- what is ready --------------------------------------------------------------------------------------------------

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if self._closed:
            raise RuntimeError("the event loop is closed")
        if context is None:
            context = contextvars.copy_context()
        step = Step(callback, args, self, context, context.get(current_incarnation, self._outside))
        self._add(step)
        return step

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            raise NotSimulated("a thread that calls into the event loop")
        return self.call_soon(callback, *args, context=context)

    def call_apart(self, name: str, callback: Callable[..., Any], *args: Any) -> asyncio.Handle:
        """Run a callback like a task of its own, in any order with those of its process."""
        context = contextvars.copy_context()
        step = Step(callback, args, self, context, context.get(current_incarnation, self._outside))
        step.apart = True
        step.name = name
        self._add(step)
        return step

    def _add(self, step: Step) -> None:
        incarnation = step.incarnation
        if incarnation.dead:
            return
        step.number = next(self._number)
        if step.apart:
            self._ready.append(step)
        elif incarnation.line_busy:
            incarnation.line.append(step)
        else:
            incarnation.line_busy = True
            self._ready.append(step)

    def _leave_line(self, incarnation: Incarnation) -> None:
        """The first of the line has run, or was cancelled: the next one is ready."""
        while incarnation.line:
            step = incarnation.line.popleft()
            if not step._cancelled:
                insort(self._ready, step)
                return
        incarnation.line_busy = False

    def step_cancelled(self, step: Step) -> None:
        """Take out a step that was cancelled while it was ready."""
        try:
            self._ready.remove(step)
        except ValueError:
            return
        if not step.apart:
            self._leave_line(step.incarnation)

    def drop(self, incarnation: Incarnation) -> None:
        """Forget what an incarnation has scheduled: it is over."""
        self._ready = [step for step in self._ready if step.incarnation is not incarnation]
        self._timers = [each for each in self._timers if each[2].incarnation is not incarnation]
        heapq.heapify(self._timers)
        incarnation.line.clear()
        for descriptor, reader in list(self._readers.items()):
            if reader.context.get(current_incarnation) is incarnation:
                self.remove_reader(descriptor)
                self._left.append(reader)

    # -- run ------------------------------------------------------------------------------------------------------------

    def run_step(self) -> bool:
        """Run one callback that is ready. Returns whether there was one."""
        ready = self._ready
        if self.changed and self._readers:
            self._look_at_pipes()
        if not ready:
            return False
        if len(ready) == 1:
            step = ready.pop()
        else:
            at = self._pick(range(len(ready)), "schedule", [step.name for step in ready])
            step = ready.pop(at)
        incarnation = step.incarnation
        if not step.apart:
            self._leave_line(incarnation)
        self.steps += 1
        self.trace.append((self._micros, step.name if step.apart else named(step)))
        self.incarnation = incarnation
        try:
            step._context.run(step._callback, *step._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.call_exception_handler({"message": f"a callback of {incarnation.name} raised", "exception": error, "handle": step})
        self.incarnation = self._outside
        if incarnation.dying and not incarnation.dead:
            incarnation.end()
        if self.after is not None:
            self.after()
        if self.steps % _COLLECT_AFTER == 0:
            gc.collect(1)
        return True

    def pass_time(self) -> bool:
        """Move time to whatever happens next. Returns whether anything will."""
        self._look_at_pipes()
        if self._ready:
            return True
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        target = timers[0][0] if timers else None
        due = self._store().next_due()
        if due is not None:
            micros = (due - self._start) * 1000
            target = micros if target is None or micros < target else target
        if self.idle is not None and (other := self.idle()) is not None:
            micros = other * 1000
            target = micros if target is None or micros < target else target
        if target is None:
            return False
        now = self.micros
        if target > now:
            self._micros = target
        at = self._start + self._micros // 1000
        if (due is not None and due <= at) or at > self._clock.now:
            self._clock.advance_to(max(at, self._clock.now))
            self.changed = True
        self._fire()
        self.steps += 1
        if self.after is not None:
            self.after()
        return True

    def _fire(self) -> None:
        timers, now = self._timers, self._micros
        while timers and timers[0][0] <= now:
            timer = heapq.heappop(timers)[2]
            if not timer._cancelled:
                self._add(Step(timer._callback, timer._args, self, timer._context, timer.incarnation))  # type: ignore[arg-type]

    def run_while(self, going: Callable[[], bool], stuck: Callable[[], None]) -> None:
        """Run callbacks, and pass time, as long as a condition holds.

        Args:
            going: The condition.
            stuck: Called if nothing will ever happen again; it raises, or schedules a callback.
        """
        with self._inside():
            while going():
                if self.run_step():
                    if self.steps > self._most_steps:
                        raise RuntimeError(
                            f"the run took more than {self._most_steps} steps, up to t={self._clock.now}: a process that never waits, "
                            "or a scenario that needs a larger most_steps"
                        )
                elif not self.pass_time():
                    stuck()
                if self.steps > self._most_steps * 2:
                    raise RuntimeError(f"time is passed again and again at t={self._clock.now}")

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Be the running loop of this thread. One that runs already, such as that of a notebook, waits meanwhile."""
        outer = asyncio.events._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        collects = gc.isenabled()
        gc.disable()
        asyncio.events._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._end_generator)
        self._running = True
        try:
            yield
        finally:
            self._running = False
            sys.set_asyncgen_hooks(*hooks)
            asyncio.events._set_running_loop(outer)
            if collects:
                gc.enable()

    def _end_generator(self, generator: Any) -> None:
        """As asyncio does for an asynchronous generator that is freed before its end."""
        if self._running:
            self.call_soon(self._close_generator, generator)

    def _close_generator(self, generator: Any) -> None:
        self.create_task(generator.aclose())

    # -- pipes ----------------------------------------------------------------------------------------------------------

    def _look_at_pipes(self) -> None:
        self.changed = False
        if not self._readers:
            return
        for descriptor, _ in sorted(self._poll.poll(0)):
            reader = self._readers.get(descriptor)
            if reader is not None and not reader.pending:
                reader.pending = True
                self.call_soon(reader, context=reader.context)

    def reads(self, reader: PipeCallback) -> bool:
        """Whether a reader has not been removed."""
        return self._readers.get(reader.descriptor) is reader

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        """Call back when a pipe of this process can be read. Pipes are the only descriptors that a simulation has."""
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise NotSimulated("a descriptor that is no pipe, in loop.add_reader")
        if self._poll is None:
            self._poll = select.poll()
        self._readers[descriptor] = PipeCallback(self, descriptor, callback, args)
        self._poll.register(descriptor, select.POLLIN)
        self.changed = True

    def remove_reader(self, fd: Any) -> bool:
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        if self._readers.pop(descriptor, None) is None:
            return False
        self._poll.unregister(descriptor)
        return True

    # -- asyncio --------------------------------------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        return SimulatedFuture(loop=self)

    def create_task(
        self, coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T], *, name: object = None, context: Any = None, **options: Any
    ) -> asyncio.Task[_T]:
        if context is not None:
            options["context"] = context
        incarnation = current_incarnation.get(self._outside) if context is None else context.get(current_incarnation, self._outside)
        label = f"{incarnation.name}:{getattr(coro, '__qualname__', type(coro).__name__)}#{next(self._task_number)}"
        if self._task_factory is not None:
            made: asyncio.Task[_T] = self._task_factory(self, coro, **options)
            if name is not None:
                made.set_name(str(name))
            return made
        return SimulatedTask(coro, label, incarnation, loop=self, name=label if name is None else str(name), **options)

    def set_task_factory(self, factory: Any) -> None:
        self._task_factory = factory

    def get_task_factory(self) -> Any:
        return self._task_factory

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., _T], *args: Any
    ) -> asyncio.Future[_T]:
        """Run a function as one step, whatever the executor: there are no threads in a simulation."""
        run = getattr(executor, "run_in_simulation", None)
        if run is not None:
            made: asyncio.Future[_T] = run(self, func, args)
            return made
        future = self.create_future()
        self.call_apart(f"{current_incarnation.get(self._outside).name}:{called(func, args)}", run_into, future, func, args)
        return future

    def close(self) -> None:
        super().close()
        self._ready.clear()
        self._timers.clear()
        for reader in (*self._left, *self._readers.values()):
            wakeup = getattr(reader.callback, "__self__", None)
            if isinstance(wakeup, Wakeup):
                wakeup.close()  # not when its circle is found: a search makes thousands of runs, each with pipes
        self._left.clear()
        self._readers.clear()

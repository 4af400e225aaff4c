"""The ground of a simulated run: the store, the clock, the story, and the processes as far as others need them."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._core import ManualClock, Promise, Store
from ...errors import Invalid, NotFound
from ...worker import environment as worker_environment
from .handlers import environment_of
from .incarnation import Incarnation, current_incarnation
from .loop import SimulationLoop
from .network import Network, RequestLine
from .process_store import ProcessStore
from .spans import Span, span
from .watches import Watches

if TYPE_CHECKING:
    from ...calls.wakeup import Watching
    from ...worker.tasks import WorkerTask
    from ..choices import Choices
    from .guards import Guards
    from .http import AppServer
    from .linearizability import Histories
    from .power import StoreFile
    from .processes import Process

__all__ = ["WorldBase", "is_settled", "wake"]

#: The ends of kinds that change nothing, in lines of a recording that begin with ``{"kind":"``.
_READS = (".get", ".search", ".list", ".stats")


class _Sink:
    """Takes the recording of the store: each request and each step, with the process that caused it."""

    def __init__(self, world: WorldBase) -> None:
        self._world = world
        self._loop = world._loop

    def write(self, text: str) -> int:
        loop = self._loop
        loop.trace.append((loop.incarnation.name, text))
        kind = text[9 : text.find('"', 9)]
        if not kind.endswith(_READS):
            loop.changed = True
            self._world._touched = True
            if kind.startswith("job.complete"):
                self._world._completed(text)
        return len(text)


class WorldBase:
    """The parts of a `World` that its other parts need.

    Args:
        choices: Draws everything that may be one way or another.
        most_steps: The largest number of steps of a run.
    """

    def __init__(self, choices: Choices, *, most_steps: int = 1_000_000) -> None:
        self._choices = choices
        self.clock = ManualClock()
        self._incarnation = Incarnation("scenario")
        self._store: Store[ManualClock] | None = None
        self._loop = SimulationLoop(choices, self.clock, lambda: self.store, self._incarnation, most_steps)  # type: ignore[abstract]
        self._network = Network(self)
        self._processes: dict[str, Process] = {}
        self._lines: dict[int, tuple[Incarnation, RequestLine]] = {}
        self._stores: dict[int, ProcessStore] = {}
        self._tasks: dict[Any, WorkerTask[Any, Any]] = {}
        self._watches = Watches(self)
        self._failure: BaseException | None = None
        self._touched = False
        self._changes = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._followed: dict[str, Promise | None] = {}
        self._file: StoreFile | None = None
        self._histories: Histories | None = None
        self._servers: dict[str, AppServer] = {}
        self._serving: dict[str, AppServer] = {}
        self._numbers = 0
        self._clients: dict[str, Any] = {}  # of the SDK, by program
        self._programs: dict[str, tuple[str, Callable[[Any], Any]]] = {}
        self._at_end: list[Callable[[], object]] = []
        self._guards: Guards | None = None
        self._client_incarnation = Incarnation("client")
        self._context = contextvars.Context()  # of what belongs to no process
        self._context.run(current_incarnation.set, self._incarnation)
        self._context.run(worker_environment.default.set, environment_of(self, self._incarnation))
        self._loop.unhandled = self._unhandled

    def __repr__(self) -> str:
        return f"<World at t={self.now}: {', '.join(self._processes) or 'no processes'}>"

    @property
    def store(self) -> Store[ManualClock]:
        """The store, without faults: for the scenario and its properties. Processes get it through the network."""
        if self._store is None:
            self._open(Store(clock=self.clock, check=True))
        assert self._store is not None
        return self._store

    def _open(self, store: Store[ManualClock]) -> None:
        self._store = store
        store.record(_Sink(self))  # type: ignore[arg-type]

    @property
    def now(self) -> int:
        """The present instant, in Unix ms. A run begins at 0."""
        return self.clock.now

    async def sleep(self, length: Span) -> None:
        """Wait in the time of the simulation.

        Args:
            length: Ms, a timedelta, or text such as ``"10 days"``.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     await world.sleep("1.5 s")
            ...     return world.now
            >>> simulate(scenario).value
            1500
        """
        await asyncio.sleep(span("length", length) / 1000)

    def _later(self, length: int, function: Callable[..., object], *args: Any) -> None:
        """Call a function of the simulation itself in so many ms."""
        self._loop.call_later(length / 1000, function, *args, context=self._context)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def note(self, text: str) -> None:
        """Add a line to the story of the run.

        Args:
            text: The line.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.note("the provider is down")
            >>> simulate(scenario).story
            ['0 ms  the provider is down']
        """
        incarnation = current_incarnation.get(self._incarnation)
        self._note(text if incarnation is self._incarnation else f"{incarnation.name}: {text}")

    def _note(self, text: str) -> None:
        self._loop.trace.append((None, self.now, text))

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error

    def _unhandled(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if "handle" in context and isinstance(error, BaseException):  # a callback: it has no caller
            self._fail(error)
        elif "task" not in context and "future" not in context:  # those depend on when something is freed
            self._note(f"{context.get('message', 'an error')}: {error!r}")

    def _follow(self, id: str) -> Promise | None:
        """Return a promise as it is, or as it was settled: a job may be deleted before the scenario asks for it."""
        promise = self._followed.get(id)
        if not is_settled(promise):
            with contextlib.suppress(NotFound):
                promise = self.store.promises.get(id)
            self._followed[id] = promise
        return promise

    async def _change_after(self, seen: int, left: float | None) -> None:
        """Wait for a change of the store after those that were seen, or for so many seconds."""
        if self._changes > seen or self._touched:
            await asyncio.sleep(0)
            return
        changed = self._loop.create_future()
        self._waiting.append(changed)
        timer = None if left is None else self._loop.call_later(left, wake, changed)
        try:
            await changed
        finally:
            if timer is not None:
                timer.cancel()

    def _watch(self, incarnation: Incarnation, descriptor: int, **options: Any) -> Watching:
        return self._watches.add(incarnation, descriptor, options)

    def _wake(self, name: str) -> None:
        self._watches.wake(name)

    def _named(self, name: str) -> Process:
        if name not in self._processes:
            raise Invalid(f"name must be one of the processes {', '.join(self._processes) or '(none)'}, got {name!r}")
        return self._processes[name]

    def crash(self, name: str) -> None:
        """Crash a process: nothing of its code runs any more, no ``finally`` either. It starts again later.

        Args:
            name: Of the process.

        Example:
            >>> from resonate_core.testing import simulate
            >>> left = []
            >>> async def program(world):
            ...     try:
            ...         await world.sleep("1 day")
            ...     finally:
            ...         left.append("never")
            >>> async def scenario(world):
            ...     world.process("p", program, world)
            ...     await world.sleep("1 s")
            ...     world.crash("p")
            >>> simulate(scenario).story, left
            (['1000 ms  p: crashes'], [])
        """
        self._named(name).crash()

    def restart(self, name: str) -> None:
        """Start a process again that has crashed or ended, now.

        Args:
            name: Of the process.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     world.process("p", world.sleep, "1 day")
            ...     await world.sleep("1 s")
            ...     world.restart("p")
            >>> simulate(scenario).story
            ['1000 ms  p: crashes', '1000 ms  p: starts again']
        """
        process = self._named(name)
        process.crash()
        if process.incarnation.dead:
            process.start()

    def _crash(self, incarnation: Incarnation, why: str) -> None:
        process = self._processes.get(incarnation.name)
        if process is not None and process.incarnation is incarnation:
            process.crash(why)

    def _plan_start(self, process: Process) -> None:
        longest = self._network.faults.restart
        if longest is None:
            return
        length = self._choices.integer(1, max(1, longest), "delay")

        def start() -> None:
            if process.incarnation.dead:
                process.start()

        self._later(length, start)

    def _line(self, incarnation: Incarnation) -> RequestLine:
        found = self._lines.get(id(incarnation))
        if found is None:
            found = self._lines[id(incarnation)] = (incarnation, RequestLine(self._network, incarnation))
        return found[1]

    def _process_store(self, incarnation: Incarnation) -> ProcessStore:
        store = self._stores.get(id(incarnation))
        if store is None:
            store = self._stores[id(incarnation)] = ProcessStore(self, incarnation)
        return store

    def _forget(self, incarnation: Incarnation) -> None:
        self._watches.drop(incarnation)
        server = self._servers.get(incarnation.name)
        if server is not None and server.incarnation is incarnation:
            self._serving.pop(incarnation.name, None)
            server.end()

    def _completed(self, text: str) -> None:
        """Take a recorded completion."""


def is_settled(promise: Promise | None) -> bool:
    """Whether a promise exists and is settled."""
    return promise is not None and promise.state != "pending"


def wake(future: asyncio.Future[None]) -> None:
    """End a wait."""
    if not future.done():
        future.set_result(None)

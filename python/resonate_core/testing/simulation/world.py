"""The world of one simulated run: the store, its clock, the processes and what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import json
from datetime import timedelta
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..._core import ManualClock, Promise, Store
from ...errors import Invalid, InvariantViolation, NotFound, StoreBusy, Unreachable
from ...worker import environment as worker_environment
from ...worker.tasks import WorkerTask
from ...worker.worker import Worker
from .errors import Stuck
from .faults import Faults
from .handlers import environment_of
from .life import Life, current_life
from .linearizability import Histories
from .loop import SimulationLoop
from .network import Network, RequestLine
from .power import StoreFile
from .process_store import ProcessStore
from .processes import Process
from .properties import Properties, _Eventually
from .spans import Span, span
from .watches import Watches

if TYPE_CHECKING:
    from ..choices import Choices
    from ..._wakeup import Watching
    from .guards import Guards
    from .http import AppServer

__all__ = ["World"]

_T = TypeVar("_T")
#: Returns a worker: of the store of its process, or of nothing.
_LAST = 2**63 - 1
#: The deadline of a durable function that a scenario calls.
_YEAR = timedelta(days=365)
#: The ends of kinds that change nothing, in lines of a recording that begin with ``{"kind":"``.
_READS = (".get", ".search", ".list", ".stats")
MakeWorker = Callable[..., Worker] | Worker


class _Sink:
    """Takes the recording of the store: each request and each step, with the process that caused it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._loop = world._loop

    def write(self, text: str) -> int:
        loop = self._loop
        loop.trace.append((loop.life.name, text))
        kind = text[9 : text.find('"', 9)]
        if not kind.endswith(_READS):
            loop.changed = True
            self._world._touched = True
            if kind.startswith("job.complete"):
                self._world._completed(text)
        return len(text)


class World:
    """A simulation of a whole system, which a scenario gets: ``async def scenario(world)``.

    Processes run on a store in memory, under one `ManualClock`. Which of them goes on, and what goes wrong, is drawn from the choices of
    the run: equal choices give equal runs.

    Args:
        choices: Draws everything that may be one way or another.
        most_steps: The largest number of steps of a run.

    Attributes:
        clock: The time. It moves by itself, when nothing else can happen.

    Example:
        >>> from resonate_core.testing.simulation import simulate
        >>> async def scenario(world):
        ...     await world.sleep("10 days")
        ...     return world.now
        >>> simulate(scenario, seed=1).value
        864000000
    """

    def __init__(self, choices: Choices, *, most_steps: int = 1_000_000) -> None:
        self._choices = choices
        self.clock = ManualClock()
        self._life = Life("scenario")
        self._store: Store[ManualClock] | None = None
        self._loop = SimulationLoop(choices, self.clock, lambda: self.store, self._life, most_steps)  # type: ignore[abstract]
        self._network = Network(self)
        self._properties = Properties(self)
        self._processes: dict[str, Process] = {}
        self._lines: dict[int, tuple[Life, RequestLine]] = {}
        self._stores: dict[int, ProcessStore] = {}
        self._tasks: dict[Any, WorkerTask[Any, Any]] = {}
        self._watches = Watches(self)
        self._failure: BaseException | None = None
        self._touched = False
        self._changes = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._followed: dict[str, Promise | None] = {}
        self._file: StoreFile | None = None
        self._histories: Histories[Any] | None = None
        self._servers: dict[str, AppServer] = {}
        self._serving: dict[str, AppServer] = {}
        self._numbers = 0
        self._clients: dict[str, Any] = {}  # of the SDK, by program
        self._programs: dict[str, tuple[str, Callable[[Any], Any]]] = {}
        self._at_end: list[Callable[[], object]] = []
        self._guards: Guards | None = None
        self._client_life = Life("client")
        self._context = contextvars.Context()  # of what belongs to no process
        self._context.run(current_life.set, self._life)
        self._context.run(worker_environment.default.set, environment_of(self, self._life))
        self._loop.after = self._after_step
        self._loop.unhandled = self._unhandled
        self._loop.idle = self._next_deadline

    def __repr__(self) -> str:
        return f"<World at t={self.now}: {', '.join(self._processes) or 'no processes'}>"

    # -- store and time -------------------------------------------------------------------------------------------------

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

    def on_disk(self, durability: Literal["full", "normal"] = "full") -> None:
        """Keep the store in a file of SQLite, for `power_cut`. Call it first.

        Args:
            durability: As of `Store`.

        Raises:
            Invalid: The store is in use.
        """
        if self._store is not None and (self._processes or self._store.counts()["promises"] or self._file is not None):
            raise Invalid("on_disk must be called before the store is used: it was used already")
        if self._store is not None:
            self._store.close()
        self._file = StoreFile(self.clock, durability)
        self._at_end.append(self._file.remove)
        self._open(self._file.open())

    def power_cut(self, *names: str) -> int:
        """Cut the power of the store's machine: commits that were not synced may be gone, and the processes on it crash.

        Args:
            names: The processes on that machine; none: all processes.

        Returns:
            The number of commits that are lost. With the durability ``full`` it is 0.

        Raises:
            Invalid: The store is in memory.
        """
        if self._file is None or self._store is None:
            raise Invalid("power_cut needs a store in a file: call on_disk() first")
        for name in names or tuple(self._processes):
            self._named(name).crash("with the power of its machine")
        store, lost = self._file.cut(self._store, self._choices)
        self._note(f"the power is cut: {lost} commits were not synced and are lost")
        self._open(store)
        self._watches.reopen()
        for id in self._followed:
            self._followed[id] = None
            self._follow(id)
        return lost

    @property
    def now(self) -> int:
        """The present instant, in Unix ms. A run begins at 0."""
        return self.clock.now

    async def sleep(self, length: Span) -> None:
        """Wait in the time of the simulation.

        Args:
            length: Ms, a timedelta, or text such as ``"10 days"``.
        """
        await asyncio.sleep(span("length", length) / 1000)

    def _later(self, length: int, function: Callable[..., object], *args: Any) -> None:
        """Call a function of the simulation itself in so many ms."""
        self._loop.call_later(length / 1000, function, *args, context=self._context)

    # -- processes ------------------------------------------------------------------------------------------------------

    def worker(self, name: str, make_worker: MakeWorker, *, comes_back: bool = True) -> None:
        """Start a process that runs a `Worker`.

        Args:
            name: Of the process.
            make_worker: Returns its worker, at each start: a function of the store of the process, or of nothing. Or a worker of your
                program as it is, of which each process runs a copy.
            comes_back: Whether it starts again after a crash.

        Raises:
            Invalid: There is a process of this name.
            TypeError: It returns no `Worker`.
        """

        def begin(life: Life) -> Coroutine[Any, Any, None]:
            worker = self._made(make_worker, life)
            for task in worker.tasks.values():
                self._tasks.setdefault(task.function, task)
                self._tasks.setdefault(task.type, task)
            return worker.serve()

        self._add(name, begin, comes_back)

    def _made(self, make_worker: MakeWorker, life: Life) -> Worker:
        environment = worker_environment.default.get()
        store = self._process_store(life)
        if isinstance(make_worker, Worker):
            assert environment is not None
            worker = make_worker.copy(environment)
        else:
            worker = make_worker(store) if _takes_one(make_worker) else make_worker()
            if not isinstance(worker, Worker):
                raise TypeError(f"make_worker must return a Worker, got {worker!r}")
        if not worker.is_bound:
            worker.bind(store)
        return worker

    def program(
        self, name: str, register: Callable[[Any], Any], *, group: str = "default", comes_back: bool = True, **options: Any
    ) -> None:
        """Start a process that runs a worker of PyPI ``resonate-sdk`` (extra ``sdk``).

        Args:
            name: Of the process, and the name under which it holds leases.
            register: Called at each start with the ``Resonate`` of the process: it registers the functions.
            group: As of `resonate_core.connection.Connection`.
            comes_back: Whether it starts again after a crash.
            options: Other arguments of ``Resonate``, such as its ``retry_policy``.

        Raises:
            Invalid: There is a process of this name.
            SdkMissing: The SDK is not installed, or Python is older than 3.12.
        """
        from ...connection import Connection

        async def serve(store: Any, life: Life) -> None:
            connection = Connection(store, group, name if not life.number else f"{name} ({life.number + 1})")
            resonate = connection.resonate(**options)
            register(resonate)
            await self._loop.create_future()  # it serves until it crashes

        self._programs[name] = (group, register)
        self._add(name, lambda life: serve(self._process_store(life), life), comes_back)

    def app(self, name: str, make_app: Callable[..., Any], *, comes_back: bool = True) -> None:
        """Start a process that serves an ASGI app, such as one of FastAPI or Starlette.

        The app runs beside the store: its own calls of it have no faults, as those of a server whose disk works.

        Args:
            name: Of the process.
            make_app: Returns the app, at each start: a function of `World.store`, or of nothing.
            comes_back: Whether it starts again after a crash.

        Raises:
            Invalid: There is a process of this name.
        """
        from .http import AppServer

        def begin(life: Life) -> Coroutine[Any, Any, None]:
            made = make_app(self.store) if _takes_one(make_app) else make_app()
            server = self._servers[name] = AppServer(made, contextvars.copy_context())
            self._serving.pop(name, None)
            return server.serve(lambda: self._serving.__setitem__(name, server))

        self._add(name, begin, comes_back)

    def http(self, app: Any, *, base_url: str = "http://simulated", **options: Any) -> Any:
        """Return an ``httpx.AsyncClient`` of an app, without a socket.

        Args:
            app: The name of a process of `app`; or an ASGI app, which a process of its own then serves, and which cannot crash.
            base_url: Of the client.
            options: Other arguments of the client.

        Raises:
            Invalid: There is no such process.
        """
        import httpx

        from .http import Transport

        if self._guards is not None:
            self._guards.replace_threads_of_anyio()
        if isinstance(app, str):
            if app not in self._servers:
                raise Invalid(f"app must be a process of world.app, one of {', '.join(self._servers) or '(none)'}, got {app!r}")
            name = app
        else:
            name = f"app-{len(self._servers) + 1}"
            self.app(name, lambda: app, comes_back=False)
            self._processes[name].life.mortal = False
        return httpx.AsyncClient(transport=Transport(self, lambda: self._serving.get(name)), base_url=base_url, **options)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def process(self, name: str, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any, comes_back: bool = True) -> None:
        """Start a process that runs a coroutine function of yours.

        Args:
            name: Of the process.
            function: Called at each start, with the store of the process before `args`, if it takes that many arguments.
            args: Its other arguments.
            comes_back: Whether it starts again after a crash. One that has ended does not.

        Raises:
            Invalid: There is a process of this name.
        """
        given = _most_arguments(function)

        def begin(life: Life) -> Coroutine[Any, Any, Any]:
            if given > len(args):
                return function(self._process_store(life), *args)
            return function(*args)

        self._add(name, begin, comes_back)

    def _add(self, name: str, begin: Callable[[Life], Awaitable[Any]], comes_back: bool) -> None:
        if name in self._processes or name in ("scenario", "client"):
            raise Invalid(f"name must be one that no other process has, got {name!r}")
        process = self._processes[name] = Process(self, name, begin, comes_back)
        process.start()

    def _named(self, name: str) -> Process:
        if name not in self._processes:
            raise Invalid(f"name must be one of the processes {', '.join(self._processes) or '(none)'}, got {name!r}")
        return self._processes[name]

    def crash(self, name: str) -> None:
        """Crash a process: nothing of its code runs any more, no ``finally`` either. It comes back later.

        Args:
            name: Of the process.
        """
        self._named(name).crash()

    def restart(self, name: str) -> None:
        """Start a process again that has crashed or ended, now.

        Args:
            name: Of the process.
        """
        process = self._named(name)
        process.crash()
        if process.life.dead:
            process.start()

    def _crash(self, life: Life, why: str) -> None:
        process = self._processes.get(life.name)
        if process is not None and process.life is life:
            process.crash(why)

    def _plan_start(self, process: Process) -> None:
        longest = self._network.faults.restart
        if longest is None:
            return
        length = self._choices.integer(1, max(1, longest), "delay")

        def start() -> None:
            if process.life.dead:
                process.start()

        self._later(length, start)

    def _line(self, life: Life) -> RequestLine:
        found = self._lines.get(id(life))
        if found is None:
            found = self._lines[id(life)] = (life, RequestLine(self._network, life))
        return found[1]

    def _process_store(self, life: Life) -> ProcessStore:
        store = self._stores.get(id(life))
        if store is None:
            store = self._stores[id(life)] = ProcessStore(self, life)
        return store

    def _forget(self, life: Life) -> None:
        self._watches.drop(life)
        server = self._servers.get(life.name)
        if server is not None and server.life is life:
            self._serving.pop(life.name, None)
            server.end()

    # -- faults ---------------------------------------------------------------------------------------------------------

    def faults(self, **options: Any) -> Faults:
        """Say what goes wrong from now on, and how often.

        Args:
            options: Those of `Faults`: rates such as ``lose_reply=0.05`` and ``crash=0.02``, longest times such as
                ``restart="30 s"``, and ``processes``. What is left out stays as it is.

        Returns:
            What goes wrong now.
        """
        self._network.set(self._network.faults.with_options(**options))
        return self._network.faults

    def partition(self, *names: str, lasting: Span | None = None) -> contextlib.AbstractContextManager[None]:
        """Cut processes off from the store: none of their requests arrives.

        Args:
            names: Of the processes.
            lasting: How long: the partition begins at once, and ends by itself. None: use the result in a ``with``.
        """
        for name in names:
            self._named(name)
        if lasting is not None:
            for name in names:
                self._network.cut(name, span("lasting", lasting))
            return contextlib.nullcontext()
        return self._partitioned(names)

    @contextlib.contextmanager
    def _partitioned(self, names: tuple[str, ...]) -> Iterator[None]:
        network = self._network
        for name in names:
            network.cut_off[name] = network.cut_off.get(name, 0) + 1
            self._note(f"{name}: partitioned from the store")
        try:
            yield
        finally:
            for name in names:
                network.mend(name)

    def skew(self, name: str, ahead: Span, *, behind: bool = False) -> None:
        """Set the clock of a process ahead of the store's, or behind it.

        Args:
            name: Of the process.
            ahead: By how much.
            behind: Whether it is behind.
        """
        length = span("ahead", ahead)
        life = self._named(name).life
        life.skew = -length if behind else length
        self._note(f"{name}: its clock is {length} ms {'behind' if behind else 'ahead'}")

    # -- properties -----------------------------------------------------------------------------------------------------

    def always(self, name: str, holds: Callable[[], Any]) -> None:
        """Demand that something holds after every step.

        Args:
            name: Of the property.
            holds: Returns whether it holds. It must change nothing.
        """
        self._properties.always[name] = holds

    def eventually(self, name: str, holds: Callable[[], Any], *, within: Span) -> None:
        """Demand that something holds some time. The run goes on until it does, also if the scenario has ended.

        Args:
            name: Of the property.
            holds: Returns whether it holds.
            within: The time from now on.
        """
        length = span("within", within)
        self._properties.pending.append(_Eventually(name, holds, self.now + length, f"{length} ms"))

    def judge_histories(self) -> None:
        """At the end of the run, judge the answers that processes got from ``store.aio`` about single promises: they must be linearizable.

        Of each promise, some order of the requests must explain every answer, each request between its begin and its end. Promises
        whose deadline has passed, and those that tasks, callbacks or listeners concern, are not judged.
        """
        self._histories = Histories(lambda: self._loop.steps)

    # -- calls ----------------------------------------------------------------------------------------------------------

    async def call(self, id: str, what: Any, *args: Any, **kwargs: Any) -> None:
        """Start a durable call, as a client does: ask until the store has acknowledged it.

        Args:
            id: Of the job.
            what: A task of a worker, its function, or its type; or a function of a program of the SDK, or its name.
            args: As of the function.
            kwargs: As of the function.

        Raises:
            Invalid: No worker and no program of this simulation has it.
        """
        self._followed.setdefault(id, None)
        task = what if isinstance(what, WorkerTask) else self._tasks.get(what)
        if task is None:
            await self._call_program(id, what, args, kwargs)
            return
        payload = task.payload(task.call.payload_of(*args, **kwargs))
        options = task._merged({"id": id})
        while True:
            try:
                await self._network.call(
                    self._client_life, f"job.enqueue {id}", lambda: self.store.jobs.enqueue(task.type, payload, **options)
                )
                self._follow(id)
                return
            except (Unreachable, StoreBusy):
                await asyncio.sleep(0.1)

    async def _call_program(self, id: str, what: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Dispatch a function of the SDK, as a client of it does."""
        for name, (group, register) in self._programs.items():
            context = self._context  # without faults: a client of the SDK does not ask again
            client = self._clients.get(name)
            if client is None:
                client = self._clients[name] = context.copy().run(self._sdk_client, register)
            try:
                context.copy().run(client.options(target=group, timeout=_YEAR).rpc, id, what, *args, **kwargs)
            except Exception as error:
                if type(error).__name__ != "FunctionNotFoundError":
                    raise
                continue
            while self._follow(id) is None:
                await self._change_after(self._changes, 1.0)
            return
        raise Invalid(f"what must be a task of a worker, or a function of a program, of this simulation, its name or its type, got {what!r}")

    def _sdk_client(self, register: Callable[[Any], Any]) -> Any:
        from ...connection import Connection

        client = Connection(self._process_store(self._life), "client", "client").resonate(sources=[])  # type: ignore[arg-type]
        register(client)
        return client

    async def settled(self, id: str, *, within: Span) -> Promise:
        """Wait until a promise or a job is settled, and return its promise.

        Args:
            id: Of the promise or job.
            within: The time from now on.

        Raises:
            AssertionError: It is not settled by then.
        """
        length = span("within", within)
        until = self.now + length
        while True:
            seen = self._changes
            promise = self._follow(id)
            if promise is not None and promise.state != "pending":
                return promise
            left = until - self.now
            if left <= 0:
                raise AssertionError(f"{id!r} is not settled within {length} ms: {self._state(id, promise)}")
            due = left if promise is None else max(promise.timeout_at - self.now, 1)  # a deadline may pass without a step
            await self._change_after(seen, min(left, due) / 1000)

    def _follow(self, id: str) -> Promise | None:
        """Return a promise as it is, or as it was settled: a job may be deleted before the scenario asks for it."""
        promise = self._followed.get(id)
        if not _settled(promise):
            with contextlib.suppress(NotFound):
                promise = self.store.promises.get(id)
            self._followed[id] = promise
        return promise

    def _completed(self, text: str) -> None:
        """Remember the jobs of a recorded completion that somebody waits for: one without a retention is deleted at once."""
        for id, promise in self._followed.items():
            if not _settled(promise) and f'"id":{json.dumps(id)}' in text:
                data = json.loads(text)["res"]["data"]
                for answer in data.get("jobs", [data]) if isinstance(data, dict) else []:
                    job = answer.get("job")
                    if job is not None and job["id"] == id:
                        self._followed[id] = _promise_of(job, promise)

    def _state(self, id: str, promise: Promise | None) -> str:
        if promise is None:
            return "it does not exist"
        for read in (self.store.jobs.get, self.store.tasks.get):
            with contextlib.suppress(Exception):
                return repr(read(id))
        return repr(promise)

    async def _change_after(self, seen: int, left: float | None) -> None:
        """Wait for a change of the store after those that were seen, or for so many seconds."""
        if self._changes > seen or self._touched:
            await asyncio.sleep(0)
            return
        changed = self._loop.create_future()
        self._waiting.append(changed)
        timer = None if left is None else self._loop.call_later(left, _done, changed)
        try:
            await changed
        finally:
            if timer is not None:
                timer.cancel()

    # -- told -----------------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Add a line to the story of the run.

        Args:
            text: The line.
        """
        life = current_life.get(self._life)
        self._note(text if life is self._life else f"{life.name}: {text}")

    def _note(self, text: str) -> None:
        self._loop.trace.append((None, self.now, text))

    def _watch(self, life: Life, descriptor: int, **options: Any) -> Watching:
        return self._watches.add(life, descriptor, options)

    def _wake(self, name: str) -> None:
        self._watches.wake(name)

    # -- the run --------------------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error

    def _unhandled(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if "handle" in context and isinstance(error, BaseException):  # a callback: nobody else hears of it
            self._fail(error)
        elif "task" not in context and "future" not in context:  # those depend on when something is freed
            self._note(f"{context.get('message', 'an error')}: {error!r}")

    def _next_deadline(self) -> int | None:
        return self._properties.deadline

    def _after_step(self) -> None:
        if self._touched:
            self._touched = False
            self._changes += 1
            for id, promise in list(self._followed.items()):
                if not _settled(promise):
                    self._follow(id)
            if self._waiting:
                waiting, self._waiting = self._waiting, []
                for each in waiting:
                    _done(each)
        properties = self._properties
        try:
            if properties.always:
                properties.look()
            if properties.pending:
                properties.look_ahead()
        except Exception as error:
            self._fail(error)

    def _stuck(self) -> None:
        waited = [f"{id!r}: {self._state(id, promise)}" for id, promise in self._followed.items() if not _settled(promise)]
        raise Stuck(
            f"the scenario waits, and nothing will ever happen again after t={self.now}: no process is ready, no timer runs and no step "
            f"of the store is due{'; not settled: ' if waited else ''}{'; '.join(waited)}"
        )

    def _run(self, scenario: Callable[[World], Coroutine[Any, Any, Any]]) -> Any:
        loop = self._loop
        _ = self.store
        main = self._context.run(loop.create_task, scenario(self), name="scenario")
        loop.run_while(lambda: self._failure is None and not main.done(), self._stuck)
        if self._failure is None and main.done() and not main.cancelled() and main.exception() is None:
            loop.run_while(lambda: self._failure is None and bool(self._properties.pending), self._stuck)
        if self._failure is not None:
            raise self._failure
        value = main.result()
        if self._histories is not None:
            self._histories.judge(self._is_overdue)
        violations = self.store.check()
        if violations:
            raise InvariantViolation(violations)
        return value

    def _is_overdue(self, id: str) -> bool:
        try:
            return self.store.promises.get(id).timeout_at <= self.now
        except NotFound:
            return False

    def _end(self) -> None:
        """Let nothing of this run go on: its processes end as if they crashed."""
        loop = self._loop
        self._life.bury([task for task in asyncio.all_tasks(loop) if not task.done()])
        loop.close()
        self._watches.close()
        if self._store is not None:
            self._store.close()
        for callback in reversed(self._at_end):
            callback()


def _settled(promise: Promise | None) -> bool:
    return promise is not None and promise.state != "pending"


def _promise_of(job: dict[str, Any], before: Promise | None) -> Promise:
    """The promise of a completed job."""
    return Promise.from_dict(
        {
            "id": job["id"],
            "state": "resolved",
            "param": job.get("payload", {}),
            "value": job.get("result", {}),
            "tags": job["tags"],
            "timeoutAt": _LAST if before is None else before.timeout_at,
            "createdAt": job.get("enqueuedAt", 0),
            "settledAt": job["completedAt"],
        }
    )


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _most_arguments(function: Callable[..., Any]) -> int:
    """How many positional arguments a function takes."""
    found = 0
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.VAR_POSITIONAL:
            return 1_000_000
        found += each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    return found


def _takes_one(function: Callable[..., Any]) -> bool:
    return any(
        each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
        for each in inspect.signature(function).parameters.values()
    )


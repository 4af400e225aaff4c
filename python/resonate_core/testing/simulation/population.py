"""The processes of a simulation: workers, programs of the SDK, apps, and coroutines."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ...errors import Invalid
from ...worker import environment as worker_environment
from ...worker.worker import Worker
from .incarnation import Incarnation
from .mishaps import Mishaps
from .processes import Process

__all__ = ["MakeWorker", "Population"]

#: Returns a worker: of the store of its process, or of nothing.
MakeWorker = Callable[..., Worker] | Worker


class Population(Mishaps):
    """The processes of a simulation."""

    def worker(self, name: str, make_worker: MakeWorker, *, restarts: bool = True) -> None:
        """Start a process that runs a `Worker`.

        Args:
            name: Of the process.
            make_worker: Returns its worker, at each start: a function of the store of the process, or of nothing. Or a worker of your
                program as it is, of which each process runs a copy.
            restarts: Whether it starts again after a crash.

        Raises:
            Invalid: There is a process of this name.
            TypeError: It returns no `Worker`.

        Example:
            >>> from resonate_core.testing import simulate
            >>> from resonate_core.worker import Worker
            >>> def make_worker(store):
            ...     worker = Worker(store)
            ...     worker.task("greet")(lambda name: f"hello {name}")
            ...     return worker
            >>> async def scenario(world):
            ...     world.worker("a", make_worker)
            ...     await world.call("g1", "greet", "ada")
            ...     return (await world.settled("g1", within="1 min")).value.json()
            >>> simulate(scenario).value
            'hello ada'
        """

        def begin(incarnation: Incarnation) -> Coroutine[Any, Any, None]:
            worker = self._made(make_worker, incarnation)
            incarnation.parked = worker._parked_code
            for task in worker.tasks.values():
                self._tasks.setdefault(task.function, task)
                self._tasks.setdefault(task.type, task)
            return worker.serve()

        self._add(name, begin, restarts)

    def _made(self, make_worker: MakeWorker, incarnation: Incarnation) -> Worker:
        environment = worker_environment.default.get()
        store = self._process_store(incarnation)
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
        self, name: str, register: Callable[[Any], Any], *, group: str = "default", restarts: bool = True, **options: Any
    ) -> None:
        """Start a process that runs a worker of PyPI ``resonate-sdk`` (extra ``sdk``).

        Args:
            name: Of the process, and the name under which it holds leases.
            register: Called at each start with the ``Resonate`` of the process: it registers the functions.
            group: As of `resonate_core.connection.Connection`.
            restarts: Whether it starts again after a crash.
            options: Other arguments of ``Resonate``, such as its ``retry_policy``.

        Raises:
            Invalid: There is a process of this name.
            SdkMissing: The SDK is not installed, or Python is older than 3.12.
        """
        from ...connection import Connection

        async def serve(store: Any, incarnation: Incarnation) -> None:
            connection = Connection(store, group, name if not incarnation.number else f"{name} ({incarnation.number + 1})")
            resonate = connection.resonate(**options)
            register(resonate)
            await self._loop.create_future()  # it serves until it crashes

        self._programs[name] = (group, register)
        self._add(name, lambda incarnation: serve(self._process_store(incarnation), incarnation), restarts)

    def app(self, name: str, make_app: Callable[..., Any], *, restarts: bool = True) -> None:
        """Start a process that serves an ASGI app, such as one of FastAPI or Starlette.

        The app runs beside the store: its own calls of it have no faults, as those of a server whose disk works.

        Args:
            name: Of the process.
            make_app: Returns the app, at each start: a function of `World.store`, or of nothing.
            restarts: Whether it starts again after a crash.

        Raises:
            Invalid: There is a process of this name.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def scenario(world):
            ...     from resonate_core.asgi import create_app
            ...     world.app("server", create_app)
            ...     await world.sleep(1)
            ...     return (await world.http("server").get("/health")).status_code
            >>> simulate(scenario).value
            200
        """
        from .http import AppServer

        def begin(incarnation: Incarnation) -> Coroutine[Any, Any, None]:
            made = make_app(self.store) if _takes_one(make_app) else make_app()
            server = self._servers[name] = AppServer(made, contextvars.copy_context())
            self._serving.pop(name, None)
            return server.serve(lambda: self._serving.__setitem__(name, server))

        self._add(name, begin, restarts)

    def http(self, app: Any, *, base_url: str = "http://simulated", **options: Any) -> Any:
        """Return an ``httpx.AsyncClient`` of an app, without a socket.

        Args:
            app: The name of a process of `app`; or an ASGI app, which a process of its own then serves, and which cannot crash.
            base_url: Of the client.
            options: Other arguments of the client.

        Raises:
            Invalid: There is no such process.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def app(scope, receive, send):
            ...     await send({"type": "http.response.start", "status": 204})
            ...     await send({"type": "http.response.body"})
            >>> async def scenario(world):
            ...     client = world.http(app)
            ...     await world.sleep(1)
            ...     return (await client.get("/")).status_code
            >>> simulate(scenario).value
            204
        """
        from .http import client

        if self._guards is not None:
            self._guards.replace_threads_of_anyio()
        if isinstance(app, str):
            if app not in self._servers:
                raise Invalid(f"app must be a process of world.app, one of {', '.join(self._servers) or '(none)'}, got {app!r}")
            name = app
        else:
            name = f"app-{len(self._servers) + 1}"
            self.app(name, lambda: app, restarts=False)
            self._processes[name].incarnation.mortal = False
        return client(self, lambda: self._serving.get(name), base_url=base_url, **options)

    def process(self, name: str, function: Callable[..., Coroutine[Any, Any, Any]], *args: Any, restarts: bool = True) -> None:
        """Start a process that runs a coroutine function of yours.

        Args:
            name: Of the process.
            function: Called at each start, with the store of the process before `args`, if it takes that many arguments.
            args: Its other arguments.
            restarts: Whether it starts again after a crash. A process that has ended is not started again.

        Raises:
            Invalid: There is a process of this name.

        Example:
            >>> from resonate_core.testing import simulate
            >>> async def program(store, length):
            ...     await store.aio.promises.create("p", timeout=length)
            >>> async def scenario(world):
            ...     world.process("writer", program, 60_000)
            ...     return (await world.settled("p", within="2 min")).state, world.now
            >>> simulate(scenario).value
            ('rejected_timedout', 60000)
        """
        given = _most_arguments(function)

        def begin(incarnation: Incarnation) -> Coroutine[Any, Any, Any]:
            if given > len(args):
                return function(self._process_store(incarnation), *args)
            return function(*args)

        self._add(name, begin, restarts)

    def _add(self, name: str, begin: Callable[[Incarnation], Awaitable[Any]], restarts: bool) -> None:
        if name in self._processes or name in ("scenario", "client"):
            raise Invalid(f"name must be one that no other process has, got {name!r}")
        process = self._processes[name] = Process(self, name, begin, restarts)
        process.start()


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

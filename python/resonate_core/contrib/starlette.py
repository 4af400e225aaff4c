"""A store, a worker and a server in a Starlette app, as one lifespan that composes with others (extra ``starlette``).

Example:
    >>> from starlette.applications import Starlette
    >>> from starlette.responses import JSONResponse
    >>> from starlette.routing import Route
    >>> from starlette.testclient import TestClient
    >>> from resonate_core.contrib.starlette import Resonate, resonate_of
    >>> from resonate_core.worker import Worker
    >>> worker = Worker()
    >>> @worker.task("greet")
    ... async def greet(name):
    ...     return f"hello, {name}"
    >>> async def post(request):
    ...     job = await greet.enqueue_async("ada")
    ...     return JSONResponse({"job": job.id, "open": not resonate_of(request).store.closed})
    >>> resonate = Resonate("app.db", worker=worker)
    >>> app = Starlette(routes=[Route("/", post, methods=["POST"])], lifespan=resonate.lifespan)
    >>> with TestClient(app) as client:
    ...     client.post("/").json()["open"]
    True
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from .._core import Store
from ..base.extras import how_to_install
from ..base.log_lines import escape_lines
from ..calls.store_threads import call_apart, open_apart
from ..errors import ResonateError
from ..submission import DEFAULT_SCHEMA
from ..worker import Worker

try:
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import JSONResponse
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"resonate_core.contrib.starlette needs Starlette: {how_to_install('starlette')}", name=missing.name
    ) from missing

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send
    from typing_extensions import Unpack

    from ..asgi import (
        AuthSettings,
        DeliverySettings,
        LimitSettings,
        PushSettings,
        ResonateApp,
        ServerSettings,
        StreamSettings,
        UiSettings,
    )

__all__ = ["Lifespan", "Resonate", "ServerOptions", "State", "combine_lifespans", "resonate_of"]

_log = logging.getLogger("resonate_core.contrib")
escape_lines(_log.name)

#: Seconds after which a store that does not answer is not ready.
_READY_TIMEOUT = 5.0

#: What a lifespan yields: the attributes of `request.state`.
State = Mapping[str, Any]
#: A lifespan, as Starlette and FastAPI take it.
Lifespan = Callable[[Any], AbstractAsyncContextManager["State | None"]]


class ServerOptions(TypedDict, total=False):
    """The options of `resonate_core.asgi.create_app`."""

    server: ServerSettings | None
    auth: AuthSettings | None
    limits: LimitSettings | None
    streams: StreamSettings | None
    push: PushSettings | None
    delivery: DeliverySettings | None
    ui: UiSettings | None


class _Server:
    """The ASGI app of a mount: the server, while the lifespan runs."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.app: ResonateApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is None:
            raise RuntimeError(
                "the mounted server runs only during the lifespan of its Resonate: pass resonate.lifespan to the app"
            )
        await self.app(scope, receive, send)


class Resonate:
    """A store, and optionally a worker and a server, that live as long as an app.

    The store of a path or a URL is opened when the app starts, in the process that serves, and closed when it stops. A program that
    imports the app opens nothing, so an ASGI server may fork its workers (``gunicorn --preload``) or start them again.

    The worker runs in the event loop of the app: asynchronous functions can use what the app has in that loop (pools, clients), and
    must not block it. Other functions run in threads. When the app stops, the worker gives running jobs its ``grace`` (10 s), then
    it cancels them and puts them back, so that another worker can claim them at once.

    Args:
        store: A `Store`, which stays open when the app stops; the path of a file; or the URL of a database.
        worker: The worker whose tasks the app enqueues. It is bound to the store when the app starts.
        run_worker: Whether the worker also runs jobs in this process. False: another process does, or a test calls
            ``worker.run_until_idle()``.

    Raises:
        TypeError: `store` or `worker` is none of these.

    Example:
        >>> import asyncio
        >>> worker = rc.worker.Worker()
        >>> resonate = Resonate("app.db", worker=worker)
        >>> async def main():
        ...     async with resonate.lifespan():
        ...         return resonate.worker_runs, resonate.store.closed
        >>> asyncio.run(main())
        (True, False)
    """

    def __init__(self, store: Store | str | os.PathLike[str], *, worker: Worker | None = None, run_worker: bool = True) -> None:
        if not isinstance(store, (Store, str, os.PathLike)):
            raise TypeError(f"store must be a Store, the path of one or the URL of a database, got {type(store).__name__}")
        if worker is not None and not isinstance(worker, Worker):
            raise TypeError(f"worker must be a resonate_core.worker.Worker or None, got {type(worker).__name__}")
        self._place = store
        self._store = store if isinstance(store, Store) else None
        self._servers: list[_Server] = []
        self._running: asyncio.Task[None] | None = None
        self._entered = False
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None  # while the app runs
        self._ticking: asyncio.Future[None] | None = None
        self._tick_wanted = False
        self._schema = DEFAULT_SCHEMA
        self.worker = worker
        self.run_worker = run_worker

    def __repr__(self) -> str:
        return f"Resonate({self._place!r}, worker={self.worker!r}, run_worker={self.run_worker})"

    @property
    def store(self) -> Store:
        """The store.

        Raises:
            RuntimeError: It is a path or a URL, and the app does not run.
        """
        if self._store is None:
            raise RuntimeError(f"the store {self._place!r} is open only while the app runs: pass resonate.lifespan to the app")
        return self._store

    @property
    def schema(self) -> str:
        """The schema of a store in PostgreSQL, for `resonate_core.submit`; while the app runs. That of a file is the default."""
        return self._schema

    @property
    def worker_runs(self) -> bool:
        """Whether the worker runs in this process now."""
        return self._running is not None and not self._running.done()

    # -- life ---------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[dict[str, Any]]:
        """Open the store, serve the mounts and run the worker, until it is left: the lifespan of an app, or a part of one.

        Args:
            app: The app. `resonate_of` also finds this object through ``app.state``, if the state of a request does not have it.

        Yields:
            The state of the app's requests: ``{"resonate": self}``.

        Raises:
            StoreError: The store cannot be opened.
            Exception: What ended the worker, when the app stops.

        Example:
            >>> from contextlib import asynccontextmanager
            >>> from starlette.applications import Starlette
            >>> resonate = Resonate(rc.Store())
            >>> @asynccontextmanager
            ... async def lifespan(app):
            ...     async with resonate.lifespan(app) as state:
            ...         yield {**state, "greeting": "hello"}
            >>> app = Starlette(lifespan=lifespan)
        """
        if self._entered:
            raise RuntimeError("this Resonate runs already: make one for each app")
        self._entered = True
        try:
            async with AsyncExitStack() as life:
                await self._begin(life)
                if app is not None:
                    app.state.resonate = self
                yield {"resonate": self}
        finally:
            self._entered = False

    async def _begin(self, life: AsyncExitStack) -> None:
        """Begin each part, and have `life` end them in the opposite order: the worker drains while the server still delivers."""
        if isinstance(self._place, Store):
            store = self._place
        else:
            store = self._store = await open_apart(partial(Store, self._place))
            life.push_async_callback(self._close)
        # Read once: a property of a store waits for the call that a thread makes, which may wait for a transaction of this loop.
        self._schema = (store.url or "").rpartition("?schema=")[2] or DEFAULT_SCHEMA  # its only parameter
        for server in self._servers:
            from ..asgi import create_app  # only a mount needs the extra

            server.app = create_app(store, **server.options)
            life.callback(setattr, server, "app", None)
            await life.enter_async_context(server.app.lifespan())
        self._loop = asyncio.get_running_loop()
        life.push_async_callback(self._end_tick)
        if self.worker is not None:
            self.worker.bind(store)
            if self.run_worker:
                await life.enter_async_context(self._worker_beside(self.worker))

    async def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)

    @asynccontextmanager
    async def _worker_beside(self, worker: Worker) -> AsyncIterator[None]:
        self._stopping = False
        running = self._running = asyncio.create_task(worker.serve(), name=f"resonate worker {worker.name}")
        await asyncio.sleep(0)  # it has begun, or has failed
        if running.done():
            await running
        running.add_done_callback(self._worker_ended)
        try:
            yield
        finally:
            self._stopping = True
            worker.stop()
            try:
                await running
            finally:
                self._running = None

    def _worker_ended(self, running: asyncio.Task[None]) -> None:
        if self._stopping:
            return
        error = None if running.cancelled() else running.exception()
        _log.critical("the worker has ended, but the app runs: no job runs in this process any more", exc_info=error)

    # -- submitted requests -------------------------------------------------------------------------------------------

    def tick_soon(self) -> None:
        """Have the store run submitted requests now, beside the event loop; otherwise the worker finds them at its next claim.

        Call it after a transaction with a `resonate_core.submit` has been committed, from any thread: a ``def`` endpoint runs in one.
        It never raises, since the transaction cannot be undone: a failure is logged.

        Example:
            >>> import asyncio
            >>> resonate = Resonate(rc.Store())
            >>> async def main():
            ...     async with resonate.lifespan():
            ...         await asyncio.to_thread(resonate.tick_soon)
            >>> asyncio.run(main())
        """
        loop = self._loop
        try:
            if loop is None:
                raise RuntimeError("the app does not run")
            if _running_loop() is loop:
                self._want_tick()
            else:
                loop.call_soon_threadsafe(self._want_tick)
        except RuntimeError as error:  # so does a loop that is closed
            _log.warning("the submitted requests run with the next transaction of the store: %s", error)

    def _want_tick(self) -> None:
        self._tick_wanted = True
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.ensure_future(self._tick())

    async def _tick(self) -> None:
        """Run submitted requests, and again if others were committed meanwhile: a tick that has begun may not see them."""
        while self._tick_wanted and self._store is not None:
            self._tick_wanted = False
            try:
                await call_apart(self._store, self._store.tick)  # the program's threads may all wait for this tick
            except ResonateError as error:
                _log.warning("the store failed; the submitted requests run with its next transaction: %s", error)
            except Exception:
                _log.exception("the submitted requests run with the next transaction of the store")

    async def _end_tick(self) -> None:
        await asyncio.sleep(0)  # what other threads have asked for begins
        self._loop = None
        if self._ticking is not None:
            await asyncio.gather(self._ticking, return_exceptions=True)
            self._ticking = None

    # -- mounts and pages ---------------------------------------------------------------------------------------------

    def mount(self, app: Starlette, path: str = "/resonate", **options: Unpack[ServerOptions]) -> None:
        """Serve the store to other processes below a path of the app: the protocol, poll streams, ``/ready`` and ``/metrics``.

        It needs the extra ``server``. Without `auth` no token is required, so that all clients of the app can read and change the store.

        Args:
            app: The Starlette or FastAPI app that has this object's lifespan.
            path: Where the server is.
            options: As of `resonate_core.asgi.create_app`. Set ``server=ServerSettings(url=...)``, the URL that messages tell workers to
                call: a mounted app does not know its own.

        Raises:
            RuntimeError: The app runs already.

        Example:
            >>> from starlette.applications import Starlette
            >>> from resonate_core.asgi import ServerSettings
            >>> resonate = Resonate("shop.db")
            >>> app = Starlette(lifespan=resonate.lifespan)
            >>> resonate.mount(app, "/resonate", server=ServerSettings(url="https://shop.example/resonate"))
        """
        if self._entered:
            raise RuntimeError("mount must be called before the app starts")
        from ..asgi import create_app  # only a mount needs the extra

        create_app(self._place, **options)  # refuses an option now, not when the app starts
        server = _Server(options)
        app.mount(path, server)
        self._servers.append(server)

    async def problems(self) -> list[str]:
        """Return why the app is not ready: the store does not answer, or its worker has ended. Empty: it is ready.

        Example:
            >>> import asyncio
            >>> resonate = Resonate(rc.Store())
            >>> async def main():
            ...     async with resonate.lifespan():
            ...         return await resonate.problems()
            >>> asyncio.run(main())
            []
        """
        if not self._entered:
            return ["the app has not started, or has stopped"]
        found = []
        try:
            await asyncio.wait_for(call_apart(self.store, self.store.problems), _READY_TIMEOUT)
        except (ResonateError, asyncio.TimeoutError) as error:
            _log.warning("not ready: %s", error or f"the store did not answer within {_READY_TIMEOUT:g} s")
            found.append("the store does not answer; the app's log says why")
        if self.worker is not None and self.run_worker and not self.worker_runs:
            found.append("the worker has ended; the app's log says why")
        return found

    async def ready(self, request: Request) -> JSONResponse:
        """Answer 200 if the app is ready, else 503, for a load balancer: ``app.add_route("/ready", resonate.ready)``.

        Args:
            request: Of the load balancer.
        """
        found = await self.problems()
        return JSONResponse({"ready": not found, "problems": found}, 503 if found else 200)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop of this thread, if one runs in it."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def resonate_of(connection: HTTPConnection) -> Resonate:
    """Return the `Resonate` of a request or a web socket.

    Args:
        connection: The request or the web socket.

    Raises:
        RuntimeError: The app does not run in the lifespan of a `Resonate`.
    """
    found = connection.scope.get("state", {}).get("resonate")
    if found is None and "app" in connection.scope:
        found = getattr(connection.app.state, "resonate", None)
    if not isinstance(found, Resonate):
        raise RuntimeError(
            "the app has no Resonate: pass resonate.lifespan to the app, or enter resonate.lifespan(app) in the lifespan of the app"
        )
    return found


def combine_lifespans(*lifespans: Lifespan) -> Callable[[Any], AbstractAsyncContextManager[dict[str, Any]]]:
    """Return a lifespan that enters several, and leaves them in the opposite order.

    The states that they yield are joined. A lifespan may use what those before it have put into ``app.state``.

    Args:
        lifespans: Each as Starlette takes it. One that yields None adds nothing to the state.

    Raises:
        RuntimeError: When the app starts: two lifespans yield the same key.

    Example:
        >>> from contextlib import asynccontextmanager
        >>> from starlette.applications import Starlette
        >>> @asynccontextmanager
        ... async def database(app):
        ...     yield {"database": "a pool"}
        >>> resonate = Resonate(rc.Store())
        >>> app = Starlette(lifespan=combine_lifespans(database, resonate.lifespan))
    """

    @asynccontextmanager
    async def combined(app: Any) -> AsyncIterator[dict[str, Any]]:
        async with AsyncExitStack() as life:
            state: dict[str, Any] = {}
            for lifespan in lifespans:
                yielded = await life.enter_async_context(lifespan(app)) or {}
                if twice := sorted(state.keys() & yielded.keys()):
                    raise RuntimeError(f"lifespans must yield different keys, got {', '.join(twice)} twice")
                state.update(yielded)
            yield state

    return combined

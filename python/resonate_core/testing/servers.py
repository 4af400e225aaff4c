"""A real server for tests: uvicorn as ``resonate-core serve`` sets it up, in a thread, on a free port of 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import Store
from ..base.extras import how_to_install

if TYPE_CHECKING:
    import uvicorn

    from ..client import Client

__all__ = ["Listener", "LiveServer", "serving"]

T = TypeVar("T")

NO_VARIABLES = "NOT_FROM_VARIABLES_OF_THE_ENVIRONMENT_"
"""A prefix of no variable: a server of a test does not depend on the variables ``RESONATE_...`` of the machine."""

PATIENCE = 60.0
"""Seconds for which a start, a stop or a call on the server's loop is waited for."""


class Listener:
    """An ASGI app on uvicorn, in a thread of its own, until `stop`.

    Args:
        app: The app.
        server: uvicorn's object for this app.

    Attributes:
        port: Where it listens on 127.0.0.1.
        app: The app.
        server: uvicorn's object.
        loop: Its event loop.
    """

    def __init__(self, app: Any, server: uvicorn.Server) -> None:
        self.app = app
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._listening.getsockname()[1]
        self.loop: asyncio.AbstractEventLoop
        self.server = server
        self._failure: BaseException | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"server on {self.port}", daemon=True)
        self._thread.start()
        if not self._started.wait(PATIENCE) or not self.server.started:
            self.stop()
            raise RuntimeError("the server did not start; its log says why") from self._failure

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def _serve(self) -> None:
        async def main() -> None:
            self.loop = asyncio.get_running_loop()
            serving = asyncio.ensure_future(self.server.serve([self._listening]))
            while not self.server.started and not serving.done():
                await asyncio.sleep(0.001)
            self._started.set()
            await serving

        loop = (self.server.config.get_loop_factory() or asyncio.new_event_loop)()
        try:
            loop.run_until_complete(main())
            loop.run_until_complete(loop.shutdown_asyncgens())
        except BaseException as error:  # raised again in the thread that waits for the start
            self._failure = error
        finally:
            loop.close()
            self._started.set()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout=PATIENCE)

    def stop(self) -> None:
        """Stop gracefully, and wait for the end. It has no effect on a stopped server.

        Raises:
            RuntimeError: It did not end within 60 s.
        """
        self.server.should_exit = True
        self._thread.join(timeout=PATIENCE)
        if self._thread.is_alive():
            raise RuntimeError(f"{self._thread.name} did not stop within {PATIENCE:.0f} s")
        self._listening.close()


class LiveServer(Listener):
    """A server of a store; the fixture ``resonate_server`` gives one.

    Requests arrive over a real socket, and time is that of the store: on a `ManualClock`, `server.store.clock.advance` fires steps, and
    the server delivers the messages.

    Args:
        store: The store. It stays open when the server stops.
        tables: Tables of settings, as of `resonate_core.asgi.create_app`: `server`, `auth`, `limits`, `streams`, `push`.

    Raises:
        ModuleNotFoundError: The extra `server` is not installed.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import LiveServer
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> server = LiveServer(store)
        >>> with server.client() as client:
        ...     client.promises.create("a", timeout=1000).state
        'pending'
        >>> store.promises.get("a").created_at
        0
        >>> server.stop()
    """

    def __init__(self, store: Store[Any], **tables: Any) -> None:
        try:
            from ..server.run import make_app, server_of
            from ..server.settings import Settings
        except ModuleNotFoundError as error:
            message = f"a server needs {error.name}, which is not installed: {how_to_install('server')}"
            raise ModuleNotFoundError(message, name=error.name) from error
        self.store = store
        settings = Settings(**{"_env_prefix": NO_VARIABLES, **tables})
        app = make_app(settings, store)
        super().__init__(app, server_of(settings, app))

    def client(self, **options: Any) -> Client:
        """Return a new client of the server; options as of `resonate_core.connect`. Close it, or use it in a `with` statement."""
        from ..client import connect

        return connect(self.url, **options)


@contextlib.contextmanager
def serving(store: Store[Any], **tables: Any) -> Iterator[LiveServer]:
    """Serve a store for as long as the block runs.

    Args:
        store: As of `LiveServer`.
        tables: As of `LiveServer`.

    Example:
        >>> import resonate_core as rc
        >>> from resonate_core.testing import serving
        >>> with serving(rc.Store(clock=rc.ManualClock())) as server, server.client() as client:
        ...     len(client.promises.search())
        0
    """
    server = LiveServer(store, **tables)
    try:
        yield server
    finally:
        server.stop()

"""``resonate-core serve --engine granian``: the app on granian (extra ``granian``), through ASGI.

granian keeps a main process that listens to signals, and workers that serve. A worker that is told to stop waits for what is
under way, open streams among it, and nothing in granian ends those; so the main process holds the end of a pipe whose other
end each worker reads. When the main process closes it, or is gone, the workers end their streams and stop.

Through RSGI it would serve hardly more requests a second: ``bench/README.md`` has the figures.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import logging
import multiprocessing
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from .._extras import how_to_install
from ..errors import ResonateError
from .logs import configure
from .run import CANNOT_START, DONE, FAILED, make_app, open_store, with_part, with_url

if TYPE_CHECKING:
    from granian.server.mp import MPServer
    from starlette.types import Message, Receive, Scope, Send

    from .._core import Store
    from .app import ResonateApp
    from .settings import Settings

__all__ = ["serve_granian"]

_log = logging.getLogger("resonate_core.server")

#: Connections that wait until they are taken.
_BACKLOG = 2048
#: Seconds that the app's own stop may take, after requests were given `server.graceful_timeout`.
_STOP_PATIENCE = 10


class _Served:
    """The app in a worker: it ends by the pipe, and closes its store at its end.

    Args:
        settings: All of them.
        store: The store of this worker.
        app: The app that serves it.
        told: The end of the pipe that says when to stop.
    """

    def __init__(self, settings: Settings, store: Store, app: ResonateApp, told: Connection) -> None:
        self._store = store
        self._app = app
        self._told = told
        self._url = settings.server.url
        self._kept = settings.store.path or "memory: gone when this stops"
        self._root_path = settings.server.root_path
        self._grace = settings.server.graceful_timeout
        self._stop_granian: Callable[[], object] | None = None
        self._stopping = False
        self._late = asyncio.Event()
        self._cut_off = False

    def catch_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes the place of the signal handlers that granian is about to set.

        granian's blocks for ever when it is run twice. A group of processes is often told by two signals: its own, and the
        main process's.
        """
        given = loop.add_signal_handler

        def add(number: int, handler: Callable[..., object], *args: Any) -> None:
            self._stop_granian = functools.partial(handler, *args)
            given(number, self._stop)

        loop.add_signal_handler = add  # type: ignore[assignment]

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """ASGI. No coroutine of its own: that would cost each request something."""
        if scope["type"] == "lifespan":
            return self._live(scope, receive, send)
        if self._root_path:  # granian names it but leaves it off the path, which in ASGI begins with it
            scope["path"] = self._root_path + scope["path"]
            scope["raw_path"] = self._root_path.encode() + scope["raw_path"]
        return self._app(scope, receive, send)

    def _stop(self) -> None:
        """By a signal or by the pipe."""
        if self._stopping:
            return
        self._stopping = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._told.fileno())
        self._app.end_streams()
        loop.call_later(self._grace, self._late.set)
        if self._stop_granian is not None:
            self._stop_granian()

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        loop = asyncio.get_running_loop()
        late = asyncio.ensure_future(self._late.wait())

        async def next_event() -> Message:
            event: asyncio.Future[Any] = asyncio.ensure_future(receive())
            await asyncio.wait({event, late}, return_when=asyncio.FIRST_COMPLETED)
            if event.done():
                return event.result()  # type: ignore[no-any-return]
            self._cut_off = True
            return {"type": "lifespan.shutdown"}

        async def tell(message: Message) -> None:
            if message["type"] == "lifespan.shutdown.complete":
                self._store.close()
                _log.info("stopped (process %d)", os.getpid())
            await send(message)

        loop.add_reader(self._told.fileno(), self._stop)
        _log.info("serving %s at %s (process %d)", self._kept, self._url, os.getpid())
        await self._app(scope, next_event, tell)
        if self._cut_off:
            # granian would wait on: for a client, say, that never sends the rest of its request.
            _log.warning("not everything under way ended within %g s: the rest is cut off", self._grace)
            os._exit(DONE)


class _Worker:
    """Makes what a worker serves. It is handed to a new process."""

    def __init__(self, settings: Settings, told: Connection) -> None:
        self._settings = settings
        self._told = told
        # The process that has each part of the pushes; 0: nobody has had it.
        self._holders: Any = multiprocessing.Array("q", settings.server.workers)

    def __call__(self) -> _Served:
        settings = with_part(self._settings, self._part())
        configure(settings.log)
        store = open_store(settings.store, settings.server.debug)
        served = _Served(settings, store, make_app(settings, store), self._told)
        served.catch_signals(asyncio.get_event_loop())
        return served

    def _part(self) -> int:
        """A part that nobody has, or whose worker died. granian does not tell a worker which one it is."""
        with self._holders.get_lock():
            for part, pid in enumerate(self._holders):
                if pid == 0 or not _is_alive(pid):
                    self._holders[part] = os.getpid()
                    return part
        # Not reached: there are as many parts as workers. Two workers with one part would push the same, which is allowed.
        return 0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _make_server(settings: Settings, address: str, port: int, tell: Connection) -> MPServer:
    """granian, which closes `tell` when it is told to stop.

    Raises:
        ImportError: granian is not installed.
        OSError: The certificate or its key cannot be read.
    """
    from granian.constants import HTTPModes, Interfaces, Loops, SSLProtocols
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server.mp import MPServer

    class Server(MPServer):
        def shutdown(self, exit_code: int = 0) -> None:
            tell.close()
            super().shutdown(exit_code)  # type: ignore[no-untyped-call]

        def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
            # New workers would begin with an empty memory.
            self.signal_handler_interrupt()  # type: ignore[no-untyped-call]

    server = settings.server
    return Server(
        "resonate_core",
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        workers=server.workers,
        loop=Loops.uvloop if importlib.util.find_spec("uvloop") else Loops.asyncio,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            header_read_timeout=int(settings.limits.header_timeout * 1000), max_buffer_size=settings.limits.header_bytes
        ),
        websockets=False,
        backlog=_BACKLOG,
        # Connections, idle ones and streams among them; more wait until one is closed.
        backpressure=settings.limits.connections,
        log_level=LogLevels.warning,
        # Nothing but levels: its lines go where ours go.
        log_dictconfig={
            "incremental": True,
            "formatters": {},
            "handlers": {},
            "loggers": {"granian.access": {"level": "INFO"}},
        },
        log_access=settings.log.access,
        ssl_cert=server.tls_certificate,
        ssl_key=server.tls_key,
        ssl_protocol_min=SSLProtocols.tls12,
        url_path_prefix=server.root_path or None,
        # What a lone worker kept in memory is gone; whoever started this should know.
        respawn_failed_workers=server.workers > 1,
        workers_kill_timeout=int(server.graceful_timeout) + _STOP_PATIENCE,
    )


def _hold(host: str, port: int) -> socket.socket:
    """Sees to it that nobody listens there, and keeps the port for the workers; it does not listen itself.

    The workers share their port (SO_REUSEPORT), so they would share it with another server of the same user just as well.

    Raises:
        OSError: Somebody listens there, or nobody can.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as alone:
        alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        alone.bind((host, port))
    held = socket.socket(family, socket.SOCK_STREAM)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
    except OSError:
        held.close()
        raise
    return held


def serve_granian(settings: Settings) -> int:
    """Serves on granian until SIGINT or SIGTERM; the exit status of the command.

    Each worker opens the store for itself. A stop lets requests under way finish, ends poll streams and closes the stores.

    Args:
        settings: All of them; `server.workers` of more than one need a file.
    """
    server = settings.server
    if server.port == 0 and sys.platform != "linux":
        print("granian cannot say which port it got: give server.port another value than 0, or use uvicorn", file=sys.stderr)
        return CANNOT_START
    try:
        held = _hold(server.host, server.port)
    except OSError as error:
        print(f"cannot listen on {server.host}:{server.port}: {error.strerror or error}", file=sys.stderr)
        return CANNOT_START
    address, port = held.getsockname()[:2]
    if sys.platform != "linux":  # there the main process listens, and alone
        held.close()
    settings = with_url(settings, port)
    # A fork would carry this process's threads' locks with it.
    multiprocessing.set_start_method("spawn", force=True)
    told, tell = multiprocessing.Pipe(duplex=False)
    with held, told, tell:
        try:
            # What a worker would stumble over is better said once, here.
            with open_store(settings.store, server.debug) as store:
                make_app(settings, store)
            granian = _make_server(settings, address, port, tell)
        except ImportError as error:
            needed = f"server.engine granian needs granian: {how_to_install('granian')}"
            print(needed if (error.name or "").startswith("granian") else error, file=sys.stderr)
            return CANNOT_START
        except OSError as error:  # only the files of TLS are read here
            print(f"tls_certificate {str(server.tls_certificate)!r} and tls_key: {error}", file=sys.stderr)
            return CANNOT_START
        except (ResonateError, ValueError) as error:
            print(error, file=sys.stderr)
            return CANNOT_START
        try:
            granian.serve(target_loader=_Worker(settings, told), wrap_loader=False)
        except SystemExit:  # a worker died
            return FAILED
    return DONE

"""``resonate-core serve``: the app on uvicorn."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import warnings
from types import FrameType
from typing import Any

import uvicorn

from .._core import Store
from ..base.files import refuse_irregular
from ..errors import ClockWarning, ResonateError
from ..http.surroundings import check_authorities
from .app import ResonateApp
from .http_protocol import limited_protocol
from .logs import configure
from .origins import is_loopback
from .run_workers import run_workers
from .settings import Settings, StoreSettings

__all__ = ["make_app", "open_store", "serve", "server_of"]

_log = logging.getLogger("resonate_core.server")

#: Exit statuses of `serve`.
DONE, FAILED, CANNOT_START = 0, 1, 3


def open_store(settings: StoreSettings, debug: bool = False) -> Store:
    """Open the store of the settings.

    Raises:
        StoreError: It cannot be opened.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClockWarning)  # the app logs it
        return Store(settings.path, debug=debug, **settings.options())


def make_app(settings: Settings, store: Store) -> ResonateApp:
    """Make the app of these settings."""
    return ResonateApp(store, settings)


class _Server(uvicorn.Server):
    """uvicorn, which would wait for the poll streams: a stop ends them first."""

    def __init__(self, config: uvicorn.Config, app: ResonateApp) -> None:
        super().__init__(config)
        self._served = app

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal before uvicorn has its own handler."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._served.end_streams()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


def _uvicorn_config(settings: Settings, app: Any) -> uvicorn.Config:
    server = settings.server
    if isinstance(app, ResonateApp):
        app.peers_are_known = True  # because of proxy_headers
    return uvicorn.Config(
        app,
        host=server.host,
        port=server.port,
        root_path=server.root_path,
        ssl_certfile=server.tls_certificate,
        ssl_keyfile=server.tls_key,
        access_log=settings.log.access,
        log_config=None,
        log_level=None,
        limit_concurrency=settings.limits.connections,
        lifespan="on",
        http=limited_protocol(settings.limits),
        h11_max_incomplete_event_size=settings.limits.header_bytes,
        timeout_graceful_shutdown=int(server.graceful_timeout) or 1,
        server_header=False,
        proxy_headers=False,  # uvicorn would believe every process of this machine; see server.forwarded_allow
        ws="none",
    )


def server_of(settings: Settings, app: ResonateApp) -> uvicorn.Server:
    """Return uvicorn with an app, as `serve` runs it, for a program that runs it in a thread of its own."""
    return _Server(_uvicorn_config(settings, app), app)


def _warn_without_key(settings: Settings) -> None:
    """Log a warning if the server has no key on an address that other machines reach."""
    if settings.auth.enabled or is_loopback(settings.server.host):
        return
    where = settings.server.host or "every address of this machine"
    if settings.server.debug:
        _log.critical(
            "EVERY CLIENT that reaches %s can read, change AND DELETE ALL DATA with one request: debug operations are on and there is "
            "no key. Leave out --debug, set auth.public_key, or listen on 127.0.0.1",
            where,
        )
    else:
        _log.warning(
            "every client that reaches %s can read and change all data: there is no key. Set auth.public_key, or listen on 127.0.0.1",
            where,
        )


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM; return the exit status of the command.

    A stop lets requests under way finish, ends poll streams and closes the store.
    """
    configure(settings.log)
    _warn_without_key(settings)
    try:
        listening = _listen(settings.server.host, settings.server.port)
    except OSError as error:
        print(f"cannot listen on {settings.server.host}:{settings.server.port}: {error.strerror or error}", file=sys.stderr)
        return CANNOT_START
    settings = settings.with_url(listening.getsockname()[1]).with_secret()
    with listening:
        if settings.server.workers > 1:
            return run_workers(settings, listening, serve_here)
        return serve_here(settings, listening)


def serve_here(settings: Settings, listening: socket.socket) -> int:
    """Serve in this process, on a socket that listens; return the exit status."""
    try:
        store = open_store(settings.store, settings.server.debug)
    except ResonateError as error:
        print(error, file=sys.stderr)
        return CANNOT_START
    with store:
        try:
            check_authorities()
            app = make_app(settings, store)
            for name in ("tls_certificate", "tls_key"):
                if getattr(settings.server, name) is not None:
                    refuse_irregular(getattr(settings.server, name))
            config = _uvicorn_config(settings, app)
            config.load()
        except OSError as error:  # only the files of TLS are read here
            print(f"tls_certificate {str(settings.server.tls_certificate)!r} and tls_key: {error}", file=sys.stderr)
            return CANNOT_START
        except (ValueError, ImportError) as error:
            print(error, file=sys.stderr)
            return CANNOT_START
        server = _Server(config, app)
        kept = store.url or settings.store.path or "memory, which ends with this process"
        _log.info("serving %s at %s (process %d)", kept, settings.server.url, os.getpid())
        if settings.dashboard_url is not None:
            _log.info("the dashboard is at %s", settings.dashboard_url)
        # uvicorn raises its signal again after it has stopped, when the handler has nothing left to stop.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, server.stop)
        server.run([listening])
    if server.started:
        _log.info("stopped (process %d)", os.getpid())
    return DONE if server.started else FAILED

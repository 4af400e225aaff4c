"""Several processes that serve one file on one socket."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from .logs import configure

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from .settings import Settings

__all__ = ["run_workers"]

_log = logging.getLogger("resonate_core.server")

#: Serves on a socket until a signal; the exit status of the process.
Serve = Callable[["Settings", socket.socket], int]

#: Seconds between two checks of the workers, so that a worker that ends at once is not restarted at once.
_CHECK_INTERVAL = 1.0


def _work(settings: Settings, listening: socket.socket, serve: Serve) -> None:
    """One worker."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    configure(settings.log)
    sys.exit(serve(settings, listening))


def _end_with_parent() -> None:
    """End this process after its supervisor was killed: otherwise it would keep the port and the file."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


class _Workers:
    """The processes. One that dies is replaced, until a signal stops them."""

    def __init__(self, settings: Settings, listening: socket.socket, serve: Serve) -> None:
        self._settings = settings
        self._listening = listening
        self._serve = serve
        self._context = multiprocessing.get_context("spawn")  # a fork would copy the locks of this process's threads
        self._stopping = threading.Event()

    def _start(self) -> SpawnProcess:
        worker = self._context.Process(target=_work, args=(self._settings.of_worker(), self._listening, self._serve))
        worker.start()
        return worker

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()

    def run(self) -> int:
        """Run until a signal; return 0, or the first status with which a worker refused to start."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        workers = [self._start() for _ in range(self._settings.server.workers)]
        status = 0
        while not self._stopping.wait(_CHECK_INTERVAL):
            for at, worker in enumerate(workers):
                if worker.is_alive():
                    continue
                if (
                    worker.exitcode is not None and worker.exitcode > 0
                ):  # it could not start, and logged why; another could not either
                    status = worker.exitcode
                    self._stopping.set()
                    break
                _log.error("worker %s ended with status %s: a new process replaces it", worker.pid, worker.exitcode)
                workers[at] = self._start()
        for worker in workers:
            if worker.pid is not None and worker.is_alive():
                os.kill(worker.pid, signal.SIGTERM)
        for worker in workers:
            worker.join(self._settings.server.graceful_timeout + 10)
            if worker.is_alive():
                _log.error("worker %s does not stop: it is killed", worker.pid)
                worker.kill()
                worker.join()
                status = status or 1
        return status


def run_workers(settings: Settings, listening: socket.socket, serve: Serve) -> int:
    """Run `server.workers` processes until SIGINT or SIGTERM; return the exit status.

    Args:
        settings: All of them.
        listening: The socket that the processes share.
        serve: What each process calls: a function of a module, since new processes import it.
    """
    return _Workers(settings, listening, serve).run()

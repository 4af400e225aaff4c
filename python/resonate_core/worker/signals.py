"""SIGTERM and SIGINT of a worker that is a program of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import selectors
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..base.stopwatch import seconds
from .execution import Attempt
from .executor import CANCEL_TIMEOUT
from .session import WorkerSession
from .settings import WorkerOptions

__all__ = ["Signals"]

_log = logging.getLogger("resonate_core.worker")

_WANTED = (signal.SIGTERM, signal.SIGINT)
#: Seconds between two checks of the progress of a stop.
_CHECK_INTERVAL = 0.05
#: Seconds after the first signal in which an event loop that is not blocked begins its stop.
_RESPONSE_TIMEOUT = 1.0
#: Seconds that a stop may take beyond its grace to report the outcomes.
_REPORT_TIMEOUT = 5.0
#: The exit status of a process that is ended by force: `FAILED` of the command line.
_FAILED = 1
_CLOSE = b"\0"  # no signal has this number


class Signals:
    """Stops a worker at the first signal, without its grace at the second, and ends the process if the worker does not end.

    Python runs signal handlers in the main thread between two of its instructions, and asyncio runs them in the loop: neither
    happens while a job's handler blocks the loop. So a thread of its own reads the pipe into which Python's C handler writes the
    numbers of signals (`signal.set_wakeup_fd`).

    A forked child inherits the pipe and the handlers: a signal to it would stop the worker, and the child would not end. So a fork
    delays both signals in its thread until the child has the handlers of before, and no descriptor.

    Args:
        settings: Of the worker.
        running: Returns its session, while it has one.
        end: Ends the process by force.
    """

    def __init__(
        self, settings: WorkerOptions, running: Callable[[], WorkerSession | None], end: Callable[[int], Any] = os._exit
    ) -> None:
        self._settings = settings
        self._running = running
        self._end = end
        self._session: WorkerSession | None = None
        self._received = 0
        self._first_at = 0.0  # when the first signal arrived
        self._since = 0.0  # when the last stop was asked for
        self._grace = 0.0
        self._passed_on = -1  # the number of signals that the session knows of
        self._ended_at: float | None = None  # when the session ended, after a signal
        self._inherited = False  # this process is a forked child of the worker's

    def __enter__(self) -> Signals:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._before = {number: signal.signal(number, self._interrupted) for number in _WANTED}
        self._outer = self._others = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name=f"{self._settings.name}-signals", daemon=True)
        self._thread.start()
        _listening.add(self)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._inherited:
            return
        _listening.discard(self)
        if signal.set_wakeup_fd(-1) == self._writer and self._outer >= 0:
            signal.set_wakeup_fd(self._outer)
        self._restore_handlers()
        os.write(self._writer, _CLOSE)
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)

    def _restore_handlers(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def leave_to_parent(self) -> None:
        """In a forked child: have the signals of the child end the child, and nothing written to the pipe of the worker."""
        self._inherited = True
        signal.set_wakeup_fd(-1)  # nor to one of before the worker: it is the parent's as well
        self._restore_handlers()
        os.close(self._reader)
        os.close(self._writer)

    def listen(self) -> None:
        """Take the descriptor of signals back from the loop; every signal is passed on to it."""
        other = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if other != self._writer:
            self._others = other

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal in Python: usually the pipe has its number already."""
        other = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if other != self._writer:  # another handler, such as the loop's, has it
            self._others = other
            with contextlib.suppress(BlockingIOError):
                os.write(self._writer, bytes([number]))

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            while True:
                if selector.select(_CHECK_INTERVAL if self._received else None):
                    numbers = os.read(self._reader, 64)
                    if _CLOSE in numbers:
                        return
                    if self._others >= 0:
                        with contextlib.suppress(OSError):
                            os.write(self._others, numbers)
                    for _ in (number for number in numbers if number in _WANTED):
                        self._receive()
                if self._received:
                    self._check_stop()

    def _receive(self) -> None:
        self._received += 1
        if self._received == 1 or self._received == 2:
            self._since = seconds()
            self._grace = self._settings.grace if self._received == 1 else 0.0
        if self._received == 1:
            self._first_at = self._since
        if self._received > 2:
            self._force("a third signal arrived")

    def _check_stop(self) -> None:
        session = self._running()
        if session is not None:
            self._session = session
            if self._passed_on < self._received:
                self._passed_on = self._received
                session.stop_from_outside(self._settings.grace if self._received == 1 else 0.0)
        elif self._session is not None and self._ended_at is None:
            self._ended_at = seconds()
        now = seconds()
        last = self._since + self._grace + CANCEL_TIMEOUT
        if self._ended_at is not None:
            if now > self._ended_at + CANCEL_TIMEOUT:
                self._force("its handler did not end when it was cancelled")
        elif session is not None and not session.stopping and self._received == 2 and now > self._first_at + _RESPONSE_TIMEOUT:
            self._force("the event loop has been blocked since before the first signal")
        elif session is not None and not session.stopping and now > last:
            self._force(f"it blocks the event loop and did not end within the grace of {self._grace:g} s")
        elif now > last + _REPORT_TIMEOUT:
            self._force(f"it did not end within the grace of {self._grace:g} s")

    def _force(self, why: str) -> None:
        attempts = self._attempts_waited_for()
        _log.critical(
            "worker %r is ended by force: %s: %s. What it holds runs again when the lease has expired",
            self._settings.name,
            ", ".join(f"job {attempt.id!r} ({attempt.job.type})" for attempt in attempts) if attempts else "no job of it runs",
            why,
        )
        self._end(_FAILED)

    def _attempts_waited_for(self) -> list[Attempt]:
        """The attempts that the process waits for: the one that is running in the loop at this moment, or all that have not ended."""
        if self._session is None:
            return []
        unended = self._session.executor.unended()
        current = None
        with contextlib.suppress(RuntimeError):
            current = asyncio.current_task(self._session.loop)
        in_loop = [attempt for attempt in unended if attempt.execution.handle is not None]
        return [attempt for attempt in in_loop if attempt.execution.handle is current] or in_loop or unended


#: The signals of the worker that runs in the main thread, if one does.
_listening: set[Signals] = set()
_delayed = threading.local()  # the mask of signals before the fork of this thread


def _delay_signals() -> None:
    """Block the signals in the thread that forks: one that reaches the child before it has its handlers would be the worker's."""
    if _listening:
        _delayed.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WANTED)


def _deliver_signals() -> None:
    mask = getattr(_delayed, "mask", None)
    if mask is not None:
        _delayed.mask = None
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _leave_to_parent() -> None:
    for each in list(_listening):
        each.leave_to_parent()
    _listening.clear()
    if signal.SIGINT in signal.sigpending() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a KeyboardInterrupt would be raised here, and lost
    _deliver_signals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_delay_signals, after_in_parent=_deliver_signals, after_in_child=_leave_to_parent)

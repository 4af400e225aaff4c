"""The log of a simulation: it is quiet, except for the failed attempts of functions.

Its faults are in its story, and a warning about each would drown the others. A function that raises is no fault of the simulation.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ...base.instants import length, moment

if TYPE_CHECKING:
    from types import TracebackType

    from ..._core import ManualClock, Store
    from .world_interface import WorldInterface

__all__ = ["LoggedAttempts", "quiet"]

#: Whose log is kept out: of this package, and of the SDK.
_LOGGERS = ("resonate_core", "resonate")
#: The loggers of failed attempts: their records have the attribute `attempt`.
_OF_JOBS = "resonate_core.worker"
_OF_STEPS = "resonate_core.connection.attempts"
#: Where the SDK logs that it releases a task: it cannot run, or its outcome cannot be stored.
_OF_TASKS = "resonate.core"
#: The errors of the SDK that a fault of the simulation causes.
_FAULTS = ("ConnectorError", "ServerError", "StoppedError")


class LoggedAttempts:
    """Which failed attempts are logged.

    Args:
        each: True: every one. False: each failure of a function once, at the first of many runs.
    """

    def __init__(self, each: bool) -> None:
        self._each = each
        self._seen: set[object] = set()

    def takes(self, named: object, error: BaseException | None) -> bool:
        """Return whether a failed attempt is logged.

        Args:
            named: The function.
            error: Its exception.
        """
        if self._each:
            return True
        key = (named, type(error), _place_of(error.__traceback__ if error is not None else None))
        new = key not in self._seen
        self._seen.add(key)
        return new


def _place_of(traceback: TracebackType | None) -> tuple[str, int] | None:
    """The line that raised."""
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code.co_filename, traceback.tb_lineno


class _Quiet(logging.Handler):
    """Passes on the failed attempts of a simulation, and what other threads log."""

    def __init__(self, logged: LoggedAttempts, world: Callable[[], WorldInterface | None]) -> None:
        super().__init__()
        self._thread = threading.get_ident()
        self._logged = logged
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread != self._thread or self._is_passed(record):
            logging.getLogger().handle(record)

    def _is_passed(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return False
        if record.name == _OF_STEPS and hasattr(record, "func"):
            return self._logged.takes(record.func, _error_of(record))
        if record.name == _OF_JOBS and hasattr(record, "failure"):
            if not self._logged.takes(record.type, record.failure):  # type: ignore[attr-defined]
                return False
            self._complete(record)
            return True
        if record.name == _OF_TASKS:
            error = _error_of(record)
            cause = getattr(error, "cause", error)
            return cause is not None and type(cause).__name__ not in _FAULTS and self._logged.takes(record.msg, cause)
        return False

    def _complete(self, record: logging.LogRecord) -> None:
        """Add the traceback and the next attempt to the record of a job."""
        failure: BaseException | None = record.failure  # type: ignore[attr-defined]
        world = self._world()
        then = "" if world is None else _next_attempt(world.store, record.job)  # type: ignore[attr-defined]
        record.msg, record.args = f"{record.getMessage()}{then}", ()
        if failure is not None:
            record.exc_info = (type(failure), failure, failure.__traceback__)


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _next_attempt(store: Store[ManualClock], id: str) -> str:
    """When a job is tried again, as the end of a sentence. It is read from a view, which no recording of the store shows."""
    found: list[Any] = [job for job in store.views.jobs(id=id, limit=10) if job.id == id]
    if not found or found[0].next_retry_at is None:
        return "; there is no further attempt"
    at = found[0].next_retry_at
    return f"; the next attempt begins in {length(max(at - store.now, 0))}, at {moment(at)}"


@contextlib.contextmanager
def quiet(logged: LoggedAttempts, world: Callable[[], WorldInterface | None]) -> Iterator[None]:
    """Keep the log of the package out of the output of a simulation, except for failed attempts, as long as the block runs.

    Args:
        logged: Which of them are logged.
        world: Returns the simulation, once it is made.
    """
    handler = _Quiet(logged, world)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        for logger, propagated in zip(loggers, before, strict=True):
            logger.propagate = propagated
            logger.removeHandler(handler)

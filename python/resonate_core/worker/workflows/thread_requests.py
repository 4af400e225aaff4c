"""The requests of a run in a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from ..._core import Promise
from ...base.stopwatch import doubled
from ...calls.call import Call as Request
from ...errors import Conflict, NotFound, StoreError
from ..context import JobContext
from ..losses import why_lost
from .calls import ChildCall
from .failures import Dropped
from .records import Step
from .requests import NotHeld, Outbox, Sent, read_history
from .scope import Run
from .support import WorkflowSupport

__all__ = ["ThreadRequests"]

_log = logging.getLogger("resonate_core.workflow")
_T = TypeVar("_T")

#: Seconds: the first and the longest pause of a store that fails.
_FIRST_RETRY, _LONGEST_RETRY = 0.1, 5.0


class ThreadRequests(Run):
    """The part of a run in a thread that asks the store.

    Args:
        support: Of the worker.
        context: Of the attempt.
        records: The history.
    """

    blocking = True

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(context, records)
        self.support = support
        self.client = support.client
        self.manual = support.client.manual or support.threads is None  # then no thread can wait here
        self.unsent = self.outbox = Outbox(self)
        self._lock = threading.RLock()

    def check(self) -> None:
        """Raise if the run is over, or the attempt was called off."""
        raise NotImplementedError

    def _pause(self, seconds: float) -> None:
        raise NotImplementedError

    def record(self, steps: Sequence[Step]) -> Sequence[Promise]:
        """Record steps, after what was to be sent before; return their promises."""
        client = self.client
        with self._lock:
            if self.outbox or (client.blocking and not client.local):
                recorded, _ = self._send(self.outbox.take(steps))
                return recorded[len(recorded) - len(steps) :]
            if client.blocking:  # later calls of the run wait, so that none overtakes it
                return self._recorded_alone(steps)
        return self._recorded_alone(steps)  # in memory a record takes µs, and threads do not take turns at the lock

    def _recorded_alone(self, steps: Sequence[Step]) -> Sequence[Promise]:
        """Record steps without a call, which is faster."""
        try:
            found = self._answered(lambda: self.client.record(self.job.id, self.version, steps))
        except (Conflict, NotFound):
            self._lost()
        self.note(found)
        return found

    def send_all(self) -> None:
        """Send what is to be sent."""
        with self._lock:
            while self.outbox:
                self._send(self.outbox.take())

    def soon(self, steps: Iterable[Step]) -> None:
        """Send steps."""
        with self._lock:
            self.outbox.extend(steps)
            self.send_all()

    def soon_request(self, child: ChildCall[Any]) -> None:
        """Enqueue a child job."""
        with self._lock:
            self.outbox.enqueue(child)
            self.send_all()

    def _send(self, sent: Sent) -> tuple[list[Promise], Any]:
        answers = self._sent(sent.requests)
        try:
            return sent.answered(self, answers)
        except NotHeld:
            self._lost()

    def _lost(self) -> NoReturn:
        """End the run, since its job does not run here any more.

        Raises:
            JobCancelled: The job was cancelled, or its attempt timed out: the code cleans up.
            Dropped: Another worker may have the job.
        """
        if self.fatal is None and self.context.reason is None:
            (reason,) = why_lost(self.client, [self.context])
            if reason != "lost":
                self.context.cancel(reason)
        self.check()
        raise self.end(Dropped())

    def requested(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Send requests, after what was to be sent before; return their answers, of which some may be refusals."""
        self.send_all()
        return self._sent(requests)

    def _sent(self, requests: Sequence[Request[Any]]) -> list[Any]:
        return self._answered(lambda: self.client.send(requests))

    def _answered(self, ask: Callable[[], _T]) -> _T:
        """Ask the store, again and again while it fails. Where no thread can wait, as in a drain, the run is dropped instead.

        Raises:
            RunEnded: The run is over.
            JobCancelled: The attempt was called off.
        """
        failures = 0
        while True:
            self.check()
            try:
                return ask()
            except (StoreError, OSError) as error:
                if self.support.threads is None:
                    _log.error("workflow %s: %r: %s; its lease will expire", self.job.id, self.client, error)
                    raise self.end(Dropped()) from error
                pause = doubled(_FIRST_RETRY, failures, _LONGEST_RETRY)
                failures += 1
                _log.error("workflow %s: %r: %s; again in %.1f s", self.job.id, self.client, error, pause)
                self._pause(pause)

    def history(self) -> dict[str, Promise]:
        """Read what is recorded of the job.

        Raises:
            RunEnded: The run is over.
            JobCancelled: The attempt was called off.
        """
        return self._answered(lambda: read_history(self.client, self.job.id))

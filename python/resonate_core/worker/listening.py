"""The decorators that register listeners of events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .events import Events, JobEvent, Topic

__all__ = ["Listening"]

_Listener = TypeVar("_Listener", bound=Callable[[JobEvent], Any])


class Listening:
    """The listeners of events of a `Worker`.

    Attributes:
        events: The listeners.
    """

    def __init__(self) -> None:
        self.events = Events()

    def on_retry(self, listener: _Listener) -> _Listener:
        """Call a function with a `JobEvent` after each attempt that failed and is retried; a decorator.

        The function, synchronous or asynchronous, runs beside the jobs. If it raises, the exception is logged; a slow function delays
        other events, never a job. There are also events for attempts that timed out, and for leases of other workers that expired,
        if a commit of this process ended them (docs/workers.md, Events). Register listeners before the worker runs.

        Args:
            listener: The function.

        Raises:
            TypeError: It cannot be called.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> worker = rc.worker.Worker(store)
            >>> @worker.on_retry
            ... def report(event):
            ...     print(event.job.id, event.reason, event.worker)
            >>> _ = worker.task("t")(print).enqueue(id="j1"), store.jobs.claim("default", worker="other", lease=1000, start=1)
            >>> _ = clock.advance(1000)                 # the lease of the other worker expires
            >>> _ = worker.run_until_idle()
            j1 crashed other
        """
        return self._on("retry", listener)

    def on_failure(self, listener: _Listener) -> _Listener:
        """As `on_retry`, for jobs that do not run again by themselves: they are archived, failed or expired.

        Args:
            listener: As of `on_retry`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> _ = worker.on_failure(lambda event: print(event.job.state, event.error["message"]))
            >>> _ = worker.task("t", max_retries=0)(lambda: 1 / 0).enqueue()
            >>> _ = worker.run_until_idle()
            archived ZeroDivisionError: division by zero
        """
        return self._on("failure", listener)

    def on_archived(self, listener: _Listener) -> _Listener:
        """As `on_failure`, only for jobs that are archived: a person should look at them.

        Args:
            listener: As of `on_retry`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> _ = worker.on_archived(lambda event: print(event.job.type, event.reason))
            >>> _ = worker.task("t")(lambda to, subject: None)
            >>> _ = worker.client.enqueue("t", {"to": "ada"}, {})
            >>> _ = worker.run_until_idle()
            t invalid_payload
        """
        return self._on("archived", listener)

    def on_cancelled(self, listener: _Listener) -> _Listener:
        """As `on_retry`, for jobs that were cancelled, running or not.

        Args:
            listener: As of `on_retry`.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> worker = rc.worker.Worker(store)
            >>> _ = worker.on_cancelled(lambda event: print(event.job.id, event.reason))
            >>> _ = store.jobs.enqueue("t", id="j1"), store.jobs.cancel("j1")
            >>> _ = worker.run_until_idle()
            j1 cancelled
        """
        return self._on("cancelled", listener)

    def on_complete(self, listener: _Listener) -> _Listener:
        """As `on_retry`, for jobs that this worker has completed.

        Args:
            listener: As of `on_retry`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> _ = worker.on_complete(lambda event: print(event.job.type, event.result))
            >>> _ = worker.task("double")(lambda n: 2 * n).enqueue(4)
            >>> _ = worker.run_until_idle()
            double 8
        """
        return self._on("complete", listener)

    def _on(self, topic: Topic, listener: _Listener) -> _Listener:
        self.events.add(topic, listener)
        self._listening()
        return listener

    def _listening(self) -> None:
        """Called when there is a listener: a worker that has its store begins to count what the store does."""

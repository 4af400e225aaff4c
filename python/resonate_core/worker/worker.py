"""A worker: handlers by name, and three ways to run them."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Mapping

from .._core import Store
from ..errors import Invalid
from .doors import Door, Queues, names_of, open_door
from .drain import Drained, drain, drain_async
from .durations import Duration, milliseconds
from .registry import Registry
from .serving import Serving
from .turn import Counts

__all__ = ["Worker"]

_numbers = itertools.count(1)


class Worker(Registry, Serving):
    """Runs jobs with Python functions.

    Asynchronous handlers run in the event loop, others in threads. A worker that dies loses nothing: the lease of what it held runs
    out, and another one has it (JOBS 3). Each job runs at least once, and completes once.

    What a body raises is its job's error: `Retry`, `Skip`, `Snooze` and `JobError` say what is to be done; any other exception is
    code UnhandledError, with the type and the text as message and the end of the traceback as data. A type that has no handler is
    code UnknownType, which is retried as any error: after a deployment there is a worker that has one.

    Args:
        store_or_url: A `Store`, the path of one, or the URL of a server. It may be left to `bind`.
        queues: A name, several names, or weights by name; they are created with their first job.
        concurrency: How many jobs run at once; a batch counts as one.
        lifecycle: `asynq` or `horsies` for the jobs that this worker's tasks enqueue; None: as their queue says.
        name: Who holds the leases; None: host, process and a number.
        lease: Of a job that is claimed and not started, in ms or as a timedelta.
        run_lease: Of a job that runs; None: as `lease`.
        strict: Queues in the order given, the next one only where the first has nothing; otherwise by weight.
        batch: How many jobs are claimed besides those that can run at once, so that a slot that gets free has its next job here.
            Where a queue's lifecycle claims in one step they count as running while they wait.
        poll_interval: How often at the least queues are looked at, in ms or as a timedelta: it is how late a job of another process
            may be seen. What this process enqueues is seen at once.
        heartbeat: How often leases are renewed, in ms or as a timedelta; None: three times in the shorter one.
        grace: How long a stop waits for what runs, in ms or as a timedelta.
        token: A bearer token, where it is a server's URL.

    Raises:
        Invalid: An option out of its range.
        TypeError: Something that has no jobs.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store, queues={"mail": 3, "default": 1})
        >>> @worker.task("email:send", queue="mail", max_retries=3)
        ... def send(to):
        ...     return f"sent to {to}"
        >>> job = send.enqueue("ada@example.org")
        >>> worker.run_until_idle().outcomes, store.jobs.get(job.id).result.json()
        ({'completed': 1}, 'sent to ada@example.org')
    """

    def __init__(
        self,
        store_or_url: Store | str | os.PathLike[str] | None = None,
        *,
        queues: Queues = "default",
        concurrency: int = 10,
        lifecycle: str | None = None,
        name: str | None = None,
        lease: Duration = 30_000,
        run_lease: Duration | None = None,
        strict: bool = False,
        batch: int = 0,
        poll_interval: Duration = 1000,
        heartbeat: Duration | None = None,
        grace: Duration = 10_000,
        token: str | None = None,
    ) -> None:
        Registry.__init__(self, lifecycle)
        Serving.__init__(self)
        if concurrency < 1:
            raise Invalid(f"concurrency is {concurrency}; it has to be 1 or more")
        if batch < 0:
            raise Invalid(f"batch is {batch}; it has to be 0 or more")
        if not names_of(queues):
            raise Invalid("a worker needs a queue")
        self.queues = queues if isinstance(queues, str) else dict(queues) if isinstance(queues, Mapping) else list(queues)
        self.concurrency = concurrency
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}"
        self.lease = milliseconds("lease", lease, 1)
        self.run_lease = self.lease if run_lease is None else milliseconds("run_lease", run_lease, 1)
        self.strict = strict
        self.batch = batch
        self.poll_interval = milliseconds("poll_interval", poll_interval, 1) / 1000
        shorter = min(self.lease, self.run_lease)
        self.heartbeat = (shorter / 3 if heartbeat is None else milliseconds("heartbeat", heartbeat, 1)) / 1000
        self.grace = milliseconds("grace", grace) / 1000
        self.counts = Counts()
        self._bound: tuple[Store | str | os.PathLike[str], str | None] | None = None
        self._door: Door | None = None
        if store_or_url is not None:
            self.bind(store_or_url, token)
        elif token is not None:
            raise TypeError("a token goes with the URL of its server")

    def __repr__(self) -> str:
        return f"<Worker {self.name!r} of {', '.join(names_of(self.queues))}>"

    # -- where its jobs are -----------------------------------------------------------------------------------------------

    def bind(self, store_or_url: Store | str | os.PathLike[str], token: str | None = None) -> None:
        """Says where the jobs are, for a worker that was made without, or to run it elsewhere.

        Args:
            store_or_url: As of `Worker`.
            token: As of `Worker`.

        Raises:
            Invalid: It runs.
            TypeError: Something that has no jobs.

        Example:
            >>> worker = rc.worker.Worker()
            >>> worker.bind(rc.Store(clock=rc.ManualClock()))
            >>> worker.run_until_idle().idle
            True
        """
        self.close()
        if not isinstance(store_or_url, (Store, str, os.PathLike)):
            open_door(store_or_url)  # says what is wrong with it
        self._bound = (store_or_url, token)

    @property
    def door(self) -> Door:
        """Where its jobs are; opened when it is first asked for.

        Raises:
            Invalid: Nothing was said.
        """
        if self._door is None:
            if self._bound is None:
                raise Invalid(f"{self!r} has no store: give it one, or bind() it to one")
            self._door = open_door(*self._bound)
        return self._door

    def close(self) -> None:
        """Closes what it opened: the store of a path, the connections to a server. It opens them again when it needs them.

        Raises:
            Invalid: It runs.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).close()
        """
        if self._session is not None:
            raise Invalid(f"{self!r} runs: stop it first")
        if self._door is not None:
            self._door.close()
            self._door = None

    # -- drain ------------------------------------------------------------------------------------------------------------

    def run_until_idle(self, limit: int | None = None, *, advance: bool = False, until: int | None = None) -> Drained:
        """Runs what can be run now, one job after the other in this thread, and returns: for tests and simulations.

        No thread is made and nothing sleeps. With `advance`, on a `ManualClock`, time is moved from instant to instant: retries,
        scheduled and periodic jobs have their turn at their very millisecond.

        Args:
            limit: How many attempts at most; a batch is not split.
            advance: Move the clock to the next instant at which anything is due, until the queues of this worker have no job that
                is waiting.
            until: Move the clock up to this instant, in Unix ms, whatever is left after it.

        Returns:
            What was done.

        Raises:
            Unsupported: The jobs are a server's.
            Invalid: The clock cannot be moved, or would be for ever.
            RuntimeError: An asynchronous handler, and a loop runs in this thread: see `run_until_idle_async`.

        Example:
            >>> clock = rc.ManualClock()
            >>> worker = rc.worker.Worker(rc.Store(clock=clock))
            >>> @worker.task("flaky", max_retries=2, retry_policy={"kind": "fixed", "intervals": [60_000, 3_600_000]})
            ... def flaky(job: rc.worker.JobContext):
            ...     if job.retry_count < 2:
            ...         raise ConnectionError("not yet")
            >>> _ = flaky.enqueue()
            >>> [(run.at, run.outcome) for run in worker.run_until_idle(advance=True)]
            [(0, 'failed'), (60000, 'failed'), (3660000, 'completed')]
        """
        return drain(self, limit, advance, until)

    async def run_until_idle_async(self, limit: int | None = None, *, advance: bool = False, until: int | None = None) -> Drained:
        """As `run_until_idle`, inside of an event loop, such as a notebook's.

        Args:
            limit: As there.
            advance: As there.
            until: As there.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("hello")
            ... async def hello(name):
            ...     return f"hello, {name}"
            >>> _ = hello.enqueue("ada")
            >>> [run.result for run in asyncio.run(worker.run_until_idle_async())]
            ['hello, ada']
        """
        return await drain_async(self, limit, advance, until)

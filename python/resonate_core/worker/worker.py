"""The public face of a worker: its options, its handlers, and how it is run."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .._core import Store
from ..calls.values import Duration, milliseconds
from ..errors import Invalid
from .drain import Drained, drain, drain_async
from .environment import Environment, Target, WorkerStore, default
from .job_source import JobSource, Queues, names_of
from .opening import ClientOpening
from .option_values import bounded_ms, flag, group_or_none, known, name_or_none, queues_of, whole
from .probes import refuse_claim
from .registry import LIFECYCLES, Registry
from .reporting import Counts
from .running import WorkerRunner
from .settings import WorkerOptions, WorkerParts

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Worker"]

#: The workers that were made in this process, or in its parent before the fork.
_made: WeakSet[Worker] = WeakSet()


class Worker(Registry):
    """Runs jobs with Python functions.

    Asynchronous handlers run in the event loop, others in threads. If a worker dies, the leases of its jobs expire and another worker
    runs them (JOBS 3). Each job runs at least once, and completes once.

    A handler that raises fails its attempt. `Retry`, `Skip`, `Snooze` and `JobError` decide what happens next; any other exception
    has the code UnhandledError, type and text as message, and the end of the traceback as data. A job whose type has no handler
    is put back without using a retry, after a pause that doubles: another worker may have the handler.

    Args:
        store_or_url: A `Store`, the path of one, or the URL of a server; None: `bind` sets it later.
        queues: A name, several names, or weights by name; they are created with their first job.
        concurrency: How many jobs run at once; a batch counts as one.
        lifecycle: `asynq`, `horsies` or `workflow` for the jobs that this worker's tasks enqueue; None: as their queue says.
        name: The name under which it holds leases; None: host, process and a number, another one in each process after a fork.
        lease: How long a claimed job is held before its start, in ms or as a timedelta.
        run_lease: How long a running job is held; None: as `lease`.
        strict: Claim from the queues in the order given, from the next one only if the first has nothing; otherwise by weight.
        batch: How many jobs to claim ahead, so that a free slot has its next job at once. If the queue's lifecycle claims in one
            step, they count as running while they wait.
        poll_interval: The longest pause between two claims, in ms or as a timedelta. Commits of this process, notices of PostgreSQL and
            the stream of a server wake the worker at once; only a job that another process has written to a file is seen this late.
        heartbeat: How often leases are renewed, in ms or as a timedelta, less than the shorter lease; None: a third of the shorter lease.
        grace: How long a stop waits for running jobs, in ms or as a timedelta.
        steps: How many steps of workflows run at once.
        target_group: The group of which this worker serves the calls that programs of the published SDKs make by ``rpc(...,
            target=group)``: each runs as a job of the type that the call names, with the options of this worker's task.
        token: A bearer token, if `store_or_url` is the URL of a server.
        answer_bytes: The most bytes of one answer of that server, as of `resonate_core.connect`; None: 64 MiB.
        tracing: Whether enqueues and attempts have OpenTelemetry spans (extra ``otel``); None: if the program has configured a provider.
        environment: What the worker takes from its machine: threads, wake-ups, its name. A simulator passes its own.

    Raises:
        Invalid: An option out of its range.
        TypeError: `store_or_url` is none of these.

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
        store_or_url: Target | None = None,
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
        steps: int = 32,
        target_group: str | None = None,
        token: str | None = None,
        answer_bytes: int | None = None,
        tracing: bool | None = None,
        environment: Environment | None = None,
    ) -> None:
        super().__init__(self, known("lifecycle", lifecycle, LIFECYCLES), None if tracing is None else flag("tracing", tracing))
        lease = bounded_ms("lease", lease, 1)
        run_lease = lease if run_lease is None else bounded_ms("run_lease", run_lease, 1)
        if environment is not None and not isinstance(environment, Environment):
            raise TypeError(f"environment must be an Environment or None, got {environment!r}")
        self._environment = environment or default.get() or Environment()
        self._is_named = name is not None
        self.settings = WorkerOptions(
            name=name_or_none("name", name) or self._environment.name(),
            queues=queues_of(queues),
            concurrency=whole("concurrency", concurrency, 1),
            lease=lease,
            run_lease=run_lease,
            strict=flag("strict", strict),
            batch=whole("batch", batch, 0),
            poll_interval=bounded_ms("poll_interval", poll_interval, 1) / 1000,
            heartbeat=_heartbeat(heartbeat, min(lease, run_lease)) / 1000,
            grace=bounded_ms("grace", grace) / 1000,
            steps=whole("steps", steps, 1),
            target_group=group_or_none("target_group", target_group),
        )
        found = self.settings
        refuse_claim(found.queues, worker=found.name, lease=lease, run_lease=run_lease, strict=found.strict)
        self.counts = Counts()
        self._runner = WorkerRunner(self.settings, self._parts, self._to_open)
        _made.add(self)
        self._bound: tuple[Target, str | None, int | None] | None = None
        self._opening = ClientOpening(self._connect, self._threads)
        if store_or_url is not None:
            self.bind(store_or_url, token, answer_bytes)
        elif token is not None:
            raise TypeError("token must be None without the URL of a server, got one")
        elif answer_bytes is not None:
            raise TypeError(f"answer_bytes must be None without the URL of a server, got {answer_bytes!r}")

    def __repr__(self) -> str:
        return str(self.settings)

    @property
    def name(self) -> str:
        """The name under which it holds leases."""
        return self.settings.name

    @property
    def standstill(self) -> str | None:
        """What holds its slots, while all of them are held by jobs that cannot end: their attempts are over, or they wait for jobs here.

        The log has it as a warning, once; `counts.standstills` counts it.
        """
        session = self._runner.session
        found = None if session is None else session.standstill  # read once: the thread of the loop may set it to None
        return None if found is None else found.sentence()

    def _parked_code(self) -> list[Any]:
        """Return the coroutines of workflows that wait in this process. A simulator lets go of them when the process crashes."""
        session = self._runner.session
        return [] if session is None else session.executor.parked_code()

    @property
    def _takes_time(self) -> bool:
        """Whether the client is opened by a connection or a file."""
        return self._bound is not None and not isinstance(self._bound[0], (Store, WorkerStore))

    def _listening(self) -> None:
        if self._bound is not None and not self._takes_time:  # what must be opened first is opened when the worker runs
            self.events.watch(self.client, names_of(self.settings.queues))

    def _parts(self) -> WorkerParts:
        self.events.watch(self.client, names_of(self.settings.queues))
        self.events.scope = copy_context()
        return WorkerParts(self.settings, self, self.client, self.counts, self._environment, self.events.scope)

    def _begin_anew(self) -> None:
        """In a forked child: run nothing, and hold leases under a name of its own."""
        if not self._is_named:
            self.settings = replace(self.settings, name=self._environment.name())
        self.counts = Counts()
        self.events = self.events.copy()
        self._runner = WorkerRunner(self.settings, self._parts, self._to_open)
        self._opening.begin_anew()

    # -- where its jobs are -----------------------------------------------------------------------------------------------

    def bind(self, store_or_url: Target, token: str | None = None, answer_bytes: int | None = None) -> None:
        """Set the store or server of the jobs, for a worker that was made without one, or to run it with another one.

        Args:
            store_or_url: As of `Worker`.
            token: As of `Worker`.
            answer_bytes: As of `Worker`.

        Raises:
            Invalid: It runs, or `answer_bytes` is less than 1.
            TypeError: `store_or_url` is none of these.

        Example:
            >>> worker = rc.worker.Worker()
            >>> worker.bind(rc.Store(clock=rc.ManualClock()))
            >>> worker.run_until_idle().idle
            True
        """
        if not isinstance(store_or_url, (Store, WorkerStore, str, os.PathLike)) or store_or_url == "":
            raise TypeError(f"store_or_url must be a Store, the path of one or the URL of a server, got {store_or_url!r}")
        if answer_bytes is not None:
            whole("answer_bytes", answer_bytes, 1)
        self.close()
        self._bound = (store_or_url, token, answer_bytes)
        self._listening()

    @property
    def is_bound(self) -> bool:
        """Whether it has a store or server."""
        return self._bound is not None

    def copy(self, environment: Environment) -> Self:
        """Return a worker with the same handlers and options, bound to nothing, for another environment. A simulator runs several.

        Args:
            environment: Of the copy, which also names it.
        """
        made = copy.copy(self)
        made._environment = environment
        made.settings = replace(self.settings, name=environment.name())
        made.counts = Counts()
        made.events = self.events.copy()
        made._runner = WorkerRunner(made.settings, made._parts, made._to_open)
        made._clients = made
        made._bound = None
        made._opening = ClientOpening(made._connect, made._threads)
        return made

    @property
    def client(self) -> JobSource:
        """The client of the store or server, which is opened when it is first needed.

        Raises:
            Invalid: The worker was bound to nothing.
        """
        elsewhere = self._elsewhere()
        if elsewhere is not None:
            return elsewhere()
        return self._opening.client()

    async def client_apart(self) -> JobSource:
        """Return `client`; if it must be opened, then in a thread, so that the event loop does not wait for a connection.

        Raises:
            Invalid: The worker was bound to nothing.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> asyncio.run(worker.client_apart()) is worker.client
            True
        """
        if not self._is_open():
            await self._opening.open_apart()
        return self.client

    def _is_open(self) -> bool:
        """Whether `client` takes no time."""
        return self._opening.is_open or self._elsewhere() is not None or not (self._takes_time and self._environment.beside)

    def _to_open(self) -> Coroutine[Any, Any, object] | None:
        """Return what opens the client for a run in the loop of a program; None: that takes no time."""
        return None if self._is_open() else self._opening.open_to_run()

    def _connect(self) -> JobSource:
        if self._bound is None:
            raise Invalid(f"{self!r} has no store: give it one, or bind() it to one")
        return self._environment.connect(*self._bound)

    def _threads(self) -> Executor:
        return self._environment.client_pool(self.name)

    def _elsewhere(self) -> Callable[[], JobSource] | None:
        """Return the client of another environment that runs copies of this worker, for code in it."""
        here = default.get()
        return None if here is None or here is self._environment else here.client

    def close(self) -> None:
        """Close what it opened: the store of a path, the connections to a server. They are opened again when they are needed.

        Raises:
            Invalid: It runs.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).close()
        """
        self._runner.check_stopped()
        self._opening.close()

    async def aclose(self) -> None:
        """As `close`, in a thread, so that the event loop does not wait for a disk or a server.

        Raises:
            Invalid: It runs.

        Example:
            >>> import asyncio
            >>> asyncio.run(rc.worker.Worker(rc.Store(clock=rc.ManualClock())).aclose())
        """
        await asyncio.to_thread(self.close)

    # -- run --------------------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Claim and run jobs until `stop` is called, in the event loop of a program of your own. Cancelling it stops it too.

        Raises:
            Invalid: It runs already.
            ResonateError: The store refuses it, such as a server that expects another token.

        Example:
            >>> import asyncio
            >>> store = rc.Store()
            >>> worker = rc.worker.Worker(store)
            >>> @worker.task("last")
            ... async def last():
            ...     worker.stop()
            >>> _ = last.enqueue()
            >>> asyncio.run(worker.serve())
            >>> worker.counts.completed
            1
        """
        await self._runner.serve(alone=False)

    def run(self, *, signals: bool = True) -> None:
        """Claim and run jobs until a signal arrives or `stop` is called. It is for a program that does nothing else.

        SIGTERM and SIGINT stop it gracefully; a second signal ends the grace, and what runs is put back. If the worker does not end
        then, because a handler blocks the loop or swallows its cancellation, the log names the job and the process exits with 1;
        at a second signal it does so at once if the loop has been blocked for a second since the first.

        Args:
            signals: Listen to them, where this is the main thread.

        Raises:
            RuntimeError: An event loop runs in this thread: `await worker.serve()`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store())
            >>> _ = worker.task("last")(lambda: worker.stop()).enqueue()
            >>> worker.run()
            >>> worker.counts.completed
            1
        """
        try:
            self._runner.run(signals=flag("signals", signals))
        finally:
            self.close()

    def stop(self, grace: Duration | None = None) -> None:
        """Stop it gracefully: no more jobs are claimed, jobs that wait are given back, and jobs that run have the grace to end.

        A job that has not ended then is called off and put back (a snooze of 0 ms, which uses no retry), so that another worker can
        claim it at once. May be called from any thread; it returns at once. It does nothing if the worker does not run.

        Args:
            grace: In ms or as a timedelta; None: the worker's. A second call can only make it shorter.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).stop()
        """
        self._runner.stop(self.settings.grace if grace is None else bounded_ms("grace", grace) / 1000)

    async def __aenter__(self) -> Self:
        await self._runner.begin()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._runner.end()

    def __enter__(self) -> Self:
        self._runner.begin_thread()
        return self

    def __exit__(self, *raised: object) -> None:
        self._runner.end_thread()

    # -- drain ------------------------------------------------------------------------------------------------------------

    def run_until_idle(self, limit: int | None = None, *, advance: bool = False, until: int | None = None) -> Drained:
        """Run the jobs that can run now, one after the other in this thread, and return: for tests and simulations.

        No thread is made and nothing sleeps. With `advance`, on a `ManualClock`, time moves from instant to instant: retries,
        scheduled and periodic jobs run at their very millisecond.

        Args:
            limit: How many attempts at most; a batch is not split.
            advance: Move the clock to the next instant at which anything is due, until no job waits in the queues of this worker.
            until: Move the clock up to this instant, in Unix ms.

        Returns:
            What was done.

        Raises:
            Unsupported: The jobs are a server's.
            Invalid: The clock cannot be moved, or would move for ever.
            RuntimeError: A handler is asynchronous, and an event loop runs in this thread: see `run_until_idle_async`.

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
        return drain(self._parts(), limit, advance, until)

    async def run_until_idle_async(self, limit: int | None = None, *, advance: bool = False, until: int | None = None) -> Drained:
        """As `run_until_idle`, inside an event loop, such as a notebook's.

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
        opening = self._to_open()
        if opening is not None:
            await opening
        return await drain_async(self._parts(), limit, advance, until)


def _heartbeat(given: Duration | None, lease: int) -> float:
    if given is None:
        return lease / 3
    heartbeat = milliseconds("heartbeat", given, 1)
    if heartbeat >= lease:
        raise Invalid(
            f"heartbeat must be shorter than lease and run_lease, got {heartbeat} ms with a lease of {lease} ms: each job that runs "
            "longer would be lost; leave it out to renew the lease three times"
        )
    return heartbeat


def _begin_anew() -> None:
    for worker in list(_made):
        worker._begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)

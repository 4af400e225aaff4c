"""Events of jobs: what ended an attempt or a job, for functions that report it elsewhere.

A worker knows how its own attempts ended. The store ends other jobs and attempts, by itself (a crash of another worker, a timeout, an
expiry, a deadline) or on request (a cancellation). The commits of this process count them; if a count has risen, the worker searches
for the jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._core import Job
from ..errors import ResonateError
from .job_source import JobSource
from .outcomes import Outcome, as_text
from .scopes import call_in
from .signature import is_generator
from .store_client import StoreClient

if TYPE_CHECKING:
    from .._core import JobState, Watch
    from .execution import Attempt

__all__ = ["Events", "JobEvent", "Listener"]

_log = logging.getLogger("resonate_core.worker")

Kind = Literal["complete", "retry", "failure", "cancelled"]
#: An event of an archived job has two topics: `failure` and `archived`.
Topic = Literal["complete", "retry", "failure", "archived", "cancelled"]

#: The states that jobs enter without an attempt.
_ENDS_WITHOUT_ATTEMPT: tuple[JobState, ...] = ("cancelled", "expired")
#: The reasons of errors that the worker or the store itself reports; any other code is an error of the handler.
_REASONS = {
    "WorkerCrashed": "crashed",
    "TaskTimeout": "timeout",
    "TaskExpired": "expired",
    "DeadlineExceeded": "deadline",
    "UnknownType": "unknown_type",
    "InvalidPayload": "invalid_payload",
    "InvalidResult": "invalid_result",
}
_KINDS: dict[str, Kind] = {
    "archived": "failure",
    "failed": "failure",
    "expired": "failure",
    "cancelled": "cancelled",
    "completed": "complete",
}
#: The outcomes of attempts that no worker reports.
_BY_STORE = ("crashed", "timed_out")
#: How many events may wait for slow listeners; others are dropped, and logged.
MOST_WAITING = 1000
#: Seconds that an asynchronous listener may take, and seconds that a worker that stops waits for its listeners.
LISTENER_TIMEOUT, STOP_TIMEOUT = 30.0, 5.0
#: The pause between two searches (ms), the most pages of a search for each state, and the number of reported events that are remembered.
_PAUSE, _PAGES, _REMEMBERED = 1000, 20, 10_000


@dataclass(frozen=True, slots=True)
class JobEvent:
    """What happened to a job.

    Attributes:
        kind: `complete`, `retry` (the attempt failed, and the job runs again), `failure` (it does not run again by itself) or
            `cancelled`.
        job: The job after the event; for `complete`, the job as it was claimed.
        reason: `completed`, `cancelled`, `error`, `timeout`, `crashed`, `expired`, `deadline`, `unknown_type`, `invalid_payload`,
            `invalid_result`, or `archived` (on request).
        attempt: The number of the attempt that ended; None if none ended.
        error: `code`, `message` and perhaps `data`, which for an exception is the end of its traceback.
        next_at: When the job is retried, in Unix ms; None if it is not retried, or runs again already.
        worker: The worker of the attempt.
        exception: What the handler raised in this process, with its traceback.
        result: What the handler returned.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.on_retry
        ... def report(event: rc.worker.JobEvent):
        ...     print(event.job.type, event.attempt, event.reason, event.error["code"], event.next_at, repr(event.exception))
        >>> @worker.task("fetch", retry_policy={"kind": "fixed", "intervals": [60_000]})
        ... def fetch():
        ...     raise OSError("no route")
        >>> _ = fetch.enqueue()
        >>> _ = worker.run_until_idle()
        fetch 1 error UnhandledError 60000 OSError('no route')
    """

    kind: Kind
    job: Job
    reason: str
    attempt: int | None = None
    error: dict[str, str] | None = None
    next_at: int | None = None
    worker: str | None = None
    exception: BaseException | None = None
    result: Any = None

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The kinds of listeners that are called with it."""
        return ("failure", "archived") if self.kind == "failure" and self.job.state == "archived" else (self.kind,)


Listener = Callable[[JobEvent], Any]


class _Recent:
    """The newest events of which listeners were notified."""

    def __init__(self) -> None:
        self._keys: OrderedDict[tuple[str, int | None, str], None] = OrderedDict()

    def add(self, event: JobEvent) -> bool:
        """Remember an event; return whether it is new."""
        key = event.job.id, event.attempt, event.kind
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > _REMEMBERED:
            self._keys.popitem(last=False)
        return True


class Events:
    """The listeners of a worker, and how they are called: one after the other, beside the jobs."""

    def __init__(self) -> None:
        self._listeners: dict[Topic, list[Listener]] = {}
        self._client: JobSource | None = None
        self._queues: Sequence[str] = ()
        self._watch: Watch | None = None
        self._seen: dict[str, int] = {}
        self._own = 0  # failures for good that this worker has reported itself
        self._since = 0  # what the store has done since the last look is not older, in Unix ms
        self._next_look = 0  # in Unix ms
        self._recent = _Recent()
        self._lock = threading.Lock()
        self._waiting = 0
        self._submit: Callable[[Iterable[JobEvent]], None] | None = None
        self.scope: Context | None = None  # the context variables of the worker's start

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def copy(self) -> Events:
        """Return the same listeners, without the events so far."""
        made = Events()
        made._listeners = {topic: list(listeners) for topic, listeners in self._listeners.items()}
        return made

    def add(self, topic: Topic, listener: Listener) -> None:
        """Add a listener.

        Raises:
            TypeError: It cannot be called.
        """
        if not callable(listener):
            raise TypeError(f"a listener of events must be a function of a JobEvent, got {listener!r}")
        if is_generator(listener):
            raise TypeError(f"a listener of events must not yield, got {listener!r}: a call would run nothing of it")
        self._listeners.setdefault(topic, []).append(listener)

    # -- what the worker has seen itself ----------------------------------------------------------------------------------------

    def ended(self, attempt: Attempt, outcome: Outcome, status: int) -> None:
        """Report how an attempt of this worker ended. It does not raise: the store has the end already.

        Args:
            attempt: The attempt.
            outcome: How it was reported in the end.
            status: Of the answer to that.
        """
        try:
            self._ended(attempt, outcome, status)
        except Exception:
            _log.exception("there is no event of job %s", attempt.id)

    def _ended(self, attempt: Attempt, outcome: Outcome, status: int) -> None:
        if status >= 300 or (outcome.kind not in ("completed", "failed") and outcome.failure is None):
            self._ended_elsewhere(attempt)
            return
        if outcome.kind == "completed":
            if "complete" in self._listeners:
                done = attempt.context.attempt
                worker = attempt.context.worker
                self._notify(JobEvent("complete", attempt.job, "completed", done, worker=worker, result=outcome.result))
            return
        job = self._after(attempt)
        event = self._failed(attempt, outcome, job)
        self._own += event.kind == "failure" and job.state != "expired"
        self._notify(event)

    def _ended_elsewhere(self, attempt: Attempt) -> None:
        """Report a job of a server that was cancelled while it ran here: no search finds it."""
        if attempt.context.reason == "cancelled" and self._watch is None:
            job = self._after(attempt)
            self._notify(JobEvent("cancelled", job, "cancelled", attempt.context.attempt, worker=attempt.context.worker))

    def _after(self, attempt: Attempt) -> Job:
        """Return the job after its attempt; if the store cannot be read, the job before it."""
        if self._client is None:  # the listener was added while the worker ran
            return attempt.job
        try:
            return self._client.get(attempt.id)
        except (ResonateError, OSError):
            return attempt.job

    def _failed(self, attempt: Attempt, outcome: Outcome, job: Job) -> JobEvent:
        failure = outcome.failure
        assert failure is not None
        error = {"code": failure.code, "message": as_text(failure.message)}
        if failure.data is not None:
            error["data"] = failure.data
        number = attempt.context.attempt
        runs_again = bool(job.attempts) and job.attempts[-1]["number"] > number
        kind = "retry" if runs_again else _KINDS.get(job.state, "retry")
        return JobEvent(
            kind,
            job,
            _REASONS.get(failure.code, "error"),
            number,
            error,
            _again_at(job) if kind == "retry" else None,
            attempt.context.worker,
            outcome.error,
        )

    # -- what the store has done -------------------------------------------------------------------------------------------------

    def watch(self, client: JobSource, queues: Sequence[str]) -> None:
        """Begin to count the changes of the store, if it is in this process and there are listeners."""
        if not self._listeners or client is self._client:
            return
        self._client, self._queues = client, queues
        if self._watch is not None:
            self._watch.close()
        self._watch = client.store.watch(-1) if isinstance(client, StoreClient) else None
        self._seen = self._counted()
        self._remember()

    def _counted(self) -> dict[str, int]:
        """Return how often the store made changes that no worker reports, and how many jobs of other workers failed for good."""
        if self._watch is None:
            return {}
        attempts, states = self._watch.job_attempts, self._watch.job_states
        return {
            "retry": sum(attempts[outcome] for outcome in _BY_STORE),
            "archived": states["archived"] + states["failed"] - self._own,
            "expired": states["expired"],
            "cancelled": states["cancelled"],
        }

    def _remember(self) -> None:
        """Set the instant from which the next search begins: every later step has this instant or a later one."""
        assert self._client is not None
        due = self._client.next_due()
        now = self._client.now()
        self._since = now if due is None else min(now, due)

    def look(self, claimed: Iterable[Job] = ()) -> None:
        """Report the changes of the store since the last call.

        Args:
            claimed: Jobs that this worker has claimed since then: a job whose worker crashed may run here already.
        """
        client = self._client
        if self._watch is None or not isinstance(client, StoreClient):
            return
        counted = self._counted()
        if counted == self._seen:
            return
        if not client.manual:
            if client.now() < self._next_look:
                return
            self._next_look = client.now() + _PAUSE
        changed = {name for name, count in counted.items() if count != self._seen[name]}
        self._seen = counted
        since = self._since
        self._remember()
        try:
            self._search(client, changed, since, claimed)
        except Exception:
            _log.exception("events of jobs could not be looked up")

    def _search(self, client: StoreClient, changed: set[str], since: int, claimed: Iterable[Job]) -> None:
        states: list[JobState] = [state for state in _ENDS_WITHOUT_ATTEMPT if state in changed]
        if "archived" in changed or "retry" in changed:
            states += ["archived", "failed"]
        found = [_by_store(job, since) for state in states for job in self._jobs(client, state)]
        if "retry" in changed:
            found += [_by_store(job, since) for job in (*self._jobs(client, "retry"), *claimed)]
        for event in sorted(filter(None, found), key=lambda each: (_instant(each), each.job.id)):
            self._notify(event)

    def _jobs(self, client: StoreClient, state: JobState) -> Iterable[Job]:
        for queue in self._queues:
            cursor = None
            for _ in range(_PAGES):
                page = client.store.jobs.search(queue=queue, state=state, limit=1000, cursor=cursor)
                yield from page
                cursor = page.cursor
                if cursor is None:
                    break
            else:
                _log.warning("queue %r has more %s jobs than events are looked up for: %d", queue, state, _PAGES * 1000)

    # -- call the listeners ------------------------------------------------------------------------------------------------------

    def _notify(self, event: JobEvent) -> None:
        if not any(topic in self._listeners for topic in event.topics) or not self._recent.add(event):
            return
        if self._submit is None:
            self.deliver(event)
            return
        with self._lock:
            full = self._waiting >= MOST_WAITING
            self._waiting += not full
        if full:
            _log.error(
                "no listener is notified of the %s of job %s: %d events wait for listeners", event.kind, event.job.id, MOST_WAITING
            )
        else:
            self._submit([event])

    def start(self, submit: Callable[[Iterable[JobEvent]], None]) -> None:
        """From now on, pass events to `submit`, which calls `run` with each of them beside the jobs."""
        self._submit = submit

    @contextlib.contextmanager
    def delivered(self, make_pool: Callable[..., Any], worker: str) -> Iterator[None]:
        """Deliver events in a thread of their own, of a pool that is made as `Environment.handler_pool` says."""
        if not self:
            yield
            return
        pool = make_pool(1, self.run, f"{worker}-event")
        self.start(pool.submit)
        try:
            yield
        finally:
            pool.withdraw()
            pool.close()

    def run(self, event: JobEvent) -> None:
        """Deliver an event that was passed to `submit`. It does not raise."""
        try:
            self.deliver(event)
        finally:
            with self._lock:
                self._waiting = max(0, self._waiting - 1)  # a listener that `stop` did not wait for may end now

    async def stop(self) -> None:
        """Wait up to STOP_TIMEOUT until the waiting events are delivered, and log how many are not."""
        loop = asyncio.get_running_loop()
        end = loop.time() + STOP_TIMEOUT
        while self._waiting and loop.time() < end:
            await asyncio.sleep(0.01)
        if self._waiting:
            _log.error("listeners are not notified of %d events: they take too long", self._waiting)
        self._submit, self._waiting = None, 0

    def deliver(self, event: JobEvent) -> None:
        """Call the listeners of an event, and log what a listener raises."""
        for topic in event.topics:
            for listener in self._listeners.get(topic, ()):
                try:
                    scope = copy_context() if self.scope is None else self.scope.copy()
                    call_in(scope, _call, listener, event)
                except (Exception, SystemExit, asyncio.CancelledError):
                    _log.exception("on_%s: %r raised for job %s", topic, listener, event.job.id)


def _call(listener: Listener, event: JobEvent) -> None:
    made = listener(event)
    if inspect.isgenerator(made) or inspect.isasyncgen(made):
        raise TypeError(f"a listener of events must not yield, got {made!r} from {listener!r}: a call runs nothing of it")
    if inspect.isawaitable(made) and not asyncio.isfuture(made):  # a future runs in a loop of its own
        _wait_for(made)


def _wait_for(made: Any) -> None:
    """Run what an asynchronous listener returned, in a loop of its own."""

    async def bounded() -> None:
        await asyncio.wait_for(made, LISTENER_TIMEOUT)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(bounded())
        return
    failed: list[Exception] = []

    def beside() -> None:
        try:
            asyncio.run(bounded())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(beside,), name="resonate-event")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _last_ended(job: Job) -> dict[str, Any] | None:
    return next((attempt for attempt in reversed(job.attempts[-2:]) if "outcome" in attempt), None)


def _by_store(job: Job, since: int) -> JobEvent | None:
    """Return the event of the last change of a job; None if a worker made the change, or it is older than `since`."""
    last = _last_ended(job)
    state = job.state
    number = worker = None
    if state in ("expired", "cancelled") or (
        state == "failed" and job.error is not None and job.error["code"] == "DeadlineExceeded"
    ):
        at = _over_at(job)
        if last is not None and last.get("finishedAt") == at:
            number, worker = last["number"], last["worker"]
    elif last is not None and last["outcome"] in _BY_STORE:
        at, number, worker = last["finishedAt"], last["number"], last["worker"]
    elif state == "failed" and (last is None or last.get("finishedAt") != job.failed_at):
        at = job.failed_at
    else:
        return None
    if at is None or at < since:
        return None
    kind = _KINDS.get(state, "retry")
    error = last.get("error") if last is not None and kind == "retry" else job.error
    code = None if error is None else error["code"]
    reason = "cancelled" if kind == "cancelled" else _REASONS.get(code or "", "error")
    return JobEvent(kind, job, reason, number, error, job.next_retry_at if kind == "retry" else None, worker)


def _again_at(job: Job) -> int | None:
    """Return when a job runs again: it waits for a retry, or was put back because its type has no handler."""
    return job.process_at if job.state == "scheduled" else job.next_retry_at


def _over_at(job: Job) -> int | None:
    """Return when a job ended without a result, in Unix ms."""
    return next((at for at in (job.expired_at, job.cancelled_at, job.failed_at) if at is not None), None)


def _instant(event: JobEvent) -> int:
    job = event.job
    last = _last_ended(job)
    with contextlib.suppress(KeyError, TypeError):
        if event.attempt is not None and last is not None:
            return int(last["finishedAt"])
    return _over_at(job) or 0

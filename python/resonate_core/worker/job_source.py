"""The requests of a worker: one interface to a store in this process and to a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from .._core import Job, Jobs, Promise, PromisePage
from ..calls.call import Call, refusal
from ..calls.made import call
from ..calls.wakeup import Watching
from ..errors import ResonateError, StoreError
from .outcomes import Outcome

__all__ = [
    "MOST",
    "NOT_HELD",
    "WAITING",
    "Claim",
    "Claimed",
    "Exchanged",
    "Execute",
    "Held",
    "Inbox",
    "JobSource",
    "JobSourceOwner",
    "Queues",
    "end_call",
    "names_of",
    "recorded_by_call",
    "refusal",
    "result_or_refusal",
    "unless_held",
]

T = TypeVar("T")
Queues = str | Sequence[str] | Mapping[str, int]
#: Id and version of a job that the worker holds.
Held = tuple[str, int]

#: The most jobs that one request names: a server limits the size of a request.
MOST = 1000
#: The states of jobs that are neither settled nor archived, and wait for nothing else than time or a worker.
WAITING = ("scheduled", "pending", "claimed", "running", "retry")
#: Statuses of refusals that mean that the worker does not hold the job any more.
NOT_HELD = (404, 409)


class Claimed(NamedTuple):
    """Jobs that were claimed.

    Attributes:
        jobs: In the order of claiming.
        next_at: When a queue that only lacked a token of its rate has one, in Unix ms.
    """

    jobs: Sequence[Job]
    next_at: int | None


class Claim(NamedTuple):
    """The arguments of `Store.jobs.claim`; `most` is its `count`, and 0 claims nothing."""

    queues: Queues
    most: int
    worker: str
    lease: int
    run_lease: int
    strict: bool
    start: int


class Exchanged(NamedTuple):
    """The results of `complete_many`, `start_many` and `claim` in one transaction.

    A result is None if its request was empty, left out, or refused as a whole: the caller makes it alone, and sees why.
    """

    completed: list[int] | None = None
    started: list[int] | None = None
    claimed: Claimed | None = None


class Execute(NamedTuple):
    """A message that a task can be acquired.

    Attributes:
        id: The id of the task.
        version: The version in the message.
        number: That of the message in the outbox of a store.
        stale: Whether the task has moved on since then.
    """

    id: str
    version: int
    number: int = 0
    stale: bool = False


class Inbox(Watching, Protocol):
    """The messages to one worker of a group. It writes a byte to its descriptor when there may be one."""

    shared: bool
    """Whether each worker of the group reads all messages, until one of them acknowledges them. Otherwise each message has one reader."""

    def take(self) -> list[Execute]:
        """Return the messages that have come since the last call."""

    def read_again(self) -> None:
        """Let the next `take` return all messages that wait, if they are shared."""

    def acknowledge(self, taken: Sequence[Execute]) -> None:
        """Take messages out of the outbox."""


class JobSource(Protocol):
    """Requests about jobs. A status is 200, or 404 or 409 if the worker does not hold the job any more; other refusals raise."""

    blocking: bool
    """Whether a request takes time, so that an event loop must not wait for it."""
    local: bool
    """Whether the store is in this process."""
    manual: bool
    """Whether the clock is moved by hand."""

    def now(self) -> int:
        """The present instant, in Unix ms."""

    def next_due(self) -> int | None:
        """When the next timer of the store is due, in Unix ms, as far as is known here."""

    def watch(self, descriptor: int, queues: Queues) -> Watching | None:
        """Write a byte to the descriptor when there may be something to claim from these queues; None if the client cannot."""

    def inbox(self, group: str, pid: str, descriptor: int) -> Inbox:
        """Return the messages to a worker of a group; the descriptor is as of `watch`, -1 for none."""

    def fleet(self) -> int:
        """How many processes with workers share the database, as far as is known here; 0: the client cannot know."""

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> Job:
        """Enqueue a job."""

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Job]:
        """Enqueue a job for each payload. If any is refused, it raises the first refusal.

        Of the others a store in this process then enqueues none. A server judges each job on its own: if it has enqueued some, the call
        raises `PartlyEnqueued`.
        """

    def exchange(self, results: Sequence[tuple[str, int, Any]], held: Sequence[Held], claim: Claim) -> Exchanged:
        """Complete jobs, start claimed ones and claim, in one transaction. A client that cannot do that leaves all three out."""

    def claim(self, claim: Claim) -> Claimed:
        """Claim jobs, and start the first `start` of them. The jobs of a batch come together, even if they are more than asked."""

    def start_many(self, held: Sequence[Held], lease: int) -> list[int]:
        """Start claimed jobs."""

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        """Complete jobs. One of several may have any status that refuses it; a single one that is refused raises."""

    def end_many(self, held: Sequence[Held], outcome: Outcome) -> list[int]:
        """End attempts by one outcome other than completed, or give claimed jobs back (`released`).

        Returns:
            The statuses of the first ones, of as many as one request can name.
        """

    def report(self, id: str, version: int, progress: float | None, lines: Sequence[str]) -> int:
        """Report on a running job; return the status."""

    def heartbeat(self, worker: str, held: Sequence[Held]) -> tuple[list[str], list[str]]:
        """Renew leases; return the ids of jobs that were cancelled, and of those that were lost."""

    def get(self, id: str) -> Job:
        """Return a job."""

    def delete(self, id: str) -> None:
        """Delete a job."""

    def run(self, call: Call[T]) -> T:
        """Run a call, such as the request of a graph."""

    def send(self, calls: Sequence[Call[Any]]) -> list[Any]:
        """Run calls in order, in one transaction if the client can; return the result of each, or the `ResonateError` that refuses it."""

    async def send_async(self, calls: Sequence[Call[Any]]) -> list[Any]:
        """As `send`. The event loop does not wait, and calls of several tasks may share a transaction."""

    def record(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        """Record steps of a running job.

        Raises:
            NotFound: The worker does not hold the job any more.
            Conflict: The worker does not hold the job any more.
        """

    async def record_async(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        """As `record`. The event loop does not wait, and records of several tasks may share a transaction."""

    def history(self, id: str, cursor: str | None) -> PromisePage:
        """Return a page of the children of a job."""

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Return the promises with these ids, by one request if the client can; None for one that does not exist."""

    def scheduled(self, ids: str, tags: Mapping[str, str]) -> Sequence[Job]:
        """Return the scheduled jobs of all queues whose ids match a pattern and that have these tags, up to a thousand."""

    def waiting(self, queues: Iterable[str]) -> int:
        """Return how many jobs these queues have that are `WAITING`; those of paused queues do not count."""

    def awaits_time(self, queues: Iterable[str]) -> bool:
        """Return whether a job of these queues waits for something that ends by itself at some instant, such as a timer."""

    async def apart(self, function: Callable[[], T]) -> T:
        """Call a function that makes requests, in a thread of the client, so that the event loop does not wait for it."""

    def close(self) -> None:
        """Close what this client opened."""


class JobSourceOwner(Protocol):
    """A worker, as its tasks see it: the owner of a `JobSource`, which is opened when it is first needed."""

    @property
    def client(self) -> JobSource:
        """The client. The caller waits while it is opened."""

    async def client_apart(self) -> JobSource:
        """Return the client. The event loop does not wait while it is opened."""


def result_or_refusal(call: Call[Any], status: int, answer: Any) -> Any:
    """Return the result of a reply, or the error that refuses the call.

    Raises:
        StoreError: The store has failed.
    """
    try:
        return call.result(status, answer)
    except StoreError:
        raise
    except ResonateError as error:
        return error


async def recorded_by_call(client: JobSource, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
    """`JobSource.record_async` of a client that sends calls."""
    (answer,) = await client.send_async([call(Jobs.record, id, version, steps)])
    if isinstance(answer, ResonateError):
        raise answer
    recorded: Sequence[Promise] = answer
    return recorded


def unless_held(error: ResonateError) -> int:
    """The status of a refusal that means that the worker does not hold the job any more.

    Raises:
        ResonateError: The error means something else.
    """
    if error.status not in NOT_HELD:
        raise error
    return error.status


def names_of(queues: Queues) -> list[str]:
    """The names alone."""
    return [queues] if isinstance(queues, str) else list(queues)


def end_call(id: str, version: int, outcome: Outcome) -> Call[Job]:
    """The call that ends an attempt by an outcome other than completed.

    Example:
        >>> from resonate_core.worker.job_source import end_call
        >>> from resonate_core.worker.outcomes import Outcome
        >>> snooze = end_call("a", 1, Outcome("snoozed", delay=5))
        >>> snooze.kind, snooze.data
        ('job.snooze', {'id': 'a', 'version': 1, 'delay': 5})
    """
    if outcome.kind == "released":
        return call(Jobs.release, id, version)
    if outcome.kind == "snoozed":
        return call(Jobs.snooze, id, version, outcome.delay)
    failure = outcome.failure
    assert failure is not None
    return call(
        Jobs.fail,
        id,
        version,
        failure.code,
        failure.message,
        failure.data,
        retryable=failure.retryable,
        retry_after=failure.retry_after,
        archive=failure.archive,
    )

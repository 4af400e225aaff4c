"""Jobs of a server: each call is a request of the protocol over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from .. import errors
from .._core import Job, JobBatch, Jobs as CoreJobs, Promise, PromisePage, Promises, SystemClock
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..calls.call import Call, refusal
from ..calls.made import call, made, together
from ..calls.store_threads import MOST_OF_URL, OwnThreads
from ..http.remote import Remote
from ..http.server_client import BeforeProtocol
from .inboxes import UrlInbox
from .job_source import (
    MOST,
    NOT_HELD,
    Claim,
    Claimed,
    Exchanged,
    Held,
    Queues,
    T,
    end_call,
    names_of,
    recorded_by_call,
    unless_held,
)
from .outcomes import Outcome
from .url_watch import UrlWatch

__all__ = ["UrlClient"]

#: Statuses with which a server that speaks the protocol ends a worker: its token or its requests are wrong, or there are no jobs.
_ENDING = (400, 401, 403, 501)
#: The page of a proxy for a body that is too large for it: it would be again.
_TOO_LARGE = 413


class UrlClient:
    """A `JobSource` of a server. It sends each request once: the worker decides when it tries again.

    Args:
        url: Its address, with the path under which it is mounted.
        token: A bearer token.
        timeout: How long to wait for one answer, in seconds.
        answer_bytes: The most bytes of one answer; None: those of `Remote`.

    Raises:
        ModuleNotFoundError: There is no httpx.
        Invalid: The URL or the token is none, or the limit.
    """

    blocking = True
    local = False
    manual = False

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0, answer_bytes: int | None = None) -> None:
        limits = {} if answer_bytes is None else {"answer_bytes": answer_bytes}
        self._remote = Remote(url, token, timeout, retry_for=0, **limits)
        self._clock = SystemClock()
        self._threads = OwnThreads(MOST_OF_URL)
        self._most = MOST  # jobs of a claim

    def __repr__(self) -> str:
        return f"UrlClient({self._remote!r})"

    def _run(self, call: Call[T]) -> T:
        """Run a call. A proxy that wants a token is not the server, so that its page says nothing about the request.

        Raises:
            StoreError: It is to be tried again.
            ResonateError: The server has refused it.
        """
        try:
            return self._remote.run(call)
        except BeforeProtocol as error:
            if error.status == _TOO_LARGE:
                raise
            raise errors.NoEnvelope(str(error), error.status) from error

    def _next(self, call: Call[T]) -> T:
        """Run a claim or a start: only a refusal of the protocol ends a worker.

        Raises:
            StoreError: It is to be tried again.
            ResonateError: The server has refused it by a status that the protocol has for it.
        """
        try:
            return self._run(call)
        except errors.StoreError:
            raise
        except errors.ResonateError as error:
            if error.status in _ENDING and not isinstance(error, BeforeProtocol):
                raise
            said = f"it refused {call.kind} by {error.status}: {excerpt(error.message)}"
            raise errors.NoEnvelope(f"{self._remote.server.name} does not speak the protocol: {said}", error.status) from error

    def _status(self, call: Call[Any]) -> int:
        """Send a request on one held job; return its status."""
        try:
            self._run(call)
        except errors.ResonateError as error:
            return unless_held(error)
        return 200

    # -- the interface of a client ----------------------------------------------------------------------------------------

    def now(self) -> int:
        """This machine's time: a server has no request for its own."""
        return self._clock.now

    def next_due(self) -> int | None:
        """Unknown: a server has no request for it."""
        return None

    def watch(self, descriptor: int, queues: Queues) -> UrlWatch:
        """Watch the server's stream of jobs."""
        address = self._remote.server
        return UrlWatch(address, names_of(queues), descriptor)

    def inbox(self, group: str, pid: str, descriptor: int) -> UrlInbox:
        """The server's stream of messages."""
        return UrlInbox(self._remote.server, group, pid, descriptor)

    def fleet(self) -> int:
        return 0

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> Job:
        return self._remote.run(call(CoreJobs.enqueue, type, payload, **options))

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Job]:
        """Enqueue each job on its own, in requests that the server accepts."""
        enqueued = self._remote.in_parts(together(CoreJobs.enqueue_many, type, payloads, **options))
        return list(enqueued)

    def exchange(self, results: Sequence[tuple[str, int, Any]], held: Sequence[Held], claim: Claim) -> Exchanged:
        """Leave all out: if the response of a batch were lost, the worker would not know which of its requests ran."""
        return Exchanged()

    def claim(self, claim: Claim) -> Claimed:
        """Claim jobs. If the answer is too long for this client, the next claims ask for fewer."""
        queues, most, worker, lease, run_lease, strict, start = claim
        count = min(most, self._most)
        leases = {"lease": lease, "run_lease": run_lease}
        request = call(CoreJobs.claim, queues, count, worker=worker, strict=strict, start=min(start, count), **leases)
        try:
            claimed = self._next(Call(request.kind, request.data, partial(_claimed, request.read, names_of(queues))))
        except errors.NoEnvelope as error:
            if error.too_long:
                self._most = max(1, count // 2)
            raise
        self._most = min(MOST, self._most * 2)
        return claimed

    def start_many(self, held: Sequence[Held], lease: int) -> list[int]:
        """Start claimed jobs. A job that the server refuses, by whatever status, is not started; the others may be."""
        request = made(CoreJobs.start_many, held, lease=lease)
        return _statuses_of(self._next(_whole(request))) if isinstance(request, Call) else []

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        request = made(CoreJobs.complete_many, results)
        if not isinstance(request, Call):  # there are none
            return []
        items = self._run(_whole(request))
        for item in items:
            if item["status"] >= 300 and item["status"] not in NOT_HELD and len(items) == 1:
                raise refusal(item["status"], excerpt(item.get("error"), MOST_OF_A_REFUSAL))
        return _statuses_of(items)

    def end_many(self, held: Sequence[Held], outcome: Outcome) -> list[int]:
        """job.fail, job.snooze or job.release of the first: a server has no request for several."""
        return [self._status(end_call(*held[0], outcome))]

    def report(self, id: str, version: int, progress: float | None, lines: Sequence[str]) -> int:
        return self._status(call(CoreJobs.report, id, version, progress=progress, lines=lines))

    def heartbeat(self, worker: str, held: Sequence[Held]) -> tuple[list[str], list[str]]:
        beat = self._remote.run(call(CoreJobs.heartbeat, worker, held))
        return list(beat.cancelled), list(beat.lost)

    def get(self, id: str) -> Job:
        return self._remote.run(call(CoreJobs.get, id))

    def delete(self, id: str) -> None:
        self._remote.run(call(CoreJobs.delete, id))

    def run(self, call: Call[T]) -> T:
        return self._remote.run(call)

    def send(self, calls: Sequence[Call[Any]]) -> list[Any]:
        """Requests that share an HTTP request, if the server takes batches; each is a transaction of its own."""
        return self._remote.each(calls)

    async def send_async(self, calls: Sequence[Call[Any]]) -> list[Any]:
        return await self.apart(lambda: self.send(calls))

    def record(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        return list(self._remote.run(call(CoreJobs.record, id, version, steps)))

    async def record_async(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        return await recorded_by_call(self, id, version, steps)

    def history(self, id: str, cursor: str | None) -> PromisePage:
        return self._remote.run(call(CoreJobs.history, id, limit=1000, cursor=cursor))

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Read them by requests that share an HTTP request, if the server takes batches."""
        found: list[Promise | None] = []
        for answer in self._remote.each([call(Promises.get, id) for id in ids]):
            if isinstance(answer, errors.ResonateError) and not isinstance(answer, errors.NotFound):
                raise answer
            found.append(answer if isinstance(answer, Promise) else None)
        return found

    def scheduled(self, ids: str, tags: Mapping[str, str]) -> Sequence[Job]:
        found = self._remote.run(call(CoreJobs.search, ids, state="scheduled", tags=tags, limit=1000))
        return list(found)

    def waiting(self, queues: Iterable[str]) -> int:
        raise errors.Unsupported("the queues of a server are not drained: run_until_idle is for a store with a ManualClock")

    def awaits_time(self, queues: Iterable[str]) -> bool:
        return self.waiting(queues) > 0

    async def apart(self, function: Callable[[], T]) -> T:
        """Call it in a thread. The wait for a thread has the time limit of an answer."""
        server = self._remote.server
        try:
            return await self._threads.call(function, server.timeout)
        except TimeoutError as error:
            unsent = errors.Unreachable(f"{server.name} did not answer in time: {error}")
            unsent.executed = False
            raise unsent from error

    def close(self) -> None:
        self._threads.close()
        self._remote.server.close()


def _claimed(read: Callable[[Any], JobBatch], queues: Sequence[str], answer: Any) -> Claimed:
    """Read a claim: jobs of these queues, each once, claimed or running."""
    batch = read(answer)
    found = {}
    for job in batch:
        if job.state not in ("claimed", "running") or job.queue not in queues or job.id in found:
            raise ValueError(f"job {excerpt(job.id)} is {job.state} in queue {excerpt(job.queue)}, twice, or not claimed from here")
        found[job.id] = job
    return Claimed(list(found.values()), batch.next_at)


def _whole(call: Call[Any]) -> Call[Sequence[dict[str, Any]]]:
    """A call with a reply for each of its items, which are judged one by one."""
    return Call(call.kind, call.data, _items_of)


def _statuses_of(items: Sequence[dict[str, Any]]) -> list[int]:
    return [item["status"] for item in items]


def _items_of(answer: Any) -> Any:
    return answer["jobs"]

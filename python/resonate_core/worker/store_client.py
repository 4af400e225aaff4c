"""Jobs of a store in this process. Each call is one transaction, or a read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from .._core import Job, ManualClock, Promise, PromisePage, Store, database_counts
from ..base.instants import NEVER
from ..calls.call import Call, envelope, refusal
from ..calls.local import run_call
from ..calls.store_threads import call_apart
from ..errors import NotFound, ResonateError, StoreError
from .inboxes import StoreInbox
from .job_source import (
    NOT_HELD,
    WAITING,
    Claim,
    Claimed,
    Exchanged,
    Held,
    Queues,
    T,
    end_call,
    names_of,
    result_or_refusal,
    unless_held,
)
from .outcomes import Outcome

if TYPE_CHECKING:
    from .._core import Watch

__all__ = ["StoreClient"]

#: Reads the answer to a `_core.RecordRequest`.
_RECORD: Call[Sequence[Promise]] = Call("job.record", {}, lambda promises: cast("Sequence[Promise]", promises))


class StoreClient:
    """A `JobSource` of a store in this process.

    Args:
        store: The store.
        owned: Whether it is closed with the client.
    """

    local = True

    def __init__(self, store: Store, owned: bool = False) -> None:
        self.store = store
        self.blocking = store.shared
        self.manual = isinstance(store.clock, ManualClock)
        self._owned = owned
        self._jobs = store.jobs

    def __repr__(self) -> str:
        return repr(self.store)

    def now(self) -> int:
        return self.store.now

    def next_due(self) -> int | None:
        return self.store.next_due()

    def watch(self, descriptor: int, queues: Queues) -> Watch:
        """Commits of this process are seen, of any queue."""
        return self.store.watch(descriptor, queues=names_of(queues))

    def fleet(self) -> int:
        return 0 if self.store.url is None else database_counts()["listening_workers"]

    def inbox(self, group: str, pid: str, descriptor: int) -> StoreInbox:
        """The undelivered messages of the store."""
        return StoreInbox(group, pid, self.store.watch(descriptor), self.store.messages, self.store.acknowledge)

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> Job:
        return self._jobs.enqueue(type, payload, **options)

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Job]:
        """Enqueue all or none."""
        return cast("Sequence[Job]", self._jobs.enqueue_many(type, payloads, **options))

    def exchange(self, results: Sequence[tuple[str, int, Any]], held: Sequence[Held], claim: Claim) -> Exchanged:
        queues, count, worker, lease, run_lease, strict, start = claim
        completed, started, jobs = self._jobs._exchange(results, held, queues, count, worker, lease, run_lease, strict, start)
        return Exchanged(completed, started, None if jobs is None else Claimed(cast("Sequence[Job]", jobs), jobs.next_at))

    def claim(self, claim: Claim) -> Claimed:
        """Take every step that is due first."""
        queues, count, worker, lease, run_lease, strict, start = claim
        jobs = self._jobs.claim(queues, count, worker=worker, lease=lease, run_lease=run_lease, strict=strict, start=start)
        return Claimed(cast("Sequence[Job]", jobs), jobs.next_at)

    def start_many(self, held: Sequence[Held], lease: int) -> list[int]:
        return self._jobs.start_many(held, lease=lease)

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        return self._jobs.complete_many(results)

    def end_many(self, held: Sequence[Held], outcome: Outcome) -> list[int]:
        """End all of them at one instant: the jobs of a batch that is tried again are due together."""
        calls = [end_call(id, version, outcome) for id, version in held]
        requests = [envelope(one.kind, one.data, corr_id=one.data["id"]) for one in calls]
        statuses = []
        for answer in self.store.apply(requests):
            status = int(answer["head"]["status"])
            if status >= 300 and status not in NOT_HELD:
                raise refusal(status, str(answer["data"]))
            statuses.append(status)
        return statuses

    def report(self, id: str, version: int, progress: float | None, lines: Sequence[str]) -> int:
        try:
            self._jobs.report(id, version, progress=progress, lines=lines)
        except ResonateError as error:
            return unless_held(error)
        return 200

    def heartbeat(self, worker: str, held: Sequence[Held]) -> tuple[list[str], list[str]]:
        beat = self._jobs.heartbeat(worker, held)
        return beat.cancelled, beat.lost

    def get(self, id: str) -> Job:
        return self._jobs.get(id)

    def delete(self, id: str) -> None:
        self._jobs.delete(id)

    def run(self, call: Call[T]) -> T:
        ((status, answer),) = self.store._run_calls([envelope(call.kind, call.data, "worker")])
        return call.result(status, answer)

    def send(self, calls: Sequence[Call[Any]]) -> list[Any]:
        answers = self.store._run_calls([envelope(one.kind, one.data, "worker") for one in calls])
        return [result_or_refusal(one, *answer) for one, answer in zip(calls, answers, strict=True)]

    async def send_async(self, calls: Sequence[Call[Any]]) -> list[Any]:
        if not self.blocking:
            return self.send(calls)
        sent = [run_call(self.store, one, envelope(one.kind, one.data, "worker")) for one in calls]
        if len(sent) == 1:  # most of them
            try:
                return [await sent[0]]
            except StoreError:
                raise
            except ResonateError as error:
                return [error]
        found = await asyncio.gather(*sent, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException) and (not isinstance(each, ResonateError) or isinstance(each, StoreError)):
                raise each
        return found

    def record(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        return cast("Sequence[Promise]", self._jobs.record(id, version, steps))

    async def record_async(self, id: str, version: int, steps: Sequence[Mapping[str, Any]]) -> Sequence[Promise]:
        if not self.blocking:
            return self.record(id, version, steps)
        return await run_call(self.store, _RECORD, self._jobs._record_request(id, version, steps))

    def history(self, id: str, cursor: str | None) -> PromisePage:
        return self._jobs.history(id, limit=1000, cursor=cursor)

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Read them in one transaction."""
        found: list[Promise | None] = []
        for status, answer in self.store._run_calls([envelope("promise.get", {"id": id}, "worker") for id in ids]):
            if status >= 400 and status != 404:
                raise refusal(status, str(answer))
            found.append(answer if status < 400 else None)
        return found

    def scheduled(self, ids: str, tags: Mapping[str, str]) -> Sequence[Job]:
        return cast("Sequence[Job]", self._jobs.search(ids, state="scheduled", tags=tags, limit=1000))

    def waiting(self, queues: Iterable[str]) -> int:
        return sum(each["counts"][state] for each in self._running_queues(queues) for state in WAITING)

    def awaits_time(self, queues: Iterable[str]) -> bool:
        with_some = [str(each["name"]) for each in self._running_queues(queues) if each["counts"]["waiting"]]
        return any(
            map(self._is_timed, (job for name in with_some for job in self._jobs.search(queue=name, state="waiting", limit=1000)))
        )

    def _is_timed(self, job: Job) -> bool:
        if job.deadline is not None or (job.good_until is not None and not job.attempts):
            return True
        awaited = self.promises((job.awaits or {}).get("ids", ()))
        return any(one is not None and one.state == "pending" and one.timeout_at < NEVER for one in awaited)

    def _running_queues(self, queues: Iterable[str]) -> list[dict[str, Any]]:
        """Return the counts of those queues that exist and are not paused."""
        return [each for each in map(self._stats_of, set(queues)) if each is not None and not each["paused"]]

    def _stats_of(self, queue: str) -> dict[str, Any] | None:
        try:
            return self.store.queues.stats(queue)[0]
        except NotFound:
            return None

    async def apart(self, function: Callable[[], T]) -> T:
        return await call_apart(self.store, function)

    def close(self) -> None:
        """Close the store, if it is the client's own."""
        if self._owned:
            self.store.close()

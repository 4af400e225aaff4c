"""Where a worker's jobs are: one interface over a store in this process and a server elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .._core import ManualClock, Store
from ..errors import ResonateError
from .outcomes import Failure, Verdict
from .records import JobRecord
from .requests import NOT_HELD, VERSION, end_request, refusal

if TYPE_CHECKING:
    from .._core import Watch

__all__ = ["Batch", "Door", "Queues", "StoreDoor", "open_door"]

Queues = str | Sequence[str] | Mapping[str, int]


class Batch(Protocol):
    """Jobs that were claimed."""

    @property
    def next_at(self) -> int | None:
        """When a queue that only lacked a token of its rate has one, in Unix ms."""

    def __iter__(self) -> Any:
        """The jobs, in the order of claiming."""

    def __len__(self) -> int:
        """How many."""


class Door(Protocol):
    """What a worker asks for. A status is 200, or 404 or 409 where the job is not held any more; anything else raises."""

    blocking: bool
    """Whether an answer takes time, so that an event loop must not wait for it."""
    local: bool
    """Whether the store is in this process."""
    manual: bool
    """Whether the clock is moved by hand."""

    def now(self) -> int:
        """The present instant, in Unix ms."""

    def next_due(self) -> int | None:
        """When anything happens next by itself, in Unix ms, as far as is known here."""

    def watch(self, descriptor: int) -> Watch | None:
        """Rings when there is something to claim; None where nothing can."""

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> JobRecord:
        """A new job."""

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[JobRecord]:
        """A new job for each payload."""

    def claim(self, queues: Queues, count: int, worker: str, lease: int, run_lease: int, strict: bool, start: int) -> Batch:
        """Takes jobs, those of a batch together even where they are more, and starts so many of them at once."""

    def start_many(self, held: Sequence[tuple[str, int]], lease: int) -> list[int]:
        """Claimed jobs begin to run."""

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        """Jobs are done. Of several, one may have any status that refuses it; a single one that is refused raises."""

    def fail(self, id: str, version: int, failure: Failure) -> int:
        """An attempt failed."""

    def release(self, id: str, version: int) -> int:
        """A claimed job goes back."""

    def snooze(self, id: str, version: int, delay: int) -> int:
        """A running job goes back, for later."""

    def end_many(self, held: Sequence[tuple[str, int]], verdict: Verdict) -> list[int]:
        """Several attempts ended in one way other than completed, or several claimed jobs go back.

        Returns:
            The statuses of as many of the first as were told: at one instant all of them, where one request can do it.
        """

    def heartbeat(self, worker: str, held: Sequence[tuple[str, int]]) -> tuple[list[str], list[str]]:
        """Renews leases; the ids of jobs that were cancelled, and of those that were lost."""

    def get(self, id: str) -> JobRecord:
        """A job as it is."""

    def delete(self, id: str) -> None:
        """A job goes."""

    def scheduled(self, queue: str, tags: Mapping[str, str]) -> list[JobRecord]:
        """The jobs of a queue that wait for their instant and have these tags, up to a thousand."""

    def waiting(self, queues: Iterable[str]) -> bool:
        """Whether any of these queues, unless paused, has jobs that are neither settled nor archived."""

    def close(self) -> None:
        """Closes what this door opened."""


def names_of(queues: Queues) -> list[str]:
    """The names alone."""
    return [queues] if isinstance(queues, str) else list(queues)


class StoreDoor:
    """A store in this process.

    Args:
        store: The store.
        owned: Whether it is closed with the door.
    """

    local = True

    def __init__(self, store: Store, owned: bool = False) -> None:
        self.store = store
        self.blocking = store.path is not None
        self.manual = isinstance(store.clock, ManualClock)
        self._owned = owned
        self._jobs: Any = store.jobs

    def __repr__(self) -> str:
        return repr(self.store)

    def now(self) -> int:
        """Its clock's."""
        return self.store.now

    def next_due(self) -> int | None:
        """Of everything in the store."""
        return self.store.next_due()

    def watch(self, descriptor: int) -> Watch | None:
        """Commits of this process ring."""
        return self.store.watch(descriptor)

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> JobRecord:
        """One transaction."""
        job: JobRecord = self._jobs.enqueue(type, payload, **options)
        return job

    def enqueue_many(self, type: str, payloads: Sequence[Any], options: Mapping[str, Any]) -> Sequence[JobRecord]:
        """All or none."""
        jobs: Sequence[JobRecord] = self._jobs.enqueue_many(type, payloads, **options)
        return jobs

    def claim(self, queues: Queues, count: int, worker: str, lease: int, run_lease: int, strict: bool, start: int) -> Batch:
        """One transaction, and every step that is due before it."""
        claimed: Batch = self._jobs.claim(
            queues, count, worker=worker, lease=lease, run_lease=run_lease, strict=strict, start=start
        )
        return claimed

    def start_many(self, held: Sequence[tuple[str, int]], lease: int) -> list[int]:
        """One transaction."""
        statuses: list[int] = self._jobs.start_many(held, lease=lease)
        return statuses

    def complete_many(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        """One transaction."""
        statuses: list[int] = self._jobs.complete_many(results)
        return statuses

    def fail(self, id: str, version: int, failure: Failure) -> int:
        """One transaction."""
        return _status(
            lambda: self._jobs.fail(
                id,
                version,
                failure.code,
                failure.message,
                failure.data,
                retryable=failure.retryable,
                retry_after=failure.retry_after,
            )
        )

    def release(self, id: str, version: int) -> int:
        """One transaction."""
        return _status(lambda: self._jobs.release(id, version))

    def snooze(self, id: str, version: int, delay: int) -> int:
        """One transaction."""
        return _status(lambda: self._jobs.snooze(id, version, delay))

    def end_many(self, held: Sequence[tuple[str, int]], verdict: Verdict) -> list[int]:
        """One transaction, at one instant: those of a batch that is tried again are due together."""
        requests = []
        for id, version in held:
            kind, data = end_request(id, version, verdict)
            requests.append({"kind": kind, "head": {"corrId": id, "version": VERSION}, "data": data})
        statuses = []
        for answer in self.store.apply(requests):
            status = int(answer["head"]["status"])
            if status >= 300 and status not in NOT_HELD:
                raise refusal(status, str(answer["data"]))
            statuses.append(status)
        return statuses

    def heartbeat(self, worker: str, held: Sequence[tuple[str, int]]) -> tuple[list[str], list[str]]:
        """One transaction."""
        beat = self._jobs.heartbeat(worker, held)
        return beat.cancelled, beat.lost

    def get(self, id: str) -> JobRecord:
        """A read."""
        job: JobRecord = self._jobs.get(id)
        return job

    def delete(self, id: str) -> None:
        """One transaction."""
        self._jobs.delete(id)

    def scheduled(self, queue: str, tags: Mapping[str, str]) -> list[JobRecord]:
        """A read."""
        return list(self._jobs.search(queue=queue, state="scheduled", tags=tags, limit=1000))

    def waiting(self, queues: Iterable[str]) -> bool:
        """A read."""
        wanted = set(queues)
        return any(
            each["name"] in wanted
            and not each["paused"]
            and any(each["counts"][state] for state in ("scheduled", "pending", "claimed", "running", "retry"))
            for each in self._all_stats()
        )

    def _all_stats(self) -> list[dict[str, Any]]:
        queues: Any = self.store.queues
        told: list[dict[str, Any]] = queues.stats()
        return told

    def close(self) -> None:
        """Closes the store, where it is the door's own."""
        if self._owned:
            self.store.close()


def _status(call: Any) -> int:
    try:
        call()
    except ResonateError as error:
        if error.status in NOT_HELD:
            return error.status
        raise
    return 200


def open_door(store_or_url: Store | str | os.PathLike[str], token: str | None = None) -> Door:
    """The door to a store, to the file of one, or to a server's URL.

    Raises:
        TypeError: It is none of these.
        Invalid: A token for what needs none.
    """
    if isinstance(store_or_url, str) and re.match(r"https?://", store_or_url):
        from .remote import UrlDoor  # here, since a store needs no httpx

        return UrlDoor(store_or_url, token)
    if token is not None:
        raise TypeError(f"a token is for a server's URL, unlike {store_or_url!r}")
    if isinstance(store_or_url, Store):
        return StoreDoor(store_or_url)
    if isinstance(store_or_url, (str, os.PathLike)):
        return StoreDoor(Store(store_or_url), owned=True)
    raise TypeError(f"a worker needs a Store, the path of one or the URL of a server, unlike {store_or_url!r}")

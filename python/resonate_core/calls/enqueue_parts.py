"""One enqueue_many in requests that a server accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._core import Job
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..errors import NoEnvelope, PartlyEnqueued, ResonateError, Unreachable
from .call import Call, Data, Together, refusal

__all__ = ["EnqueueParts", "jobs_of"]

#: The most jobs and bytes of one request. A server accepts 10,000 jobs and, unless it is configured, 2 MiB.
_MOST_JOBS, _MOST_BYTES = 1000, 1_048_576
_TOO_LARGE = 413


def jobs_of(answers: Sequence[Data]) -> list[Job]:
    """The jobs of the answers to payloads that were enqueued."""
    return [Job.from_dict(answer["job"]) for answer in answers]


class EnqueueParts:
    """The requests of one `enqueue_many`: send each of `calls()`, and pass on its answer or its failure.

    Args:
        calls: One job.enqueue for each payload.
        enqueued: Reads the jobs of the answers, for an error that names them.

    Example:
        >>> from resonate_core._core import Jobs
        >>> from resonate_core.calls.enqueue_parts import EnqueueParts
        >>> from resonate_core.calls.made import together
        >>> parts = EnqueueParts(together(Jobs.enqueue_many, "t", range(2500)))
        >>> for call in parts.calls():
        ...     items = call.data["jobs"]
        ...     print(len(items))
        ...     parts.answered([{"status": 409, "error": "no"} for _ in items])
        Traceback (most recent call last):
        resonate_core.errors.Conflict: payload 0: no
    """

    def __init__(self, calls: Together[Any], enqueued: Callable[[Sequence[Data]], list[Job]] = jobs_of) -> None:
        self._items: list[Data] = [call.data for call in calls.calls]
        self._enqueued = enqueued
        self._again = all(call.again for call in calls.calls)
        self._sizes = [len(json.dumps(item)) + 2 for item in self._items]
        self._most_bytes = _MOST_BYTES
        self._done = 0  # the number of payloads whose answer is known
        self._sent = 0
        self.answers: list[Data] = []  # those of jobs that were enqueued

    def calls(self) -> Iterator[Call[Sequence[Data]]]:
        """Yield the requests, each after the answer to the one before."""
        while self._done < len(self._items):
            self._sent = self._count()
            items = self._items[self._done : self._done + self._sent]
            yield Call("job.enqueue_many", {"jobs": items}, _items_of, self._again)

    def _count(self) -> int:
        size = count = 0
        for one in self._sizes[self._done : self._done + _MOST_JOBS]:
            size += one
            if count and size > self._most_bytes:
                break
            count += 1
        return count

    def answered(self, items: Sequence[Data]) -> None:
        """Take the answer to the last request.

        Raises:
            PartlyEnqueued: It has refused a job, and others are enqueued; later payloads were not sent.
            ResonateError: It has refused a job, and none is enqueued.
        """
        first = self._done
        self._done += len(items)
        missing, problem = [], None
        for number, item in enumerate(items, first):
            if item["status"] < 300:
                self.answers.append(item)
            else:
                missing.append(number)
                problem = problem or refusal(item["status"], excerpt(item.get("error"), MOST_OF_A_REFUSAL))
        if problem is not None:
            self._fail(problem, [*missing, *range(self._done, len(self._items))])

    def failed(self, error: ResonateError) -> None:
        """Take the failure of the last request. A body that was too large is sent again in smaller requests.

        Raises:
            PartlyEnqueued: Requests before it have enqueued jobs.
            ResonateError: The failure itself.
        """
        if error.status == _TOO_LARGE and self._sent > 1:
            self._most_bytes = max(sum(self._sizes[self._done : self._done + self._sent]) // 2, 1)
            return
        self._fail(error, list(range(self._done, len(self._items))))

    def _fail(self, problem: ResonateError, missing: list[int]) -> None:
        if self.answers:
            raise PartlyEnqueued(problem, self._enqueued(self.answers), missing) from problem
        if isinstance(problem, (Unreachable, NoEnvelope)):
            raise problem
        raise type(problem)(f"payload {missing[0]}: {problem}", problem.status)


def _items_of(answer: Any) -> Sequence[Data]:
    return answer["jobs"]  # type: ignore[no-any-return]

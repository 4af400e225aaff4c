"""The request that enqueues jobs, all or none, and whose error names the refused one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from .._core import JobBatch
from ..errors import ResonateError
from .call import Call, Data, refusal
from .replies import batch_of_jobs

__all__ = ["EnqueueTogether"]

T = TypeVar("T")

#: How the error of a refused request of all or none begins (JOBS 5).
_PLACE = re.compile(r"jobs\[(\d+)\]: ")


class EnqueueTogether(Call[T]):
    """One `job.enqueue_many`, all or none.

    Args:
        orders: The data of a `job.enqueue` each. Each has an id, so that the request can be sent again.
        name_of: Returns what errors call one of them, by its place.
        read: Makes the result from the jobs.

    Example:
        >>> from resonate_core.calls.enqueue_together import EnqueueTogether
        >>> orders = [{"id": "a", "type": "t"}, {"id": "b", "type": ""}]
        >>> EnqueueTogether(orders, "job {}".format, len).refused(400, "jobs[1]: type must not be empty")
        Invalid('job 1: type must not be empty')
    """

    __slots__ = ("_name_of",)

    def __init__(self, orders: Sequence[Data], name_of: Callable[[int], str], read: Callable[[JobBatch], T]) -> None:
        def checked(answer: Data | JobBatch) -> T:
            if isinstance(answer, JobBatch):
                return read(answer)
            items: list[Data] = answer["jobs"]
            for place, item in enumerate(items):  # a server of a release without `atomic` judges each on its own
                if item["status"] >= 300:
                    raise _with_name(refusal(item["status"], f"jobs[{place}]: {item.get('error')}"), name_of, len(orders))
            return read(batch_of_jobs(items))

        super().__init__("job.enqueue_many", {"jobs": list(orders), "atomic": True}, checked, again=True)
        self._name_of = name_of

    def refused(self, status: int, message: str) -> ResonateError:
        """As `Call.refused`; the error has the name of the refused job."""
        return self.named(super().refused(status, message))

    def named(self, error: ResonateError) -> ResonateError:
        """Return the error of one who sent the data of this request, with the name of the refused job."""
        return _with_name(error, self._name_of, len(self.data["jobs"]))


def _with_name(error: ResonateError, name_of: Callable[[int], str], count: int) -> ResonateError:
    """Return the error, with a name in the place of the number of the refused job, which is one of so many."""
    found = _PLACE.match(error.message)
    if found is None or int(found[1]) >= count:
        return error
    return type(error)(f"{name_of(int(found[1]))}: {error.message[found.end() :]}", error.status)

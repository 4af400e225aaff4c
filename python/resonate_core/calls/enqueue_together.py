"""The request that enqueues jobs, all or none, and whose error names the refused one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import ResonateError
from .call import Call, Data, refusal

__all__ = ["EnqueueTogether"]

T = TypeVar("T")

#: How the error of a refused request of all or none begins (JOBS 5).
_PLACE = re.compile(r"jobs\[(\d+)\]: ")


class EnqueueTogether(Call[T]):
    """One `job.enqueue_many`, all or none.

    Args:
        orders: The data of a `job.enqueue` each. Each has an id, so that the request can be sent again.
        names: What errors call each of them.
        read: Makes the result from the items of the answer.

    Example:
        >>> from resonate_core.calls.enqueue_together import EnqueueTogether
        >>> orders = [{"id": "a", "type": "t"}, {"id": "b", "type": ""}]
        >>> EnqueueTogether(orders, ["the first", "the second"], len).refused(400, "jobs[1]: type must not be empty")
        Invalid('the second: type must not be empty')
    """

    __slots__ = ("_names",)

    def __init__(self, orders: Sequence[Data], names: Sequence[str], read: Callable[[Sequence[Data]], T]) -> None:
        def checked(answer: Data) -> T:
            items: Sequence[Data] = answer["jobs"]
            for place, item in enumerate(items):  # a server of a release without `atomic` judges each on its own
                if item["status"] >= 300:
                    raise _with_name(refusal(item["status"], f"jobs[{place}]: {item.get('error')}"), names)
            return read(items)

        super().__init__("job.enqueue_many", {"jobs": list(orders), "atomic": True}, checked, again=True)
        self._names = names

    def refused(self, status: int, message: str) -> ResonateError:
        """As `Call.refused`; the error has the name of the refused job."""
        return self.named(super().refused(status, message))

    def named(self, error: ResonateError) -> ResonateError:
        """Return the error of one who sent the data of this request, with the name of the refused job."""
        return _with_name(error, self._names)


def _with_name(error: ResonateError, names: Sequence[str]) -> ResonateError:
    """Return the error, with a name in the place of the number of the refused job."""
    found = _PLACE.match(error.message)
    if found is None or int(found[1]) >= len(names):
        return error
    return type(error)(f"{names[int(found[1])]}: {error.message[found.end() :]}", error.status)

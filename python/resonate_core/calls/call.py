"""A call: a request of the protocol, and the function that makes its result from the reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from .. import errors
from ..base.instants import NEVER

__all__ = [
    "VERSION",
    "AnyCall",
    "Call",
    "RefusedAction",
    "Repeated",
    "Together",
    "answers_together",
    "envelope",
    "nothing",
    "refusal",
]

#: The version of the protocol that calls are in.
VERSION = "2026-04-01"

T = TypeVar("T")
Data = dict[str, Any]

_UNDONE = "undone: "  # how the replies begin of those that another refusal has undone
_REFUSALS = {400: errors.Invalid, 404: errors.NotFound, 409: errors.Conflict, 422: errors.Unprocessable, 501: errors.Unsupported}


def refusal(status: int, message: str) -> errors.ResonateError:
    """The error of a refused request.

    Example:
        >>> from resonate_core.calls.call import refusal
        >>> refusal(409, "it is held by another worker")
        Conflict('it is held by another worker')
    """
    other = errors.StoreError if status >= 500 else errors.ResonateError
    return _REFUSALS.get(status, other)(message, status)


def envelope(kind: str, data: Mapping[str, Any], corr_id: str, version: str = VERSION, token: str | None = None) -> Data:
    """A request with its head.

    Example:
        >>> from resonate_core.calls.call import envelope
        >>> envelope("promise.get", {"id": "a"}, "1")
        {'kind': 'promise.get', 'head': {'corrId': '1', 'version': '2026-04-01'}, 'data': {'id': 'a'}}
    """
    head = {"corrId": corr_id, "version": version}
    if token is not None:
        head["auth"] = token
    return {"kind": kind, "head": head, "data": data}


def answers_together(replies: Sequence[Data]) -> list[Any]:
    """The data of the replies to one transaction.

    Raises:
        ResonateError: The refusal that undid the transaction. The others say that they were undone.

    Example:
        >>> from resonate_core.calls.call import answers_together
        >>> answers_together([{"head": {"status": 200}, "data": "done"}])
        ['done']
        >>> undone = {"head": {"status": 409}, "data": "undone: another request was refused"}
        >>> answers_together([undone, {"head": {"status": 404}, "data": "promise a does not exist"}])
        Traceback (most recent call last):
        ...
        resonate_core.errors.NotFound: promise a does not exist
    """
    for reply in replies:
        status, answer = reply["head"]["status"], reply["data"]
        if status >= 400 and not (status == 409 and str(answer).startswith(_UNDONE)):
            raise refusal(status, str(answer))
    return [reply["data"] for reply in replies]


class RefusedAction(Exception):
    """A refusal within an answer that is one of the protocol: of the action of a fence.

    Args:
        error: The refusal.
    """

    def __init__(self, error: errors.ResonateError) -> None:
        super().__init__(str(error))
        self.error = error


class Call(Generic[T]):
    """One request.

    Args:
        kind: Its kind.
        data: Its data.
        read: Makes the result from the data of a reply that was not refused: its members, or from a store in this process the
            record, if the data is one promise or one job, and a `JobBatch`, if it is jobs that were all enqueued.
        again: Whether the request can run twice with the effect and the reply of one run, so that a client whose answer was lost
            may send it again.
        deadline: The part of the data that gets a `timeoutAt`, and the time until then from now on, in ms.
    """

    __slots__ = ("again", "data", "deadline", "kind", "read")

    def __init__(
        self, kind: str, data: Data, read: Callable[[Any], T], again: bool = False, deadline: tuple[Data, int] | None = None
    ) -> None:
        self.kind = kind
        self.data = data
        self.read = read
        self.again = again
        self.deadline = deadline

    def settle_deadline(self, now: Callable[[], int]) -> None:
        """Turn a relative deadline into an instant: once, so that a repeated request is the same."""
        if self.deadline is not None:
            place, length = self.deadline
            self.deadline = None
            place["timeoutAt"] = min(now() + length, NEVER)

    def refused(self, status: int, message: str) -> errors.ResonateError:
        """Return the error of a reply that refuses the request."""
        return refusal(status, message)

    def result(self, status: int, answer: Any) -> T:
        """Return the result of a reply, or raise its refusal."""
        if status >= 400:
            raise self.refused(status, str(answer))
        try:
            return self.read(answer)
        except RefusedAction as refused:
            raise refused.error from None


class Together(Generic[T]):
    """Requests in one transaction: all of them or none.

    Args:
        calls: The requests, in order.
        gather: Makes the result from the data of their replies.
    """

    __slots__ = ("calls", "gather")

    def __init__(self, calls: Sequence[Call[Any]], gather: Callable[[list[Data]], T]) -> None:
        self.calls = calls
        self.gather = gather


class Repeated:
    """A request that changes a limited number of jobs, and is repeated until none is left. Its result is their number."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Call[tuple[int, bool]]]) -> None:
        self.make = make


AnyCall = Call[T] | Together[T] | Repeated


def nothing(answer: Any) -> None:
    """The result of a request that has none."""

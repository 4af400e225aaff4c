"""Calls of a workflow: each has an id when it is made, begins when it is awaited, and has one outcome."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..._core import Promise
from ...errors import Invalid
from ..conversion import Unfit
from .failures import StepFailed, failed, failure_of, failure_of_job
from .operations import Performance, Record, Refused, Wait
from .records import NAME_TAG, Reader, Step, settled
from .scope import Scope

if TYPE_CHECKING:
    from ...calls.call import Call as Request

__all__ = ["Call", "ChildCall", "Recorded", "ResultCall", "StoredCall", "any_reader"]

T = TypeVar("T")
_UNSET: Any = object()


class Call(Generic[T]):
    """A call of a workflow. Await it in an `async def` workflow; in a `def` workflow, `result` waits.

    Args:
        scope: Where it is made.
        name: The name of the call.

    Attributes:
        id: Of its record.
        is_begun: Whether something awaits it, or has begun it: otherwise it has no effect, which is a warning at its end.
    """

    __slots__ = ("_error", "_under_way", "_value", "id", "is_begun", "name", "run", "scope")

    by_record = True
    """Whether its settled record alone is its outcome."""

    is_from_outside = False
    """Whether others make its value: a wrong one is a failure of the call, and no change of the code."""

    failure_of = staticmethod(failure_of)
    """Returns the exception for its record."""

    def __init__(self, scope: Scope, name: str) -> None:
        self.run: Any = scope.run
        self.scope = scope
        self.name = name
        self.id = scope.take(name)
        self._value: Any = _UNSET
        self._error: BaseException | None = None
        self._under_way = False
        self.is_begun = self.run.blocking

    def __del__(self) -> None:
        if getattr(self, "is_begun", True) or self.scope.given_up or self.run.fatal is not None or self.run.over is not None:
            return
        warnings.warn(
            f"call {self.id} ({self.name}) of a workflow was never awaited, so it did nothing", RuntimeWarning, stacklevel=2
        )

    def __repr__(self) -> str:
        return f"<call {self.id}: {self.name}>"

    def __bool__(self) -> bool:
        """True.

        Raises:
            TypeError: Nothing awaits it, so that the code asks for the truth of its result without an `await`.
        """
        if self.is_begun:
            return True
        self.is_begun = True  # the error says it: no warning besides
        raise TypeError(f"call {self.id} ({self.name}) is not awaited: it has no truth value before its result is there; await it")

    def __await__(self) -> Generator[Any, Any, T]:
        self.is_begun = True
        if self._value is _UNSET and self._error is None:
            run = self.run
            if run.fatal is not None:
                raise run.fatal
            record = run.records.get(self.id)
            if record is not None and record.state != "pending" and self.by_record:
                self.settle(record)
            else:
                found: T = yield from run.awaiting(self)
                return found
        value: T = self.outcome()
        return value

    def result(self) -> T:
        """Wait for the outcome, in a `def` workflow.

        Raises:
            StepFailed: It has failed.
            RuntimeError: The workflow is an `async def`: await the call.
        """
        if not self.run.blocking:
            raise RuntimeError(f"{self!r} is of an async def workflow: await it")
        found: T = self.run.outcome_of(self)
        return found

    @property
    def is_done(self) -> bool:
        """Whether it has its outcome here."""
        return self._value is not _UNSET or self._error is not None

    def outcome(self) -> T:
        """Return its value, or raise its failure."""
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def set_value(self, value: T) -> T:
        """Set its outcome."""
        self._value = value
        return value

    def set_error(self, error: BaseException) -> None:
        """Set its outcome."""
        self._error = error

    def settle(self, record: Promise) -> None:
        """Take the outcome from its settled record."""
        try:
            self._value = self.read(record)
        except Exception as error:
            self._error = error

    def read(self, record: Promise) -> Any:
        """Return the value of its settled record, or raise its failure."""
        raise NotImplementedError

    def value_by(self, reader: Reader, record: Promise) -> Any:
        """Return the value of a settled record as the annotated type.

        Raises:
            StepFailed: It was not resolved; or it is from outside, and does not fit the type (code InvalidValue).
            NonDeterministic: It does not fit the type.
        """
        if record.state != "resolved":
            raise self.failure_of(record)
        try:
            return reader.read(record.value)
        except Unfit as error:
            if self.is_from_outside:
                text = f"the value of {self.id} ({self.name}) does not fit its type: {error}"
                raise StepFailed("InvalidValue", text) from error
            raise self.run.diverged(
                f"the value of {self.id} ({self.name}) does not fit its type any more, at {self.run.place_of(self.id)}: {error}; keep "
                "the type, or branch by patched()"
            ) from error

    def record_now(self) -> Promise | None:
        """Its record, as far as it is known here."""
        found: Promise | None = self.run.records.get(self.id)
        return found

    def perform(self) -> Performance:
        """Yield what is to be done until it has an outcome; return its value. It may be begun again, after a wait."""
        raise NotImplementedError
        yield

    def begin(self) -> None:
        """Begin what `start` begins at once."""

    def cancellations(self) -> list[Step]:
        """Return the steps that cancel it, if it is pending."""
        return [{"id": self.id, "state": "rejected_canceled", "tags": {NAME_TAG: self.name}}]


class StoredCall(Call[T]):
    """A promise that something else settles: a timer, a message, a person, a program.

    Args:
        scope: Where it is made.
        name: The name of the call.
        reader: Of its value.
        step: Makes it, as `job.record` takes it; None: `request` does.
        request: The request that makes it.
        timed_out: Its value once its deadline has passed; unset: that is a failure.
        raises: Whether that failure is a `TimeoutError`.
    """

    __slots__ = ("_raises", "_reader", "_request", "_step", "_timed_out")

    is_from_outside = True

    NO_DEFAULT: Any = _UNSET

    def __init__(
        self,
        scope: Scope,
        name: str,
        reader: Reader,
        step: Step | None = None,
        request: Callable[[str], Request[Any]] | None = None,
        timed_out: Any = _UNSET,
        raises: bool = False,
    ) -> None:
        super().__init__(scope, name)
        self._reader = reader
        self._step = step
        self._request = request
        self._timed_out = timed_out
        self._raises = raises

    def read(self, record: Promise) -> Any:
        """As of `Call`."""
        if record.state == "rejected_timedout":
            if self._timed_out is not _UNSET:
                return self._timed_out
            if self._raises:
                raise TimeoutError(f"{self.name}: nothing came until the deadline of {self.id}")
        return self.value_by(self._reader, record)

    def begin(self) -> None:
        """Have the promise made before anything else is recorded."""
        self.is_begun = True
        if self._step is not None and self.record_now() is None and not self._under_way:
            self._under_way = True
            self.run.begun[self.id] = self.name
            self.run.unsent.append({"id": self.id, **self._step})

    def perform(self) -> Performance:
        """As of `Call`."""
        self.begin()
        request = None if self._request is None or self.record_now() is not None else self._request(self.id)
        self.run.begun[self.id] = self.name
        try:
            found = yield Wait(self.id, request)
        except Refused as refused:
            raise refused.error from None
        return self.read(found)


class Recorded(Call[T]):
    """A value that is drawn once, and recorded before it is returned.

    Args:
        scope: Where it is made.
        name: The name of the call.
        draw: Returns the value as it is stored.
        reader: Reads it.
    """

    __slots__ = ("_draw", "_reader")

    def __init__(self, scope: Scope, name: str, draw: Callable[[], Any], reader: Callable[[Any], T]) -> None:
        super().__init__(scope, name)
        self._draw = draw
        self._reader = reader

    def read(self, record: Promise) -> Any:
        """As of `Call`."""
        return self._reader(record.value.json())

    def perform(self) -> Performance:
        """As of `Call`."""
        stored = self._draw()
        yield Record([settled(self.id, self.name, "resolved", stored)])
        return self._reader(stored)


class ResultCall(Call[T]):
    """The outcome of any promise or job, copied into the record.

    Args:
        scope: Where it is made.
        of: The id of the promise or job.
        reader: Reads its value.
    """

    __slots__ = ("_reader", "of")

    is_from_outside = True

    def __init__(self, scope: Scope, of: str, reader: Reader) -> None:
        if of == scope.run.job.id:
            raise Invalid(f"id must be that of another job or promise, got {of!r}, which is the workflow's own")
        super().__init__(scope, f"result {of}")
        self.of = of
        self._reader = reader

    def read(self, record: Promise) -> Any:
        """As of `Call`."""
        return self.value_by(self._reader, record)

    def perform(self) -> Performance:
        """As of `Call`."""
        try:
            found = yield Wait(self.of)
        except Refused:
            failure = {"code": "NotFound", "message": f"promise {self.of} does not exist"}
            (record,) = yield Record([settled(self.id, self.name, "rejected", failure)])
            return self.read(record)
        if found.state == "resolved":
            step = settled(self.id, self.name, "resolved", found.value)
        else:
            step = settled(self.id, self.name, "rejected", failed(failure_of_job(found)))
        (record,) = yield Record([step])
        return self.read(record)


class ChildCall(Call[T]):
    """A child job: a call that another worker may run, or a handle of one that was started.

    Attributes:
        id: Of the job.
    """

    __slots__ = ("_options", "_payload", "_reader", "_task", "refused")

    failure_of = staticmethod(failure_of_job)

    def __init__(self, scope: Scope, task: Any, payload: Any, reader: Reader) -> None:
        super().__init__(scope, f"job {task.type}")
        self._task = task
        self._payload = payload
        self._reader = reader
        self.refused: Exception | None = None

    def cancel(self) -> None:
        """Cancel the job, if it is not final."""
        self.run.soon(self.cancellations())

    def read(self, record: Promise) -> Any:
        """As of `Call`."""
        return self.value_by(self._reader, record)

    def request(self) -> Request[Any]:
        """Return the request that enqueues the job."""
        job = self.run.job
        made: Request[Any] = self._task.child_request(
            self._payload, self.id, {"id": job.id, "version": self.run.version}, {NAME_TAG: self.name}
        )
        return made

    def begin(self) -> None:
        """Enqueue it now."""
        self.is_begun = True
        if self.record_now() is None and not self._under_way:
            self._under_way = True
            self.run.begun[self.id] = self.name
            self.run.soon_request(self)

    def perform(self) -> Performance:
        """As of `Call`."""
        try:
            if self.refused is not None:
                raise Refused(self.refused)
            record = self.record_now()
            request = None if record is not None or self._under_way else self.request()
            self._under_way = True
            self.run.begun[self.id] = self.name
            found = yield Wait(self.id, request)
        except Refused as refused:
            kind = type(refused.error).__name__
            (found,) = yield Record([settled(self.id, self.name, "rejected", {"code": kind, "message": str(refused.error)})])
        return self.read(found)


def any_reader(type: Any, named: str) -> Reader:
    """Return the reader of a ``type=`` argument; None: any value.

    Raises:
        TypeError: Its values have no JSON.
    """
    return Reader(inspect.Parameter.empty if type is None else type, named)

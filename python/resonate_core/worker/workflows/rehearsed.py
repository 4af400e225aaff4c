"""Runs that take the records and stop where the code would continue: no step runs, and nothing is written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar, cast

from ..._core import Promise
from ...calls.call import Call as Request
from ..context import JobContext
from ..job_source import JobSource
from .branches import Branches
from .calls import Call, ChildCall, ResultCall
from .driver import AsyncRun
from .failures import Dropped
from .operations import Wait
from .records import Step, is_pending
from .support import WorkflowSupport
from .threads import ThreadRun

__all__ = ["NextCall", "RehearsedRun", "RehearsedThreadRun", "rehearsal"]

_T = TypeVar("_T")


class NextCall(NamedTuple):
    """A call at which the code of a workflow stands, since its history has no outcome of it.

    Attributes:
        id: Of its record.
        name: The name of the call.
        begun: Whether something of it is recorded: it waits for a message, a promise, a child job, a timer or its next attempt. Otherwise
            it begins when the workflow is run.
        place: File and line of the code.
    """

    id: str
    name: str
    begun: bool
    place: str


class _NoStore:
    """A `JobSource` that has no requests."""

    blocking = False
    local = True
    manual = True

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"a rehearsal asks no store, and {name} was asked for")


def rehearsal() -> WorkflowSupport:
    """Return what rehearsed runs share."""
    return WorkflowSupport(cast("JobSource", _NoStore()), steps=1, live=False, beside=False, name="rehearsal")


def _next_call(run: AsyncRun | ThreadRun, call: Call[Any]) -> NextCall:
    begun = call.id in run.records or call.id in run.under_way
    if isinstance(call, ResultCall):  # it has no record before its end
        begun = call.of in (run.job.awaits or {}).get("ids", ())
    return NextCall(call.id, call.name, begun, run.place_of(call.id))


class RehearsedRun(AsyncRun):
    """A rehearsed run of an `async def` workflow.

    Args:
        support: As `rehearsal` makes it.
        context: Of the attempt that there would be.
        records: The history.

    Attributes:
        stands_at: The calls at which the code stands.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(support, context, records)
        self.stands_at: dict[str, NextCall] = {}

    async def perform(self, call: Call[Any]) -> Any:
        """Take the outcome from the record; stand at a call that has none."""
        record = self.records.get(call.id)
        if call.is_done or isinstance(call, Branches) or (record is not None and not is_pending(record)):
            return await super().perform(call)
        self.stands_at[call.id] = _next_call(self, call)
        try:
            return await self._wait(Wait(call.id))
        finally:
            if not self.suspended:  # it has lost against another branch
                del self.stands_at[call.id]

    async def record(self, steps: Sequence[Step]) -> list[Promise]:
        """Record nothing."""
        if self.fatal is not None:
            raise self.fatal
        return []

    async def send_all(self) -> None:
        """Send nothing."""

    def soon(self, steps: Iterable[Step]) -> None:
        """Send nothing."""

    def soon_request(self, child: ChildCall[Any]) -> None:
        """Enqueue nothing."""

    async def _make(self, wait: Wait) -> None:
        return

    async def _suspend_while_quiet(self, wait: Wait | None) -> None:
        if self._waiters and self.busy == 0:
            self._park()

    async def _answered(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        raise AssertionError("a rehearsal asks no store")


class RehearsedThreadRun(ThreadRun):
    """A rehearsed run of a `def` workflow, which ends at the first call without an outcome.

    Args:
        support: As `rehearsal` makes it.
        context: Of the attempt that there would be.
        records: The history.

    Attributes:
        stands_at: The calls at which the code stands.
    """

    def __init__(self, support: WorkflowSupport, context: JobContext, records: dict[str, Promise]) -> None:
        super().__init__(support, context, records)
        self.stands_at: dict[str, NextCall] = {}

    def begin(self, call: Call[Any]) -> None:
        """Begin nothing. The code stops when it asks for the outcome."""

    def perform(self, call: Call[Any]) -> Any:
        """Take the outcome from the record; end at a call that has none."""
        record = self.records.get(call.id)
        if not call.is_done and (record is None or is_pending(record)):
            self._stand_at([call])
        return super().perform(call)

    def _first_decided(self, calls: Sequence[Call[Any]], first: bool, return_exceptions: bool) -> Call[Any] | None:
        for each in calls:
            record = self.records.get(each.id)
            if not each.is_done and record is not None and not is_pending(record):
                each.settle(record)
            if each.is_done and (first or (each._error is not None and not return_exceptions)):
                return each
        left = [each for each in calls if not each.is_done]
        if left:
            self._stand_at(left)
        return None

    def _stand_at(self, calls: Sequence[Call[Any]]) -> NoReturn:
        self.check()
        for each in calls:
            self.stands_at[each.id] = _next_call(self, each)
        self.suspended = True
        raise self.end(Dropped())

    def record(self, steps: Sequence[Step]) -> list[Promise]:
        """Record nothing."""
        return []

    def send_all(self) -> None:
        """Send nothing."""

    def soon(self, steps: Iterable[Step]) -> None:
        """Send nothing."""

    def soon_request(self, child: ChildCall[Any]) -> None:
        """Enqueue nothing."""

    def requested(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Send nothing."""
        raise AssertionError("a rehearsal asks no store")

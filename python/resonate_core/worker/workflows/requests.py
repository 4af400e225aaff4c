"""The requests of a run: which are sent together, and how their answers are taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..._core import Jobs, Promise
from ...calls.call import Call as Request
from ...calls.made import call
from ...errors import Conflict, NotFound, ResonateError
from ..job_source import JobSource
from ..report_buffer import ReportBuffer
from .records import Step, settled

if TYPE_CHECKING:
    from .calls import ChildCall
    from .scope import Run

__all__ = ["NotHeld", "Outbox", "Sent", "read_history"]

#: The most steps of one request.
_MOST_STEPS = 1000


class NotHeld(Exception):
    """The store says that the job does not run at the version of this run."""


class Sent:
    """Requests that go to the store together, and how their answers are taken.

    Attributes:
        requests: In order.
        leads: Whether others may wait for something of it: they must not be sent before it.
    """

    __slots__ = ("_children", "_own", "_records", "leads", "requests")

    def __init__(self, leads: bool) -> None:
        self.leads = leads
        self.requests: list[Request[Any]] = []
        self._records: list[int] = []
        self._children: dict[int, ChildCall[Any]] = {}
        self._own: int | None = None

    def answered(self, run: Run, answers: Sequence[Any]) -> tuple[list[Promise], Any]:
        """Take the answers: keep the records; return those of the steps, in order, and the answer of the request `own`.

        Raises:
            NotHeld: The job does not run at this version any more.
            ResonateError: A step was refused for another reason.
        """
        recorded: list[Promise] = []
        for at in self._records:
            answer = answers[at]
            if isinstance(answer, (Conflict, NotFound)):
                raise NotHeld
            if isinstance(answer, ResonateError):
                raise answer
            recorded.extend(answer)
        run.note(recorded)
        for at, child in self._children.items():
            answer = answers[at]
            if isinstance(answer, ResonateError):
                child.refused = answer
                failure = {"code": type(answer).__name__, "message": str(answer)}
                run.unsent.append(settled(child.id, child.name, "rejected", failure))
        own = None if self._own is None else answers[self._own]
        if isinstance(own, (Conflict, NotFound)) and self._own is not None and self.requests[self._own].kind == "job.receive":
            raise NotHeld
        return recorded, own


class Outbox:
    """What a run has to send, in order: steps, and child jobs that were started.

    Args:
        run: The run.

    Attributes:
        is_urgent: Whether it must be sent before a step begins, which may hand out the id of a promise.
    """

    __slots__ = ("_run", "_waiting", "is_urgent")

    def __init__(self, run: Run) -> None:
        self._run = run
        self.is_urgent = False
        self._waiting: list[Step | ChildCall[Any]] = []

    def append(self, step: Step) -> None:
        """Add a step."""
        self._waiting.append(step)

    def extend(self, steps: Iterable[Step]) -> None:
        """Add steps."""
        self._waiting.extend(steps)

    def enqueue(self, child: ChildCall[Any]) -> None:
        """Add a child job."""
        self._waiting.append(child)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self, steps: Sequence[Step] = (), own: Request[Any] | None = None) -> Sent:
        """Take all that is to be sent, then these steps, then this request."""
        sent, run = Sent(bool(self._waiting)), self._run
        waiting, self._waiting, self.is_urgent = [*self._waiting, *steps], [], False
        together: list[Step] = []

        def end_steps() -> None:
            for at in range(0, len(together), _MOST_STEPS):
                sent._records.append(len(sent.requests))
                sent.requests.append(call(Jobs.record, run.job.id, run.version, together[at : at + _MOST_STEPS]))
            together.clear()

        for each in waiting:
            if isinstance(each, dict):
                together.append(each)
                continue
            end_steps()
            sent._children[len(sent.requests)] = each
            sent.requests.append(each.request())
        end_steps()
        if own is not None:
            sent._own = len(sent.requests)
            sent.requests.append(own)
        return sent

    def suspend(self, sent: Sent, ids: Sequence[str], reports: ReportBuffer | None) -> None:
        """Add what the attempt has said about its work, and the suspension, which is the last request."""
        run = self._run
        if reports:
            progress, lines = reports.take()
            sent.requests.append(call(Jobs.report, run.job.id, run.version, progress=progress, lines=lines))
        sent.requests.append(call(Jobs.suspend, run.job.id, run.version, ids))


def read_history(client: JobSource, id: str) -> dict[str, Promise]:
    """Read what is recorded of a job."""
    records: dict[str, Promise] = {}
    cursor = None
    while True:
        page = client.history(id, cursor)
        for record in page:
            records[record.id] = record
        cursor = page.cursor
        if cursor is None:
            return records

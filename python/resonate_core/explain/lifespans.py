"""The lives of promises, tasks and jobs: the time in each state, and what happened at single instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.states import JOB_ENDS

#: The outcome of an attempt that was running when its job ended, by the state of the job.
OUTCOMES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}


@dataclass
class Span:
    """The time that a task or a job spent in one state.

    A task is `pending`, `acquired` (by `pid`), `suspended` or `halted`. A job is `scheduled`, `waiting`, `pending`, `claimed` or
    `running` (by `pid`), `retry` or `archived`. A `running` span is an attempt: it has a `number`, and after its end an `outcome`
    and the `code` of its error.
    """

    state: str
    start: int
    end: int | None = None
    pid: str | None = None
    number: int | None = None
    outcome: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class RecordLife:
    """What a record of a workflow tells about its life.

    Attributes:
        kind: Which record it is; see `resonate_core.calls.workflow_records.RecordKind`.
        name: Of the call.
        began_at: When its last attempt began, in Unix ms.
        attempts: How often it was tried.
        code: Of the error that it has recorded; None: none.
    """

    kind: str
    name: str
    began_at: int
    attempts: int = 1
    code: str | None = None


@dataclass
class Mark:
    """Something that happened at one instant: an internal step by its name, `heartbeat`, or `refused` with its status."""

    at: int
    kind: str
    text: str = ""


@dataclass
class Life:
    """One promise and its task or job, or one schedule (which has no deadline).

    The state of a job is `pending`, or how it ended: `completed`, `failed`, `cancelled`, `expired` or `deleted`. An id may be
    enqueued again after its job was deleted: `ends` has the end of each of these jobs with its instant, and `renewals` has the
    instants at which the id was enqueued again. `of_workflow` tells which record of a workflow it is, if it is one.
    """

    id: str
    created_at: int
    timeout_at: int | None
    tags: Mapping[str, str] = field(default_factory=dict)
    state: str = "pending"
    settled_at: int | None = None
    schedule: str | None = None
    spans: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    job: dict[str, Any] | None = None
    parent: str | None = None
    of_workflow: RecordLife | None = None
    ends: list[tuple[int, str]] = field(default_factory=list)
    renewals: list[int] = field(default_factory=list)

    @property
    def changes(self) -> list[tuple[int, str]]:
        """The instants at which the state changed, in order, each with the new state."""
        first = "active" if self.timeout_at is None else "pending"
        begun = [(at, first) for at in (self.created_at, *self.renewals)]
        return sorted([*begun, *self.ends], key=lambda change: change[0])

    @property
    def task(self) -> Span | None:
        """The span that has not ended; None for a promise without a task, or with a fulfilled one."""
        return self.spans[-1] if self.spans and self.spans[-1].end is None else None

    def enter(self, state: str, at: int, pid: str | None = None) -> None:
        """Begin a span in a state, unless the task is in that state already; each acquisition begins a span of its own."""
        if self.task is not None and (self.task.state, self.task.pid) == (state, pid) and state != "acquired":
            return
        self.leave(at)
        self.spans.append(Span(state, at, pid=pid))

    def leave(self, at: int) -> None:
        """End the open span."""
        if self.task is not None:
            self.task.end = max(at, self.task.start)

    def settle(self, state: str, at: int) -> None:
        """Settle the promise and fulfil its task; an open attempt ends."""
        if self.state != "pending":
            return
        span = self.task
        if self.job is not None:
            late, state = state == "rejected_timedout", JOB_ENDS.get(state, state)
            if span is not None and span.number is not None and span.outcome is None:
                span.outcome = "timed_out" if late else OUTCOMES.get(state)
        self.state, self.settled_at = state, at
        self.ends.append((at, state))
        self.leave(at)

    def begin_again(self, at: int) -> None:
        """Note that the id was enqueued again after its job had been deleted."""
        self.state, self.settled_at = "pending", None
        self.renewals.append(at)
        for span in self.spans:
            span.number = None  # attempts are counted from 1 again

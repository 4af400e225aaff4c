"""The lives of promises, tasks and jobs: the stretches between two changes of state, and what happened at single instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.states import JOB_ENDS

#: How an attempt ended that was under way then.
OUTCOMES = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}


@dataclass
class Span:
    """A stretch of a task's or a job's life.

    Of a task: `pending`, `acquired` (then `pid` says by whom), `suspended` or `halted`. Of a job: `scheduled`, `pending`,
    `claimed` and `running` (`pid`), `retry` or `archived`; a `running` one is an attempt, with its `number`, and at its end
    its `outcome` and the `code` of its error.
    """

    state: str
    start: int
    end: int | None = None
    pid: str | None = None
    number: int | None = None
    outcome: str | None = None
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

    The state of a job is `pending`, or how it ended: `completed`, `failed`, `cancelled`, `expired` or `deleted`. `ends` has each
    end with its instant, also those before an id was enqueued again; `renewals` are the instants of that.
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
    ends: list[tuple[int, str]] = field(default_factory=list)
    renewals: list[int] = field(default_factory=list)

    @property
    def changes(self) -> list[tuple[int, str]]:
        """The state as it changes: instants in order, each with the state that it begins."""
        first = "active" if self.timeout_at is None else "pending"
        begun = [(at, first) for at in (self.created_at, *self.renewals)]
        return sorted([*begun, *self.ends], key=lambda change: change[0])

    @property
    def task(self) -> Span | None:
        """The open stretch; None for a promise without a task and for a fulfilled one."""
        return self.spans[-1] if self.spans and self.spans[-1].end is None else None

    def enter(self, state: str, at: int, pid: str | None = None) -> None:
        """Let the task enter a state; no change if it is in that state."""
        if self.task is not None and (self.task.state, self.task.pid) == (state, pid) and state != "acquired":
            return
        self.leave(at)
        self.spans.append(Span(state, at, pid=pid))

    def leave(self, at: int) -> None:
        """Ends the open stretch."""
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
            span.number = None  # they count from 1 again
